"""Drawing claims and documents for people to label, and storing each label at once.

For claims and rated answers, `annotation/METRIC.json` has what was drawn with its sampling
probabilities, which a corrected score needs, and `annotation/METRIC.labels.jsonl` the labels.
Labels of documents are a qrels file (1 good, 0 bad) that is replaced atomically; `NAME.jsonl` next
to it has the drawn documents and every answer, including "unsure". LGTM@10 is computed from them.
Several processes may label at once: each holds a lock while it writes, and reads first what others
wrote.
"""

from __future__ import annotations

import heapq
import io
import json
import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from pydantic import ValidationError, field_validator

from claimeval import ir
from claimeval.data.labels import HumanLabel, LabelFile
from claimeval.data.rows import read_rows, write_csv
from claimeval.evaluation import grade
from claimeval.evaluation.grade import gradable
from claimeval.evaluation.manifest import QuestionRecord
from claimeval.judging.panel import Panel
from claimeval.metrics.rows import Metric
from claimeval.metrics.scoring import counted
from claimeval.runs.directory import (
    ANNOTATION,
    RunResults,
    append_line,
    has_results,
    label_files,
    load_manifest,
    locked,
    write_text,
)
from claimeval.runs.labels import claims_for_label, people, rated_question
from claimeval.statistics import Draw, draw_even, draw_stratified, mean_interval, vote_entropy
from claimeval.types.errors import DataError, UsageError, unknown_name
from claimeval.types.estimates import Estimate
from claimeval.types.records import (
    ASKED,
    Assessment,
    Claim,
    Document,
    Part,
    Record,
    Sample,
    SampleResult,
)

CLAIMS = 100
"""Default number of claims to draw."""
Design = Literal["even", "label"]
DISPUTED: Literal["disputed"] = "disputed"
"""Design of labels of claims that were chosen because judges or people differ."""
SEEN: Literal["seen"] = "seen"
"""Design of labels that were given where a reader had seen the verdicts."""
EARLIER = {"uniform": "even", "stratified": "label", "uncertainty": "even"}
"""What to draw instead of the designs of earlier versions."""


class Item(Record):
    """A claim, or a whole answer (`answer`), to label, with its sampling probability."""

    sample: str
    claim_id: str
    probability: float | None
    """None for a disputed claim, which was not drawn at random."""


class ClaimDraw(Record):
    """Claims drawn from a run for one metric, or answers for one rating."""

    metric: Metric
    """The metric; of a rating, its name and its evidence."""
    design: Literal["even", "label", "disputed", "uncertainty"]
    """How claims were drawn; `uncertainty` is a design of earlier versions, which does not grow."""
    seed: int
    population: int
    """Number of claims with a label of the judges, from which the items were drawn."""
    items: tuple[Item, ...]
    """In the order of labeling, which is shuffled so that the first items are a random sample."""

    @field_validator("design", mode="before")
    @classmethod
    def _name_of_today(cls, design: str) -> str:
        return design if design == "uncertainty" else EARLIER.get(design, design)


class ClaimToLabel(Record):
    """A claim and its sample, without showing the verdicts."""

    item: Item
    result: SampleResult
    claim: Claim


def draw_claims(
    run: Path, metric: str | None, count: int | None, design: Design, seed: int
) -> ClaimDraw:
    """Draw judged claims of a metric, or return the earlier draw, grown to `count` claims if it has
    fewer.

    Of a run of ratings, rated answers are drawn.

    Args:
        run: The run directory.
        metric: Name of the metric or rating. Default: the first metric of the run, or its only
            rating.
        count: Number of claims, those of an earlier draw included; all if there are fewer. None:
            those of an earlier draw, else `CLAIMS`.
        design: How claims are drawn.
        seed: Seed of the draw.

    Raises:
        UsageError: Claims were drawn before with other options, or the run has no judged claim.
    """
    if design not in get_args(Design):
        instead = f"; in place of {design}, draw {EARLIER[design]}" if design in EARLIER else ""
        raise UsageError(f"--design {design}: give {' or '.join(get_args(Design))}{instead}")
    row, rating = labeled_metric(run, metric)
    path = _path(run, row.name)
    with locked(path.parent):
        return _draw_or_grow(run, row, rating, count, design, seed)


