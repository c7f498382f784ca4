"""What is asked of every sample, and how it is settled from what a user said, before any call can be made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from claimeval.data.survey import Survey
from claimeval.judging import prompts
from claimeval.judging.panel import Panel
from claimeval.judging.panel.voting import Voters
from claimeval.judging.prompts import Prompt
from claimeval.metrics.derived import MetricSelection, derived, resolve_derived
from claimeval.metrics.rows import ABOUT_ANSWERS, METRICS, SUPPORT, Metric
from claimeval.providers import reads_prompts, specs
from claimeval.providers import specs as judging
from claimeval.types.errors import DataError, UsageError
from claimeval.types.families import Families
from claimeval.types.options import PanelOptions
from claimeval.types.records import Part
from claimeval.types.requests import Judge


class ClaimsJob(NamedTuple):
    """What is asked of every sample, and how it is settled from what a user said, before any call can be made."""

    metrics: tuple[Metric, ...]
    judges: tuple[Judge, ...]
    extractor: Judge
    extract_prompt: Prompt
    assess_prompt: Prompt
    panel: Panel = Panel()
    families: Families = Families()
    on_record: frozenset[str] = frozenset()
    """Judges that are not asked: the verdicts that an earlier result has of them are all there is."""
    extracts: bool = True
    """Whether some text may have to be taken apart."""
    derived: tuple[str, ...] = ()
    """Metrics that are read off the verdicts, by name."""
    own_prompts: Mapping[str, Prompt] = MappingProxyType({})
    """By metric, the prompts of rows that ask something else than whether a text supports a claim."""
    joint: bool = True
    """Whether claims that no single document supports are assessed against all of them together."""
    cluster: str | None = None
    """The field by which samples belong together in intervals; None for their question."""

    @property
    def asked(self) -> tuple[Judge, ...]:
        """Everyone to whom a question may go."""
        judges = tuple(judge for judge in self.judges if judge.name not in self.on_record)
        return (*judges, self.extractor) if self.extracts and not self.panel.own_claims else judges

    @property
    def voters(self) -> Voters:
        return Voters(self.judges, self.panel, self.families)

    def asks_with(self, judge: Judge) -> tuple[str, ...]:
        """The ids of the prompts that a judge is asked with."""
        rows = (metric for metric in self.metrics if not metric.prompt or reads_prompts(judge))
        return tuple(dict.fromkeys(self.prompt(row.claims_of, row.against).id for row in rows))

    def prompt(self, of: Part, against: Part) -> Prompt:
        """What judges are asked of the claims of a part against a text."""
        for metric in self.metrics if self.own_prompts else ():
            if metric.prompt and (metric.claims_of, metric.against) == (of, against):
                return self.own_prompts[metric.name]
        return self.assess_prompt


def choose_metrics(asked: MetricSelection | None, found: Survey) -> MetricSelection:
    """The metrics that were asked for, or the built-in ones about answers that some sample can feed.

    Where none of these can be fed, `reference_support` is taken if it can: the file is a test set without answers.

    Samples that lack what a metric needs are counted as `missing_input`. UsageError where no sample can feed a metric
    that was asked for, or none at all; DataError where two samples have one id.
    """
    if found.duplicate_ids:
        raise DataError(f"Duplicate sample id {found.doubled}; ids must be unique")
    fed = tuple(metric for metric in SUPPORT if not asked and found.feeds(metric.name))
    chosen = asked.rows if asked else tuple(metric for metric in fed if metric.name in ABOUT_ANSWERS) or fed
    if not chosen:
        needs = "; ".join(incomplete(found, [METRICS[name] for name in ABOUT_ANSWERS]))
        raise UsageError(
            f"no sample can feed a metric: {needs}. Say with --field under which names they stand in the file, as in "
            "--field answer=draft, or name a metric over what there is, as in --metrics on_policy=answer:policy"
        )
    for metric in chosen:
        if not found.feeds(metric.name):
            lacks = ", ".join(incomplete(found, [metric]))
            raise UsageError(
                f"no sample can feed {metric.name}: {lacks}. Choose other --metrics, or say with --field under which "
                "name it stands in the file"
            )
    return asked or MetricSelection(chosen, None)


def incomplete(found: Survey, metrics: Sequence[Metric]) -> dict[str, list[str]]:
    """What some samples lack, in words, and the metrics that need it."""
    lacks: dict[str, list[str]] = {}
    for metric in metrics:
        for lack in found.lacks[metric.name]:
            words = f"{lack.count} of {found.samples} samples lack {lack.field} (first: {lack.first!r})"
            lacks.setdefault(words, []).append(metric.name)
    return lacks


def make_plan(
    judges: Sequence[str | Judge],
    extractor: str | Judge | None,
    metrics: MetricSelection,
    extract_prompt: str,
    assess_prompt: str | None,
    panel: Mapping[str, Any] = MappingProxyType({}),
    *,
    with_labels: bool = False,
    cluster: str | None = None,
) -> ClaimsJob:
    """Everything that is asked of every sample, checked; UsageError before any call can be made.

    If `assess_prompt` is None, the metrics decide (`usual_assess_prompt`). `panel` are settings of `Panel` that were
    given; they come before those of a panel file. `with_labels` says that human labels are at hand, from which weights
    can be learned.
    """
    found = specs.parse_panel(judges)
    spec = extractor or found.extractor
    taker = judging.parse_judge(spec) if spec else found.judges[0]
    if any(judge.name == taker.name and judge != taker for judge in found.judges):
        raise UsageError(f"extractor and judge are both called {taker.name!r} but differ; give one another name")
    prompt = prompts.load("assess", assess_prompt or usual_assess_prompt(metrics))
    assert prompt.scale is not None, "an assess prompt has a scale; loading checks it"
    settings = specs.panel_settings(found, panel, prompt.scale, with_labels=with_labels)
    if settings.own_claims and spec:
        raise UsageError("every judge takes its own claims (own_claims), so there is no extractor to name")
    return ClaimsJob(
        metrics=metrics.rows,
        derived=resolve_derived(
            metrics, per_document=settings.per_document, three_way="contradicted" in settings.labels
        ),
        own_prompts=own_prompts(metrics.rows, found.judges, settings),
        judges=found.judges,
        extractor=taker,
        extract_prompt=prompts.load("extract", extract_prompt),
        assess_prompt=prompt,
        panel=settings,
        families=Families(settings.families),
        cluster=cluster,
    )


def settings_given(
    panel: PanelOptions,
    *,
    per_document: bool | None = None,
    shuffle_contexts: int | None = None,
    extract_per_judge: bool | None = None,
) -> dict[str, Any]:
    """Return the settings of a panel that a caller gave, by the names of `Panel`; None is not given."""
    question = {"per_document": per_document, "shuffles": shuffle_contexts, "own_claims": extract_per_judge}
    return panel.given | {name: value for name, value in question.items() if value is not None}


def usual_assess_prompt(metrics: MetricSelection | None) -> str:
    """The assess prompt if none is named: `partial` if a metric counts partial support, `three_way` otherwise, and
    also if a metric needs contradicted told from not found, which `partial` does not."""
    rows = [derived(name) for name in (metrics.derived if metrics else None) or ()]
    return "partial" if any(row.partial for row in rows) and not any(row.three_way for row in rows) else "three_way"


def notes(plan: ClaimsJob, extractor: Judge | None = None) -> tuple[str, ...]:
    """What must stand beside the numbers; `extractor` took the claims if the plan's did not."""
    return (*judging.notes(plan.judges, extractor or plan.extractor), *without_partial_support(plan))


