"""The measure job: metrics without a judge. Words, ranks, local models, and functions of your own.

Each source of metrics reads a stream of samples, since local models and rank metrics are computed in blocks.
"""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import tee
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from claimeval import ir, lexical
from claimeval.evaluation import retrieval
from claimeval.evaluation.job import JobOutcome
from claimeval.evaluation.manifest import Manifest, versions
from claimeval.evaluation.summary import SummaryBuilder
from claimeval.execution import RunStatus
from claimeval.ir.measures import MEASURES, split_names
from claimeval.metrics.scoring import defined
from claimeval.providers.local import perplexity, reward, similarity
from claimeval.store.store import Store, cache_folder
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.options import LocalOptions, RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Reason, Sample, SampleResult, Score
from claimeval.types.requests import Judge

OwnMetric = Callable[[Sample], float | None]
"""A metric of your own: the value of a sample, None if it is undefined."""
Scored = Callable[[int], None]
"""Is told how many texts a local model has just scored."""

GROUPS: dict[str, tuple[str, ...]] = {
    "lexical": tuple(lexical.METRICS),
    "overlap": tuple(lexical.OVERLAP_METRICS),
    "retrieval": tuple(retrieval.MEASURES.split(",")),
    "perplexity": perplexity.METRICS,
    "reward": (reward.METRIC,),
    "similarity": (similarity.METRIC,),
}
"""Names that stand for several metrics."""
ALIASES = {"perplexity_q": "query_likelihood", "query_likelihood@all": "query_likelihood"}


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What a user says about the measure job."""

    metrics: str | Sequence[str] | Mapping[str, OwnMetric]
    """Names and groups, or functions by name."""
    match: retrieval.Match = "ids"
    """How a retrieved document is known to be a reference."""
    collapse_ids: str | None = None
    """A regular expression that is cut out of document ids, so that passages become documents."""
    normalization: str = "squad"
    """What is done to words before they are compared."""
    local: LocalOptions = field(default_factory=LocalOptions)
    cluster: str | None = None


class Measured(NamedTuple):
    """The scores of one sample from one source, and what they were made from."""

    scores: dict[str, Score]
    details: dict[str, JsonValue]


class Source(Protocol):
    """Metrics that are computed together."""

    @property
    def units(self) -> dict[str, str]:
        """The metrics by name, with their unit."""
        ...

    @property
    def settings(self) -> dict[str, JsonValue]:
        """What decides the numbers."""
        ...

    def measure(self, samples: Iterable[Sample], store: Store | None, on_scored: Scored) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        ...


@dataclass(frozen=True)
class WordMetrics:
    """Metrics of the library `claimeval.lexical`."""

    names: tuple[str, ...]
    normalization: str

    @property
    def units(self) -> dict[str, str]:
        """The metrics asked for, and `answer_length`, without which recall says little."""
        return {name: lexical.ALL_METRICS[name].unit for name in dict.fromkeys((*self.names, "answer_length"))}

    @property
    def settings(self) -> dict[str, JsonValue]:
        """How words are compared, and the libraries that compute some of the metrics."""
        libraries: dict[str, JsonValue] = dict(lexical.versions_of(self.names))
        return {"normalization": self.normalization, **({"libraries": libraries} if libraries else {})}

    def measure(self, samples: Iterable[Sample], store: Store | None, on_scored: Scored) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        units = self.units
        texts = _with_warning(map(_texts, samples), self.normalization, self.names)
        for row in lexical.score(texts, self.names, normalization=self.normalization):
            yield Measured(defined(row.scores, units, "missing_input"), {})


def _with_warning(
    texts: Iterable[lexical.LexicalSample], normalization: str, names: Iterable[str]
) -> Iterator[lexical.LexicalSample]:
    """Yield the texts; warn once of a script that English normalization does not read."""
    warned, rouge = normalization != "squad", any(name.startswith("rouge") for name in names)
    for one in texts:
        if not warned and (unread := _unread(one.answer or "", rouge=rouge)):
            warned = True
            warnings.warn(f"sample {one.id!r} {unread}; use --normalization multilingual", stacklevel=2)
        yield one


def _unread(text: str, *, rouge: bool) -> str:
    if lexical.is_unspaced_script(text):
        return "has no spaces between words"
    if rouge and any(map(str.isalpha, text)) and not re.search("[A-Za-z]", text):
        return "has no letters a to z, and ROUGE reads no others"
    return ""


@dataclass(frozen=True)
class RankMetrics:
    """Rank metrics of what each sample retrieved, against its reference contexts."""

    names: tuple[str, ...]
    match: retrieval.Match
    collapse_ids: str | None

    @property
    def _measures(self) -> tuple[ir.Measure, ...]:
        return retrieval.asked(",".join(self.names))

    @property
    def units(self) -> dict[str, str]:
        """The measures, with their unit."""
        return retrieval.units(self._measures)

    @property
    def settings(self) -> dict[str, JsonValue]:
        """How documents and references are compared."""
        return {"match": self.match, **({"collapse_ids": self.collapse_ids} if self.collapse_ids else {})}

    def measure(self, samples: Iterable[Sample], store: Store | None, on_scored: Scored) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        for row in retrieval.score(samples, self._measures, self.match, fold=self.collapse_ids):
            yield Measured(row, {})


@dataclass(frozen=True)
class LocalModel(ABC):
    """A local model that computes metrics; its weights are loaded when it is first asked."""

    local: LocalOptions

    @cached_property
    @abstractmethod
    def scorer(self) -> perplexity.QuestionScorer | reward.RewardScorer:
        """The model with its settings."""

    def __getstate__(self) -> dict[str, LocalOptions]:
        """A copy loads its weights anew."""
        return {"local": self.local}

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The model, and how it reads."""
        return {"model": self.scorer.name, "revision": self.scorer.revision, **self.scorer.settings}