def _draw_or_grow(
    run: Path,
    row: Metric,
    rating: QuestionRecord | None,
    count: int | None,
    design: Design,
    seed: int,
) -> ClaimDraw:
    before = drawn(run, row.name)
    if before and (before.design != design or before.seed != seed):
        raise UsageError(_drawn_otherwise(run, row, before))
    count = count or (len(before.items) if before else CLAIMS)
    if before and min(count, before.population) <= len(before.items):
        return before
    judged = _labeled(run, row)
    places = {(sample, assessment.subject): i for i, (sample, assessment) in enumerate(judged)}
    kept = [places[item.sample, item.claim_id] for item in before.items] if before else []
    chosen = _draw(
        [a for _, a in judged], rating, min(count, len(judged) or count), design, seed, kept
    )
    new = [i for i in chosen.chosen if i not in set(kept)]
    # Those that may have labels already stay in front; the new ones are shuffled among themselves.
    order = [*kept, *(new[place] for place in draw_order(len(new), seed))]
    items = [
        Item(
            sample=judged[i][0],
            claim_id=judged[i][1].subject,
            probability=chosen.probabilities[i],
        )
        for i in order
    ]
    if rating and judged:
        row = row.model_copy(update={"against": judged[0][1].against})
    claim_draw = ClaimDraw(
        metric=row, design=design, seed=seed, population=len(judged), items=tuple(items)
    )
    write_text(_path(run, row.name), claim_draw.model_dump_json(indent=1) + "\n")
    return claim_draw


def _labeled(run: Path, row: Metric) -> list[tuple[str, Assessment]]:
    """Return what a metric counts and the judges labeled, with the id of its sample."""
    judged: list[tuple[str, Assessment]] = []
    for result in RunResults.of(run):
        labeled = (one for one in assessments(result, row) if one.label is not None)
        judged += [(result.sample.id, one) for one in labeled]
    return judged


def _drawn_otherwise(run: Path, row: Metric, before: ClaimDraw) -> str:
    """Return the message that claims were drawn before with other options, and how to go on."""
    path = _path(run, row.name)
    going_on = f"continue with these options, or remove {path} to draw again"
    if before.design not in get_args(Design):
        # What an earlier version labeled is no random sample beside another draw.
        labels = ClaimLabels(run, row.name).path
        going_on = f"such a draw does not grow: move {path} and {labels} elsewhere to draw again"
    return (
        f"{len(before.items)} claims were already drawn for {row.name} ({before.design}, seed"
        f" {before.seed}); {going_on}"
    )


def disputed_claims(run: Path, metric: str | None, count: int) -> ClaimDraw:
    """Return the judged claims on which judges or replicates differ, people differ from the panel,
    or judges state a probability between 0 and 1.

    Those that people see otherwise come first, then the most doubtful. They are no random sample.

    Args:
        run: The run directory.
        metric: Name of the metric or rating, as for `draw_claims`.
        count: Maximum number of claims.

    Raises:
        UsageError: There is no such claim.
    """
    row, rating = labeled_metric(run, metric)
    by_sample: defaultdict[str, list[HumanLabel]] = defaultdict(list)
    for label in (
        labels_in(
            run,
            row.name,
            rating.scale.words if rating else (),
        )
        or ()
    ):
        by_sample[label.sample].append(label)
    found = list[tuple[bool, float, str, Assessment]]()
    population = 0
    for result in RunResults.of(run):
        about = _by_subject(
            result,
            by_sample.get(result.sample.id, ()),
            of_answer=bool(rating),
        )
        for assessment in assessments(result, row):
            population += assessment.label is not None
            agreed = _agrees(assessment, about[assessment.subject], rating)
            doubt = _doubt(assessment)
            if not agreed or doubt:
                found.append((agreed, -doubt, result.sample.id, assessment))
    if not found:
        raise UsageError(
            f"nothing of {row.name} is disputed: the judges agree, also with people who labeled"
        )
    found.sort(key=lambda entry: entry[:2])
    items = tuple(
        Item(
            sample=sample,
            claim_id=a.subject,
            probability=None,
        )
        for *_, sample, a in found[:count]
    )
    if rating:
        row = row.model_copy(update={"against": found[0][3].against})
    return ClaimDraw(metric=row, design=DISPUTED, seed=0, population=population, items=items)