def without_partial_support(plan: ClaimsJob) -> tuple[str, ...]:
    """A note if metrics count partial support and the prompt lets no judge say it."""
    names = [name for name in plan.derived if derived(name).partial]
    if not names or plan.panel.grades:
        return ()
    verb = "equals" if len(names) == 1 else "equal"
    return (
        f"the prompt {plan.assess_prompt.name} has no label for partial support, so {', '.join(names)} {verb} the "
        "strict form (assess/partial has one)",
    )


def own_prompts(metrics: Sequence[Metric], judges: Sequence[Judge], settings: Panel) -> dict[str, prompts.Prompt]:
    """The prompts of rows that have one of their own, by name; UsageError where nobody can be asked about a claim."""
    own = {metric.name: prompts.load("weigh", metric.prompt) for metric in metrics if metric.prompt}
    local = [judge.name for judge in judges if not reads_prompts(judge)]
    if own and len(local) == len(judges):
        raise UsageError(f"{min(own)} asks what a claim has to do with a question, which takes a language model")
    if own and settings.own_claims and local:
        raise UsageError(
            f"{min(own)} asks what a claim has to do with a question, which takes a language model, and {local[0]!r}, "
            "which is none, takes claims of its own"
        )
    return own


def check_families(plan: ClaimsJob, generators: Iterable[str]) -> None:
    """UsageError where judge or extractor are of a generator's family and that was declared an error."""
    if plan.panel.on_same_family != "error":
        return
    for generator in generators:
        for role, one in [("judge", judge) for judge in plan.judges] + [("extractor", plan.extractor)]:
            if plan.families.same(one.model, generator):
                raise UsageError(
                    f"{role} {one.name!r} is of the family of {generator!r}, which wrote answers here; take another "
                    f"{role}, or say what to do with --on-same-family warn or skip"
                )