@dataclass(frozen=True)
class QueryLikelihood(LocalModel):
    """How likely a local model finds the question when it has read each retrieved text."""

    @cached_property
    def scorer(self) -> perplexity.QuestionScorer:
        """The model with its settings."""
        return perplexity.QuestionScorer(self.local)

    @property
    def units(self) -> dict[str, str]:
        """The best text, and means of the first and of the best."""
        return dict.fromkeys(perplexity.METRICS, "share")

    def measure(self, samples: Iterable[Sample], store: Store | None, on_scored: Scored) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        for measured in perplexity.measure(samples, self.scorer, store, on_scored=on_scored):
            why: Reason | None = "missing_input" if measured.because else None
            scores = {name: Score.share(value, because=why) for name, value in measured.scores.items()}
            texts: list[JsonValue] = [text.model_dump(exclude_defaults=True) for text in measured.texts]
            yield Measured(scores, {"texts": texts} if texts else {})


@dataclass(frozen=True)
class AnswerReward(LocalModel):
    """What a local reward model makes of each answer."""

    @cached_property
    def scorer(self) -> reward.RewardScorer:
        """The model with its settings."""
        return reward.RewardScorer(self.local)

    @property
    def units(self) -> dict[str, str]:
        """The reward."""
        return {reward.METRIC: "share"}

    def measure(self, samples: Iterable[Sample], store: Store | None, on_scored: Scored) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        for measured in reward.measure(samples, self.scorer, store, on_scored=on_scored):
            why: Reason | None = "missing_input" if measured.because else None
            why = "too_long" if measured.because == "question too long" else why
            score = Score.share(measured.score, because=why)
            yield Measured({reward.METRIC: score}, {"tokens_cut": measured.cut} if measured.cut else {})


