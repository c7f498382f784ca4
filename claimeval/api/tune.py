"""`tune`: alignment of a judge's prompt with human labels.

Candidates are fixed sentences, or texts that a judge writes from its mistakes with the reflective optimizer GEPA
(package `gepa`). They are added to the system message of the prompt in use. GEPA only sees the choosing half: it
reflects on mistakes in one part of it, and scores texts on the other part.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

from claimeval.api.jobs import BEFORE_RUN, JudgeSpec, Prepared, blocking, parse_spec
from claimeval.api.run import raise_if_stopped
from claimeval.evaluation.ask import CallAddress, ask_until_read
from claimeval.evaluation.job import run_identity
from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary.cost import JudgeCost, total
from claimeval.evaluation.tune import Candidate, PromptArm, TuneJob, arm, fixed_candidates, with_sentences
from claimeval.execution import Executor
from claimeval.execution.runner import run_items
from claimeval.judging.requests import read_reply
from claimeval.providers import check_key, specs
from claimeval.report.progress_bar import progress_bar
from claimeval.runs import tune as tuning
from claimeval.runs.directory import RunInMemory, write_text
from claimeval.runs.jobs import run_into
from claimeval.runs.labels import added
from claimeval.runs.tune import TRANSFER, Halves, LabeledClaims, Tuning, by_arm
from claimeval.types.errors import UsageError
from claimeval.types.estimates import Cost
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Sample, SampleResult
from claimeval.types.requests import Completion, Failure, Judge, Message, Request

logger = logging.getLogger("claimeval")


def tune(
    labels: str | Path,
    *,
    judge: JudgeSpec,
    proposer: JudgeSpec | None = None,
    candidates: int = 10,
    second_judge: JudgeSpec | None = None,
    assess_prompt: str | Path | None = None,
    seed: int = 0,
    anyway: bool = False,
    out: str | Path | None = None,
    write_anyway: bool = False,
    options: RunOptions = RunOptions(),
) -> Tuning:
    """Align the prompt of a judge with people: choose it on one half of the labels, and report it on the other.

    The labels are split by question. Their power is logged before any call.

    Args:
        labels: A run with labels (from `annotate`, or imported with the run), or a table with one labeled claim per
            row: `id`, `question`, `contexts`, `claim`, `label`, and `annotator` if there are several.
        judge: The judge whose prompt is aligned.
        proposer: A judge that writes candidates from the mistakes on the choosing half, by GEPA (`claimeval[gepa]`).
            Default: fixed sentences, each alone and in pairs.
        candidates: The number of prompts to try besides the one in use.
        second_judge: Another judge for which to report the chosen prompt, to see whether the gain transfers.
        assess_prompt: The prompt to start from. Default: that of the run; for a table `three_way`, or `binary` if
            people never say "contradicted".
        seed: Seed of the halves and folds.
        anyway: Continue with fewer than 60 labels.
        out: The file (.j2) to write the chosen prompt to, if its gain is beyond the noise of the labels.
        write_anyway: Write the chosen prompt even if its gain is not; its first lines say so.
        options: How the judges are asked, and what may be spent on both halves together.

    Returns:
        The candidates, the chosen one, and its gain on the reporting half: agreement, kappa and confusion before and
        after, with a paired interval.

    Raises:
        UsageError: Before any call, for what you can fix, such as fewer than 60 labels.
        DataError: A row of the labels is malformed.
        StoppedEarly: A limit was reached, or a judge cannot be asked. The same call resumes.
    """
    if options.shard or options.engine:
        raise UsageError("options: tune runs on this machine without shards; use `via` to ask through a server")
    if out is not None and Path(out).suffix != ".j2":
        raise UsageError(f"out: {str(out)!r}; a prompt is a .j2 file")
    if candidates < 1:
        raise UsageError(f"candidates: {candidates}; give 1 or more")
    first = specs.parse_judge(parse_spec(judge))
    second = None if second_judge is None else specs.parse_judge(parse_spec(second_judge))
    job_judges = (first,) if second is None else (first, second)
    writer = None if proposer is None else specs.parse_judge(parse_spec(proposer))
    everyone = job_judges if writer is None else (*job_judges, writer)
    specs.require_prompt_readers(everyone, "prompts are aligned")
    if writer and options.batch:
        raise UsageError("batch: a proposer writes one candidate after the other; leave out batch or the proposer")
    if second is not None and second.name == first.name:
        raise UsageError(f"judge and second judge are both called {first.name!r}; give one another name")
    labeled = tuning.read_labeled(Path(labels), None if assess_prompt is None else str(assess_prompt), options.cluster)
    halves = tuning.halve(labeled, seed, candidates, anyway=anyway)
    in_use = Candidate(labeled.prompt.name, ())
    tried = _fixed(candidates) if writer is None else tuple(islice(fixed_candidates(), candidates))
    if inspect := BEFORE_RUN.get():
        more = ("proposals that GEPA rejects are not counted: one call and six samples each",)
        planned = _planned(labeled, halves, job_judges, (in_use, *tried), Path(labels), writer)
        notes = (halves.power.in_words(), *(more if writer else ()))
        inspect(planned._replace(manifest=planned.manifest.model_copy(update={"notes": notes})))
    logger.info(halves.power.in_words())
    if not options.offline and not options.via:
        for asked_judge in everyone:
            check_key(asked_judge)
    aligning = _Aligning(labeled, halves, everyone, options)
    if writer:
        tried = proposed(labeled, halves.choose, first, candidates, aligning.ask_aside, aligning.write, seed)
    results = aligning.ask(halves.choose, [arm(candidate, labeled.job(first)) for candidate in (in_use, *tried)])
    names = [candidate.name for candidate in (in_use, *tried)]
    choice = tuning.choose((in_use, *tried), labeled.table(results, names), seed)
    reported = _report_arms(labeled, job_judges, in_use, choice.chosen)
    results = aligning.ask(halves.report, reported)
    table = labeled.table(results, [candidate.name for candidate in reported])
    changed = choice.chosen.name != in_use.name
    outcome = Tuning(
        prompt=in_use.name,
        chosen=choice.chosen.name if changed else "",
        sentences=choice.chosen.sentences,
        power=halves.power,
        candidates=choice.candidates,
        seeming_gain=choice.seeming_gain,
        gain=tuning.gain(first.name, table, labeled.panel, in_use.name, choice.chosen.name),
        transfer=None
        if second is None
        else tuning.gain(second.name, table, labeled.panel, in_use.name + TRANSFER, choice.chosen.name + TRANSFER),
        equal_labels=tuning.equal_labels(labeled),
        labels=added(labeled.blank, table.labels),
        correction=tuning.correction(labeled, seed),
        cost=aligning.cost,
    )
    if out is None or not changed or not (outcome.beyond_noise or write_anyway):
        return outcome
    _write(Path(out), labeled, choice.chosen, outcome)
    return outcome.model_copy(update={"written": str(out)})


def _fixed(count: int) -> tuple[Candidate, ...]:
    candidates = tuple(fixed_candidates())
    if count > len(candidates):
        raise UsageError(f"candidates: {count}; there are {len(candidates)}")
    return candidates[:count]


def _report_arms(
    labeled: LabeledClaims, judges: Sequence[Judge], in_use: Candidate, chosen: Candidate
) -> list[PromptArm]:
    """Return an arm for the prompt in use and one for the chosen prompt, unless they are the same, for each judge."""
    return [
        arm(candidate, labeled.job(judge), candidate.name + (TRANSFER if number else ""))
        for number, judge in enumerate(judges)
        for candidate in dict.fromkeys((in_use, chosen))
    ]


def _planned(
    labeled: LabeledClaims,
    halves: Halves,
    judges: Sequence[Judge],
    candidates: Sequence[Candidate],
    path: Path,
    writer: Judge | None,
) -> Prepared:
    """Return all requests that may be sent, assuming that the longest candidate is chosen."""
    arms = tuple(arm(candidate, labeled.job(judges[0])) for candidate in candidates)
    longest = max(candidates, key=lambda candidate: sum(map(len, candidate.sentences)))
    report = tuple(_report_arms(labeled, judges, candidates[0], longest))
    job = TuneJob(arms, report, frozenset(item.sample.id for item in halves.report))
    if writer:
        job = _planned_proposals(job, labeled, halves.choose, judges[0], candidates, writer)
    record = job.manifest.of_data(str(path))
    names = tuple(trial.name for trial in arms)
    record = record.model_copy(update={"metrics": names})
    return Prepared(job, record, labeled.items, len(labeled.items), path)


@dataclass(frozen=True)
class _Proposals(TuneJob):
    """The forecast of a tuning with a proposer: also has trials of proposals, and requests to the proposer."""

    trials: tuple[PromptArm, ...] = ()
    tried_on: frozenset[str] = frozenset()
    """Ids of the samples on which proposals are scored."""
    requests: Mapping[str, Request] = field(default_factory=dict)
    """Requests to the proposer, by the id of the sample with which each is counted."""

    @property
    def asked(self) -> tuple[Judge, ...]:
        """All judges that may be asked."""
        return (*self.judges, *{request.judge.name: request.judge for request in self.requests.values()}.values())

    @property
    def manifest(self) -> Manifest:
        """The manifest of the tuning, with the prompts of the trials."""
        known, in_use = super().manifest, self.arms[0].job.assess_prompt.record
        used = [trial.job.assess_prompt.record for trial in self.trials]
        used += [
            in_use.model_copy(update={"name": "proposals", "step": "propose", "digest": request.prompt})
            for request in self.requests.values()
        ]
        return known.model_copy(
            update={"prompts": (*known.prompts, *{record.digest: record for record in used}.values())}
        )

    async def evaluate(self, item: SampleResult, executor: Executor) -> SampleResult:
        """Send the requests about an item, including trials."""
        result = await super().evaluate(item, executor)
        calls = list(result.calls)
        if item.sample.id in self.tried_on:
            for trial in self.trials:
                calls += (await trial.job.evaluate(item, executor)).calls
        if request := self.requests.get(item.sample.id):
            reply = await ask_until_read(request, lambda *_: "", executor, CallAddress("propose", "answer"))
            calls += reply.calls
        return result.model_copy(update={"calls": tuple(calls)})


def _planned_proposals(
    job: TuneJob,
    labeled: LabeledClaims,
    items: Sequence[SampleResult],
    judge: Judge,
    candidates: Sequence[Candidate],
    writer: Judge,
) -> TuneJob:
    """Return the tuning with one call of the proposer per candidate, and a trial of each on half of the samples."""
    learned, scored = items[::2], items[1::2]
    requests = {}
    for number, item in enumerate(learned[: len(candidates) - 1]):
        shown = [learned[(number * AT_ONCE + i) % len(learned)] for i in range(AT_ONCE)]
        texts = [_seen(labeled, result, claim.text) for result in shown for claim in result.claims]
        requests[item.sample.id] = _proposing(writer, "\n".join([GEPA_ASKS * " ", FIRST, str(number), *texts]))
    trials = tuple(
        arm(Candidate(f"trial {candidate.name}", (*candidate.sentences, FIRST)), labeled.job(judge))
        for candidate in candidates
    )
    ids = frozenset(item.sample.id for item in scored)
    return _Proposals(job.arms, job.report_arms, job.reporting, trials, ids, requests)


def _seen(labeled: LabeledClaims, result: SampleResult, claim: str) -> str:
    """Return a claim with its question and evidence, as a judge sees it."""
    texts = [document.text for document in result.sample.documents(labeled.metric.against) or ()]
    return f"Question: {result.sample.question}\nEvidence: {' | '.join(texts)}\nClaim: {claim}"


def _proposing(judge: Judge, prompt: str) -> Request:
    """Return the request that sends a text to a judge unchanged."""
    return Request(
        judge=judge,
        messages=(Message(role="user", content=prompt),),
        reply_format="tags",
        max_tokens=judge.max_tokens,
        prompt=hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest(),
    )


class _Aligning:
    """Asks the judges about both halves under the same limits, and counts the cost of each reply once."""

    def __init__(self, labeled: LabeledClaims, halves: Halves, judges: Sequence[Judge], options: RunOptions) -> None:
        self._options, self._writer = options, judges[-1]
        self._notify = options.progress or progress_bar()
        self._progress = Progress(len(halves.choose) + len(halves.report), self._notify)
        whole = TuneJob((PromptArm(labeled.prompt.name, labeled.job(judges[0])),))
        self._run = run_identity(whole.manifest, labeled.items) if options.capped else ""
        self._costs = {judge.name: JudgeCost(judge, options.prices) for judge in judges}
        self._seen: set[str] = set()

    @property
    def cost(self) -> Cost:
        """The cost of all replies so far."""
        return total(cost.cost() for cost in self._costs.values())

    def ask(
        self, items: Sequence[SampleResult], arms: Sequence[PromptArm], progress: Progress | None = None
    ) -> Sequence[SampleResult]:
        """Return the verdicts of the arms on the items."""
        job = TuneJob(tuple(arms))
        run = RunInMemory(job.manifest)
        progress = progress or self._progress
        outcome = blocking(run_into(run, job, items, options=self._options, progress=progress, run=self._run))
        raise_if_stopped(outcome.status)
        self._count(run.results)
        return run.results

    def ask_aside(self, items: Sequence[SampleResult], arms: Sequence[PromptArm]) -> Sequence[SampleResult]:
        """Return the same verdicts, with a separate progress."""
        return self.ask(items, arms, Progress(len(items), self._notify))

    def write(self, prompt: str) -> str:
        """Return the reply of the proposer to a prompt."""
        job, replies = ProposingJob(self._writer), list[Proposed]()
        progress = Progress(1, self._notify, unit="proposals")
        raise_if_stopped(
            blocking(
                run_items(
                    job, [prompt], options=self._options, progress=progress, on_result=replies.append, run=self._run
                )
            )
        )
        self._count([reply.result for reply in replies])
        return replies[0].text

    def _count(self, results: Iterable[SampleResult]) -> None:
        for call in (call for result in results for call in result.calls):
            if call.key not in self._seen:
                self._seen.add(call.key)
                self._costs[call.judge].add(call)


def _write(path: Path, labeled: LabeledClaims, chosen: Candidate, tuning: Tuning) -> None:
    """Write the chosen prompt, with a comment after its header that states its measured gain."""
    source = with_sentences(labeled.prompt, chosen).source
    end = source.index("#}") + 2
    gain, power = tuning.gain, tuning.power
    numbers = (
        f"{gain.judge} agreed with people on {_share(gain.before.same.value)} of {power.reported_on} claims before, "
        f"{_share(gain.after.same.value)} after; chosen by {power.selected_on} others"
    )
    shown = "" if tuning.beyond_noise else "NOT shown to be better: the gain is within the noise of these labels. "
    write_text(path, f"{source[:end]}\n{{# claimeval tune: {shown}{numbers}. #}}{source[end:]}")


def _share(value: float | None) -> str:
    return "none" if value is None else f"{value:.1%}"


ADDED = "rules"
"""Name of the optimized text in GEPA's candidates."""
FIRST = "Judge each claim by the evidence, as a careful reader would."
"""The text that GEPA starts from."""
AT_ONCE = 3
"""Number of samples whose mistakes a judge reflects on at a time."""
GEPA_ASKS = 1200
"""Approximate number of characters that GEPA's own prompt adds."""

