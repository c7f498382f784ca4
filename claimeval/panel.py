"""Verdicts of several judges -> one label. The vote is arithmetic over stored verdicts and can be redone offline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from claimeval.records import Assessment, Part, Reason, Verdict


def vote(claim_id: str, against: Part, verdicts: Sequence[Verdict]) -> Assessment:
    """Majority of the judges that gave a label. A tie for the first place is no label (`tie`).

    One judge's label stands as it is. With no label at all the most frequent reason is given, the first judge's
    among equals. `agreement` is the share of the labelled verdicts that equal the label, from two labels on.
    """
    labels = Counter(verdict.label for verdict in verdicts if verdict.label != "unassessed")
    if not labels:
        reasons = Counter(v.unassessed_because for v in verdicts if v.unassessed_because)
        return _unassessed(claim_id, against, verdicts, reasons.most_common(1)[0][0])
    (label, votes), *others = labels.most_common()
    if others and others[0][1] == votes:
        return _unassessed(claim_id, against, verdicts, "tie")
    return Assessment(
        claim_id=claim_id,
        against=against,
        verdicts=tuple(verdicts),
        label=label,
        agreement=votes / labels.total() if labels.total() > 1 else None,
    )


def _unassessed(claim_id: str, against: Part, verdicts: Sequence[Verdict], reason: Reason) -> Assessment:
    return Assessment(
        claim_id=claim_id,
        against=against,
        verdicts=tuple(verdicts),
        label="unassessed",
        unassessed_because=reason,
    )