@dataclass(frozen=True)
class AnswerSimilarity:
    """How close a local embedding model finds each answer to its reference answers."""

    local: LocalOptions

    @cached_property
    def scorer(self) -> similarity.SimilarityScorer:
        """The model with its settings."""
        return similarity.SimilarityScorer(self.local)

    def __getstate__(self) -> dict[str, LocalOptions]:
        """A copy loads its weights anew."""
        return {"local": self.local}

    @property
    def units(self) -> dict[str, str]:
        """The similarity, from -1 to 1."""
        return {similarity.METRIC: "cosine"}

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The model, and how it reads."""
        return {"model": self.scorer.name, "revision": self.scorer.revision, **self.scorer.settings}

    def measure(self, samples: Iterable[Sample], store: Store | None, on_scored: Scored) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        texts = map(_texts, samples)
        for measured in similarity.measure(((one.answer, one.references) for one in texts), self.scorer):
            yield Measured(
                defined({similarity.METRIC: measured.value}, self.units, "missing_input"),
                {"tokens_cut": measured.cut} if measured.cut else {},
            )


@dataclass(frozen=True)
class OwnMetrics:
    """Functions of the caller's."""

    functions: Mapping[str, OwnMetric]

    @property
    def units(self) -> dict[str, str]:
        """The functions by name; what they count is not known."""
        return dict.fromkeys(self.functions, "value")

    @property
    def settings(self) -> dict[str, JsonValue]:
        """Nothing is known of a function."""
        return {}

    def measure(self, samples: Iterable[Sample], store: Store | None, on_scored: Scored) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        for sample in samples:
            values = {name: function(sample) for name, function in self.functions.items()}
            numbers = {name: None if value is None else float(value) for name, value in values.items()}
            yield Measured(defined(numbers, self.units), {})


@dataclass(frozen=True)
class MeasureJob:
    """Compute metrics without a judge."""

    sources: tuple[Source, ...]
    cluster: str | None = None
    judges: tuple[Judge, ...] = field(default=(), init=False)
    asked: tuple[Judge, ...] = field(default=(), init=False)
    name = "measure"

    @property
    def local(self) -> bool:
        """Whether a local model computes something, which is kept in the reply cache."""
        return any(isinstance(source, LocalModel) for source in self.sources)

    @property
    def manifest(self) -> Manifest:
        """Everything about the job that decides numbers."""
        return Manifest(
            job=self.name,
            metrics=tuple(name for source in self.sources for name in source.units),
            settings={name: value for source in self.sources for name, value in source.settings.items()},
            cluster=self.cluster,
            versions=versions(),
        )

    def results(
        self, samples: Iterable[Sample], store: Store | None = None, on_scored: Scored = lambda _: None
    ) -> Iterator[SampleResult]:
        """Return the result of each sample, in order. Memory does not grow with the samples.

        Args:
            samples: Read once.
            store: Keeps what local models compute.
            on_scored: Told how many texts a local model has just scored.
        """
        whole, *streams = tee(samples, len(self.sources) + 1)
        rows = [source.measure(stream, store, on_scored) for source, stream in zip(self.sources, streams, strict=True)]
        for sample, *measured in zip(whole, *rows, strict=True):
            details: dict[str, JsonValue] = {}
            for one in measured:
                details |= one.details
            yield SampleResult(
                sample=sample,
                scores={name: score for one in measured for name, score in one.scores.items()},
                details=details,
            )


def run_measure(
    job: MeasureJob,
    samples: Iterable[Sample],
    record: Manifest,
    *,
    options: RunOptions,
    progress: Progress,
    on_result: Callable[[SampleResult], None],
) -> JobOutcome:
    """Run a job without a judge over the samples, and sum it up.

    Args:
        job: The metrics to compute.
        samples: The samples.
        record: Manifest of the run.
        options: As for `measure_samples`.
        progress: As for `measure_samples`.
        on_result: Called with each result, in sample order.

    Returns:
        The summary and the status of the run.
    """
    tallies = SummaryBuilder(record)

    def take(result: SampleResult) -> None:
        """Count the result and pass it on."""
        tallies.add(result)
        on_result(result)

    status = measure_samples(job, samples, options=options, progress=progress, on_result=take)
    return JobOutcome(tallies.summary(complete=status.complete), status)


class Measuring(Protocol):
    """What computes metrics of samples, in order."""

    @property
    def local(self) -> bool:
        """Whether a local model computes something, which is kept in the reply cache."""
        ...

    def results(self, samples: Iterable[Sample], store: Store | None, on_scored: Scored) -> Iterator[SampleResult]:
        """Return the result of each sample, in order."""
        ...


