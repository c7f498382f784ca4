"""The write_queries job: a judge writes questions about documents; rules and a second judge reject
bad questions.

An item is a document. Its result lists all written questions, with the reasons for rejected ones.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path

from pydantic import JsonValue
from rapidfuzz import fuzz

from claimeval.data.sampling import DistinctQuestions, seeded
from claimeval.evaluation.ask import CallAddress, ask_until_read
from claimeval.evaluation.grade import check_name
from claimeval.evaluation.kinds import JobKind
from claimeval.evaluation.manifest import Manifest, versions
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import prompts, queries
from claimeval.judging.prompts import Prompt
from claimeval.judging.replies import WrittenQuery
from claimeval.metrics.scoring import defined, undefined
from claimeval.providers import specs
from claimeval.types.errors import DataError, UsageError
from claimeval.types.records import Call, Document, Reason, Record, Sample, SampleResult
from claimeval.types.requests import Failure, Judge, Request

NAME = "write_queries"
UNITS = {"written_queries": "queries", "kept_queries": "queries"}
"""The metrics and their unit: the numbers of questions written about a document, and of those
kept."""


class Query(Record):
    """A written question, kept or rejected."""

    id: str
    question: str
    answer: str
    passage: str
    rejected: tuple[str, ...] = ()
    """Why it is rejected: a rule, or the criteria that it does not meet."""
    explanation: str | None = None
    """The checker's explanation."""
    unassessed: Reason | None = None
    """Why the checker did not assess it; such a question is not kept."""

    @property
    def kept(self) -> bool:
        """Whether the question is in the test set."""
        return not self.rejected and self.unassessed is None


@dataclass(frozen=True)
class WriteQueriesJob:
    """Write questions about documents, and check them."""

    writer: Judge
    checker: Judge
    write_prompt: Prompt
    check_prompt: Prompt
    per_document: int
    name = NAME

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The writer and, if it is another judge, the checker."""
        return (self.writer,) if self.writer == self.checker else (self.writer, self.checker)

    @property
    def asked(self) -> tuple[Judge, ...]:
        """All judges that may get requests."""
        return self.judges

    @property
    def manifest(self) -> Manifest:
        """All settings that affect the questions."""
        return Manifest(
            job=NAME,
            metrics=tuple(UNITS),
            judges=self.judges,
            prompts=(self.write_prompt.record, self.check_prompt.record),
            settings={"per_document": self.per_document},
            versions=versions(*self.judges),
        )

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return whether the writer or the checker has stopped."""
        return any(judge.name in stopped for judge in self.judges)

    async def evaluate(self, item: Document, executor: Executor) -> SampleResult:
        """Return the questions about one document, with the reasons for rejected ones."""
        sample = Sample(id=item.id, question="", contexts=(item,))
        reply = await ask_until_read(
            queries.ask_to_write(self.write_prompt, self.writer, item, self.per_document),
            queries.read_written,
            executor,
            CallAddress("queries", "document"),
            item.id,
        )
        if isinstance(reply.value, Failure):
            scores = undefined(UNITS, reply.value.reason)
            return SampleResult.of(sample, scores=scores, calls=reply.calls)
        checked = await gather_all(
            # Some models write more questions than they were asked for, and each check is paid.
            [self._check(query, item, executor) for query in reply.value[: self.per_document]]
        )
        calls = (*reply.calls, *chain.from_iterable(check_calls for _, check_calls in checked))
        return _with_queries(SampleResult.of(sample, calls=calls), [query for query, _ in checked])

    async def _check(
        self,
        written: WrittenQuery,
        document: Document,
        executor: Executor,
    ) -> tuple[Query, tuple[Call, ...]]:
        name = sha256(
            # A JSON file may hold half of a surrogate pair, which plain UTF-8 refuses.
            f"{document.id}\n{written.question}".encode("utf-8", "surrogatepass")
        ).hexdigest()[:12]
        query = Query(
            id=f"q-{name}",
            question=written.question,
            answer=written.answer,
            passage=written.passage,
        )
        if reason := rejected(written, document):
            return query.model_copy(update={"rejected": (reason,)}), ()
        reply = await ask_until_read(
            queries.ask_to_check(
                self.check_prompt,
                self.checker,
                written.question,
                written.answer,
                document,
            ),
            queries.read_checked,
            executor,
            CallAddress("screen", "document"),
            document.id,
        )
        if isinstance(reply.value, Failure):
            return query.model_copy(update={"unassessed": reply.value.reason}), reply.calls
        failed = tuple(f"not {name}" for name in reply.value.failed)
        checked = query.model_copy(
            update={"rejected": failed, "explanation": reply.value.explanation}
        )
        return checked, reply.calls

    @property
    def first_stage(self) -> WriteQueriesJob:
        """The job itself."""
        return self

    def usual_checks(self, document: Document) -> Iterator[Request]:
        """Yield requests to check questions of typical length, for a forecast before they are
        written."""
        for n in range(self.per_document):
            yield queries.ask_to_check(
                self.check_prompt,
                self.checker,
                f"{n:080}",
                "." * 120,
                document,
            )