def _doubt(assessment: Assessment) -> float:
    """Return the entropy in bits of the votes on a claim, or of the probability that judges state
    if it is greater: 0 if all are sure and agree."""
    votes = [verdict.label for verdict in assessment.verdicts if verdict.label]
    between = vote_entropy(votes) or 0.0
    stated = any(verdict.probability is not None for verdict in assessment.verdicts)
    share = assessment.probability
    if not stated or share is None or share in (0.0, 1.0):
        return between
    entropy = -share * math.log2(share) - (1 - share) * math.log2(1 - share)
    return max(between, entropy)


def _agrees(
    assessment: Assessment, labels: Sequence[HumanLabel], rating: QuestionRecord | None
) -> bool:
    """Return whether the label of the panel is that of people: of a claim, whether both support
    it."""
    if rating:
        choice = people(labels, lambda label: label.word, rating.panel).majority
        return None in (choice, assessment.label) or choice == assessment.label
    choice = people(labels, lambda label: label.label, Panel()).majority
    return None in (choice, assessment.label) or (choice == "supported") == (
        assessment.support == "supported"
    )


def draw_order(count: int, seed: int) -> list[int]:
    """Return a shuffled order of `count` items."""
    import random

    order = list(range(count))
    random.Random(seed).shuffle(order)
    return order


def _draw(
    judged: list[Assessment],
    rating: QuestionRecord | None,
    count: int,
    design: Design,
    seed: int,
    kept: Sequence[int],
) -> Draw:
    if design == "even":
        ranks = [rating.scale.value(a.label or "") if rating else _support(a) for a in judged]
        return draw_even(ranks, count, seed=seed, taken=kept)
    return draw_stratified([a.label for a in judged], count, seed=seed, taken=kept)


def _support(assessment: Assessment) -> float:
    """Return the probability of "supported", or the share of such verdicts; the label's own without
    verdicts."""
    probabilities = [v.probability for v in assessment.verdicts if v.probability is not None]
    labeled = [v.support == "supported" for v in assessment.verdicts if v.label is not None]
    if probabilities:
        return sum(probabilities) / len(probabilities)
    return sum(labeled) / len(labeled) if labeled else float(assessment.support == "supported")


def drawn(run: Path, metric: str) -> ClaimDraw | None:
    """Return the claims drawn for a metric; None if there are none. Raises DataError if the file is
    damaged."""
    path = _path(run, metric)
    if not path.exists():
        return None
    try:
        return ClaimDraw.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise DataError(f"{path} is not a drawing: {error.errors()[0]['msg']}") from error


def questions(run: Path, drawn: ClaimDraw) -> Iterator[ClaimToLabel]:
    """Yield the drawn claims in order."""
    drawn_from = {item.sample for item in drawn.items}
    results = {
        result.sample.id: result for result in RunResults.of(run) if result.sample.id in drawn_from
    }
    for item in drawn.items:
        result = results[item.sample]
        answer = Claim(
            id="answer",
            of="answer",
            text=result.sample.answer or "",
            grounding="exact",
        )
        claim = next((claim for claim in result.claims if claim.id == item.claim_id), answer)
        yield ClaimToLabel(item=item, result=result, claim=claim)


