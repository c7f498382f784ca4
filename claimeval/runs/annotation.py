"""What people label, item by item, and their labels so far: the same for the terminal, the browser
and Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple, cast

from claimeval.evaluation.evidence import shown_sentence
from claimeval.runs import labeling
from claimeval.runs.agreement import HALF_WIDTH, labels_needed
from claimeval.runs.directory import load_manifest
from claimeval.runs.labeling import (
    DISPUTED,
    ClaimDraw,
    ClaimLabels,
    ClaimToLabel,
    DocumentDraw,
    DocumentItem,
    DocumentLabel,
    DocumentLabels,
    LgtmEstimate,
    Mark,
)
from claimeval.statistics import mean_interval
from claimeval.types.errors import UsageError, unknown_name, visible
from claimeval.types.estimates import Estimate
from claimeval.types.records import ASKED, Assessment, Claim, Document, EvidenceSpan, Sample

CLAIM_KEYS = {"y": "supported", "c": "contradicted", "n": "not_found", "?": "unsure"}
DOCUMENT_KEYS = {"y": "good", "n": "bad", "?": "unsure"}
UNSURE = "unsure"
LEAST = 10
"""Number of labels from which the progress says how many more are needed."""
REPEATED_FROM = 20
REPEATED_EVERY = 10
"""From which claim on, and after how many, an earlier claim is shown again."""


EXCERPT = 60
"""Characters of a claim at a prompt."""


class LabelProgress(NamedTuple):
    """How far the labels of an annotator are."""

    labeled: int
    drawn: int
    """Items of the queue; of disputed claims, those without a label in the random draw."""
    needed: int | None
    """Additional labels with which the share of labels that the panel gives too (for documents:
    LGTM) is known within `HALF_WIDTH`; None for fewer than `LEAST` labels, without an interval,
    or for disputed claims."""
    same: int
    repeated: int
    """Claims that were labeled again later, and those with the same label."""


class ClaimItem(NamedTuple):
    """A claim, or a whole answer, to label with its evidence, without verdicts."""

    sample: Sample
    claim: Claim
    """Of a whole answer, its text under the id `answer`."""
    against: str
    """The part that is the evidence, such as `contexts`."""
    documents: tuple[Document, ...]
    """The evidence."""
    label: Callable[..., None]
    """Save the label: `supported`, `contradicted`, `not_found` or `unsure`, or a word of the
    rating. It is on disk when this returns. None takes it back; `note` and `cites`, ids of
    documents, are stored with it."""
    again: bool = False
    """Whether it was shown before, to compare both labels."""
    sentence: EvidenceSpan | None = None
    """The sentence that reports show for the claim; it does not tell the verdict."""

    @property
    def key(self) -> tuple[str, str]:
        """Ids of the sample and the claim."""
        return self.sample.id, self.claim.id

    def __repr__(self) -> str:
        claim = visible(self.claim.text, EXCERPT)
        return f"<ClaimItem {claim!r} of sample {self.sample.id!r} against {self.against}>"


class Annotation(ABC):
    """Items drawn for people to label, and their labels so far; iterating yields the items without
    a label.

    Claims are `ClaimItem`, documents `DocumentItem`; `item.label(...)` saves a label at once.
    """

    keys: Mapping[str, str]
    """The labels by the key that gives them."""
    unit: str
    """What an item is: `claim`, `answer` or `document`."""
    _file: ClaimLabels | DocumentLabels

    @property
    def path(self) -> Path:
        """The file of the labels."""
        return self._file.path

    @property
    @abstractmethod
    def items(self) -> Sequence[ClaimItem | DocumentItem]:
        """All items, including those with a label."""

    @property
    @abstractmethod
    def labels(self) -> Mapping[tuple[str, str], str]:
        """Labels so far, by ids of sample and item."""

    @property
    def labeled(self) -> int:
        """The number of items with a label, including "unsure"."""
        return len(self.labels)

    @property
    def estimate(self) -> LgtmEstimate:
        """LGTM@depth of documents: the mean over questions of the share of good documents."""
        raise UsageError("labeled claims give no estimate by themselves; see `correct`")

    @property
    @abstractmethod
    def progress(self) -> LabelProgress:
        """How far the labels are, and whether they are enough."""

    @property
    def turns(self) -> Sequence[ClaimItem | DocumentItem]:
        """All items in the order in which they are shown, with those that are shown again."""
        return self.items

    @abstractmethod
    def given(self, item: ClaimItem | DocumentItem) -> Mapping[str, object] | None:
        """Return what was stored for a turn (`label`, `note`, `cites`); None without a label."""

    def verdicts(self, item: ClaimItem | DocumentItem) -> dict[str, list[str]]:
        """Return the labels of each judge, to show after the label of the annotator; none for
        documents."""
        return {}

    def __len__(self) -> int:
        """Return the number of items that were drawn."""
        return len(self.items)

    @abstractmethod
    def __iter__(self) -> Iterator[ClaimItem | DocumentItem]:
        """Yield the items without a label."""

    def export(self, path: str | Path) -> int:
        """Write the drawn claims as CSV with an empty column `label`, and return their number."""
        raise UsageError("documents are labeled with `label`; there is no table of them")

    def _known(self, label: str | None) -> None:
        if label is not None and label not in self.keys.values():
            raise unknown_name("label", label, self.keys.values())

    def __repr__(self) -> str:
        progress = ", ".join(f"{name} {count}" for name, count in self.progress._asdict().items())
        return f"<{type(self).__name__} of {len(self.turns)} items: {progress}>"


class ClaimAnnotation(Annotation):
    """Claims, or rated answers, drawn for people to label."""

    _file: ClaimLabels

    def __init__(self, run: Path, draw: ClaimDraw, annotator: str) -> None:
        self.draw = draw
        """The draw: metric, design, seed, population, items."""
        self.run = run
        _, self._rating = labeling.labeled_metric(run, draw.metric.name)
        self.unit = "answer" if self._rating else "claim"
        self.keys = CLAIM_KEYS
        if self._rating:
            words = enumerate(self._rating.scale.ranked, 1)
            self.keys = {str(number): word for number, word in words if word != UNSURE} | {
                "?": UNSURE
            }
        self._annotator = annotator
        self._file = ClaimLabels(run, draw.metric.name)
        self._repeats = ClaimLabels(run, draw.metric.name, "repeats")

    @cached_property
    def _questions(self) -> tuple[ClaimToLabel, ...]:
        return tuple(labeling.questions(self.run, self.draw))

    @cached_property
    def _names(self) -> dict[str, str]:
        return load_manifest(self.run).short_names

    @cached_property
    def _judged(self) -> dict[tuple[str, str], Assessment]:
        metric = self.draw.metric
        judged = {}
        for question in self._questions:
            for assessment in labeling.assessments(question.result, metric):
                if assessment.subject == question.claim.id:
                    judged[question.item.sample, question.claim.id] = assessment
        return judged

    @cached_property
    def items(self) -> tuple[ClaimItem, ...]:
        """All claims, including those with a label."""
        against = self.draw.metric.against
        return tuple(
            ClaimItem(
                question.result.sample,
                question.claim,
                against,
                tuple(question.result.sample.documents(against) or ()) if against != ASKED else (),
                partial(self._save, question, self._file),
                sentence=self._sentence(question),
            )
            for question in self._questions
        )

    def _sentence(self, question: ClaimToLabel) -> EvidenceSpan | None:
        """Return the sentence that reports show for a claim; None for a whole answer."""
        assessment = self._judged.get((question.item.sample, question.claim.id))
        if assessment is None or question.claim.id == "answer":
            return None
        shown = shown_sentence(question.result.sample, assessment, question.claim.text)
        return shown.span if shown else None

    @cached_property
    def turns(self) -> Sequence[ClaimItem]:
        """All claims in order; of a draw, every tenth from the 20th on is followed by an earlier
        one."""
        turns = list[ClaimItem]()
        for number, item in enumerate(self.items, 1):
            turns.append(item)
            if (
                self.draw.design != DISPUTED
                and number >= REPEATED_FROM
                and number % REPEATED_EVERY == 0
            ):
                # One of the ten claims before the last ten, at a place that nobody can expect: 4,
                # 1, 8, 5, ...
                earlier = number - REPEATED_FROM + 7 * number // REPEATED_EVERY % REPEATED_EVERY
                label = partial(self._save, self._questions[earlier], self._repeats)
                turns.append(self.items[earlier]._replace(label=label, again=True))
        return turns

    @property
    def _rows(self) -> dict[tuple[str, str], Mapping[str, object]]:
        """Rows of the annotator about these claims. In a draw, labels of the disputed queue are
        given again."""
        rows = self._file.rows(self._annotator)
        of_draw = self.draw.design != DISPUTED
        keys = [(item.sample, item.claim_id) for item in self.draw.items]
        return {
            key: rows[key]
            for key in keys
            if key in rows and not (of_draw and "design" in rows[key])
        }

    @property
    def labels(self) -> Mapping[tuple[str, str], str]:
        """Labels of the annotator so far, by sample and claim; of all annotators if none is
        named."""
        return {key: str(row["label"]) for key, row in self._rows.items()}

    def given(self, item: ClaimItem | DocumentItem) -> Mapping[str, object] | None:
        """Return what was stored for a turn (`label`, `note`, `cites`); None without a label."""
        again = isinstance(item, ClaimItem) and item.again
        return (self._repeats.rows(self._annotator) if again else self._rows).get(item.key)

    @property
    def progress(self) -> LabelProgress:
        """How far the labels are, and whether they are enough."""
        rows = self._rows
        again = self._repeats.by(self._annotator)
        disputed = self.draw.design == DISPUTED
        labels = {
            key: str(row["label"]) for key, row in rows.items() if not disputed or "design" in row
        }
        count = len(self) - len(rows) + len(labels)
        pairs = [(labels[key], label) for key, label in again.items() if key in labels]
        return LabelProgress(
            len(labels),
            count,
            None if disputed else self._needed(labels),
            sum(a == b for a, b in pairs),
            len(pairs),
        )

    def _needed(self, labels: Mapping[tuple[str, str], str]) -> int | None:
        """Return how many more labels would show how often the judges label as people do; None for
        few labels."""
        decided = {key: label for key, label in labels.items() if label != UNSURE}
        if len(decided) < LEAST:
            return None
        same = [self._is_panels(key, label) for key, label in decided.items()]
        # Claims of one answer tend to be right or wrong together, as `agreement` takes them.
        found = mean_interval(same, clusters=[sample for sample, _ in decided])
        return labels_needed(Estimate.of(found), HALF_WIDTH)

    def _is_panels(self, key: tuple[str, str], label: str) -> bool:
        judged = self._judged[key]
        return label == (judged.label if self._rating else judged.support)

    def verdicts(self, item: ClaimItem | DocumentItem) -> dict[str, list[str]]:
        """Return the labels of each judge, to show after the label of the annotator."""
        names = self._names
        found: dict[str, list[str]] = {}
        for verdict in self._judged[item.key].verdicts:
            found.setdefault(names.get(verdict.judge, verdict.judge), []).append(
                verdict.label or "unassessed"
            )
        return found

    def __iter__(self) -> Iterator[ClaimItem]:
        return (item for item in self.items if item.key not in self.labels)

    def export(self, path: str | Path) -> int:
        """Write the drawn claims as CSV with an empty column `label`, and return their number."""
        return labeling.export(self.run, self.draw, Path(path))

    def _save(
        self,
        question: ClaimToLabel,
        file: ClaimLabels,
        label: str | None,
        note: str = "",
        cites: Sequence[str] = (),
    ) -> None:
        self._known(label)
        if label is None:
            file.remove(question.item.sample, question.claim.id, self._annotator)
            return
        claim = {} if self._rating else {"claim_id": question.claim.id, "text": question.claim.text}
        more = {"note": note, "cites": list(cites), "annotator": self._annotator}
        if self.draw.design == DISPUTED:
            more["design"] = DISPUTED
        fields = {
            "id": question.item.sample,
            **claim,
            "against": self.draw.metric.against,
            "label": label,
        }
        file.add({**fields, **{name: value for name, value in more.items() if value}})


class DocumentAnnotation(Annotation):
    """Documents drawn for people to label."""

    keys = DOCUMENT_KEYS
    unit = "document"
    _file: DocumentLabels

    def __init__(
        self, labels: DocumentLabels, draw: DocumentDraw, todo: Sequence[DocumentItem]
    ) -> None:
        self.draw = draw
        """The draw: questions, depth, seed, population."""
        self._file = labels
        self._todo = todo

    @classmethod
    def draw_from(
        cls,
        ranked: Callable[[int], Iterable[Sample]],
        source: str,
        target: Path,
        *,
        n: int | None,
        seed: int = 0,
        depth: int | None = None,
    ) -> DocumentAnnotation:
        """Draw documents to label, or continue an earlier draw.

        Args:
            ranked: A function that returns the top documents of each question, up to a depth.
            source: Name of the data.
            target: The qrels file of the labels.
            n: Number of questions. None: those of the earlier draw, else 50.
            seed: Seed of the draw.
            depth: Documents per question. None: as in the earlier draw, else 10.
        """
        labels = DocumentLabels(target)
        before = labels.drawn
        depth = depth or (before.first if before else labeling.FIRST)
        n = n or (before.count if before else labeling.COUNT)
        drawn, todo = labeling.draw_documents(
            ranked(depth), n, first=depth, seed=seed, source=source
        )
        labels.begin(drawn)
        return cls(labels, drawn, todo)

    @cached_property
    def items(self) -> tuple[DocumentItem, ...]:
        """All documents, including those with a label."""
        return tuple(item._replace(label=partial(self._save, item)) for item in self._todo)

    @property
    def labels(self) -> Mapping[tuple[str, str], Mark]:
        """Labels so far, by question and document."""
        self._file.refresh()
        return self._file.answers

    @property
    def estimate(self) -> LgtmEstimate:
        """LGTM@depth from the labels so far."""
        return labeling.lgtm(self.draw, dict(self.labels))

    @property
    def progress(self) -> LabelProgress:
        """How far the labels are; `needed` counts questions."""
        return LabelProgress(
            self.labeled, len(self), labels_needed(self.estimate, HALF_WIDTH), 0, 0
        )

    def given(self, item: ClaimItem | DocumentItem) -> Mapping[str, object] | None:
        """Return what was stored for a document (`label`, `note`); None without a label."""
        label = self.labels.get(item.key)
        return {"label": label, "note": self._file.notes.get(item.key, "")} if label else None

    def __iter__(self) -> Iterator[DocumentItem]:
        return (item for item in self.items if item.key not in self.labels)

    def _save(self, item: DocumentItem, label: str | None, note: str = "") -> None:
        self._known(label)
        query, document = item.key
        self._file.add(
            DocumentLabel(query=query, document=document, mark=cast(Mark | None, label), note=note)
        )
