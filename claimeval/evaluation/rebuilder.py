"""Rebuild the requests of results, which have replies but no requests: from prompt, sample and
claims, checked against the key of the call."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from claimeval.evaluation.manifest import Manifest
from claimeval.judging import assess, extract
from claimeval.judging.prompts import Prompt
from claimeval.lexical.sentences import sentences
from claimeval.types.errors import PromptError
from claimeval.types.records import Call, Claim, Document, SampleResult
from claimeval.types.requests import Judge, Request

if TYPE_CHECKING:
    from claimeval.evaluation.reports import SourceIndex


class Rebuilder:
    """Rebuilds the requests of a run."""

    def __init__(self, manifest: Manifest, sent: dict[str, Request] | None = None) -> None:
        """`sent` are requests by key, which are returned once instead of being rebuilt."""
        self._sent_requests = {} if sent is None else sent
        # Of a judge and an extractor with one name, the judge is meant.
        self._judges = {judge.name: judge.forms for judge in reversed(manifest.asked)}
        self._records = {record.id: record for record in manifest.prompts}
        self._prompts: dict[str | None, Prompt | None] = {}
        self._passages = manifest.settings.get("passages")
        self._index: SourceIndex | None = None
        self._sample: SampleResult | None = None
        self._asked: dict[tuple[object, ...], Request] = {}
        """Questions about claims of the latest sample, which the judges of a panel share."""

    def rebuild(self, result: SampleResult, call: Call) -> Request | None:
        """Return the request of a call; None if the rebuilt request has another key, or the judge
        reads no prompts."""
        sent = self._sent_requests.pop(call.key, None)
        if sent is not None and (call.step == "extract" or call.evidence is not None):
            return sent
        requests = (
            self._ask(result, call, judge) for judge in reversed(self._judges.get(call.judge, ()))
        )
        return next(
            (request for request in requests if request is not None and request.key == call.key),
            None,
        )

    def _ask(self, result: SampleResult, call: Call, judge: Judge) -> Request | None:
        if judge.is_engine:
            return None
        question = result.sample.full_question
        prompt = self._prompt(call.prompt)
        if prompt is None:
            return None
        if call.step == "extract":
            return self._extraction(result, call, judge, prompt)
        if self._sample is not result:
            self._sample = result
            self._asked = {}
            self._index = None
        about = call.prompt, call.evidence, call.subjects
        # Judges of a panel are asked the same, so that a prompt is rendered once for all of them.
        if known := self._asked.get(about):
            return self._sent(known.put_to(judge), call)
        claims = {claim.id: claim for claim in result.claims}
        if not claims.keys() >= set(call.subjects):
            return None
        assessed = [claims[i] for i in call.subjects]
        documents = self._shown(result, call, assessed)
        if not documents:
            return None
        alternatives = call.evidence is not None and result.sample.alternatives(call.evidence.part)
        if judge.asks:
            return self._of_checker(call, judge, prompt, assessed, documents, question)
        shown = assess.ShownDocuments(documents, alternatives, result.sample.brackets_cite)
        self._asked[about] = assess.ask(prompt, judge, assessed, shown, question)
        return self._sent(self._asked[about], call)

    def _shown(
        self, result: SampleResult, call: Call, claims: Sequence[Claim]
    ) -> tuple[Document, ...] | None:
        """Return the documents of a call: those of its evidence or, of a claim that was located or
        of a cited report, the passages that it was judged against."""
        if call.evidence is None:
            return None
        documents = result.sample.documents(call.evidence)
        if not documents:
            return None
        if "locate" in result.details:
            from claimeval.evaluation.locate import Located

            shown = Located.of(result).claims[call.subjects[0]].shown
            return tuple([documents[number] for number in shown])
        if not isinstance(self._passages, int):
            return documents
        if self._index is None:
            from claimeval.evaluation.reports import SourceIndex

            self._index = SourceIndex(result.sample.contexts or ())
        return self._index.nearest(claims, self._passages, call.evidence.document)

    def _of_checker(
        self,
        call: Call,
        judge: Judge,
        prompt: Prompt,
        assessed: Sequence[Claim],
        documents: Sequence[Document],
        question: str,
    ) -> Request | None:
        """Return the request of a checker: about all documents, or about the one whose request has
        the key of the call."""
        for shown in (documents, *[(document,) for document in documents]):
            asked = assess.ask(prompt, judge, assessed, assess.ShownDocuments(shown), question)
            sent = self._sent(asked, call)
            if sent.key == call.key:
                return sent
        return None

    def _extraction(
        self, result: SampleResult, call: Call, judge: Judge, prompt: Prompt
    ) -> Request | None:
        """Return the request of an extraction: of the text, among alternatives, whose request has
        the key of the call."""
        window = extract.TextWindow.read(call.subjects[0]) if call.subjects else None
        for text in result.sample.texts(call.part) or ():
            if window is not None and window.end > len(sentences(text)):
                continue
            question = result.sample.full_question
            asked = extract.ask(
                prompt,
                judge,
                call.part,
                text,
                question,
                window,
                brackets_cite=result.sample.brackets_cite,
            )
            sent = self._sent(asked, call)
            if sent.key == call.key:
                return sent
        return None

    def _prompt(self, number: str | None) -> Prompt | None:
        """Return the prompt of a call; None if it is from another version of claimeval."""
        if number not in self._prompts:
            record = self._records.get(number or "")
            self._prompts[number] = None
            if record:
                with suppress(PromptError):
                    self._prompts[number] = Prompt(
                        record.name, record.step, record.source, record.parameters
                    )
        return self._prompts[number]

    def _sent(self, request: Request, call: Call) -> Request:
        return request.repeated(call.attempt, call.replicate).to(request.judge)
