"""A verdict knows what it was asked: taken over where the same would be asked again, and said to be
what it is.

The first judge says "contradicted" under `three_way`, the second "supported"; under `binary` both
say "no". There is one sample with one claim, so a score is 0 or 1 and one call asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle, claim_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.api.claims import rejudge
from claimeval.api.run import Run
from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.judging import prompts as prompting
from claimeval.report import forms
from claimeval.runs.directory import load_manifest
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions
from claimeval.types.requests import Judge
from tests.api.test_claims import spec, values
from tests.conftest import StartServer

SAMPLE = {"id": "s", "question": "How high?", "answer": "It is high.", "contexts": ["It is high."]}
THREE_WAY, BINARY = (prompting.load("assess", name).id for name in ("three_way", "binary"))


def says(label: str) -> Callable[[Body], Reply]:
    """A judge with one label under `three_way`, and "no" under `binary`."""

    def answer(body: Body) -> Reply:
        word = "no" if "- yes: " in text_of(body) else label
        reply = claim_judge.answer(body)
        assert isinstance(reply.content, str)
        found = json.loads(reply.content)
        for verdict in found.get("verdicts", ()):
            verdict["label"] = word
        return Reply(json.dumps(found))

    return answer


@pytest.fixture
def one(start_server: StartServer) -> ThreadHandle:
    return start_server(judge=says("contradicted"))


@pytest.fixture
def two(start_server: StartServer) -> ThreadHandle:
    return start_server(judge=says("supported"))


@pytest.fixture
def run(one: ThreadHandle) -> Run:
    return ce.score([SAMPLE], judges=[spec(one)], metrics=["faithfulness"])


@pytest.fixture
def mixed(run: Run, two: ThreadHandle) -> Run:
    """The first judge's verdict under `three_way` beside the second one's under `binary`."""
    return rejudge(run, judges=[spec(two)], assess_prompt="binary", keep_verdicts=True)


def sent(*servers: ThreadHandle) -> int:
    return sum(len(server.exchanges()) for server in servers)


def labels(report: Run) -> dict[str, str | None]:
    return {v.judge: v.label for a in report.results[0].assessments for v in a.verdicts}


def test_a_verdict_says_prompt_and_call_that_it_was_asked_with(run: Run, one: ThreadHandle) -> None:
    (judge,) = run.manifest.judges
    (verdict,) = run.results[0].assessments[0].verdicts
    assert (run.results[0].prompt_of(verdict), verdict.judge) == (THREE_WAY, judge.name)
    assert (verdict.call, verdict.prompt) == (1, None), "the prompt stands on the call"
    assert [call.prompt for call in run.results[0].calls] == [
        prompting.load("extract", "atomic").id,
        THREE_WAY,
    ]


def test_a_run_of_two_prompts_says_who_was_asked_with_which(
    mixed: Run, one: ThreadHandle, two: ThreadHandle
) -> None:
    assert mixed.manifest.asked_with == {spec(one): (THREE_WAY,), spec(two): (BINARY,)}
    assert {prompt.name for prompt in mixed.manifest.prompts} == {
        "extract/atomic",
        "assess/three_way",
        "assess/binary",
    }
    (note,) = mixed.record.notes
    said = f"{spec(one)} assess/three_way; {spec(two)} assess/binary"
    assert note == f"the judges were asked with different prompts: {said}"
    again = rejudge(mixed, panel=PanelOptions(vote="any"))
    assert (again.manifest.asked_with, again.record.notes) == (mixed.manifest.asked_with, (note,))


def test_verdicts_of_another_prompt_are_asked_for_again(
    mixed: Run, one: ThreadHandle, two: ThreadHandle
) -> None:
    """The second judge's verdict is of `binary`, though the run knows `three_way` too: one call;
    the truth is 1."""
    before = sent(one), sent(two)
    again = rejudge(mixed, judges=[spec(two)], assess_prompt="three_way")
    assert (sent(one), sent(two)) == (before[0], before[1] + 1)
    assert values(again, "faithfulness") == [1.0]
    assert again.manifest.asked_with == {spec(two): (THREE_WAY,)}
    assert again.record.notes == ()


def test_no_label_of_a_prompt_that_does_not_offer_it_stands_under_its_name(
    mixed: Run, one: ThreadHandle, two: ThreadHandle
) -> None:
    before = sent(one, two)
    again = rejudge(mixed, judges=[spec(one)], assess_prompt="binary")
    assert sent(one, two) == before + 1
    assert labels(again) == {spec(one): "not_found"}
    assert again.manifest.asked_with == {spec(one): (BINARY,)}


def test_a_judge_that_is_named_without_a_prompt_keeps_its_own(
    mixed: Run, one: ThreadHandle, two: ThreadHandle
) -> None:
    before = sent(one, two)
    again = rejudge(mixed, judges=[spec(one)])
    assert sent(one, two) == before
    assert labels(again) == {spec(one): "contradicted"}
    assert again.manifest.asked_with == {spec(one): (THREE_WAY,)}
    assert [prompt.name for prompt in again.manifest.prompts] == [
        "extract/atomic",
        "assess/three_way",
    ]


def test_nobody_is_asked_with_a_prompt_that_nothing_decides_on(
    mixed: Run, two: ThreadHandle
) -> None:
    with pytest.raises(UsageError, match=r"assess/binary.* say with --assess-prompt which"):
        rejudge(mixed, judges=[spec(two, "judge-3")])


def test_a_prompt_for_all_judges_asks_those_who_had_another(
    mixed: Run, one: ThreadHandle, two: ThreadHandle
) -> None:
    before = sent(one), sent(two)
    again = rejudge(mixed, assess_prompt="three_way")
    assert (sent(one), sent(two)) == (before[0], before[1] + 1)
    assert labels(again) == {spec(one): "contradicted", spec(two): "supported"}
    assert again.record.notes == ()


def test_a_judge_of_the_same_name_with_other_settings_is_asked(run: Run, one: ThreadHandle) -> None:
    before = sent(one)
    (judge,) = run.manifest.judges
    warm = Judge(name=judge.name, model="openai:judge", endpoint=judge.endpoint, temperature=0.7)
    again = rejudge(run, judges=[warm])
    assert sent(one) == before + 1
    assert again.manifest.judges[0].id != judge.id


def test_the_id_of_settings_leaves_out_the_name_and_where_the_key_is() -> None:
    judge = Judge(name="a", model="openai:m")
    assert judge.id == judge.model_copy(update={"name": "b", "key_variable": "MY_KEY"}).id
    changed = {
        "model": "openai:n",
        "endpoint": "http://x",
        "max_tokens": 1,
        "structured": False,
        "extra": {"k": 1},
    }
    ids = {judge.model_copy(update={name: value}).id for name, value in changed.items()}
    assert len(ids | {judge.id}) == 1 + len(changed)


def test_requests_of_both_prompts_are_rebuilt_and_both_are_named_in_the_report(
    mixed: Run, tmp_path: Path
) -> None:
    mixed.save(tmp_path / "run")
    assert load_manifest(tmp_path / "run").asked_with == mixed.manifest.asked_with
    footer = forms.text(tmp_path / "run", "md").splitlines()[-1]
    first, second = (f"(`{judge}`)" for judge in mixed.manifest.asked_with)
    assert footer.index("assess/three_way") < footer.index(first)
    assert footer.index("assess/binary") < footer.index(second)
    rebuilder = Rebuilder(load_manifest(tmp_path / "run"))
    (result,) = mixed.results
    assert len(result.calls) == 3
    assert all(rebuilder.rebuild(result, call) for call in result.calls)


def test_imported_verdicts_have_no_prompt_and_it_is_said(
    one: ThreadHandle, two: ThreadHandle, tmp_path: Path
) -> None:
    row = {
        "query_id": "7",
        "query": "How high?",
        "response": "It is high.",
        "retrieved_context": [{"doc_id": "000", "text": "It is high."}],
        "response_claims": [["It", "is", "high"]],
        "retrieved2response": [["Entailment"]],
    }
    path = tmp_path / "checked.json"
    path.write_text(json.dumps({"results": [row]}), encoding="utf-8")
    found = rejudge(path, judges=[spec(one)], keep_verdicts=True, metrics=["faithfulness"])
    prompts = {
        v.judge: found.results[0].prompt_of(v)
        for a in found.results[0].assessments
        for v in a.verdicts
    }
    assert prompts == {"ragchecker": None, spec(one): THREE_WAY}
    assert found.manifest.asked_with == {"ragchecker": (), spec(one): (THREE_WAY,)}
    assert any(
        "ragchecker elsewhere, with a prompt that is not known" in note
        for note in found.record.notes
    )
