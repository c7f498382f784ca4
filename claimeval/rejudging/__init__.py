"""The same answers and claims under other judges, prompts, metrics or votes; what is known already is not asked again.

Claims are taken from the run. They are asked for again only for parts that have none, and for all parts when another
extractor or another prompt for it is named. Verdicts of a judge are taken over where judge and prompt are the same.
"""

from __future__ import annotations

from claimeval.rejudging.preparing import Prepared, Wanted, prepare
from claimeval.rejudging.running import arejudge, recount, rejudge
from claimeval.rejudging.sources import Source, open_source

__all__ = ["Prepared", "Source", "Wanted", "arejudge", "open_source", "prepare", "recount", "rejudge"]
