"""Voting again over stored verdicts with other rules, without a call and one sample at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from claimeval.evaluation.judgment import QuestionJob
from claimeval.evaluation.kinds import kind_of
from claimeval.evaluation.manifest import Manifest
from claimeval.execution import ComputedJob
from claimeval.judging.panel import voting
from claimeval.types.errors import DataError, UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import GIVEN, Assessment, SampleResult, Verdict

MAX_KINDS = 1000
"""Maximum number of combinations of verdicts whose vote is cached."""


def job_of(record: Manifest) -> Any:
    """Return the job of a run: a `QuestionJob`, or a `MeasureJob`, which has no votes.

    Raises UsageError if the run cannot be judged again.
    """
    resume = kind_of(record).resume
    if resume is None:
        raise UsageError(
            f"a run of {record.job.replace('_', '-')} has no votes; make it again, and the replies"
            " in the cache cost nothing"
        )
    return resume(record)


class Revote(ComputedJob[SampleResult]):
    """Computes the labels and scores of samples from their verdicts under the rules of a manifest;
    asks no judge.

    Verdicts of judges that are not in the manifest are left out, and so are claims without other
    verdicts.
    """

    def __init__(self, record: Manifest) -> None:
        self._record = record
        self._judges = {GIVEN, *(judge.name for judge in record.judges)}
        self._job: QuestionJob = job_of(record)
        self._panels = {question.name: question.panel for question in self._job.records}
        self._counted: dict[tuple[object, ...], Assessment] = {}

    def __call__(self, result: SampleResult) -> SampleResult:
        """Return the sample with the votes and scores."""
        return self._job.scored(
            result.model_copy(update={"assessments": tuple(self._voted(result))})
        )

    def compute(
        self, items: Iterable[SampleResult], options: RunOptions, progress: Progress
    ) -> Iterator[SampleResult]:
        """Yield each sample with the votes on its verdicts."""
        return map(self, items)

    def _voted(self, result: SampleResult) -> Iterator[Assessment]:
        of = {claim.id: claim.of for claim in result.claims}
        for a in result.assessments:
            verdicts = tuple([verdict for verdict in a.verdicts if verdict.judge in self._judges])
            if verdicts:
                same_family = self._job.same_family(
                    result.sample, of.get(a.subject, "answer"), a.against
                )
                yield self._vote(a, verdicts, same_family)
            elif not self._record.of_claims:
                yield (
                    Assessment(**_about(a), verdicts=(), unassessed="not_in_cache")
                    if a.verdicts
                    else a
                )

    def _vote(
        self, a: Assessment, verdicts: tuple[Verdict, ...], same_family: frozenset[str]
    ) -> Assessment:
        """Return the vote on the verdicts. There are few combinations of verdicts, so votes are
        cached."""
        if a.question not in self._panels:
            raise DataError(f"the run asks no question {a.question!r}, and its results are damaged")
        votes = tuple(
            [
                (v.judge, v.replicate, v.label, v.positive, v.unassessed, v.probability)
                for v in verdicts
            ]
        )
        kind = a.question, same_family, votes
        if counted := self._counted.get(kind):
            return counted.model_copy(update={**_about(a), "verdicts": verdicts})
        voted = voting.vote(
            a.subject,
            a.evidence,
            verdicts,
            self._panels[a.question],
            same_family=same_family,
            question=a.question,
        )
        if len(self._counted) < MAX_KINDS:
            self._counted[kind] = voted
        return voted


def _about(a: Assessment) -> dict[str, Any]:
    """Return the fields that say what an assessment is about."""
    return {
        name: getattr(a, name) for name in ("subject", "question", "against", "document", "order")
    }
