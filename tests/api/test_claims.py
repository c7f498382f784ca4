"""The Python front door, with the real SDKs against servers on loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import Options, ThreadHandle, claim_judge
from claimeval.runs.directory import RunResults
from claimeval.types.options import RunOptions
from tests.command_line import call
from tests.conftest import StartServer

SAMPLES: list[dict[str, Any]] = [
    {
        "id": "good",
        "question": "How high is the tower?",
        "answer": "The tower is 63 metres high. It was built in 1901.",
        "contexts": ["The tower of 1901 is 63 metres high."],
        "reference_answers": ["It is 63 metres high."],
    },
    {
        "id": "bad",
        "question": "Who built it?",
        "answer": "Ana Souto built it. The WRONG king paid. A MISSING priest prayed. It stands.",
        "contexts": ["Ana Souto built the tower."],
        "reference_answers": ["Ana Souto built it. MISSING: in one year."],
        "evidence": {"policy": ["Towers are to be built by architects."]},
    },
    {
        "id": "silent",
        "question": "Why?",
        "answer": "",
        "contexts": ["x"],
        "reference_answers": ["Because it is so."],
    },
]


COPIED = [
    {"id": "copied", "question": "Tower?", "answer": text, "contexts": [text]}
    for text in ("The tower is 63 metres high. Ana Souto built it in 1901.",)
]


@pytest.fixture
def openai_judge(start_server: StartServer) -> ThreadHandle:
    return start_server(judge=claim_judge.answer)


def spec(server: ThreadHandle, model: str = "judge-1") -> str:
    return f"openai:{model}@{server.url}"


def values(report: ce.Run, metric: str) -> list[float | None]:
    return [result[metric].value for result in report.results]


def test_scores_come_out_as_the_rule_foretells(openai_judge: ThreadHandle) -> None:
    report = ce.score(SAMPLES, judges=[spec(openai_judge)])
    assert values(report, "faithfulness") == [1.0, 0.5, None]
    assert values(report, "correctness") == [1.0, 0.5, None]
    assert values(report, "coverage") == [1.0, 0.5, 0.0]
    assert values(report, "context_recall") == [1.0, 0.5, 1.0]
    assert report.summary["faithfulness"].missing == {"no_claims": 1}
    assert report.summary["faithfulness"].mean == 0.75


def test_a_second_run_sends_nothing(openai_judge: ThreadHandle) -> None:
    first = ce.score(SAMPLES, judges=[spec(openai_judge)])
    sent = len(openai_judge.exchanges())
    assert sent == (2 + 4) * 2 + 1 + 1
    second = ce.score(SAMPLES, judges=[spec(openai_judge)])
    assert len(openai_judge.exchanges()) == sent
    assert second == first


def test_other_prompts_reuse_the_claims(openai_judge: ThreadHandle) -> None:
    ce.score(SAMPLES, judges=[spec(openai_judge)], metrics=["faithfulness"])
    sent = len(openai_judge.exchanges())
    for prompt in ("binary", "tags"):
        report = ce.score(
            SAMPLES, judges=[spec(openai_judge)], metrics=["faithfulness"], assess_prompt=prompt
        )
        assert values(report, "faithfulness") == [1.0, 0.5, None]
    assert len(openai_judge.exchanges()) == sent + 2 * 2


@pytest.mark.parametrize("prompt", ["atomic", "bullets"])
def test_both_extraction_prompts_give_grounded_claims(
    openai_judge: ThreadHandle, prompt: str
) -> None:
    report = ce.score(
        SAMPLES[:2], judges=[spec(openai_judge)], metrics=["faithfulness"], extract_prompt=prompt
    )
    for result, claim in report.claims:
        assert claim.grounding == "exact"
        assert claim.span is not None
        assert (result.sample.answer or "")[slice(*claim.span)] == claim.text


def test_mistral_gives_the_same_scores(start_server: StartServer) -> None:
    server = start_server(judge=claim_judge.answer, dialect="mistral")
    report = ce.score(SAMPLES, judges=[f"mistral:judge-1@{server.url}"], metrics=["faithfulness"])
    assert values(report, "faithfulness") == [1.0, 0.5, None]
    assert {exchange.path for exchange in server.exchanges()} == {"/mistral/v1/chat/completions"}


def test_an_evidence_set_of_ones_own_is_a_metric(openai_judge: ThreadHandle) -> None:
    own = ce.Metric(name="by_policy", claims_of="answer", against="policy")
    report = ce.score(
        SAMPLES, judges=[spec(openai_judge)], metrics=["on_policy=answer:policy", own]
    )
    assert values(report, "on_policy") == values(report, "by_policy") == [None, 0.5, None]
    assert report.results[0]["on_policy"].because == "missing_input"


def test_an_argument_that_a_function_does_not_have_is_blamed_on_it_with_the_nearest() -> None:
    calls: list[tuple[Callable[..., object], dict[str, object], str]] = [
        (
            ce.score,
            {"judge": "a"},
            r"^score\(\) got an unexpected keyword argument 'judge'\. Did you mean 'judges'\?$",
        ),
        (
            ce.score,
            {"judges": "a", "metric": "b"},
            r"^score\(\) got .* 'metric'\. Did you mean 'metrics'\?$",
        ),
        (ce.rate, {"judge": "a"}, r"^rate\(\) got .* 'judge'\. Did you mean 'judges'\?$"),
        (ce.grade, {"judge": "a"}, r"^grade\(\) got .* 'judge'\. Did you mean 'judges'\?$"),
        (ce.rejudge, {"judge": "a"}, r"^rejudge\(\) got .* 'judge'\. Did you mean 'judges'\?$"),
        (
            ce.write_queries,
            {"judges": "a"},
            r"^write_queries\(\) got .* 'judges'\. Did you mean 'judge'\?$",
        ),
        (
            ce.experiment,
            {"max_cost": 1},
            r"^experiment\(\) got .* 'max_cost': give options=RunOptions\(max_cost=\.\.\.\)$",
        ),
        (
            ce.experiment,
            {"label": "a"},
            r"^experiment\(\) got .* 'label'\. Did you mean 'labels'\?$",
        ),
        (
            ce.experiment,
            {"judge": "a"},
            r"^experiment\(\) got .* 'judge': name judges in the design, as in",
        ),
        (
            ce.compare,
            {"judge": "a"},
            r"^compare\(\) got .* 'judge': it compares runs that `score` has judged$",
        ),
        (ce.compare, {"metric": "a"}, r"^compare\(\) got .* 'metric'\. Did you mean 'metrics'\?$"),
        (
            ce.measure,
            {"max_cost": 1},
            r"^measure\(\) got .* 'max_cost': give options=RunOptions\(max_cost=\.\.\.\)$",
        ),
        (
            ce.score,
            {"vote": "any"},
            r"^score\(\) got .* 'vote': give panel=PanelOptions\(vote=\.\.\.\)$",
        ),
        (
            ce.score,
            {"judges": "a", "options": {"offline": True}},
            r"dict as options: give options=RunOptions\(\.\.\.\)$",
        ),
        (
            ce.rate,
            {"judges": "a", "panel": {"vote": "any"}},
            r"dict as panel: give panel=PanelOptions\(\.\.\.\)$",
        ),
        (
            lambda _, **given: asyncio.run(ce.ascore(SAMPLES, **given)),
            {"judge": "a"},
            "^ascore.*Did you mean 'judges'",
        ),
        (
            ce.score,
            {"judges": "a", "qqq": 1},
            r"^score\(\) got an unexpected keyword argument 'qqq'$",
        ),
        (ce.score, {}, r"^score\(\) missing 1 required keyword-only argument: 'judges'$"),
    ]
    for door, arguments, message in calls:
        with pytest.raises(TypeError, match=message):
            door(SAMPLES, **arguments)
    with pytest.raises(TypeError, match=r"^check\(\) got .* 'judges'\. Did you mean 'judge'\?$"):
        ce.check("An answer.", ["A text."], judges="local:lexical")  # type: ignore[call-arg]


def test_the_blocking_call_works_inside_a_running_loop_and_in_threads(
    openai_judge: ThreadHandle,
) -> None:
    async def notebook() -> list[float | None]:
        return values(
            ce.score(SAMPLES, judges=[spec(openai_judge)], metrics=["faithfulness"]), "faithfulness"
        )

    async def awaited() -> list[float | None]:
        return values(
            await ce.ascore(SAMPLES, judges=[spec(openai_judge)], metrics=["coverage"]), "coverage"
        )

    assert asyncio.run(notebook()) == [1.0, 0.5, None]
    assert asyncio.run(awaited()) == [1.0, 0.5, 0.0]
    found: list[list[float | None]] = []
    ways: list[Callable[[], None]] = [
        lambda: found.append(values(ce.score(SAMPLES, judges=[spec(openai_judge)]), "coverage"))
    ] * 2
    threads = [threading.Thread(target=way) for way in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[1.0, 0.5, 0.0]] * 2


def test_a_report_is_saved_and_loaded(openai_judge: ThreadHandle, tmp_path: Path) -> None:
    report = ce.score(SAMPLES, judges=[spec(openai_judge)])
    report.save(tmp_path / "run")
    assert ce.Run.load(tmp_path / "run") == report
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "manifest.json",
        "replies.jsonl.gz",
        "report.html",
        "results.jsonl",
        "summary.json",
    ]
    with pytest.raises(ce.UsageError, match="other metrics"):
        ce.score(SAMPLES, judges=[spec(openai_judge)], metrics=["coverage"]).save(tmp_path / "run")


def test_a_lone_surrogate_survives_the_way_through_a_run(
    openai_judge: ThreadHandle, tmp_path: Path
) -> None:
    sample = {**SAMPLES[0], "answer": "The tower \ud800 is high."}
    ce.score([sample], judges=[spec(openai_judge)], metrics=["faithfulness"]).save(tmp_path / "run")
    (result,) = RunResults.of(tmp_path / "run")
    assert result.sample.answer == "The tower \ud800 is high."


def test_pandas_gets_a_row_a_sample(openai_judge: ThreadHandle) -> None:
    table = ce.score(SAMPLES, judges=[spec(openai_judge)], metrics=["faithfulness"]).to_pandas()
    assert list(table.index) == ["good", "bad", "silent"]
    assert table["faithfulness"].mean() == 0.75
    assert table["faithfulness_because"].tolist()[2] == "no_claims"


def test_offline_uses_stored_replies_only(openai_judge: ThreadHandle) -> None:
    ce.score(SAMPLES[:1], judges=[spec(openai_judge)], metrics=["faithfulness"])
    sent = len(openai_judge.exchanges())
    report = ce.score(
        SAMPLES,
        judges=[spec(openai_judge)],
        metrics=["faithfulness"],
        options=RunOptions(offline=True),
    )
    assert len(openai_judge.exchanges()) == sent
    assert values(report, "faithfulness") == [1.0, None, None]
    assert report.results[1]["faithfulness"].because == "not_in_cache"


def test_local_lexical_scores_without_a_server_and_says_what_it_is() -> None:
    report = ce.score(COPIED, judges=["local:lexical"])
    assert report.record.notes[0] == "lexical support score, not an LLM judgment"
    assert "claims split by rules: 1.14 per biography sentence" in report.record.notes[1]
    labels = {a.label for result in report.results for a in result.assessments}
    assert labels <= {"supported", "not_found", None}
    assert report.results[0]["faithfulness"].value == 1.0


@pytest.mark.parametrize("extract", ["atomic", "bullets"])
@pytest.mark.parametrize("assess", ["three_way", "binary", "tags"])
def test_local_lexical_answers_in_every_reply_format(extract: str, assess: str) -> None:
    report = ce.score(
        COPIED,
        judges=["local:lexical"],
        extract_prompt=extract,
        assess_prompt=assess,
        metrics=["faithfulness"],
    )
    assert report.results[0]["faithfulness"].value == 1.0
    failed = [call for result in report.results for call in result.calls if call.failed]
    assert not failed


@pytest.mark.usefixtures("without_keys")
@pytest.mark.parametrize(
    ("judges", "words"),
    [
        ([], "no judge named"),
        (["gpt-5"], "not of the form provider:model"),
        (["openai:"], "not of the form provider:model"),
        (["opnai:gpt-5"], "Did you mean 'openai'"),
        (["openai:gpt-5"], "OPENAI_API_KEY is not set"),
        (["mistral:large"], "MISTRAL_API_KEY is not set"),
        (["local:lexcal"], "Did you mean 'lexical'"),
        (["local:lexical@http://127.0.0.1"], "has no address"),
        (["openai:m@127.0.0.1:8000"], "not an http:// or https:// address"),
        (["openai:m@http://user:pw@127.0.0.1/v1"], "carries credentials"),
        (["openai:m@"], "an @ without an address"),
        (["local:lexical", "local:lexical"], "named twice"),
        (["none.yaml"], "no judge file: none.yaml does not exist"),
    ],
)
def test_a_judge_that_cannot_work_is_refused_before_any_call(judges: list[str], words: str) -> None:
    with pytest.raises(ce.UsageError, match=words.replace("(", r"\(")):
        ce.score(SAMPLES, judges=judges)


@pytest.mark.parametrize(
    ("key", "words"),
    [("", "is empty"), ("sk-abc\n", "a line break"), ("sk abc", "a space"), ("ключ", "no key has")],
)
def test_a_malformed_key_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, key: str, words: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ce.UsageError) as raised:
        ce.score(SAMPLES, judges=["openai:gpt-5"])
    assert words in str(raised.value)
    assert not key.strip() or key.strip() not in str(raised.value)


def test_a_judge_file_carries_further_settings(openai_judge: ThreadHandle, tmp_path: Path) -> None:
    file = tmp_path / "strict.yaml"
    file.write_text(
        f"model: openai:m@{openai_judge.url}\ntemperature: 0.5\nseed: 3\nmax_tokens:"
        " 77\nstructured: false\n"
    )
    report = ce.score(SAMPLES[:1], judges=[str(file)], metrics=["faithfulness"])
    (judge,) = report.manifest.judges
    assert (judge.name, judge.temperature, judge.seed, judge.max_tokens) == ("strict", 0.5, 3, 77)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a list", "needs at least the line"),
        ("model: openai:m\ntemprature: 1", "Did you mean 'temperature'"),
        ("model: openai:m\nmax_tokens: many", "max_tokens"),
        ("model: [", "not YAML"),
        ("model: openai:gpt-5-mini\ntemperature: 0", "takes neither temperature nor top_p"),
    ],
)
def test_a_wrong_judge_file_is_explained(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "judge.yaml"
    file.write_text(text)
    with pytest.raises(ce.UsageError, match=words):
        ce.score(SAMPLES, judges=[str(file)])


def test_metrics_that_no_sample_can_feed_are_refused(openai_judge: ThreadHandle) -> None:
    with pytest.raises(
        ce.UsageError, match="no sample has what faithfulness needs: 1 of 1 samples lack contexts"
    ):
        ce.score(
            [{"question": "Q", "answer": "A is B."}],
            judges=[spec(openai_judge)],
            metrics=["faithfulness"],
        )
    with pytest.raises(ce.UsageError, match="no sample has what a metric needs"):
        ce.score([{"question": "Q"}], judges=[spec(openai_judge)])
    with pytest.raises(ce.DataError, match=r"Duplicate sample id .*\(samples \d+ and \d+\)"):
        ce.score([SAMPLES[0], SAMPLES[0]], judges=[spec(openai_judge)])
    assert openai_judge.exchanges() == []


def test_a_rejected_key_stops_the_run_with_the_providers_words(start_server: StartServer) -> None:
    server = start_server(Options(key="sk-the-right-key-000"), judge=claim_judge.answer)
    with pytest.raises(ce.StoppedEarly, match="status 401"):
        ce.score(
            SAMPLES,
            judges=[spec(server)],
            metrics=["faithfulness"],
            options=RunOptions(concurrency=1),
        )
    assert len(server.exchanges()) == 1


def test_a_rejected_key_leaves_no_run_directory(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(Options(key="sk-the-right-key-000"), judge=claim_judge.answer)
    (tmp_path / "data.jsonl").write_text("".join(f"{json.dumps(sample)}\n" for sample in SAMPLES))
    ask = (
        "score",
        "data.jsonl",
        "-j",
        spec(server),
        "-m",
        "faithfulness",
        "--cache",
        "replies",
        "--json",
    )
    refused = call(*ask, "--out", "run", folder=tmp_path, exits=3)
    shown = json.loads(refused.stdout)
    assert (shown["path"], shown["samples"]) == (None, 0)
    assert "status 401" in shown["stopped"]
    assert not (tmp_path / "run").exists()


def test_the_manifest_keeps_what_made_the_numbers(
    openai_judge: ThreadHandle, tmp_path: Path
) -> None:
    ce.score(SAMPLES, judges=[spec(openai_judge)]).save(tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert [prompt["name"] for prompt in manifest["prompts"]] == [
        "extract/atomic",
        "assess/three_way",
    ]
    assert all(prompt["source"] and len(prompt["digest"]) == 64 for prompt in manifest["prompts"])
    assert manifest["judges"][0]["endpoint"] == openai_judge.url
    assert manifest["versions"].keys() == {"python", "pydantic", "jinja2", "openai"}


def test_the_manifest_names_no_package_that_the_judge_does_not_use() -> None:
    manifest = ce.score(SAMPLES, judges=["local:lexical"]).manifest
    assert manifest.versions.keys() == {"python", "pydantic"}
