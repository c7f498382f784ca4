"""Labeling in the browser of this machine: what the page shows, and what it may send.

Labels are those of `annotate`, in the same files. Opening a page draws nothing; what judges said of
an item is sent only after its label. A label is on disk before the request is answered.
"""

from __future__ import annotations

import hmac
import json
import secrets
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, Literal, NamedTuple, get_args

from claimeval.metrics.rows import Metric
from claimeval.report.assets import fill
from claimeval.report.packing import as_json, block
from claimeval.runs import labeling
from claimeval.runs.annotation import (
    CLAIM_KEYS,
    Annotation,
    ClaimAnnotation,
    ClaimItem,
    DocumentAnnotation,
)
from claimeval.runs.directory import (
    ANNOTATION,
    RunResults,
    load_manifest,
    results_file,
)
from claimeval.runs.labeling import CLAIMS, COUNT, DISPUTED, SEEN, DocumentItem
from claimeval.runs.labels import ratings
from claimeval.types.errors import UsageError
from claimeval.types.records import Claim

QueueName = Literal["draw", "disputed", "documents"]
LARGEST = 4096
"""Maximum number of bytes of a request."""
LONGEST_NOTE = 500
MOST = 1000
"""Maximum number of items that the page draws."""


class Queue(NamedTuple):
    """What is labeled: claims of a metric (or answers of a rating) of a run, or its documents."""

    run: str
    metric: str | None
    name: QueueName | Literal["seen"]


class Refused(Exception):
    """A request that the page does not send."""


