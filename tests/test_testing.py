"""What the package ships for users' own tests: a scripted judge, a provider on this machine,
samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval import testing
from claimeval.testing import ScriptedJudge
from claimeval.types.errors import UsageError

TOWER = {
    "id": "tower",
    "question": "What about the tower?",
    "answer": "The tower is high. The tower is red. The tower is old.",
    "contexts": ["The tower is high."],
}
SCRIPT = {"The tower is high.": "supported", "The tower is red.": "contradicted"}


def faithfulness(judge: ce.Judge, cache: Path, **options: object) -> ce.Run:
    return ce.score(
        [TOWER],
        judges=[judge],
        metrics=["faithfulness"],
        options=ce.RunOptions(cache=cache),
        **options,  # type: ignore[arg-type]
    )


def test_claims_get_the_labels_of_the_script_and_all_others_the_default(tmp_path: Path) -> None:
    report = faithfulness(ScriptedJudge(SCRIPT), tmp_path)
    (result,) = report.results
    assert [a.label for a in result.assessments] == ["supported", "contradicted", "not_found"]
    assert report.summary["faithfulness"].mean == pytest.approx(1 / 3)
    assert any("script of a test, not a judgment" in note for note in report.manifest.notes)


@pytest.mark.parametrize("prompt", ["binary", "tags"])
def test_a_script_serves_prompts_of_other_forms(tmp_path: Path, prompt: str) -> None:
    report = faithfulness(
        ScriptedJudge(SCRIPT), tmp_path, assess_prompt=prompt, extract_prompt="bullets"
    )
    assert report.summary["faithfulness"].mean == pytest.approx(1 / 3)


def test_abstention_leaves_claims_without_a_label(tmp_path: Path) -> None:
    report = faithfulness(ScriptedJudge(SCRIPT, default="unsure"), tmp_path)
    assert [a.label for a in report.results[0].assessments] == ["supported", "contradicted", None]


def test_two_scripts_are_two_judges_of_one_panel(tmp_path: Path) -> None:
    judges = [ScriptedJudge(SCRIPT, name="a"), ScriptedJudge(default="supported", name="b")]
    report = ce.score(
        [TOWER],
        judges=judges,
        metrics=["faithfulness"],
        panel=ce.PanelOptions(vote="any"),
        options=ce.RunOptions(cache=tmp_path),
    )
    assert report.summary["faithfulness"].mean == 1.0


def test_a_changed_script_is_not_answered_from_stored_replies(tmp_path: Path) -> None:
    assert faithfulness(ScriptedJudge(SCRIPT), tmp_path).summary[
        "faithfulness"
    ].mean == pytest.approx(1 / 3)
    assert (
        faithfulness(ScriptedJudge(default="supported"), tmp_path).summary["faithfulness"].mean
        == 1.0
    )


def test_a_reply_is_given_word_for_word(tmp_path: Path) -> None:
    judge = ScriptedJudge(
        reply=lambda text: "I would rather not say." if "<claims>" in text else None
    )
    (result,) = faithfulness(judge, tmp_path).results
    assert {a.unassessed for a in result.assessments} == {"unparsable"}


def test_an_unknown_label_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown label 'suported'"):
        ScriptedJudge({"x": "suported"})


def test_the_provider_answers_over_the_wire_and_keeps_the_requests(tmp_path: Path) -> None:
    def reply(text: str) -> str:
        asks_for_verdicts = '"verdicts"' in text
        return (
            testing.verdicts_reply(["supported"])
            if asks_for_verdicts
            else testing.claims_reply("It is high.")
        )

    with testing.provider(reply) as running:
        report = faithfulness(running.judge, tmp_path)
        assert report.summary["faithfulness"].mean == 1.0
        assert [body["model"] for body in running.requests] == ["loopback", "loopback"]
        assert faithfulness(running.judge, tmp_path).summary["faithfulness"].mean == 1.0
        assert len(running.requests) == 2, "the second run reads stored replies"


def test_the_examples_of_the_page_hold(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "reference" / "testing.md").read_text(
        encoding="utf-8"
    )
    names: dict[str, Any] = {"sample": TOWER | {"answer": "It is high."}}
    for block in page.split("```python\n")[1:]:
        exec(block.partition("```")[0], names)
    tests = [name for name in names if name.startswith("test_")]
    assert len(tests) == 3
    for name in tests:
        names[name](tmp_path / name)


def test_the_demo_comes_as_samples() -> None:
    assert len(testing.samples()) == 24


def test_messages_for_users_leave_the_scripted_judge_out() -> None:
    with pytest.raises(UsageError, match=r"Known: (?!.*testing).*Examples: (?!.*Scripted)"):
        ce.score([TOWER], judges=["nobody:x"])
    with pytest.raises(UsageError, match="the script of 'testing:x' is not in this process"):
        ce.score([TOWER], judges=["testing:x"])
