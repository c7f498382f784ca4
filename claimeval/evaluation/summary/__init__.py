"""The summary of a run, computed sample by sample."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from claimeval.data.context_ids import MATCHING, ContextIds, ContextIdTally
from claimeval.evaluation.manifest import RUN_FORMAT, Manifest
from claimeval.evaluation.summary.cost import (
    NO_PRICES,
    CostTally,
    RunCost,
    ServedModels,
    ServedTally,
    long_evidence,
    windows_of,
)
from claimeval.evaluation.summary.headline import HeadlineTally
from claimeval.evaluation.summary.orders import OrderEffects, OrderTally
from claimeval.evaluation.summary.panel import (
    FamilyTally,
    MemberTally,
    PanelSummary,
    PanelTally,
    Preferences,
    SameFamily,
)
from claimeval.judging.panel import Panel
from claimeval.judging.replies import UNCLEAR
from claimeval.metrics.claim_quality import ExtractionSummary
from claimeval.metrics.derived import derived, missing_reasons
from claimeval.metrics.scoring import MetricSummary, MetricTally, counted
from claimeval.metrics.tally import Keyed
from claimeval.providers.prices import Price
from claimeval.types.clusters import Openings, cluster_of
from claimeval.types.errors import visible
from claimeval.types.estimates import Estimate, LongEvidence
from claimeval.types.families import Families
from claimeval.types.gates import GateResult
from claimeval.types.records import (
    ABSTAINED,
    NOT_APPLICABLE,
    Assessment,
    Call,
    Reason,
    Record,
    SampleResult,
    claims_question,
)

if TYPE_CHECKING:
    from claimeval.evaluation.summary.extraction import ExtractionTallies

_ALONE = Panel()
_NO_FAILURE = NOT_APPLICABLE | ABSTAINED
EXCERPT = 200
"""Maximum characters of an unreadable reply in a summary."""


class FailureExample(Record):
    """A call that failed or whose reply could not be read."""

    sample: str
    judge: str
    excerpt: str
    """The beginning of the reply, or the provider's error message, with hidden characters
    escaped."""


class Summary(Record):
    """Summary of a run. `complete` is False if it stopped before the last sample."""

    format: int = RUN_FORMAT
    job: str = "score"
    """As in the manifest."""
    headline: str = ""
    """What judges found, counted, in one sentence; empty if there is nothing to say."""
    contradicted: dict[str, int] = Field(default_factory=dict)
    """Claims that their evidence contradicts, by metric; claims that are judged and neither
    supported nor contradicted were not found."""
    complete: bool
    samples: int
    clusters: int
    """Number of different questions, or of different values of the field that `--cluster` names."""
    metrics: dict[str, MetricSummary]
    notes: tuple[str, ...] = ()
    panel: PanelSummary | None = None
    """Agreement and disputes of the judges; None for a single judge without replicates."""
    same_family: tuple[SameFamily, ...] = ()
    """Judges, extractor and authors of gold answers of the family of an answer's generator."""
    by: dict[str, dict[str, dict[str, Estimate]]] = Field(default_factory=dict)
    """The mean of each metric, by field and value of the samples, if `--by` names fields."""
    cost: RunCost | None = None
    """The cost of the calls; None for a run without judges."""
    judges: tuple[ServedModels, ...] = ()
    """The models that answered, by judge. Judges whose server reports none are left out."""
    other_models: tuple[ServedModels, ...] = ()
    """Of them, those that are not the model that was asked."""
    failures: dict[Reason, FailureExample] = Field(default_factory=dict)
    """The first failed call for each reason, even if a later attempt succeeded."""
    stopped: str | None = None
    """Why the run ended before the last sample."""
    gates: tuple[GateResult, ...] = ()
    """What became of the gates that the run was made with."""
    unclear: int = 0
    """Number of statements that an extractor left out because their reference is unknown."""
    long: tuple[LongEvidence, ...] = ()
    """Samples with a text that is longer than a judge's window, so the judge read it in several
    windows."""
    order_effects: OrderEffects | None = None
    """The effect of other document orders on the labels, if they were assessed."""
    context_ids: ContextIds | None = None
    """Ids of contexts and of reference contexts; None if no sample has both, or if contexts are
    matched by text."""
    extraction: ExtractionSummary | None = None
    """Quality of claims in an extraction run, in which each metric's mean is a ratio of sums over
    all samples."""

    def __getitem__(self, metric: str) -> MetricSummary:
        return self.metrics[metric]

    @property
    def units(self) -> dict[str, str]:
        """The unit of each metric."""
        return {name: metric.unit for name, metric in self.metrics.items()}

    @property
    def decided(self) -> bool:
        """Whether the run ended before the last sample because its gates were decided."""
        return not self.complete and any(gate.after is not None for gate in self.gates)

    @property
    def lost(self) -> dict[Reason, FailureExample]:
        """An example for each reason for which samples or claims were lost to failures."""
        reasons: set[Reason] = set()
        for metric in self.metrics.values():
            reasons.update(metric.missing, metric.unassessed)
        return {
            reason: example
            for reason, example in self.failures.items()
            if reason in reasons - _NO_FAILURE
        }


