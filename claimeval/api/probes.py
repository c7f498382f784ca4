"""Trying a judge before a run: `probe`."""

from __future__ import annotations

from claimeval.api.jobs import JudgeSpec, parse_spec
from claimeval.api.twins import blocking
from claimeval.evaluation.probe import probe as try_judge
from claimeval.providers import specs
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.probes import Probe


def probe(judge: JudgeSpec, *, options: RunOptions = RunOptions()) -> Probe:
    """Ask a judge one real question of each kind, and say what it does; it never raises for a judge that is down.

    The two questions are paid and not stored. `.settings` is what to put into a judge file.

    Raises UsageError for a judge that cannot be asked, such as a wrong setting or one that reads no prompts.
    """
    parsed = specs.parse_judge(parse_spec(judge))
    specs.require_prompt_readers((parsed,), "questions are put")
    if options.offline:
        raise UsageError("offline: a judge is tried by asking it")
    return blocking(try_judge(parsed, options))
