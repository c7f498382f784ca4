"""A whole grading: settings checked, pairs graded through the store, and everything written that came of it.

What the grades of its documents say of each sample: context relevance and context precision, in order of rank.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from claimeval import ir
from claimeval.data.grades import relevance_scale
from claimeval.evaluation.forecast.estimates import Range
from claimeval.evaluation.forecast.quotes import Prospect
from claimeval.evaluation.relevance import PER_CALL, Candidates, Graded, GradingPlan, gradable, grade
from claimeval.execution.runner import RunStatus, run_items
from claimeval.judging import grade as rate
from claimeval.judging import prompts
from claimeval.judging.panel import Panel
from claimeval.judging.panel.ballots import cast_ballots
from claimeval.judging.prompts import PromptRecord
from claimeval.metrics.scoring import SampleScores, defined, undefined
from claimeval.providers import specs as lineups
from claimeval.types.clusters import cluster_of_question
from claimeval.types.errors import DataError, UsageError
from claimeval.types.estimates import Estimate
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Reason, Record, Sample, Score
from claimeval.types.requests import Judge
from claimeval.types.scales import Scale

GRADES, QRELS, SUMMARY = "grades.jsonl", "qrels.txt", "relevance.json"
GRADE_TOKENS = Range(40, 120)
"""Tokens assumed of a grade with its reason."""


class Counts(Record):
    """What a grading, or one judge's part in it, comes to."""

    pairs: int
    graded: int
    grades: dict[int, int]
    """How often each grade was given."""
    holes: dict[Reason, int]
    """Pairs without a grade, by reason; they are not in the qrels."""

    @property
    def failures(self) -> int:
        """Holes that are not the data's or the panel's honest answer."""
        return sum(n for reason, n in self.holes.items() if reason not in ("missing_input", "tie"))


class RelevanceSummary(Record):
    """Everything about a grading but its lines."""

    complete: bool
    source: str
    judges: tuple[Judge, ...]
    prompt: PromptRecord
    scale: Scale
    panel: Panel
    per_call: int
    counts: Counts
    members: dict[str, Counts]
    """The same for each judge alone."""
    alpha: Estimate | None = None
    """Krippendorff's ordinal alpha of the judges over pairs; None for a single judge."""
    versions: dict[str, str] = Field(default_factory=dict)

    @property
    def settings(self) -> dict[str, str]:
        """What decided the grades, in words."""
        return {
            "judges": ", ".join(judge.name for judge in self.judges),
            "prompt": f"{self.prompt.name} {self.prompt.digest[:12]}",
            "scale": self.scale.name,
            "vote": self.panel.vote,
        }


class Outcome(NamedTuple):
    """How a grading ended."""

    summary: RelevanceSummary
    ending: RunStatus
    qrels: dict[str, dict[str, int]]
    """The grades without the holes."""
    holes: dict[str, dict[str, Reason]]
    """Per question and document without a grade the reason."""


def grading_plan(
    specs: Sequence[str | Judge],
    scale: str | Scale = "umbrela",
    prompt: str = "steps",
    *,
    per_call: int = PER_CALL,
    panel: Mapping[str, Any] | None = None,
) -> GradingPlan:
    """Everything that is asked of every pair, checked; UsageError before any call can be made."""
    found = lineups.parse_panel(specs)
    chosen = relevance_scale(scale) if isinstance(scale, str) else scale
    judges = lineups.require_prompt_readers(found.judges, "documents are graded")
    settings = lineups.panel_settings(found, panel or {}, chosen, usual="median", about_claims=False)
    return GradingPlan(judges, prompts.load("rate", prompt), chosen, settings, per_call)


def prospects(items: Iterable[Candidates], plan: GradingPlan) -> Iterator[Prospect]:
    """What will be asked, for an estimate of the cost."""
    for item in items:
        documents = [document for document in item.documents if gradable(item.question, document)]
        output = Range(len(documents) * GRADE_TOKENS.low, len(documents) * GRADE_TOKENS.high)
        for number, judge in enumerate(plan.judges if documents else ()):
            certain = plan.panel.escalate is None or number < plan.panel.escalate
            for n in range(plan.panel.replicates):
                request = rate.ask(plan.prompt, judge, item.question, documents, plan.scale, replicate=n)
                yield Prospect("rate", request, output, certain)


