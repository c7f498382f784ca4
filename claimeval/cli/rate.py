"""`claimeval rate`: ratings of whole answers, compared with the claims of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from claimeval.cli.command import Heading, Pairs, command
from claimeval.cli.front import Shown
from claimeval.cli.shared import Data, Front, JobOptions, Judges, Out, arguments
from claimeval.types.options import RunOptions

if TYPE_CHECKING:
    from claimeval.api.run import Run

LISTED = {"rate": ("Judge", 3, "Judge answers as a whole, refusals included.")}
SHOWN = 10
"""Number of samples with different results by answer and by claims that are printed; `--json` has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingQuestions:
    """Options for the questions to judges."""

    ask: str | None = None
    """Comma-separated: relevance, faithfulness, correctness, abstention.  [default: all whose fields the data has]"""
    criteria: Annotated[Mapping[str, str], Pairs("--criterion", "NAME=SENTENCE")] = field(default_factory=dict)
    """NAME=SENTENCE, as in 'polite=The answer stays polite.'; NAME:contexts=... shows the contexts too. Repeatable."""
    prompts: Annotated[Mapping[str, str], Pairs("--prompt", "QUESTION=FILE")] = field(default_factory=dict)
    """QUESTION=FILE, as in faithfulness=my/strict.j2. Repeatable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateCommand(JobOptions):
    """Judge whole answers: relevant, faithful, correct, declining?

    Takes one call per question, answer and judge: cheaper and coarser than claims. The ratings of a run become
    RUN/rate, and are compared with its claims.

    Example: claimeval rate runs/a -j openai:gpt-5-mini --ask relevance
    """

    data: Data
    """The samples, or a run over them."""
    judges: Judges
    """PROVIDER:MODEL[@URL] or judge file; repeatable."""
    out: Out = None
    """Run directory; default RUN/rate or runs/DATA-SETTINGS."""
    questions: Annotated[RatingQuestions, Heading("Questions")] = RatingQuestions()
    shown: Front = Shown()


def do(args: RateCommand) -> int:
    """Rate the answers, print the ratings, and return the exit code."""
    from claimeval.cli.running import print_finished, watch
    from claimeval.evaluation.rate import ANSWERED, count_words, outcomes
    from claimeval.evaluation.raters import compare_ratings, members
    from claimeval.runs.directory import has_results, read_results
    from claimeval.runs.views import ratings

    finished = watch(lambda options: door(args, options), args.options, args.gates, args.output)
    if finished.of_shard:
        return print_finished("rate", finished, args.output)
    run = finished.run
    claims = None if finished.stopped or run.path is None else run.path.parent
    comparisons = (
        compare_ratings(read_results(claims), run.results, run.manifest.cluster)
        if claims and has_results(claims)
        else ()
    )
    counts, judged = count_words(run.results, run.manifest), members(run.results, run.manifest)
    answered = outcomes(run.results) if ANSWERED in run.manifest.names else {}
    if args.shown.details and not finished.stopped:
        args.output.draw(ratings.view(counts | ({"outcomes": answered} if answered else {}), judged, comparisons))
    more = {
        "ratings": counts,
        "members": {name: member.model_dump() for name, member in judged.items()},
        "against_claims": [comparison.model_dump() for comparison in comparisons],
        "outcomes": answered,
    }
    return print_finished("rate", finished, args.output, more, shown=args.shown)


def door(args: RateCommand, options: RunOptions) -> Run:
    """Call the function of the API."""
    from claimeval.api.ratings import rate

    return rate(**arguments(args, out=args.out or "runs/", options=options))


rate = command("rate", RateCommand, do, door)
