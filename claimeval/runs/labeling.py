"""Drawing claims and documents of a run for people to label, and keeping their labels, a line each, at once.

Of claims, `annotation/METRIC.json` says what was drawn and with what probability each claim of the run was, which a
corrected score needs; `annotation/METRIC.labels.jsonl` has the labels. Marks of documents are qrels (1 good, 0 not), a
file that is whole at any instant; beside it, `NAME.jsonl` holds what was drawn and every answer, also of what somebody
was unsure. LGTM@10 comes of them.
"""

from __future__ import annotations

import csv
import heapq
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from claimeval import ir
from claimeval.data.labels import LabelFile
from claimeval.data.rows import SourceRow, guarded, read_rows
from claimeval.evaluation import grade
from claimeval.evaluation.grade import gradable
from claimeval.metrics.rows import Metric
from claimeval.metrics.scoring import counted
from claimeval.runs.directory import (
    ANNOTATION,
    append_line,
    has_results,
    label_files,
    load_manifest,
    read_results,
    write_text,
)
from claimeval.statistics import Draw, draw_by_uncertainty, draw_stratified, draw_uniform, mean_interval
from claimeval.types.errors import DataError, UsageError, unknown_name
from claimeval.types.estimates import Estimate
from claimeval.types.records import Assessment, Claim, Document, Label, Record, Sample, SampleResult

Design = Literal["uniform", "stratified", "uncertainty"]


class Item(Record):
    """One claim of a run that somebody is to label, with the probability with which it was drawn."""

    sample: str
    claim_id: str
    probability: float


class ClaimDraw(Record):
    """What was drawn from a run for one metric."""

    metric: Metric
    design: Design
    seed: int
    population: int
    """Claims with a label of the judges, from which was drawn."""
    items: tuple[Item, ...]
    """In the order in which they are to be labeled: shuffled, so that stopping early leaves a fair part."""


class ClaimToLabel(Record):
    """What a person sees: the claim and its evidence, and nothing that a judge said."""

    item: Item
    result: SampleResult
    claim: Claim


def draw_claims(run: Path, metric: str | None, count: int, design: Design, seed: int) -> ClaimDraw:
    """Draw judged claims of a metric, or return the earlier draw.

    Args:
        run: The run directory.
        metric: Name of the metric. Default: the first metric of the run.
        count: Number of claims; all if there are fewer.
        design: How claims are drawn.
        seed: Seed of the draw.

    Returns:
        The draw.

    Raises:
        UsageError: If something else was drawn already, or the run has no judged claim.
    """
    row = metric_of(run, metric)
    if (before := drawn(run, row.name)) is not None:
        settings = (len(before.items), before.design, before.seed)
        if settings != (min(count, before.population), design, seed):
            raise UsageError(
                f"{len(before.items)} claims were already drawn for {row.name} ({before.design}, seed {before.seed}); "
                f"continue with these options, or remove {_path(run, row.name)} to draw again"
            )
        return before
    judged = [(r.sample.id, a) for r in read_results(run) for a in _assessments(r, row) if a.label is not None]
    chosen = _draw([a for _, a in judged], min(count, len(judged) or count), design, seed)
    items = [
        Item(sample=judged[i][0], claim_id=judged[i][1].subject, probability=chosen.probabilities[i])
        for i in chosen.chosen
    ]
    order = draw_order(len(items), seed)
    claim_draw = ClaimDraw(
        metric=row, design=design, seed=seed, population=len(judged), items=tuple(items[i] for i in order)
    )
    path = _path(run, row.name)
    path.parent.mkdir(exist_ok=True)
    write_text(path, claim_draw.model_dump_json(indent=1) + "\n")
    return claim_draw


def draw_order(count: int, seed: int) -> list[int]:
    """Return a shuffled order of so many items."""
    import random

    order = list(range(count))
    random.Random(seed).shuffle(order)
    return order