def identity(plan: GradingPlan, items: Iterable[Candidates]) -> str:
    """What makes two gradings one, for which a cap holds."""
    digest = hashlib.sha256(plan.prompt.digest.encode())
    for part in (*plan.judges, plan.scale, plan.panel):
        digest.update(part.model_dump_json().encode())
    for item in items:
        digest.update(repr(item).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


async def grade_all(
    items: Iterable[Candidates],
    plan: GradingPlan,
    on_rows: Callable[[Sequence[Graded]], None],
    *,
    source: str,
    options: RunOptions,
    progress: Progress,
) -> Outcome:
    """Grades all items; `on_rows` gets the grades item by item, in order. Goes on from the stored replies."""
    tally = _Tally(plan, {item.query: cluster_of_question(item.question, item.query) for item in items})

    def take(rows: Sequence[Graded]) -> None:
        for row in rows:
            tally.add(row)
        on_rows(rows)

    ending = await run_items(
        items,
        lambda item, executor: grade(item, plan, executor),
        judges=plan.judges,
        options=options,
        progress=progress,
        on_result=take,
        hopeless=lambda stopped: all(judge.name in stopped for judge in plan.judges),
        run=identity(plan, items) if options.capped else "",
    )
    summary = RelevanceSummary(
        complete=ending.complete,
        source=source,
        judges=plan.judges,
        prompt=plan.prompt.record,
        scale=plan.scale,
        panel=plan.panel,
        per_call=plan.per_call,
        counts=tally.counts(),
        members=tally.members(),
        alpha=tally.alpha(),
        versions={"claimeval": version("claimeval")},
    )
    return Outcome(summary, ending, tally.qrels, tally.holes)


async def run(
    items: Iterable[Candidates],
    plan: GradingPlan,
    folder: Path,
    *,
    source: str,
    options: RunOptions,
    progress: Progress,
    overwrite: bool = False,
) -> Outcome:
    """Grades all items and writes `grades.jsonl` and `relevance.json` to a folder.

    When it has finished and a pair has a grade, it writes `qrels.txt` too.

    The same call over the same items goes on from the stored replies and writes the same files. UsageError where the
    folder holds a grading of other settings, unless it may `overwrite` it.
    """
    if not overwrite:
        _check_same(folder, plan, source)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / QRELS).unlink(missing_ok=True)
    part = folder / f"{GRADES}.part"
    with part.open("w", encoding="utf-8") as file:

        def write(rows: Sequence[Graded]) -> None:
            file.writelines(row.model_dump_json(exclude_defaults=True) + "\n" for row in rows)

        outcome = await grade_all(
            items,
            plan,
            write,
            source=source,
            options=options,
            progress=progress,
        )
    part.replace(folder / GRADES)
    if outcome.ending.complete and outcome.qrels:
        with (folder / QRELS).open("w", encoding="utf-8") as file:
            ir.write_qrels(outcome.qrels, file)
    shown = json.dumps(outcome.summary.model_dump(mode="json"), indent=1)
    (folder / SUMMARY).write_text(shown + "\n", encoding="utf-8")
    return outcome


def relevant_from(qrels: Path) -> int | None:
    """The grade from which on the scale of these qrels calls a document relevant; None unless a grading wrote them."""
    summary = _summary(qrels.parent) if qrels.name == QRELS else None
    return int(summary.scale.positive_from) if summary else None


def _summary(folder: Path) -> RelevanceSummary | None:
    path = folder / SUMMARY
    if not path.exists():
        return None
    try:
        return RelevanceSummary.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise DataError(f"{path} is not a summary of grades: {error.errors()[0]['msg']}") from error


def _check_same(folder: Path, plan: GradingPlan, source: str) -> None:
    before = _summary(folder)
    if before is None:
        return
    settings = {
        "data": (before.source, source),
        "judges": (before.judges, plan.judges),
        "prompt": (before.prompt.digest, plan.prompt.digest),
        "scale": (before.scale, plan.scale),
        "panel": (before.panel, plan.panel),
        "documents per call": (before.per_call, plan.per_call),
    }
    for name, (old, new) in settings.items():
        if old != new:
            raise UsageError(f"{folder} holds grades with other {name}; choose another --out, or --overwrite them")


class _Tally:
    """Adds up rows as they come; holds the grades and nothing else of them."""

    def __init__(self, plan: GradingPlan, clusters: Mapping[str, int]) -> None:
        self._plan = plan
        self._cluster_of = clusters
        self.qrels: dict[str, dict[str, int]] = {}
        self.holes: dict[str, dict[str, Reason]] = {}
        self._all = _Counter()
        self._members = {judge.name: _Counter() for judge in plan.judges}
        self._ratings: list[list[int | None]] = []
        self._clusters: list[int] = []

    def add(self, row: Graded) -> None:
        self._all.add(row.grade, row.ungraded_because)
        if row.grade is not None:
            self.qrels.setdefault(row.query, {})[row.document] = row.grade
        elif row.ungraded_because:
            self.holes.setdefault(row.query, {})[row.document] = row.ungraded_because
        ballots = {ballot.judge: ballot for ballot in cast_ballots(row.verdicts, self._plan.panel)}
        for name, counter in self._members.items():
            ballot = ballots.get(name)
            if ballot is None and row.verdicts:
                continue  # not asked, because the first judges agree
            said = ballot.choice if ballot else None
            counter.add(None if said is None else int(said), ballot.because if ballot else row.ungraded_because)
        if len(self._members) > 1:
            self._ratings.append(
                [
                    int(b.choice) if (b := ballots.get(n)) and b.choice is not None else None
                    for n in self._plan.panel.asked_about_all(list(self._members))
                ]
            )
            self._clusters.append(self._cluster_of[row.query])

    def counts(self) -> Counts:
        return self._all.counts()

    def members(self) -> dict[str, Counts]:
        return {name: counter.counts() for name, counter in self._members.items()}

    def alpha(self) -> Estimate | None:
        from claimeval.statistics import krippendorff_alpha

        if len(self._members) < 2 or not self._ratings:
            return None
        found = krippendorff_alpha(
            self._ratings, scale="ordinal", labels=self._plan.scale.steps, clusters=self._clusters
        )
        return Estimate.of(found)


