"""The weights of judges' votes, from how often people agree with them."""

from __future__ import annotations

from claimeval.agreement.joining import PANEL, Joined
from claimeval.panel import Panel
from claimeval.statistics import vote_weight


def weights(joined: Joined, panel: Panel) -> dict[str, float]:
    """Per judge `statistics.vote_weight` of its accuracy on the human labels, drawn towards one half.

    It is right where it gives a claim the same value as people, since that is what is voted on first. A judge that
    shares no label with people counts as right half of the time.
    """
    found = {}
    values = {panel.value(choice) for choice in panel.choices}
    for judge, said in joined.raters.items():
        if judge == PANEL:
            continue
        both = [
            (panel.value(a), panel.value(b))
            for a, b in zip(said, joined.human, strict=True)
            if a is not None and b is not None
        ]
        found[judge] = vote_weight(sum(a == b for a, b in both), len(both), labels=max(2, len(values)))
    return found
