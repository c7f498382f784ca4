"""`local:nli=MODEL` as a judge like any other: through the API, the store, panels and every reply
format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.judging.prompts import Prompt
from claimeval.providers import specs
from claimeval.store.store import Store
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions

SAMPLES = [
    {
        "id": "a",
        "question": "Which city is the capital of Italy?",
        "answer": "The capital of Italy is Rome. The tower was opened in 1889.",
        "contexts": ["The capital of Italy is Rome.", "It rained for seven days."],
        "reference_answers": ["Rome"],
    },
    {
        "id": "b",
        "question": "Who are we?",
        "answer": "We are saving our own lives.",
        "contexts": ["Madrid is in Spain."],
    },
]


def test_it_judges_every_claim_and_a_second_run_computes_nothing(
    nli: Path, forwards: list[str]
) -> None:
    spec = f"local:nli={nli}"
    first = ce.score(SAMPLES, judges=[spec], metrics=["faithfulness"])
    verdicts = [v for result in first.results for a in result.assessments for v in a.verdicts]
    assert len(verdicts) == 3
    assert all(
        v.label is not None and v.probability is not None and v.explanation for v in verdicts
    )
    (served,) = {call.served_model for call in first.results[0].calls if call.step == "assess"}
    assert served is not None
    assert served.endswith("/float32 on cpu")
    assert (
        first.record.notes[0]
        == f"probability of entailment by the local model {nli}, not an LLM judgment"
    )
    assert "BertModel" in forwards
    forwards.clear()
    again = ce.score(SAMPLES, judges=[spec], metrics=["faithfulness"])
    assert [result.assessments for result in again.results] == [
        result.assessments for result in first.results
    ]
    assert forwards == []


def test_the_lexical_engine_computes_its_answers_anew_and_reads_no_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[Prompt] = []
    monkeypatch.setattr(Prompt, "render", lambda prompt, variables: rendered.append(prompt))

    def score(name: str, **settings: Any) -> ce.Run:
        options = RunOptions(cache=tmp_path / "cache", **settings)
        return ce.score(
            SAMPLES,
            judges="local:lexical",
            metrics="faithfulness",
            out=tmp_path / name,
            options=options,
        )

    first = score("first")
    again = score("again", offline=True)
    assert first["faithfulness"].judged == again["faithfulness"].judged == 3
    with Store(tmp_path / "cache") as store:
        assert len(store) == 0
    assert rendered == []
    assert first.path
    assert again.path
    for name in ("results.jsonl", "replies.jsonl.gz", "summary.json"):
        assert (first.path / name).read_bytes() == (again.path / name).read_bytes()
    extraction, assessment = first.results[0].calls
    assert extraction.reply is not None
    assert '"claim": "The capital of Italy is Rome."' in extraction.reply
    assert assessment.key != extraction.key
    assert {verdict.call for a in first.results[0].assessments for verdict in a.verdicts} == {1}


def test_a_run_is_judged_again_by_it_without_taking_the_claims_anew(
    nli: Path, nli_deberta: Path
) -> None:
    first = ce.score(SAMPLES, judges=["local:lexical"], metrics=["faithfulness"])
    again = ce.rejudge(first, judges=[f"local:nli={nli}", f"local:nli={nli_deberta}"])
    for before, after in zip(first.results, again.results, strict=True):
        assert after.claims == before.claims
        assert all(len(assessment.verdicts) == 2 for assessment in after.assessments)
        assert {call.judge for call in after.calls if call.step == "extract"} == {"local:lexical"}


@pytest.mark.parametrize(
    ("extract", "assess"), [("bullets", "binary"), ("atomic", "tags"), ("atomic", "three_way")]
)
def test_it_answers_in_every_format(t5: Path, extract: str, assess: str) -> None:
    report = ce.score(
        SAMPLES,
        judges=[f"local:nli={t5}"],
        extract_prompt=extract,
        assess_prompt=assess,
        metrics=["faithfulness"],
    )
    assert report.summary["faithfulness"].judged == 3


def test_it_sits_in_a_panel_beside_other_judges(nli: Path, t5: Path) -> None:
    names = ["local:lexical", f"local:nli={nli}", f"local:nli={t5}"]
    report = ce.score(SAMPLES, judges=names, metrics=["faithfulness"])
    for result in report.results:
        for assessment in result.assessments:
            assert [verdict.judge for verdict in assessment.verdicts] == names
    assert len(report.record.notes) == 4


def test_a_judge_file_holds_its_settings(nli: Path, tmp_path: Path) -> None:
    path = tmp_path / "checker.yaml"
    path.write_text(f"model: 'local:nli={nli}'\nextra: {{entailment_label: neutral, window: 48}}\n")
    judge = specs.parse_judge(str(path))
    assert judge.name == "checker"
    assert judge.endpoint == specs.parse_judge(f"local:nli={nli}").endpoint
    assert (
        ce.score(SAMPLES[1:], judges=[judge], metrics=["faithfulness"])
        .summary["faithfulness"]
        .judged
        == 1
    )


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("local:nli", "unknown local engine 'nli'"),
        ("local:nli=", "unknown local engine 'nli='"),
        ("local:lexical=x", "unknown local engine"),
        ("local:nli=/no/such/folder", "no folder '/no/such/folder'"),
    ],
)
@pytest.mark.usefixtures("torch_here")
def test_a_wrong_name_is_refused_before_anything_is_judged(spec: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        specs.parse_judge(spec)


def test_an_address_is_refused(nli: Path) -> None:
    with pytest.raises(UsageError, match="has no address"):
        specs.parse_judge(f"local:nli={nli}@http://127.0.0.1")


def test_a_model_on_this_machine_has_no_deadline(nli: Path) -> None:
    report = ce.score(
        SAMPLES,
        judges=[f"local:nli={nli}"],
        metrics=["faithfulness"],
        options=RunOptions(timeout=0.000_001),
    )
    assert report.summary["faithfulness"].judged == 3


def test_a_model_that_fails_leaves_claims_unassessed(
    nli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr("claimeval.providers.local.entailment.NliClassifier.probabilities", fail)
    report = ce.score(SAMPLES[1:], judges=[f"local:nli={nli}"], metrics=["faithfulness"])
    assert report.summary["faithfulness"].unassessed == {"provider_error": 1}
    (call,) = [call for call in report.results[0].calls if call.step == "assess"]
    assert call.message == "the model failed: out of memory"