def make_job(
    writer: str | Judge,
    checker: str | Judge | None = None,
    *,
    write_prompt: str = "plain",
    check_prompt: str = "plain",
    per_document: int = 1,
) -> WriteQueriesJob:
    """Return the job after checking all settings, before any call is made.

    Args:
        writer: The judge that writes questions.
        checker: The judge that checks them. Default: the writer.
        write_prompt: Name or path of the prompt for writing.
        check_prompt: Name or path of the prompt for checking.
        per_document: Maximum number of questions about each document.

    Raises:
        UsageError: If a judge or prompt is unknown, or a judge reads no prompts.
    """
    first = specs.parse_judge(writer)
    second = specs.parse_judge(checker) if checker else first
    specs.require_prompt_readers((first, second), "questions are written")
    if first.name == second.name and first != second:
        raise UsageError(
            f"writer and checker are both called {first.name!r} but differ; give one another name"
        )
    loaded = prompts.load("queries", write_prompt), prompts.load("screen", check_prompt)
    return WriteQueriesJob(first, second, *loaded, per_document)


def draw(corpus: Iterable[Document], count: int, seed: int) -> tuple[Document, ...]:
    """Draw `count` documents with a text, all equally likely, in one pass; the same seed gives the
    same documents."""
    with_text = (document for document in corpus if document.text.strip())
    drawn = heapq.nsmallest(count, with_text, key=lambda document: seeded(document.id, seed))
    if not drawn:
        raise DataError("the corpus has no document with a text")
    for document in drawn:
        check_name(document.id, "document")
    return tuple(drawn)


VERBATIM = 90.0
"""Minimum `rapidfuzz.fuzz.partial_ratio`, of 100, at which a question is a copy of its document."""
WORDS = (3, 60)
"""Minimum and maximum number of words in a question in ASCII; words of other scripts are not
counted."""