Ask = Callable[[Sequence[SampleResult], Sequence[PromptArm]], Sequence[SampleResult]]
"""Returns the verdicts of arms on items."""


class Proposed(NamedTuple):
    """The reply of the proposer."""

    text: str
    result: SampleResult
    """Holds the calls."""


class ProposingJob(NamedTuple):
    """Job that sends a prompt to the proposer unchanged."""

    judge: Judge

    @property
    def asked(self) -> tuple[Judge, ...]:
        """The proposer."""
        return (self.judge,)

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return whether the judge is stopped."""
        return self.judge.name in stopped

    async def evaluate(self, item: str, executor: Executor) -> Proposed:
        """Return the reply to a prompt; its text is empty if it cannot be read."""
        request = _proposing(self.judge, item)

        def read(completion: Completion, request: Request) -> str | Failure:
            """Return the text of a reply."""
            return read_reply(completion, request, str)

        reply = await ask_until_read(request, read, executor, CallAddress("propose", "answer"))
        text = "" if isinstance(reply.value, Failure) else reply.value
        return Proposed(text, SampleResult(sample=Sample(id="proposal", question=""), calls=reply.calls))


def proposed(
    labeled: LabeledClaims,
    items: Sequence[SampleResult],
    judge: Judge,
    count: int,
    ask: Ask,
    write: Callable[[str], str],
    seed: int,
) -> tuple[Candidate, ...]:
    """Return candidates that GEPA finds on the choosing half, shortest first.

    Args:
        labeled: The labels.
        items: The samples of the choosing half.
        judge: The judge whose prompt is aligned.
        count: The number of candidates to return; fewer if GEPA keeps fewer.
        ask: Judges items with arms.
        write: Sends a prompt to the proposer and returns its reply.
        seed: Seed for GEPA.

    Raises:
        UsageError: The package `gepa` is not installed.
    """
    try:
        from gepa.api import optimize
    except ImportError as error:
        raise UsageError("a proposer needs gepa: pip install 'claimeval[gepa]'") from error
    learned, scored = list(items[::2]), list(items[1::2])
    optimized: Any = optimize(
        seed_candidate={ADDED: FIRST},
        trainset=learned,
        valset=scored,
        adapter=cast(Any, _Adapter(labeled, judge, ask)),
        reflection_lm=lambda prompt: write(str(prompt)),
        reflection_minibatch_size=AT_ONCE,
        max_metric_calls=len(scored) + count * (len(scored) + 2 * AT_ONCE),
        logger=_Logger(),
        seed=seed,
    )
    order = sorted(range(len(optimized.candidates)), key=lambda i: -optimized.val_aggregate_scores[i])
    texts = dict.fromkeys(optimized.candidates[i][ADDED].strip() for i in order)
    best = sorted([text for text in texts if text not in ("", FIRST)][:count], key=len)
    return tuple(Candidate(f"proposed {number}", (text,)) for number, text in enumerate(best, 1))


class _Logger:
    def log(self, message: str) -> None:
        """Log a message of GEPA at level DEBUG."""
        logger.debug("%s", message)


class _Adapter:
    """GEPA adapter: scores a text on samples, and collects the mistakes to learn from."""

    propose_new_texts = None

    def __init__(self, labeled: LabeledClaims, judge: Judge, ask: Ask) -> None:
        self._labeled, self._job, self._ask = labeled, labeled.job(judge), ask

    def evaluate(self, batch: list[SampleResult], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        """Return the share of claims of each sample whose label equals the human label, and the mistakes."""
        from gepa.core.adapter import EvaluationBatch

        proposal = Candidate("proposal", (candidate[ADDED],))
        results = self._ask(batch, [arm(proposal, self._job)])
        scores, mistakes = [], []
        for result in results:
            table = self._labeled.table([result], [proposal.name])
            pairs = [(a, b) for a, b in zip(table.human, table.raters[proposal.name], strict=True) if a is not None]
            scores.append(sum(a == b for a, b in pairs) / len(pairs) if pairs else 1.0)
            mistakes.append(self._mistakes(result, proposal.name))
        return EvaluationBatch(outputs=list(results), scores=scores, trajectories=mistakes if capture_traces else None)

    def _mistakes(self, result: SampleResult, name: str) -> list[dict[str, str]]:
        """Return input, verdict and human label of each claim."""
        records = []
        for claim in result.claims:
            alone = [a for a in by_arm(result).assessments if a.subject == claim.id]
            table = self._labeled.table([result.model_copy(update={"claims": (claim,)})], [name])
            human = table.human[0] if table.human else None
            verdict = alone[0].verdicts[0] if alone and alone[0].verdicts else None
            if human is None:
                continue
            label = "no readable label" if verdict is None or verdict.label is None else verdict.label
            inputs = _seen(self._labeled, result, claim.text)
            right = "Right." if table.raters[name][0] == human else f"Wrong: people say {human}."
            why = f" ({verdict.explanation})" if verdict and verdict.explanation else ""
            records.append({"Inputs": inputs, "Generated Outputs": f"{label}{why}", "Feedback": right})
        return records

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> dict[str, list[dict[str, str]]]:
        """Return the mistakes that the proposer is shown."""
        shown = [record for records in eval_batch.trajectories or () for record in records]
        return dict.fromkeys(components_to_update, shown)