def _draw(judged: list[Assessment], count: int, design: Design, seed: int) -> Draw:
    if design == "uniform":
        return draw_uniform(len(judged), count, seed=seed)
    if design == "stratified":
        return draw_stratified([a.label for a in judged], count, seed=seed)
    return draw_by_uncertainty([_uncertainty(a) for a in judged], count, seed=seed)


def _uncertainty(assessment: Assessment) -> float:
    """p (1 - p) of the probability of "supported", or of the share of the verdicts that say so; 0 where there was
    nothing to assess against."""
    if assessment.unasked:
        return 0.0
    probabilities = [v.probability for v in assessment.verdicts if v.probability is not None]
    labeled = [v.support == "supported" for v in assessment.verdicts if v.label is not None]
    p = sum(probabilities) / len(probabilities) if probabilities else sum(labeled) / len(labeled) if labeled else 0.5
    return p * (1 - p)


def drawn(run: Path, metric: str) -> ClaimDraw | None:
    """Return what was drawn for a metric; None when nothing was. DataError where the file is damaged."""
    path = _path(run, metric)
    if not path.exists():
        return None
    try:
        return ClaimDraw.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise DataError(f"{path} is not a drawing: {error.errors()[0]['msg']}") from error


def questions(run: Path, drawn: ClaimDraw) -> Iterator[ClaimToLabel]:
    """Yield the drawn claims in the order of the drawing."""
    drawn_from = {item.sample for item in drawn.items}
    results = {result.sample.id: result for result in read_results(run) if result.sample.id in drawn_from}
    for item in drawn.items:
        result = results[item.sample]
        claim = next(claim for claim in result.claims if claim.id == item.claim_id)
        yield ClaimToLabel(item=item, result=result, claim=claim)


class ClaimLabels:
    """The labels given so far for a metric of a run; an annotator's later label of a claim replaces the earlier."""

    def __init__(self, run: Path, metric: str) -> None:
        self.path = _labels_path(run, metric)
        self._rows: dict[tuple[str, str, str], SourceRow] = {}
        """By sample, claim and annotator."""
        if self.path.exists():
            for row in read_rows(self.path):
                self._rows[self._key(row.fields)] = row

    @staticmethod
    def _key(fields: Mapping[str, object]) -> tuple[str, str, str]:
        return str(fields["id"]), str(fields["claim_id"]), str(fields.get("annotator") or "")

    def by(self, annotator: str) -> dict[tuple[str, str], str]:
        """Return the labels of an annotator, "unsure" included, by sample and claim; those of all for an empty name."""
        return {
            (sample, claim): str(row.fields["label"])
            for (sample, claim, name), row in self._rows.items()
            if annotator in ("", name)
        }

    def add(self, question: ClaimToLabel, against: str, answer: Label | Literal["unsure"], annotator: str) -> None:
        """Write one answer to the file before returning.

        Args:
            question: The claim.
            against: The evidence of the label.
            answer: The label, or `unsure`.
            annotator: Name of the annotator; empty for none.
        """
        fields: dict[str, object] = {
            "id": question.item.sample,
            "claim_id": question.claim.id,
            "text": question.claim.text,
            "against": against,
            "label": answer,
            **({"annotator": annotator} if annotator else {}),
        }
        key = self._key(fields)
        replaces = key in self._rows
        self._rows[key] = SourceRow(str(self.path), 0, fields)
        if replaces:
            write_text(self.path, "".join(json.dumps(row.fields) + "\n" for row in self._rows.values()))
        else:
            append_line(self.path, fields)


def labels_in(run: Path, metric: str | None = None) -> LabelFile | None:
    """Return the labels of people in a run directory, for all metrics or one; None if there are none."""
    files = label_files(run, metric)
    return LabelFile(*files) if files else None


COLUMNS = ("id", "claim_id", "text", "against", "question", "evidence", "label")


def export(run: Path, drawn: ClaimDraw, path: Path) -> int:
    """Writes the drawn claims as CSV for people who label elsewhere; the column `label` is theirs to fill."""
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for question in questions(run, drawn):
            sample, against = question.result.sample, drawn.metric.against
            evidence = "\n\n".join(document.text for document in sample.documents(against) or ())
            row = (sample.id, question.claim.id, question.claim.text, against, sample.question, evidence, "")
            writer.writerow(map(guarded, row))
    return len(drawn.items)