class SummaryBuilder:
    """Computes the summary of a run, sample by sample."""

    def __init__(
        self,
        record: Manifest,
        prices: str | Path | None = None,
        known: Mapping[str, Price | None] = NO_PRICES,
    ) -> None:
        """Start the summary of a run.

        Args:
            record: The manifest of the run.
            prices: A price file.
            known: Prices by judge that take precedence over those of the file, such as those that
                a shard has paid.
        """
        judges = record.judges
        extractor = record.extractor
        panel = record.panel
        models = {judge.name: judge.model for judge in judges}
        several = record.of_claims and (len(models) > 1 or panel.replicates > 1)
        families = Families(panel.families)
        self._notes = record.notes
        self._job = record.job
        self._cluster = record.cluster
        self._clusters = array("q")
        self._openings = Openings(self._cluster)
        self._rows = record.rows
        self._of_rows = [MetricTally() for _ in self._rows]
        self._derived = {name: MetricTally() for name in record.derived}
        self._extraction = _extraction_tallies(record)
        # The mean of an extraction metric is a ratio of sums, since one answer may have a single
        # date.
        self._others = {} if self._extraction else {name: MetricTally() for name in record.others}
        self._members = [
            MemberTally(
                tuple(models) if several else (),
                panel.for_question(claims_question(metric.claims_of, metric.against)),
                takes_best=metric.takes_best,
            )
            for metric in self._rows
        ]
        self._panel = PanelTally(tuple(models), panel) if several else None
        self._preferences = Preferences(models, families)
        self._kinship = FamilyTally(
            models,
            (extractor.name, extractor.model) if extractor else None,
            families,
        )
        self._headline = HeadlineTally(record)
        self._failures: dict[Reason, FailureExample] = {}
        self._judges = record.asked
        self._unclear = 0
        self._long = Keyed[str, "array[int]"](lambda judge: array("q"))
        self._cost = CostTally(judges, extractor, prices, known)
        self._served = ServedTally((*judges, *([extractor] if extractor else ())))
        self._matches_ids = record.settings.get("match") != "text"
        collapse = record.settings.get("collapse_ids")
        self._ids = ContextIdTally(collapse if isinstance(collapse, str) else None)
        self._orders = OrderTally(panel.shuffle_contexts) if panel.shuffle_contexts else None

    def add(self, result: SampleResult) -> None:
        """Add one sample."""
        cluster = cluster_of(result.sample, self._cluster)
        self._clusters.append(cluster)
        self._openings.add(result.sample, cluster)
        if self._extraction:
            self._extraction.add(result)
        self._add_scores(result, cluster)
        self._headline.add(result)
        self._add_failures(result)
        if self._panel:
            self._panel.add(result)
        if self._orders:
            self._orders.add(result, cluster)
        self._kinship.add(result.sample)
        # Contexts that are matched by text need no common ids, so a warning about these would be
        # wrong.
        if self._matches_ids:
            self._ids.add(result.sample, result.details.get(MATCHING))
        self._cost.add(result)
        for call in result.calls:
            self._served.add(call)
        for judge, windows in windows_of(result.calls).items():
            self._long[judge].append(windows)
        phrases = result.details.get(UNCLEAR)
        if isinstance(phrases, dict):
            lists = [of_part for of_part in phrases.values() if isinstance(of_part, list)]
            self._unclear += sum(map(len, lists))

    def _add_scores(self, result: SampleResult, cluster: int) -> None:
        for name, tally in self._others.items():
            tally.add(result.scores[name], cluster=cluster)
        for name, tally in self._derived.items():
            score = result.scores[name]
            tally.add(score, missing_reasons(name, score, result), cluster=cluster)
        self._add_rows(result, cluster)

    def _add_rows(self, result: SampleResult, cluster: int) -> None:
        """Add the scores of the metrics of claims, with why claims have no label."""
        # Assessments are grouped by metric only where somebody looks at them: most samples of one
        # judge have a verdict on every claim, and then the scores say all there is to count.
        unusual = any(one.unassessed or not one.verdicts for one in result.whole)
        columns = result.columns() if self._rows and (self._panel or unusual) else {}
        ungrounded = {claim.id for claim in result.claims if claim.grounding == "ungrounded"}
        for metric, tally, members in zip(self._rows, self._of_rows, self._members, strict=True):
            score = result.scores[metric.name]
            assessments = columns.get((metric.claims_of, metric.against), [])
            of = counted(metric, result) if unusual or ungrounded else frozenset()
            tally.add(
                score,
                [a.unassessed for a in assessments if a.unassessed and a.subject in of],
                len(ungrounded & of),
                cluster=cluster,
                unasked=any(a.unasked for a in assessments),
            )
            if self._panel:
                claims = {claim.id: claim for claim in result.claims_of(metric.claims_of)}
                values = members.add(score, assessments, cluster, claims)
                # Preference for one's own family shows only where the answer of a generator is
                # judged.
                if "answer" in (metric.claims_of, metric.against):
                    self._preferences.add(result.sample, metric.name, values, cluster)

    def _add_failures(self, result: SampleResult) -> None:
        """Keep the first call of each reason for which calls or subjects were lost."""
        for call in result.calls:
            if call.failed and call.failed not in self._failures:
                self._failures[call.failed] = _example(result, call)
        for assessment in result.whole:
            because = assessment.unassessed
            if because and because not in _NO_FAILURE and because not in self._failures:
                self._add_failure(result, assessment, because)

    def each(self, results: Iterable[SampleResult]) -> Iterator[SampleResult]:
        """Add and yield results."""
        for result in results:
            self.add(result)
            yield result

    def _add_failure(self, result: SampleResult, assessment: Assessment, because: Reason) -> None:
        """Keep the call that left the subject without a verdict as the example of its reason."""
        judges = {verdict.judge for verdict in assessment.verdicts if verdict.unassessed == because}
        # The last attempt is the one that left the subject without a verdict.
        for call in reversed(result.calls):
            if (
                call.judge in judges
                and assessment.subject in call.subjects
                and call.evidence == assessment.evidence
            ):
                self._failures[because] = _example(result, call)
                return

    @property
    def prices(self) -> dict[str, Price | None]:
        """The price of each judge, which may be unknown."""
        return self._cost.prices

    def summary(self, *, stopped: str | None = None, complete: bool = True) -> Summary:
        """Return the summary of the samples so far."""
        rows = list(zip(self._rows, self._of_rows, self._members, strict=True))
        noise = {metric.name: members.noise() for metric, _, members in rows}
        of_claims = self._extraction.metrics() if self._extraction else {}
        metrics = {
            metric.name: tally.summary().model_copy(update={"by_judge": members.summary()})
            for metric, tally, members in rows
        }
        # A metric of doubtful metrics reports bounds too, or f1 would look surer than its recall.
        doubtful = {name for name, metric in metrics.items() if metric.ends == "bounds"}
        for name, tally in self._derived.items():
            metrics[name] = tally.summary()
            if (
                not metrics[name].total
                and metrics[name].bounds
                and not doubtful.isdisjoint(derived(name).needs)
            ):
                metrics[name] = metrics[name].with_bounds(tally.reported_bounds)
        metrics |= {name: tally.summary() for name, tally in self._others.items()}
        metrics |= of_claims
        return Summary(
            job=self._job,
            headline=self._headline.headline(metrics),
            contradicted=dict(self._headline.contradicted),
            complete=complete,
            samples=len(self._clusters),
            clusters=len(set(self._clusters)),
            metrics=metrics,
            notes=(*self._notes, *self._openings.notes),
            panel=(
                self._panel.summary(tuple(self._preferences.estimates()), noise)
                if self._panel
                else None
            ),
            same_family=self._kinship.summary(),
            cost=self._cost.summary(),
            judges=self._served.summary(),
            other_models=self._served.others(),
            failures=self._failures,
            stopped=stopped,
            unclear=self._unclear,
            long=long_evidence(self._long, self._judges),
            order_effects=self._orders.summary() if self._orders else None,
            context_ids=self._ids.counts(),
            extraction=self._extraction.summary() if self._extraction else None,
        )


def _extraction_tallies(record: Manifest) -> ExtractionTallies | None:
    """Return the tallies of an extraction run, imported only if needed because their word rules
    load slowly."""
    if record.job != "extraction":
        return None
    from claimeval.evaluation.summary.extraction import ExtractionTallies

    return ExtractionTallies(record)


def _example(result: SampleResult, call: Call) -> FailureExample:
    excerpt = visible(call.reply or call.message or "", EXCERPT)
    return FailureExample(sample=result.sample.id, judge=call.judge, excerpt=excerpt)