class Labeling:
    """The queues of the runs of a folder for one annotator."""

    def __init__(self, runs: Callable[[], Mapping[str, Path]], annotator: str) -> None:
        """`runs` returns the runs that may be labeled, by name."""
        if not annotator.strip() or not annotator.isprintable() or len(annotator) > 80:
            raise UsageError(
                f"--label-as {annotator!r}: give a name of up to 80 printable characters"
            )
        self.annotator = annotator
        self._runs = runs
        self._token = secrets.token_urlsafe(32)
        self._lock = RLock()
        self._opened: dict[Queue, tuple[tuple[object, ...], Annotation]] = {}

    def is_token(self, given: str) -> bool:
        """Return whether a request has the token of a page that this server sent."""
        # A comparison that stops at the first difference tells by its time how much was right.
        return hmac.compare_digest(given.encode(), self._token.encode())

    def html(self, run: str, metric: str | None, name: str) -> bytes | None:
        """Return the page of a queue; None if there is no such run or queue. Raises UsageError for
        a wrong metric."""
        if run not in self._runs() or name not in get_args(QueueName):
            return None
        queue = Queue(run, metric or None, name)  # type: ignore[arg-type]  # it is one
        with self._lock:
            opened = None
            problem = None
            try:
                opened = self._open(queue)
            except UsageError as error:
                problem = str(error)
            path = self._runs()[run]
            manifest = load_manifest(path)
            metrics = [row.name for row in manifest.rows] or [*ratings(manifest)]
            metric = queue.metric or next(iter(metrics), None)
            named = metric if len(metrics) > 1 else None
            of_run = "Claims" if manifest.rows else "Answers"
            content = {
                "run": run,
                "metric": metric,
                "queue": name,
                "metrics": metrics,
                "annotator": self.annotator,
                "token": self._token,
                **_items(opened),
                "unit": "Questions" if name == "documents" else of_run,
                "count": 0 if problem else _proposed(path, queue, opened),
                "next": _next(path, queue, named, of_claims=bool(manifest.rows)),
                "problem": problem,
            }
        return fill("label", data=block("queue", as_json(content))).encode(
            "utf-8", "backslashreplace"
        )

    def of_report(self, names: Sequence[str]) -> dict[str, object] | None:
        """Return what a report needs to take labels: who labels, and what they labeled so far; None
        if no run has claims.

        A report shows what judges say, so its labels are kept apart (`design: seen`).
        """
        paths = self._runs()
        labels = list[dict[str, list[tuple[str, str, str, str, bool]]]]()
        for name in names:
            manifest = load_manifest(paths[name])
            of_claims = manifest.rows if manifest.of_claims else ()
            labels.append(
                {metric.name: [*self._given(paths[name], metric.name)] for metric in of_claims}
            )
        if not any(labels):
            return None
        return {
            "runs": list(names),
            "annotator": self.annotator,
            "token": self._token,
            "keys": dict(CLAIM_KEYS),
            "labels": labels,
        }

    def _given(self, run: Path, metric: str) -> Iterator[tuple[str, str, str, str, bool]]:
        """Yield sample, claim, label and note of each label, and whether it was given beside the
        verdicts."""
        rows = labeling.ClaimLabels(run, metric).rows(self.annotator)
        for (sample, claim), row in rows.items():
            note = str(row.get("note") or "")
            yield sample, claim, str(row["label"]), note, row.get("design") == SEEN

    def _label_seen(self, queue: Queue, fields: Mapping[str, Any]) -> dict[str, object]:
        """Store the label of a claim that was given in a report."""
        if fields.keys() != {"sample", "subject", "label", "note"}:
            raise Refused("The request is malformed.")
        label = fields["label"]
        note = fields["note"]
        _check_label(label, note, CLAIM_KEYS.values())
        sample = fields["sample"]
        subject = fields["subject"]
        if not isinstance(sample, str) or not isinstance(subject, str):
            raise Refused("There is no such claim.")
        run = self._runs()[queue.run]
        metric, question = labeling.labeled_metric(run, queue.metric)
        claim = None if question else self._claim(run, metric, sample, subject)
        if claim is None:
            raise Refused("There is no such claim.")
        file = labeling.ClaimLabels(run, metric.name)
        if label is None:
            file.remove_seen(sample, subject, self.annotator)
            return {"label": None}
        fields_of_row = {
            "id": sample,
            "claim_id": subject,
            "text": claim.text,
            "against": metric.against,
            "label": label,
            "annotator": self.annotator,
        }
        file.add_seen({**fields_of_row, **({"note": note} if note else {})})
        return {"label": label}

    def _claim(self, run: Path, metric: Metric, sample: str, subject: str) -> Claim | None:
        """Return a claim that a metric counts; None if the run has none of this id."""
        results = RunResults.of(run)
        place = results.places({sample}).get(sample)
        if place is None:
            return None
        result = results[place]
        if all(one.subject != subject for one in labeling.assessments(result, metric)):
            return None
        return next((claim for claim in result.claims if claim.id == subject), None)

    def take(self, path: str, body: bytes) -> dict[str, object]:
        """Do what a request asks for, and return the answer.

        Raises Refused for anything that the page does not send, UsageError if it cannot be done.
        """
        try:
            fields = json.loads(body)
            queue = Queue(fields.pop("run"), fields.pop("metric"), fields.pop("queue"))
        # `[[[[...` ends `json` with a RecursionError, and a list has no `pop` of a name.
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Refused("The request is malformed.") from error
        # A list as the name of a run cannot be looked up at all.
        known = all(isinstance(part, str | None) for part in queue)
        queues = (*get_args(QueueName), SEEN)
        if not known or queue.run not in self._runs() or queue.name not in queues:
            raise Refused("There is no such run or queue.")
        with self._lock:
            if queue.name == SEEN:
                if path != "/label":
                    raise Refused("Claims of a report are not drawn.")
                return self._label_seen(queue, fields)
            return self._draw(queue, fields) if path == "/draw" else self._label(queue, fields)

    def _draw(self, queue: Queue, fields: Mapping[str, Any]) -> dict[str, object]:
        n = fields.get("n")
        if (
            fields.keys() != {"n"}
            or type(n) is not int
            or not 0 < n <= MOST
            or queue.name == "disputed"
        ):
            raise Refused(f"Give a number up to {MOST}.")
        run = self._runs()[queue.run]
        if queue.name == "documents":
            _documents(run, n)
            # This draw is in the file of labels, of whose changes `_open` knows nothing.
            self._opened.clear()
        else:
            before = labeling.drawn(run, labeling.labeled_metric(run, queue.metric)[0].name)
            design, seed = (before.design, before.seed) if before else ("even", 0)
            # More is drawn only with the design and the seed of the draw before.
            labeling.draw_claims(run, queue.metric, n, design, seed)  # type: ignore[arg-type]
        return {}

    def _label(self, queue: Queue, fields: Mapping[str, Any]) -> dict[str, object]:
        opened = self._open(queue)
        if opened is None or fields.keys() != {
            "sample",
            "subject",
            "again",
            "label",
            "note",
            "cites",
        }:
            raise Refused("The request is malformed.")
        label = fields["label"]
        note = fields["note"]
        cites = fields["cites"]
        key = (fields["sample"], fields["subject"])
        again = fields["again"]
        item = next((one for one in opened.turns if one.key == key and _again(one) == again), None)
        if item is None:
            raise Refused("This is not in the queue; open the page again.")
        _check_label(label, note, opened.keys.values())
        ids = [document.id for document in item.documents] if isinstance(item, ClaimItem) else []
        if not isinstance(cites, list) or any(cited not in ids for cited in cites):
            raise Refused("There is no such document.")
        item.label(label, note=note, **({"cites": cites} if cites else {}))
        return {**_given(opened, item), "progress": opened.progress._asdict()}

    def _open(self, queue: Queue) -> Annotation | None:
        """Return the items of a queue; None if nothing is drawn yet."""
        run = self._runs()[queue.run]
        files = [results_file(run), *(run / ANNOTATION).glob("*.json")]
        # `annotate` in a terminal may draw more while the page is open.
        version = (*((file, file.stat().st_mtime_ns) for file in files),)
        if (kept := self._opened.get(queue)) and kept[0] == version:
            return kept[1]
        opened = self._read(run, queue)
        if opened is not None:
            self._opened[queue] = version, opened
        return opened

    def _read(self, run: Path, queue: Queue) -> Annotation | None:
        if queue.name == "documents":
            return (
                _documents(run, None)
                if labeling.DocumentLabels(labeling.default_path(run)).drawn
                else None
            )
        if queue.name == DISPUTED:
            return ClaimAnnotation(
                run, labeling.disputed_claims(run, queue.metric, CLAIMS), self.annotator
            )
        found = labeling.drawn(run, labeling.labeled_metric(run, queue.metric)[0].name)
        return ClaimAnnotation(run, found, self.annotator) if found else None