class ClaimLabels:
    """Labels so far in a file; an annotator's new label of a claim replaces the earlier one.

    Rows of others that are added meanwhile are read before a label is written.
    """

    def __init__(
        self, run: Path, metric: str, kind: Literal["labels", "repeats"] = "labels"
    ) -> None:
        """`repeats` are the labels of claims that were shown again, which no score counts."""
        self.path = run / ANNOTATION / f"{metric}.{kind}.jsonl"
        self._rows: dict[tuple[str, str, str], Mapping[str, object]] = {}
        """Rows of the file by sample, claim and annotator."""
        self._read_at: tuple[int, ...] = ()

    @staticmethod
    def _key(fields: Mapping[str, object]) -> tuple[str, str, str]:
        return (
            str(fields["id"]),
            str(fields.get("claim_id") or "answer"),
            str(fields.get("annotator") or ""),
        )

    def by(self, annotator: str) -> dict[tuple[str, str], str]:
        """Return the labels of an annotator by sample and claim, including "unsure"; of all for an
        empty name."""
        return {key: str(row["label"]) for key, row in self.rows(annotator).items()}

    def rows(self, annotator: str) -> dict[tuple[str, str], Mapping[str, object]]:
        """Return the rows of an annotator by sample and claim, as they are now; of all for an empty
        name."""
        if _version(self.path) != self._read_at:
            with locked(self.path.parent):
                self._read()
        return {
            (sample, claim): row
            for (sample, claim, name), row in self._rows.items()
            if annotator in ("", name)
        }

    def add(self, fields: Mapping[str, object]) -> None:
        """Write a row to the file before returning. The label of a draw stays one if it is given
        again elsewhere."""
        with locked(self.path.parent):
            self._read()
            key = self._key(fields)
            before = self._rows.get(key)
            if before and "design" not in before:
                fields = {name: value for name, value in fields.items() if name != "design"}
            self._put(key, fields)

    def add_seen(self, fields: Mapping[str, object]) -> None:
        """Write the row of a label that was given beside the verdicts; it is on disk when this
        returns.

        Raises UsageError if the annotator labeled the claim before the verdicts were seen: such a
        label says more, and stays.
        """
        with locked(self.path.parent):
            self._read()
            key = self._key(fields)
            before = self._rows.get(key)
            if before and before.get("design") != SEEN:
                raise UsageError(
                    "you labeled this claim in the queue, before you saw what judges say of it:"
                    " change it there"
                )
            self._put(key, {**fields, "design": SEEN})

    def remove_seen(self, sample: str, claim: str, annotator: str) -> None:
        """Take back a label that was given beside the verdicts; others stay."""
        with locked(self.path.parent):
            self._read()
            key = (sample, claim, annotator)
            if self._rows.get(key, {}).get("design") == SEEN:
                del self._rows[key]
                self._rewrite()

    def _put(self, key: tuple[str, str, str], fields: Mapping[str, object]) -> None:
        """Write a row; the lock is held and the file is read."""
        before = self._rows.get(key)
        self._rows[key] = fields
        # A new label is one line at the end, so that the thousandth is saved as fast as the first.
        if before:
            self._rewrite()
        else:
            append_line(self.path, fields)
            self._read_at = _version(self.path)

    def remove(self, sample: str, claim: str, annotator: str) -> None:
        """Take a label back; it is gone from the file when this returns."""
        with locked(self.path.parent):
            self._read()
            if self._rows.pop((sample, claim, annotator), None):
                self._rewrite()

    def _read(self) -> None:
        """Read the file if others changed it; the lock is held."""
        if (version := _version(self.path)) != self._read_at:
            drop_broken_line(self.path)
            self._rows = (
                {self._key(row.fields): row.fields for row in read_rows(self.path)}
                if version
                else {}
            )
            self._read_at = _version(self.path)

    def _rewrite(self) -> None:
        lines = "".join(json.dumps(row) + "\n" for row in self._rows.values())
        write_text(self.path, lines, durable=True)
        self._read_at = _version(self.path)


def _version(path: Path) -> tuple[int, ...]:
    """Return what changes when a file is written; empty if it is missing or empty."""
    found = path.stat() if path.exists() else None
    # Another process replaces the file (another inode) or adds to it (another size).
    return (found.st_ino, found.st_size, found.st_mtime_ns) if found and found.st_size else ()


