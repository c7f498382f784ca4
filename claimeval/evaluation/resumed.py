"""Keep the results that a run had written when it was interrupted, where judges would be asked the
same again.

To read a reply, to vote and to find the evidence takes most of the time of a sample whose replies
are stored. Its requests are rebuilt all the same, and answered from the reply cache: replies that
were stored say more than their result, as whether a server cuts long prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from claimeval.evaluation.claims import ClaimsJob
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.execution import Executor
from claimeval.types.records import Sample, SampleResult
from claimeval.types.requests import Judge, Request


class ResumedJob:
    """A job of a run that is resumed."""

    def __init__(self, job: ClaimsJob, manifest: Manifest, written: Iterator[SampleResult]) -> None:
        """Begin with the results that were written with this job and this manifest, in the order
        of the samples."""
        self._job = job
        self._manifest = manifest
        self._written = written
        self._rebuilder: Rebuilder | None = None
        self.is_same = True
        """Whether all results so far are those that were written."""

    @property
    def asked(self) -> tuple[Judge, ...]:
        """All judges that may get requests."""
        return self._job.asked

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return whether the job cannot continue without the judges that have stopped."""
        return self._job.cannot_continue(stopped)

    async def evaluate(self, item: Sample | SampleResult, executor: Executor) -> SampleResult:
        """Return the written result of a sample, if its requests still have the same replies; else
        evaluate the sample."""
        # Samples are evaluated side by side, but begun in their order.
        written = next(self._written, None)
        if written is None or isinstance(item, SampleResult):
            self.is_same = False
            return await self._job.evaluate(item, executor)
        sample = self._job.numbered(item)
        if written.sample == sample and self._holds(written, executor):
            # Equal metadata may be written in another way: 1, 1.0, true.
            return written.model_copy(update={"sample": sample})
        result = await self._job.evaluate(item, executor)
        self.is_same = self.is_same and result == written
        return result

    def _holds(self, written: SampleResult, executor: Executor) -> bool:
        """Return whether a result would be the same again."""
        replies = executor.replies
        if replies is None or not written.calls:
            return False
        if self._rebuilder is None:
            # The manifest of a run that was killed does not say what servers refuse, which its
            # requests were sent without.
            self._rebuilder = Rebuilder(self._manifest.with_learned(replies.learned))
        requests = list[Request]()
        for call in written.calls:
            # What follows a call that did not bring all values depends on options that may differ,
            # as what to ask again.
            clean = not (call.failed or call.message or call.attempt or call.window)
            request = self._rebuilder.rebuild(written, call) if clean else None
            if request is None:
                return False
            requests.append(request)
        if not replies.answer(requests):
            return False
        for part in dict.fromkeys(call.part for call in written.calls if call.step == "extract"):
            claims = tuple([claim for claim in written.claims if claim.of == part])
            self._job.check_grounding(self._job.extractor, claims, executor)
        return True
