"""What can be read off an assessment."""

from __future__ import annotations

import pytest

from claimeval.types.records import Assessment, Label, Verdict


def verdict(judge: str, label: Label, *cites: str) -> Verdict:
    return Verdict(judge=judge, label=label, positive=label == "supported", cites=cites)


def of(label: Label, *verdicts: Verdict) -> Assessment:
    return Assessment(
        subject="1",
        question="support",
        against="contexts",
        label=label,
        positive=label == "supported",
        verdicts=verdicts,
    )


@pytest.mark.parametrize("last", ["contradicted", "not_found"])
def test_a_document_that_an_outvoted_judge_cites_supports_nothing(last: Label) -> None:
    first = verdict("a", "supported", "d2", "d1")
    second = verdict("b", "supported", "d1")
    assert of("supported", first, second, verdict("c", last, "d3")).supported_by == ("d2", "d1")


def test_a_claim_that_is_not_supported_has_no_supporting_document() -> None:
    assert of("contradicted", verdict("a", "contradicted", "d1")).supported_by == ()
    assert of("not_found").supported_by == ()
