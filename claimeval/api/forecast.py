"""Before a run: `plan` forecasts its calls and cost, `probe` tests a judge."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec

from claimeval.api.comparison import experiment, prepared_experiment
from claimeval.api.hints import with_hints
from claimeval.api.jobs import JudgeSpec, before_run, blocking, parse_spec
from claimeval.evaluation.claims import ClaimsJob
from claimeval.evaluation.estimates import RecordedOutput
from claimeval.evaluation.forecast import Forecast, TokenShares, forecast
from claimeval.evaluation.probe import probe as try_judge
from claimeval.execution import ComputedJob
from claimeval.execution.batch.executor import batch_judges, options_for
from claimeval.providers import provider, specs
from claimeval.runs.experiments import read
from claimeval.runs.jobs import Prepared
from claimeval.store.store import MARKER, Store, cache_folder
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.probes import Probe
from claimeval.types.records import Sample
from claimeval.types.requests import Judge

P = ParamSpec("P")
FIRST = 100
LEAST = 0.005
"""Number of samples, from the first, over which cheaper forms are compared, and the least share
that is named."""


class _Stopped(Exception):  # ends the function before it asks a judge; not an error
    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared


def plan(door: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> Forecast:
    """Forecast the calls and cost of `door(*args, **kwargs)` without asking a judge.

    Args:
        door: `score`, `rejudge`, `rate`, `grade`, `experiment`, `extraction`, `measure`,
            `write_queries` or one of their asynchronous twins.
        args: Its arguments.
        kwargs: Its keyword arguments.

    Returns:
        Calls, tokens and US dollars per step and judge, without cached requests. Requests shared by
        arms of an experiment are counted in the first arm. Judges without a known price
        (`judges_without_price`) have no cost.

    Raises:
        UsageError: As the function does for these arguments, or if it cannot be planned.

    Examples:
        >>> forecast = ce.plan(ce.score, "answers.jsonl", judges="openai:gpt-5")
        >>> least, most = forecast.cost
        >>> least < most
        True
        >>> forecast.judges_without_price
        ()
    """
    if door is experiment:
        given: Any = {
            name: kwargs[name] for name in ("labels", "select", "anyway") if name in kwargs
        }
        return _forecast_arms(
            arm_forecasts(args[0] if args else kwargs["design"], _options(kwargs), **given)
        )
    return planned(door, *args, **kwargs).forecast


def _options(kwargs: Mapping[str, object]) -> RunOptions:
    options = kwargs.get("options")
    return options if isinstance(options, RunOptions) else RunOptions()


class Planned(NamedTuple):
    """A prepared job and its forecast."""

    prepared: Prepared
    forecast: Forecast


def planned(door: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> Planned:
    """Return the forecast of `plan` with the job that it is about."""
    if not callable(door):
        raise UsageError(
            "plan takes a function and its arguments, as in plan(ce.score, data, ...), and got"
            f" {door!r}"
        )
    try:
        with before_run(_stop):
            result = door(*args, **kwargs)
            if inspect.iscoroutine(result):
                blocking(result)
    except _Stopped as stopped:
        stopped.prepared.log_remarks()
        return Planned(stopped.prepared, _forecast(stopped.prepared, _options(kwargs)))
    raise UsageError(f"{getattr(door, '__name__', 'this')} asks no judge or cannot be planned")


def _stop(prepared: Prepared) -> None:
    raise _Stopped(prepared)


def _forecast(prepared: Prepared, options: RunOptions) -> Forecast:
    job: Any = prepared.job
    if isinstance(job, ComputedJob):
        return Forecast(samples=prepared.count_items(), lines=(), basis=())

    async def walk() -> Forecast:
        """Forecast with the reply cache open in this thread."""
        with cached_replies(options) as store:  # opened in the thread that reads it
            recorded = RecordedOutput(store)
            batched = batched_judges(job.asked, options)
            ahead = await forecast(
                prepared.items, job, store, options.prices, batched=batched, recorded=recorded
            )
            if not isinstance(job, ClaimsJob) or prepared.manifest.source:
                return ahead
            return await _with_savings(ahead, job, prepared.items, store, recorded, options)

    return blocking(walk())


class _Middle(NamedTuple):
    """The middle of what a form of asking is expected to cost."""

    dollars: float
    prompt: float
    output: float

    @classmethod
    def of(cls, ahead: Forecast) -> _Middle:
        """Return the middles of the ranges of a forecast."""
        return cls(
            sum(ahead.known_cost) / 2,
            sum(sum(line.prompt_tokens) for line in ahead.lines) / 2,
            sum(sum(line.output_tokens) for line in ahead.lines) / 2,
        )


async def _with_savings(
    ahead: Forecast,
    job: ClaimsJob,
    samples: Iterable[Sample],
    store: Store | None,
    recorded: RecordedOutput,
    options: RunOptions,
) -> Forecast:
    """Return a forecast with the shares that each cheaper form of asking saves by itself: of the
    dollars, and of the tokens if a price is unknown."""
    if not ahead.calls[1]:
        return ahead
    first = list(islice(samples, FIRST))

    async def middle(job: ClaimsJob, options: RunOptions) -> _Middle:
        """Return the middle of what the first samples are expected to cost."""
        batched = batched_judges(job.asked, options)
        return _Middle.of(
            await forecast(first, job, store, options.prices, batched=batched, recorded=recorded)
        )

    usual = await middle(job, options)
    cheaper = dict[str, float]()
    fewer = dict[str, TokenShares]()
    for option, form in _forms(job).items():
        with suppress(UsageError):  # the provider has no batches
            asked = replace(options, batch=True) if option == "--batch" else options
            cost = await middle(form, asked)
            cheaper[option] = _saved(cost.dollars, usual.dollars)
            fewer[option] = TokenShares(
                prompt=_saved(cost.prompt, usual.prompt), output=_saved(cost.output, usual.output)
            )
    return ahead.model_copy(
        update={
            "cheaper": {option: share for option, share in cheaper.items() if share >= LEAST},
            "fewer_tokens": {
                option: shares
                for option, shares in fewer.items()
                if ahead.judges_without_price and max(shares.prompt, shares.output) >= LEAST
            },
        }
    )


def _forms(job: ClaimsJob) -> dict[str, ClaimsJob]:
    """Return the cheaper forms of a job by their options."""
    auto = specs.asking("auto")
    judges = tuple(specs.parse_judge(judge, auto) for judge in job.judges)
    extractor = specs.parse_judge(job.extractor, auto)
    return {
        "--claims-per-call auto": replace(job, judges=judges, extractor=extractor),
        "--reasons none": replace(job, assess_prompt=job.assess_prompt.asking(reasons="none")),
        "--quotes no": replace(job, extract_prompt=job.extract_prompt.asking(quotes="no")),
        "--batch": job,
    }


def _saved(cost: float, usual: float) -> float:
    """Return the share that is saved; 0 if nothing is known of the usual cost."""
    return 1 - cost / usual if usual else 0.0


def arm_forecasts(
    design: Any,
    options: RunOptions,
    labels: str | Path | None = None,
    *,
    select: bool = False,
    anyway: bool = False,
) -> dict[str, Forecast]:
    """Return the forecast of each arm of an experiment; requests of an earlier arm are not counted
    again.

    Args:
        design: The experiment, as for `experiment`.
        options: The options of the run.
        labels: Labels by people, as for `experiment`.
        select: Forecast the arms on the choosing half, then the baseline and the most expensive
            other arm on the other.
        anyway: Forecast a choice by fewer than 60 labels too.
    """
    prepared = prepared_experiment(read(design, labels), options, select=select, anyway=anyway)
    halves = prepared.halves
    baseline = prepared.design.baseline
    jobs = {arm.name: job for arm, job in zip(prepared.design.arms, prepared.plans, strict=True)}
    counted: set[int] = set()

    async def walk() -> dict[str, Forecast]:
        """Forecast with the reply cache open in this thread."""
        with cached_replies(options) as store:
            recorded = RecordedOutput(store)

            async def of_arm(name: str, samples: Iterable[Sample], counted: set[int]) -> Forecast:
                """Forecast an arm on some samples."""
                asked_of = (*jobs[name].judges, jobs[name].extractor)
                batched = batched_judges(asked_of, options_for(asked_of, options))
                job = jobs[name]
                return await forecast(
                    samples, job, store, options.prices, counted, batched, recorded
                )

            judged = halves.choose if halves else prepared.samples
            forecasts = {name: await of_arm(name, judged, counted) for name in jobs}
            if halves:
                other = f"{baseline}, other half"
                forecasts[other] = await of_arm(baseline, halves.report, counted)
                chosen = [
                    await of_arm(name, halves.report, set(counted))
                    for name in jobs
                    if name != baseline
                ]
                most = max(chosen, key=lambda ahead: (ahead.known_cost[1], ahead.calls[1]))
                forecasts["chosen arm, other half"] = most
        return forecasts

    return blocking(walk())


def _forecast_arms(arms: Mapping[str, Forecast]) -> Forecast:
    lines = []
    basis = dict[str, None]()
    for name, arm in arms.items():
        for line in arm.lines:
            lines.append(line.model_copy(update={"judge": f"{name}: {line.judge}"}))
        basis.update(dict.fromkeys(arm.basis))
    samples = next(iter(arms.values())).samples
    return Forecast(samples=samples, lines=tuple(lines), basis=tuple(basis))


def cached_replies(options: RunOptions) -> AbstractContextManager[Store | None]:
    """Return the reply cache, or None if it does not exist; it is not created."""
    folder = cache_folder(options.cache)
    return Store(folder) if (folder / MARKER).exists() else nullcontext()


def batched_judges(judges: Sequence[Judge], options: RunOptions) -> Collection[str]:
    """Return the judges that are asked in batches."""
    return batch_judges(judges) if options.batch else ()


@with_hints
def probe(judge: JudgeSpec, *, options: RunOptions = RunOptions()) -> Probe:
    """Test a judge with one real question of each kind. A judge that is down does not raise.

    These calls are paid for and not cached. `.settings` are the recommended lines of a judge
    file.

    Raises UsageError if a setting is wrong or the judge is on this machine.

    Examples:
        >>> probe = ce.probe("openai:gpt-5-mini")
        >>> probe.reachable, probe.schema_honoured
        (True, True)
    """
    parsed = specs.parse_judge(parse_spec(judge))
    if not provider(parsed.model).costs:
        specs.require_prompt_readers((parsed,), "questions are put")
    if options.offline:
        raise UsageError("offline: a judge is tried by asking it")
    return blocking(try_judge(parsed, options))