def _check_label(label: object, note: object, words: Iterable[str]) -> None:
    """Raise Refused for a label that is none of the words, and for a note that is too long."""
    if label not in (None, *words):
        raise Refused("There is no such label.")
    if not isinstance(note, str) or len(note) > LONGEST_NOTE:
        raise Refused(f"A note has up to {LONGEST_NOTE} characters.")


def _next(run: Path, queue: Queue, metric: str | None, *, of_claims: bool) -> list[str]:
    """Return the commands that go on with the labels of a queue; `metric` is named if the run has
    several."""
    place = shlex.quote(str(run))
    if queue.name == "documents":
        return [f"annotate {place} --documents"]
    of_metric = f" --metric {shlex.quote(metric)}" if metric else ""
    of_rating = "" if of_claims else of_metric.replace("--metric", "--score")
    return [f"agreement {place}{of_rating}", f"correct {place}{of_metric}"]


def _documents(run: Path, n: int | None) -> DocumentAnnotation:
    return DocumentAnnotation.draw_from(
        lambda depth: (result.sample for result in RunResults.of(run)),
        run.name,
        labeling.default_path(run),
        n=n,
    )


def _proposed(run: Path, queue: Queue, opened: Annotation | None) -> int:
    """Return how many items the page proposes to draw, with those that are drawn; 0 if none is
    left."""
    if isinstance(opened, DocumentAnnotation):
        before = len(opened.draw.queries)
        most = opened.draw.population
    elif isinstance(opened, ClaimAnnotation):
        before = len(opened)
        most = opened.draw.population
    elif queue.name == "documents":
        before = 0
        most = sum(bool(result.sample.contexts) for result in RunResults.of(run))
    else:
        row, _ = labeling.labeled_metric(run, queue.metric)
        before = 0
        most = 0
        for result in RunResults.of(run):
            most += sum(one.label is not None for one in labeling.assessments(result, row))
    usual = COUNT if queue.name == "documents" else CLAIMS
    return min(max(usual, before + 20), most) if before < most else 0


def _again(item: ClaimItem | DocumentItem) -> bool:
    return isinstance(item, ClaimItem) and item.again


def _given(opened: Annotation, item: ClaimItem | DocumentItem) -> dict[str, object]:
    """Return the label of the annotator and, only if there is one, those of the judges."""
    if (given := opened.given(item)) is None:
        return {"given": None, "judges": None}
    kept = {name: given[name] for name in ("label", "note", "cites") if name in given}
    return {"given": kept, "judges": opened.verdicts(item)}


def _items(opened: Annotation | None) -> dict[str, object]:
    """Return the items of a queue, the keys of their labels and how many have one; none if nothing
    is drawn yet."""
    if opened is None:
        return {"keys": {}, "turns": [], "progress": None}
    return {
        "keys": dict(opened.keys),
        "turns": [_turn(opened, item) for item in opened.turns],
        "progress": opened.progress._asdict(),
    }


def _turn(opened: Annotation, item: ClaimItem | DocumentItem) -> dict[str, object]:
    """Return an item as the page shows it, without a verdict or a probability."""
    if isinstance(item, ClaimItem):
        texts = {"question": item.sample.question, "text": item.claim.text, "against": item.against}
        documents = item.documents
        sentence = item.sentence
    else:
        texts = {"question": item.question, "text": "", "against": "contexts"}
        documents = (item.document,)
        sentence = None
    shown = [
        {"id": document.id, "title": document.title, "text": document.text}
        for document in documents
    ]
    sample, subject = item.key
    turn = {
        "sample": sample,
        "subject": subject,
        "again": _again(item),
        **texts,
        "documents": shown,
        "sentence": sentence.model_dump() if sentence else None,
    }
    return turn | _given(opened, item)