def measure_samples(
    job: Measuring,
    samples: Iterable[Sample],
    *,
    options: RunOptions,
    progress: Progress,
    on_result: Callable[[SampleResult], None],
) -> RunStatus:
    """Compute the metrics of the samples one by one.

    What local models compute is kept in the reply cache; no other metric opens it.

    Args:
        job: The metrics to compute.
        samples: The samples.
        options: Settings of the run; the cache and local models use them.
        progress: Counts the samples; if it counts texts, it is told of each text that a model has scored.
        on_result: Called with each result, in sample order.
    """
    interrupted = False
    texts = progress.unit == "texts"
    with Store(cache_folder(options.cache)) if job.local else nullcontext() as store:

        def scored(number: int) -> None:
            """Tell the progress of the texts that were scored."""
            for _ in range(number if texts else 0):
                progress.sample_done()

        try:
            for result in job.results(samples, store, scored):
                on_result(result)
                if not texts:
                    progress.sample_done()
        except KeyboardInterrupt:
            interrupted = True
    return RunStatus(complete=not interrupted, interrupted=interrupted, stopped={})


def job_of(record: Manifest, metrics: Sequence[str] | None = None) -> MeasureJob:
    """Return the job of a run of words or ranks, or one with other metrics and the same settings."""
    settings = record.settings
    if "model" in settings:
        raise UsageError("the run is of a local model; measure its data again with the same options")
    match, collapse = settings.get("match", "ids"), settings.get("collapse_ids")
    normalization = settings.get("normalization", "squad")
    assert isinstance(collapse, str | None), "it is written as it was given"
    assert isinstance(normalization, str), "it is written as it was given"
    return make_job(
        Measurement(
            metrics=list(record.names) if metrics is None else metrics,
            match="text" if match == "text" else "ids",
            collapse_ids=collapse,
            normalization=normalization,
            cluster=record.cluster,
        )
    )


def make_job(options: Measurement) -> MeasureJob:
    """Return the job with everything checked; UsageError for a metric that does not exist."""
    if isinstance(options.metrics, Mapping):
        if not options.metrics:
            raise UsageError("name a metric to measure, as in rouge_l,recall@5")
        return MeasureJob((OwnMetrics(dict(options.metrics)),), options.cluster)
    names = _names(options.metrics)
    words = tuple(name for name in names if name in lexical.ALL_METRICS)
    likelihood = [name for name in names if name in perplexity.METRICS]
    rewards = [name for name in names if name == reward.METRIC]
    similar = [name for name in names if name == similarity.METRIC]
    ranks = tuple(name for name in names if name not in (*words, *likelihood, *rewards, *similar))
    if sum(map(bool, (likelihood, rewards, similar))) > 1:
        raise UsageError(
            "query_likelihood, answer_reward and answer_similarity take different models; measure one of them at a time"
        )
    sources: list[Source] = []
    if words:
        sources.append(WordMetrics(words, options.normalization))
    if ranks:
        retrieval.check_match(options.match, options.collapse_ids)
        sources.append(RankMetrics(ranks, options.match, options.collapse_ids))
    if likelihood:
        sources.append(QueryLikelihood(options.local))
    if rewards:
        sources.append(AnswerReward(options.local))
    if similar:
        sources.append(AnswerSimilarity(options.local))
    return MeasureJob(tuple(sources), options.cluster)


def _names(metrics: str | Sequence[str]) -> tuple[str, ...]:
    """Return the metrics by name, groups and aliases resolved."""
    texts = [text.strip() for one in ([metrics] if isinstance(metrics, str) else metrics) for text in split_names(one)]
    named = [ALIASES.get(name, name) for text in texts for name in GROUPS.get(text, (text,))]
    if not named:
        raise UsageError("name a metric to measure, as in rouge_l,recall@5")
    available = {*lexical.ALL_METRICS, *perplexity.METRICS, reward.METRIC, similarity.METRIC}
    for name in named:
        if name not in available:
            try:
                retrieval.asked(name)
            except UsageError as error:
                if not str(error).startswith("unknown measure"):
                    raise
                ranks = {name for row in MEASURES for name in (row.name, *row.aliases[:1])}
                raise unknown_name("metric without a judge", name, {*available, *GROUPS, *ranks}) from error
    return tuple(dict.fromkeys(named))


def _texts(sample: Sample) -> lexical.LexicalSample:
    documents = sample.documents("contexts")
    together = sample.references == "together" and sample.reference_answers
    return lexical.LexicalSample(
        answer=sample.answer,
        question=sample.question,
        contexts=None if documents is None else [document.text for document in documents],
        references=["\n\n".join(sample.reference_answers)] if together else sample.reference_answers,
        id=sample.id,
    )