def metric_of(run: Path, name: str | None) -> Metric:
    """Return a metric of a run by name, the first for None; UsageError with the closest name otherwise."""
    manifest = load_manifest(run)
    metrics = {metric.name: metric for metric in manifest.rows}
    if not metrics:
        raise UsageError(f"{run} is a run of {manifest.job}; only metrics of claims are labeled and corrected")
    if name is None:
        return next(iter(metrics.values()))
    if name not in metrics:
        raise unknown_name("metric of the run", name, metrics)
    return metrics[name]


def _assessments(result: SampleResult, metric: Metric) -> Iterator[Assessment]:
    of = counted(metric, result)
    return (a for a in result.assessments if a.evidence.part == metric.against and a.subject in of)


def _path(run: Path, metric: str) -> Path:
    return run / ANNOTATION / f"{metric}.json"


def _labels_path(run: Path, metric: str) -> Path:
    return _path(run, metric).with_suffix(".labels.jsonl")


FIRST = 10
"""Documents of each question that are marked, unless said otherwise."""
COUNT = 50
"""Questions that are drawn, unless said otherwise."""

Mark = Literal["good", "bad", "unsure"]


def default_path(data: Path) -> Path:
    """Return where labels of documents go: into a run, or to `runs/DATA-documents.qrels`."""
    if has_results(data):
        return data / ANNOTATION / "documents.qrels"
    return Path("runs") / f"{data.stem}-documents.qrels"


class QueryToLabel(Record):
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
    queries: tuple[QueryToLabel, ...]
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


def draw_documents(
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
    grade.survey(chosen)
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


def _shown(sample: Sample) -> QueryToLabel:
    documents = sample.contexts or ()
    blank = tuple(document.id for document in documents if not gradable(sample.question, document))
    return QueryToLabel(query=sample.id, documents=tuple(d.id for d in documents), without_text=blank)


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
            raise UsageError(f"{path} exists and holds no labels to continue from; choose another --out")

    def begin(self, drawn: DocumentDraw) -> None:
        """Keeps what was drawn. UsageError where something else was drawn into this file before."""
        before = self.drawn
        if before == drawn:
            return
        if before:
            settings = (drawn.first, drawn.seed)
            if settings != (before.first, before.seed) or drawn.count < before.count:
                raise UsageError(
                    f"{self.path} has marks of the first {before.first} documents of {before.count} questions, seed "
                    f"{before.seed}; continue with these options or with more questions, or choose another --out"
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
        qrels: dict[str, dict[str, int]] = {}
        for (query, document), mark in self.answers.items():
            if mark != "unsure":
                qrels.setdefault(query, {})[document] = int(mark == "good")
        return qrels

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


class LgtmEstimate(Estimate):
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


def lgtm(drawn: DocumentDraw, answers: dict[tuple[str, str], Mark]) -> LgtmEstimate:
    """Return what the marks say about the questions that were drawn."""
    values, lows, highs = [], [], []
    counts = Counter({"good": 0, "bad": 0, "unsure": 0})
    for shown in drawn.queries:
        labels = [answers[shown.query, name] for name in shown.documents if (shown.query, name) in answers]
        good, bad = labels.count("good"), labels.count("bad")
        for mark in labels:
            counts[mark] += 1
        if good + bad:
            values.append(good / (good + bad))
        if labels:
            lows.append(good / len(shown.documents))
            highs.append(1 - bad / len(shown.documents))
    estimate = Estimate.of(mean_interval(values))
    if not values:
        estimate = estimate.model_copy(update={"because": "nothing is marked good or bad yet"})
    blank = sum(len(shown.without_text) for shown in drawn.queries)
    shown_documents = sum(len(shown.documents) for shown in drawn.queries)
    return LgtmEstimate(
        first=drawn.first,
        **dict(estimate),
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