class _Counter:
    def __init__(self) -> None:
        self._grades: Counter[int] = Counter()
        self._holes: Counter[Reason] = Counter()

    def add(self, grade: int | None, because: Reason | None) -> None:
        if grade is not None:
            self._grades[grade] += 1
        else:
            assert because is not None, "a hole has a reason"
            self._holes[because] += 1

    def counts(self) -> Counts:
        graded = self._grades.total()
        return Counts(
            pairs=graded + self._holes.total(),
            graded=graded,
            grades=dict(sorted(self._grades.items())),
            holes=dict(self._holes.most_common()),
        )


RELEVANT, GRADE, PRECISION = "context_relevance", "context_grade", "context_precision_ap"
"""`context_relevance`: the share of the retrieved documents that is relevant. `context_grade`: their mean grade.
`context_precision_ap`: mean of P@rank over the ranks of the relevant ones, which ragas and DeepEval call context
precision; 0 where none is relevant. Missed documents are in none of them. By reference contexts instead of grades it is
`ap_retrieved` of `claimeval retrieval`."""


def units(scale: Scale) -> dict[str, str]:
    """The unit of each score."""
    return {RELEVANT: "share", PRECISION: "share", GRADE: f"grade {scale.steps[0]} to {scale.steps[-1]}"}


def rows(
    samples: Iterable[Sample],
    grades: ir.Qrels,
    holes: Mapping[str, Mapping[str, Reason]],
    scale: Scale,
) -> Iterator[SampleScores]:
    """A row a sample, `contexts[i]` being rank i+1.

    Where a document has no grade nothing has a value: the most frequent reason stands there, and the bounds between
    which the value lies. A sample that retrieved nothing has `no_evidence`, one that does not say what it retrieved
    `missing_input`.
    """
    for sample in samples:
        mine, missing = grades.get(sample.id, {}), holes.get(sample.id, {})
        given = [mine.get(document.id) for document in sample.contexts or ()]
        if sample.contexts is None:
            yield undefined(sample.id, units(scale), "missing_input")
        else:
            yield _row(sample.id, [None if grade is None else int(grade) for grade in given], missing, scale)


def _row(name: str, grades: Sequence[int | None], holes: Mapping[str, Reason], scale: Scale) -> SampleScores:
    unit = units(scale)
    if not grades:
        return undefined(name, unit, "no_evidence")
    relevant = [None if grade is None else grade >= scale.positive_from for grade in grades]
    ends = {RELEVANT: _share(relevant), PRECISION: precision(relevant), GRADE: _mean(grades, scale.steps[-1])}
    if None in grades:
        because = Counter(holes.values()).most_common(1)[0][0]
        scores = tuple(Score(metric=m, unit=u, because=because, bounds=ends[m]) for m, u in unit.items())
        return SampleScores(id=name, scores=scores)
    return defined(name, {metric: ends[metric][0] for metric in unit}, unit)


def _share(relevant: Sequence[bool | None]) -> tuple[float, float]:
    yes, open_ = relevant.count(True), relevant.count(None)
    return yes / len(relevant), (yes + open_) / len(relevant)


def _mean(grades: Sequence[int | None], most: int) -> tuple[float, float]:
    total, open_ = sum(grade for grade in grades if grade is not None), grades.count(None)
    return total / len(grades), (total + most * open_) / len(grades)


def precision(relevant: Sequence[bool | None]) -> tuple[float, float]:
    """The least and the greatest `context_precision_ap` that a ranking can have whose None are relevant or not.

    It is the mean of (relevant up to rank k) / k over the relevant ranks k, as `ir.ap_retrieved`, 0 without any. One
    more relevant document can raise it or lower it, so both ends are found by the number of relevant ones so far.
    """
    return min(_means(relevant, min)), max(_means(relevant, max))


def _means(relevant: Sequence[bool | None], better: Callable[[float, float], float]) -> list[float]:
    sums = {0: 0.0}
    for rank, said in enumerate(relevant, 1):
        further: dict[int, float] = {}
        for count, total in sums.items():
            if said is not True:
                further[count] = better(further.get(count, total), total)
            if said is not False:
                more = total + (count + 1) / rank
                further[count + 1] = better(further.get(count + 1, more), more)
        sums = further
    return [total / count if count else 0.0 for count, total in sums.items()]
