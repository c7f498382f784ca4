"""Votes that are counted again: alike verdicts come to the same, and each claim keeps its own."""

from __future__ import annotations

from claimeval.evaluation.claims import ClaimsOptions, make_job
from claimeval.metrics.derived import select_metrics
from claimeval.runs.revote import Revote
from claimeval.types.options import PanelOptions
from claimeval.types.records import Assessment, Claim, Document, Sample, SampleResult, Verdict
from claimeval.types.requests import Judge

JUDGES = [
    Judge(name=name, model="openai:judge", endpoint="http://127.0.0.1:9/v1")
    for name in ("a", "b", "c")
]


def assessed(subject: str, labels: dict[str, str], probability: float | None = None) -> Assessment:
    verdicts = tuple(
        Verdict(
            judge=judge, label=label, explanation=f"{judge} on {subject}", probability=probability
        )
        for judge, label in labels.items()
    )
    return Assessment(
        subject=subject,
        question="support",
        against="contexts",
        verdicts=verdicts,
        label="not_found",
    )


def test_claims_with_alike_verdicts_keep_their_own_and_get_one_label() -> None:
    job = make_job(
        ClaimsOptions(judges=JUDGES, panel=PanelOptions(vote="majority")),
        select_metrics(("faithfulness",)),
    )
    divided = {"a": "supported", "b": "supported", "c": "contradicted"}
    result = SampleResult(
        sample=Sample(
            id="s",
            question="Q?",
            answer="One. Two. Three.",
            contexts=(Document(id="d", text="One."),),
        ),
        claims=tuple(
            Claim(grounding="ungrounded", id=f"answer-{n}", text=word, of="answer")
            for n, word in enumerate(("One", "Two", "Three"))
        ),
        assessments=(
            assessed("answer-0", divided),
            assessed("answer-1", divided),
            assessed("answer-2", divided, probability=0.25),
        ),
    )
    found = Revote(job.manifest)(result).assessments
    assert [(one.subject, one.label, one.agreement) for one in found] == [
        (f"answer-{n}", "supported", 2 / 3) for n in range(3)
    ]
    assert [one.verdicts for one in found] == [one.verdicts for one in result.assessments]
    assert [one.probability for one in found] == [2 / 3, 2 / 3, 0.25]