def drop_broken_line(path: Path) -> None:
    """Remove the last line of a file if a full disk cut it off."""
    content = path.read_bytes() if path.exists() else b""
    if (whole := content.rfind(b"\n") + 1) < len(content):
        os.truncate(path, whole)


def labels_in(
    run: Path,
    metric: str | None = None,
    words: Sequence[str] = (),
    parts: Sequence[Part] = (),
    place: Callable[[HumanLabel], HumanLabel] = lambda label: label,
) -> LabelFile | None:
    """Return the human labels in a run directory; None if there are none.

    Args:
        run: The run directory.
        metric: The metric that is labeled; None for all.
        words: The words of a rating, which labels may have.
        parts: The evidence of the run's claims.
        place: Returns a label with the id that its sample has elsewhere.
    """
    files = [file for file in label_files(run, metric) if file.stat().st_size]
    return LabelFile(*files, words=words, parts=parts, place=place) if files else None


COLUMNS = ("id", "claim_id", "text", "against", "question", "evidence", "label")


def export(run: Path, drawn: ClaimDraw, path: Path) -> int:
    """Write the drawn claims as CSV with an empty column `label`, and return their number."""
    against = drawn.metric.against
    rows: list[Sequence[str]] = []
    for question in questions(run, drawn):
        claim = question.claim
        sample = question.result.sample
        evidence = "\n\n".join(document.text for document in sample.documents(against) or ())
        rows.append((sample.id, claim.id, claim.text, against, sample.question, evidence, ""))
    columns: Sequence[str] = COLUMNS
    if drawn.design == DISPUTED:
        # Labels of a file are else taken as a random sample of the claims.
        columns = (*COLUMNS, "design")
        rows = [(*row, DISPUTED) for row in rows]
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        write_csv(file, [columns, *rows])
    return len(drawn.items)


def labeled_metric(run: Path, name: str | None) -> tuple[Metric, QuestionRecord | None]:
    """Return a metric of a run of claims, or a rating of answers with its question, as a metric.

    Raises UsageError with the closest name, or if the run has neither.
    """
    manifest = load_manifest(run)
    if not manifest.of_claims:
        question = rated_question(run, manifest, name)
        return Metric(name=question.name, claims_of="answer", against=ASKED), question
    metrics = {metric.name: metric for metric in manifest.rows}
    if not metrics:
        raise UsageError(f"{run} has no metric of claims; only these are labeled and corrected")
    if name is not None and name not in metrics:
        raise unknown_name("metric of the run", name, metrics)
    return metrics[name or next(iter(metrics))], None


def assessments(result: SampleResult, metric: Metric) -> Iterator[Assessment]:
    """Yield the assessments of the claims of a metric, or of the answer by a rating."""
    of = counted(metric, result)
    for a in result.whole:
        if (a.against == metric.against and a.subject in of) or (a.subject, a.question) == (
            "answer",
            metric.name,
        ):
            yield a


def _path(run: Path, metric: str) -> Path:
    return run / ANNOTATION / f"{metric}.json"


FIRST = 10
"""Default number of documents per question."""
COUNT = 50
"""Default number of questions to draw."""

Mark = Literal["good", "bad", "unsure"]


def default_path(data: Path) -> Path:
    """Return the default file for labels of documents: in the run directory, or
    `runs/DATA-documents.qrels`."""
    if has_results(data):
        return data / ANNOTATION / "documents.qrels"
    return Path("runs") / f"{data.stem}-documents.qrels"


class QueryToLabel(Record):
    """A question that was drawn, with its retrieved documents."""

    query: str
    documents: tuple[str, ...]
    """Ids of the top documents, best first."""
    without_text: tuple[str, ...] = ()
    """Documents that cannot be labeled because their text or that of the question is missing."""


class DocumentDraw(Record):
    """Questions and documents drawn for labeling."""

    source: str
    """The data, or the data and the TREC run."""
    first: int
    """Maximum number of documents per question."""
    count: int
    """Requested number of questions."""
    seed: int
    population: int
    """Number of questions with retrieved documents, from which `queries` were drawn."""
    without_results: int
    """Number of questions without retrieved documents."""
    queries: tuple[QueryToLabel, ...]
    """In random order, so that the first questions are a random sample."""


