"""Marks of people on what was retrieved: questions are drawn, each mark is kept at once, and LGTM@10 comes of them.

The marks are qrels (1 good, 0 not), a file that is whole at any instant. Beside it, `NAME.jsonl` holds what was drawn
and every answer, a line each, appended and flushed as it is given; there stands also of what somebody was unsure.
"""

from __future__ import annotations

import heapq
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from claimeval import ir
from claimeval.evaluation import relevance
from claimeval.evaluation.relevance import gradable
from claimeval.runs.claim_labels import FOLDER
from claimeval.runs.directory import append_line, has_results, write_text
from claimeval.statistics import mean_interval
from claimeval.types.errors import DataError, UsageError
from claimeval.types.estimates import Estimate
from claimeval.types.records import Document, Record, Sample

FIRST = 10
"""Documents of each question that are marked, unless said otherwise."""
COUNT = 50
"""Questions that are drawn, unless said otherwise."""

Mark = Literal["good", "bad", "unsure"]


def default_path(data: Path) -> Path:
    """Return where labels of documents go: into a run, or to `runs/DATA-documents.qrels`."""
    if has_results(data):
        return data / FOLDER / "documents.qrels"
    return Path("runs") / f"{data.stem}-documents.qrels"


class Shown(Record):
    """A question that was drawn, and what was retrieved for it."""

    query: str
    documents: tuple[str, ...]
    """Ids of the first documents, best first."""
    without_text: tuple[str, ...] = ()
    """Those of them that nobody can mark, for their text or that of the question is not known."""


class DocumentDraw(Record):
    """What is to be marked."""

    source: str
    """The data, or the data and the TREC run."""
    first: int
    """Documents of each question, where it has so many."""
    count: int
    """Questions asked for."""
    seed: int
    population: int
    """Questions for which something was retrieved, from which was drawn."""
    without_results: int
    """Questions for which nothing was."""
    queries: tuple[Shown, ...]
    """In random order, so that stopping early leaves a fair part."""


class DocumentLabel(Record):
    """What a person says of one document; a later answer to the same stands for the earlier."""

    query: str
    document: str
    mark: Mark


class DocumentToLabel(NamedTuple):
    """A question and one of its documents, as a person is to see them."""

    query: str
    question: str
    document: Document
    number: int
    """Of the question in the drawing, from 1."""
    place: int
    """Of the document among those of the question, in the order in which they are shown, from 1."""
    of: int
    """How many of them there are."""


def draw(
    samples: Iterable[Sample], count: int, *, first: int, seed: int, source: str
) -> tuple[DocumentDraw, list[DocumentToLabel]]:
    """Draw questions with results, each as likely as any other, in one pass.

    A draw of more questions with the same seed begins with the same ones. The documents of a question are shuffled
    for showing, so that their rank says nothing.

    Args:
        samples: The questions, with what was retrieved for each as its contexts, best first.
        count: Number of questions. If there are fewer, all are drawn.
        first: Number of documents of a question.
        seed: Seed of the draw.
        source: Name of the data.

    Returns:
        The draw and its documents.

    Raises:
        DataError: If nothing was retrieved, an id is not allowed in qrels, or a question has a document twice.
    """
    population = without_results = 0

    def with_results() -> Iterator[Sample]:
        nonlocal population, without_results
        for sample in samples:
            if sample.contexts:
                population += 1
                yield sample.model_copy(update={"contexts": sample.contexts[:first]})
            else:
                without_results += 1

    chosen = heapq.nsmallest(count, with_results(), key=lambda sample: _number(sample.id, seed))
    relevance.survey(chosen)
    drawn = DocumentDraw(
        source=source,
        first=first,
        count=count,
        seed=seed,
        population=population,
        without_results=without_results,
        queries=tuple(map(_shown, chosen)),
    )
    return drawn, list(_pairs(chosen, seed))


def _shown(sample: Sample) -> Shown:
    documents = sample.contexts or ()
    blank = tuple(document.id for document in documents if not gradable(sample.question, document))
    return Shown(query=sample.id, documents=tuple(d.id for d in documents), without_text=blank)


def _pairs(chosen: Iterable[Sample], seed: int) -> Iterator[DocumentToLabel]:
    for number, sample in enumerate(chosen, 1):
        documents = sorted(
            (document for document in sample.contexts or () if gradable(sample.question, document)),
            key=lambda document: _number(f"{sample.id}\n{document.id}", seed),
        )
        for place, document in enumerate(documents, 1):
            yield DocumentToLabel(sample.id, sample.question, document, number, place, len(documents))


def _number(key: str, seed: int) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8, key=str(seed).encode()).digest()


