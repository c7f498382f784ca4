"""Several judges over the same claims: how they are asked, how their verdicts become a label, how far they agree.

Verdicts are stored per judge. A vote is arithmetic over stored verdicts, so it can be redone without a call, and a
judge that gave no label (an outage, a refusal, an abstention) has no part in it: it never counts as a "no".
"""

from __future__ import annotations

from claimeval.judging.panel.settings import Panel, check
from claimeval.judging.panel.voting import disputed, same_family, vote

__all__ = ["Panel", "check", "disputed", "same_family", "vote"]