class DocumentLabel(Record):
    """A person's label of one document; a later label replaces an earlier one."""

    query: str
    document: str
    mark: Mark | None
    """None takes an earlier label back."""
    note: str = ""


class DocumentItem(NamedTuple):
    """A retrieved document to label as good or not for its question."""

    query: str
    question: str
    document: Document
    number: int
    """Number of the question in the draw, from 1."""
    position: int
    """Position of the document among those of the question, in the order in which they are shown,
    from 1."""
    documents: int
    """Number of documents of the question."""
    label: Callable[..., None] = NotImplemented
    """Save the label: `good`, `bad` or `unsure`. It is on disk when this returns. None takes it
    back; `note` is stored with it."""

    @property
    def key(self) -> tuple[str, str]:
        """Ids of the question and the document."""
        return self.query, self.document.id


def draw_documents(
    samples: Iterable[Sample], count: int, *, first: int, seed: int, source: str
) -> tuple[DocumentDraw, list[DocumentItem]]:
    """Draw questions that have contexts, with equal probability and in one pass.

    A draw of more questions with the same seed begins with the same questions. The documents of a
    question are shown in random order, to hide their rank.

    Args:
        samples: The questions, with their retrieved documents as contexts, best first.
        count: Number of questions; all if there are fewer.
        first: Number of documents per question.
        seed: Seed of the draw.
        source: Name of the data.

    Returns:
        The draw and the documents to label.

    Raises:
        DataError: No question has contexts, an id is not allowed in qrels, or a question has a
            document twice.
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

    chosen = heapq.nsmallest(
        count,
        with_results(),
        key=lambda sample: _number(sample.id, seed),
    )
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
    return QueryToLabel(
        query=sample.id, documents=tuple(d.id for d in documents), without_text=blank
    )


def _pairs(chosen: Iterable[Sample], seed: int) -> Iterator[DocumentItem]:
    for number, sample in enumerate(chosen, 1):
        documents = sorted(
            (document for document in sample.contexts or () if gradable(sample.question, document)),
            key=lambda document: _number(f"{sample.id}\n{document.id}", seed),
        )
        for position, document in enumerate(documents, 1):
            yield DocumentItem(
                sample.id, sample.question, document, number, position, len(documents)
            )


def _number(key: str, seed: int) -> bytes:
    return blake2b(
        key.encode("utf-8", "surrogatepass"), digest_size=8, key=str(seed).encode()
    ).digest()


class DocumentLabels:
    """The labels of documents in a file, and the draw that they belong to."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises DataError if it holds anything but labels, UsageError if it cannot
        be continued."""
        self.path = path
        self._log = path.with_name(f"{path.name}.jsonl")
        self.drawn: DocumentDraw | None = None
        self.answers: dict[tuple[str, str], Mark] = {}
        """Labels by question and document."""
        self.notes: dict[tuple[str, str], str] = {}
        self._read_at: tuple[int, ...] = ()
        if self._log.exists():
            self.refresh()
        elif path.exists():
            raise UsageError(
                f"{path} exists and holds no labels to continue from; choose another --out"
            )

    def refresh(self) -> None:
        """Read what other processes labeled meanwhile."""
        if _version(self._log) != self._read_at:
            with locked(self.path.parent):
                self._read()

    def begin(self, drawn: DocumentDraw) -> None:
        """Store the draw. Raises UsageError if the file belongs to another draw."""
        with locked(self.path.parent):
            self._read()
            if self.drawn != drawn:
                self._check(drawn)
                self._append({"drawn": drawn.model_dump(mode="json")})
                self.drawn = drawn
            self._write_qrels()

    def _check(self, drawn: DocumentDraw) -> None:
        if before := self.drawn:
            settings = (drawn.first, drawn.seed)
            if settings != (before.first, before.seed) or drawn.count < before.count:
                raise UsageError(
                    f"{self.path} has marks of the first {before.first} documents of {before.count}"
                    f" questions, seed {before.seed}; continue with these options or with more"
                    " questions, or choose another --out"
                )
            now = {shown.query: shown for shown in drawn.queries}
            for shown in before.queries:
                if now.get(shown.query) != shown:
                    raise DataError(
                        f"the first documents of {shown.query!r} are not those that {self.path} was"
                        f" begun with ({before.source}); choose another --out for other data"
                    )

    def add(self, answer: DocumentLabel) -> None:
        """Store a label; it is on disk when this returns."""
        with locked(self.path.parent):
            self._read()
            self._append(answer.model_dump(exclude_defaults=True))
            self._take(answer)
            self._write_qrels()

    def _append(self, fields: Mapping[str, object]) -> None:
        append_line(self._log, fields)
        self._read_at = _version(self._log)

    def _take(self, answer: DocumentLabel) -> None:
        key = answer.query, answer.document
        if answer.mark is None:
            self.answers.pop(key, None)
        else:
            self.answers[key] = answer.mark
        self.notes[key] = answer.note

    def qrels(self) -> dict[str, dict[str, int]]:
        """Return the labels as grades: 1 for good, 0 for bad; "unsure" is left out."""
        qrels: dict[str, dict[str, int]] = {}
        for (query, document), mark in self.answers.items():
            if mark != "unsure":
                qrels.setdefault(query, {})[document] = int(mark == "good")
        return qrels

    def _write_qrels(self) -> None:
        lines = io.StringIO()
        ir.write_qrels(self.qrels(), lines)
        write_text(self.path, lines.getvalue(), durable=True)

    def _read(self) -> None:
        """Read the labels if others changed them; the lock is held."""
        if (version := _version(self._log)) == self._read_at:
            return
        drop_broken_line(self._log)
        for number, line in enumerate(self._log.read_bytes().splitlines() if version else (), 1):
            try:
                fields = json.loads(line)
                if "drawn" in fields:
                    self.drawn = DocumentDraw.model_validate(fields["drawn"])
                else:
                    self._take(DocumentLabel.model_validate(fields))
            except (ValueError, TypeError, ValidationError):
                raise DataError(f"{self._log}, line {number}: no mark of a document") from None
        self._read_at = _version(self._log)


class LgtmEstimate(Estimate):
    """LGTM@k: the mean over questions of the share of good documents among the top k.

    The share is over labeled documents: with six of them, good ones are divided by six (`P@10` of
    the qrels divides by ten). A question without a label has no value; unsure and unlabeled
    documents never count as bad.
    """

    first: int
    """The depth k."""
    bounds: tuple[float, float] | None
    """The mean over questions with a label if all their other documents were bad, and if they were
    good."""
    good: int
    bad: int
    unsure: int
    unmarked: int
    """Documents of the drawn questions without a label."""
    without_text: int
    """Documents that cannot be labeled."""
    drawn: int
    """Number of drawn questions."""
    begun: int
    """Number of drawn questions with a label."""
    without_results: int
    """Questions of the data without retrieved documents, which cannot be drawn."""


def _by_subject(
    result: SampleResult, labels: Iterable[HumanLabel], *, of_answer: bool
) -> defaultdict[str, list[HumanLabel]]:
    """Return the labels of a sample by the claim that they are about, or all of the answer."""
    about: defaultdict[str, list[HumanLabel]] = defaultdict(list)
    for label in labels:
        if of_answer:
            about["answer"].append(label)
        elif not label.of_sample:
            for subject in claims_for_label(result, label):
                about[subject].append(label)
    return about


def lgtm(drawn: DocumentDraw, answers: dict[tuple[str, str], Mark]) -> LgtmEstimate:
    """Return LGTM@k from the labels of the drawn documents."""
    values = []
    lows = []
    highs = []
    counts = Counter({"good": 0, "bad": 0, "unsure": 0})
    for shown in drawn.queries:
        labels = [
            answers[shown.query, name] for name in shown.documents if (shown.query, name) in answers
        ]
        good = labels.count("good")
        bad = labels.count("bad")
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