class DocumentLabels:
    """The marks in a file, and what was drawn to be marked."""

    def __init__(self, path: Path) -> None:
        """DataError where the file holds something that is no mark of ours."""
        self.path = path
        self._log = path.with_name(f"{path.name}.jsonl")
        self.drawn: DocumentDraw | None = None
        self.answers: dict[tuple[str, str], Mark] = {}
        """Of question and document."""
        if self._log.exists():
            self._read()
        elif path.exists():
            raise UsageError(f"{path} exists and holds no marks that could be gone on with; choose another --out")

    def begin(self, drawn: DocumentDraw) -> None:
        """Keeps what was drawn. UsageError where something else was drawn into this file before."""
        before = self.drawn
        if before == drawn:
            return
        if before:
            asked = (drawn.first, drawn.seed)
            if asked != (before.first, before.seed) or drawn.count < before.count:
                raise UsageError(
                    f"{self.path} has marks of the first {before.first} documents of {before.count} questions, seed "
                    f"{before.seed}; go on with these options or with more questions, or choose another --out"
                )
            now = {shown.query: shown for shown in drawn.queries}
            for shown in before.queries:
                if now.get(shown.query) != shown:
                    raise DataError(
                        f"the first documents of {shown.query!r} are not those that {self.path} was begun with "
                        f"({before.source}); choose another --out for other data"
                    )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        append_line(self._log, {"drawn": drawn.model_dump(mode="json")})
        self.drawn = drawn
        self._write_qrels()

    def add(self, answer: DocumentLabel) -> None:
        """Keeps one answer; it is on the disk when this returns."""
        append_line(self._log, answer.model_dump())
        self.answers[answer.query, answer.document] = answer.mark
        self._write_qrels()

    def qrels(self) -> dict[str, dict[str, int]]:
        """1 for good and 0 for not; what somebody was unsure of is not judged."""
        found: dict[str, dict[str, int]] = {}
        for (query, document), mark in self.answers.items():
            if mark != "unsure":
                found.setdefault(query, {})[document] = int(mark == "good")
        return found

    def _write_qrels(self) -> None:
        lines = io.StringIO()
        ir.write_qrels(self.qrels(), lines)
        write_text(self.path, lines.getvalue())

    def _read(self) -> None:
        content = self._log.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self._log, whole)  # a line that a full disk cut off
        for number, line in enumerate(content[:whole].splitlines(), 1):
            try:
                fields = json.loads(line)
                if "drawn" in fields:
                    self.drawn = DocumentDraw.model_validate(fields["drawn"])
                else:
                    answer = DocumentLabel.model_validate(fields)
                    self.answers[answer.query, answer.document] = answer.mark
            except (ValueError, TypeError, ValidationError):
                raise DataError(f"{self._log}, line {number}: no mark of a document") from None


class Lgtm(Estimate):
    """LGTM@k: the mean over questions of the share of good ones among the first k documents.

    The share is of what was shown and marked: a list of six documents is divided by six (`P@10` of the marks divides
    by ten). A question without a mark has no value; unsure and unmarked documents never count as bad.
    """

    first: int
    bounds: tuple[float, float] | None
    """The mean over the questions that were begun if all that has no mark were bad, and if it were good."""
    good: int
    bad: int
    unsure: int
    unmarked: int
    """Documents of the drawn questions that nobody has answered yet."""
    without_text: int
    """Documents that nobody can mark."""
    drawn: int
    """Questions drawn."""
    begun: int
    """Those with an answer to a document or more."""
    without_results: int
    """Questions of the data for which nothing was retrieved; they were not drawn from."""


def lgtm(drawn: DocumentDraw, answers: dict[tuple[str, str], Mark]) -> Lgtm:
    """What the marks say about the questions that were drawn."""
    values, lows, highs = [], [], []
    counts = Counter({"good": 0, "bad": 0, "unsure": 0})
    for shown in drawn.queries:
        mine = [answers[shown.query, name] for name in shown.documents if (shown.query, name) in answers]
        good, bad = mine.count("good"), mine.count("bad")
        for mark in mine:
            counts[mark] += 1
        if good + bad:
            values.append(good / (good + bad))
        if mine:
            lows.append(good / len(shown.documents))
            highs.append(1 - bad / len(shown.documents))
    found = Estimate.of(mean_interval(values))
    if not values:
        found = found.model_copy(update={"because": "nothing is marked good or bad yet"})
    blank = sum(len(shown.without_text) for shown in drawn.queries)
    shown_documents = sum(len(shown.documents) for shown in drawn.queries)
    return Lgtm(
        first=drawn.first,
        **dict(found),
        bounds=(sum(lows) / len(lows), sum(highs) / len(highs)) if lows else None,
        good=counts["good"],
        bad=counts["bad"],
        unsure=counts["unsure"],
        unmarked=shown_documents - blank - sum(counts.values()),
        without_text=blank,
        drawn=len(drawn.queries),
        begun=len(lows),
        without_results=drawn.without_results,
    )