_POINTS = re.compile(
    r"""\b(?:
    (?:this|the|that|given|provided|above|following)\s+
    (?:document|passage|text|excerpt|article|paragraph|section|page|context|table|figure|chapter
    |snippet)
    |
    (?:mentioned|described|stated|listed|shown|discussed)\s+(?:above|here|below)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


def rejected(query: WrittenQuery, document: Document) -> str | None:
    """Return the rule that rejects a question; None if it passes all rules."""
    text = _folded(document.text)
    words = len(query.question.split())
    # Chinese and Japanese have no spaces, so that every question would have one word.
    if query.question.isascii() and not WORDS[0] <= words <= WORDS[1]:
        return "too short or too long"
    if _folded(query.passage) not in text:
        return "passage not in the document"
    if _POINTS.search(query.question):
        return "points at the document"
    # "Is the tower of Bern 100 metres high?" has its answer in it, and every system would be right.
    if _folded(query.answer) in _folded(query.question):
        return "gives its answer away"
    folded = _folded(query.question).rstrip("?!. ")
    if fuzz.partial_ratio(folded, text, score_cutoff=VERBATIM):
        return "copied from the document"
    return None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def reject_repeated() -> Callable[[SampleResult], SampleResult]:
    """Return a function to call with the results in order, which keeps the first of nearly
    identical questions."""
    distinct = DistinctQuestions()

    def revise(result: SampleResult) -> SampleResult:
        if "queries" not in result.details:
            return result
        queries = [
            (
                query.model_copy(update={"rejected": ("nearly the same as another",)})
                if query.kept and not distinct.add(query.question.casefold())
                else query
            )
            for query in queries_of(result)
        ]
        return _with_queries(result, queries)

    return revise


def _with_queries(result: SampleResult, queries: list[Query]) -> SampleResult:
    counts = {"written_queries": len(queries), "kept_queries": sum(query.kept for query in queries)}
    records: list[JsonValue] = [
        query.model_dump(mode="json", exclude_defaults=True) for query in queries
    ]
    scores = defined(counts, UNITS)
    return result.model_copy(update={"scores": scores, "details": {"queries": records}})


def queries_of(result: SampleResult) -> tuple[Query, ...]:
    """Return all questions that were written about a document."""
    records = result.details.get("queries", ())
    assert isinstance(records, (list, tuple))
    return tuple(map(Query.model_validate, records))


def kept_samples(record: Manifest, results: Iterable[SampleResult]) -> Iterator[Sample]:
    """Yield the test set: a sample for each kept question, with answer, passage, source and
    origin."""
    writer = record.judges[0]
    checker = record.judges[-1]
    write_prompt, check_prompt = (
        f"{prompt.name} {prompt.digest[:12]}" for prompt in record.prompts
    )
    corpus = Path(record.data.path).name if record.data.path else "documents"
    for result in results:
        origin: dict[str, JsonValue] = {
            "corpus": corpus,
            "document": result.sample.id,
            "seed": record.settings["seed"],
            "writer": writer.name,
            "checker": checker.name,
            "write_prompt": write_prompt,
            "check_prompt": check_prompt,
        }
        for query in queries_of(result):
            if query.kept:
                yield Sample(
                    id=query.id,
                    question=query.question,
                    reference_answers=(query.answer,),
                    reference_contexts=(query.passage,),
                    reference_context_ids=(result.sample.id,),
                    is_answerable=True,
                    reference_author=writer.model,
                    metadata={"made": origin},
                )


def sources(record: Manifest, results: Iterable[SampleResult]) -> dict[str, dict[str, int]]:
    """Return the source of each kept question, with grade 1."""
    return {
        sample.id: dict.fromkeys(sample.reference_context_ids, 1)
        for sample in kept_samples(record, results)
    }


KIND = JobKind(
    NAME,
    in_shards=False,
    unique=False,
    revise=reject_repeated,
    qrels=sources,
    samples=kept_samples,
)


class WrittenCounts(Record):
    """Numbers of written, kept and rejected questions."""

    documents: int
    written: int
    kept: int
    rejected: dict[str, int]
    """Rejected questions, by first reason."""
    failures: dict[Reason, int]
    """Documents without a readable reply and unassessed questions, by reason."""


def count_queries(results: Iterable[SampleResult]) -> WrittenCounts:
    """Return the counts of a run."""
    documents = written = accepted = 0
    rejected: Counter[str] = Counter()
    failures: Counter[Reason] = Counter()
    for result in results:
        documents += 1
        if because := result["written_queries"].because:
            failures[because] += 1
        for query in queries_of(result):
            written += 1
            accepted += query.kept
            if query.rejected:
                rejected[query.rejected[0]] += 1
            elif query.unassessed:
                failures[query.unassessed] += 1
    return WrittenCounts(
        documents=documents,
        written=written,
        kept=accepted,
        rejected=dict(rejected.most_common()),
        failures=dict(failures.most_common()),
    )
