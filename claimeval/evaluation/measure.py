"""The measure job: metrics without a judge. Lexical and rank metrics, local models, and custom
functions.

Each source of metrics reads a stream of samples, because local models and rank metrics are computed
in blocks.
"""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, tee
from typing import ClassVar, NamedTuple, Protocol, TypeVar

from pydantic import JsonValue

from claimeval import ir, lexical
from claimeval.data.context_ids import MATCHING
from claimeval.evaluation import retrieval
from claimeval.evaluation.kinds import JobKind
from claimeval.evaluation.manifest import Manifest, versions
from claimeval.execution import ComputedJob
from claimeval.ir.measures import MEASURES, is_known, split_names
from claimeval.metrics.names import elsewhere, number_of, unknown
from claimeval.metrics.scoring import defined
from claimeval.providers.local import perplexity, reward, similarity
from claimeval.store.store import Store, cache_folder
from claimeval.types.errors import UsageError
from claimeval.types.options import LocalOptions, RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Reason, Sample, SampleResult, Score
from claimeval.types.requests import Judge

NAME = "measure"
OwnMetric = Callable[[Sample], float | None]
"""A custom metric: returns the value of a sample, None if it is undefined."""
T = TypeVar("T")
Scored = Callable[[int], None]
"""Called with the number of texts that a local model has just scored."""

GROUPS: dict[str, tuple[str, ...]] = {
    "lexical": tuple(lexical.METRICS),
    "overlap": tuple(lexical.OVERLAP_METRICS),
    "retrieval": tuple(retrieval.MEASURES.split(",")),
    "perplexity": perplexity.METRICS,
    "reward": (reward.METRIC,),
    "similarity": (similarity.METRIC,),
}
"""Names that stand for several metrics."""
WHOLE_LISTS = {"precision": "set_P", "recall": "set_recall"}
"""Names of measures of whole lists, where a cutoff is not written."""
WHOLE_LIST_MAP = "ap_retrieved"
"""What `map` is beside them: the mean over the relevant documents that were retrieved."""
ALIASES = {"perplexity_q": "query_likelihood", "query_likelihood@all": "query_likelihood"}


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """User settings of the measure job."""

    metrics: str | Sequence[str] | Mapping[str, OwnMetric]
    """Names and groups, or functions by name."""
    match: retrieval.Match | None = None
    """How retrieved documents are matched with references."""
    collapse_ids: str | None = None
    """Regular expression whose matches are removed from document ids, so that passages become
    documents."""
    normalization: str = "squad"
    """Normalization of words before they are compared."""
    local: LocalOptions = field(default_factory=LocalOptions)
    cluster: str | None = None


class Measured(NamedTuple):
    """The scores of one sample from one source, with their details."""

    scores: dict[str, Score]
    details: dict[str, JsonValue]


class Source(Protocol):
    """Metrics that are computed together."""

    @property
    def units(self) -> dict[str, str]:
        """The unit of each metric."""

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The settings that affect the numbers."""

    def measure(
        self,
        samples: Iterable[Sample],
        store: Store | None,
        on_scored: Scored,
    ) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""


@dataclass(frozen=True)
class WordMetrics:
    """Metrics of the library `claimeval.lexical`."""

    names: tuple[str, ...]
    normalization: str

    @property
    def units(self) -> dict[str, str]:
        """The units of the requested metrics, and of `answer_length`, without which recall is hard
        to interpret."""
        return {
            name: lexical.ALL_METRICS[name].unit
            for name in dict.fromkeys((*self.names, "answer_length"))
        }

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The normalization, and the versions of libraries that compute some of the metrics."""
        libraries: dict[str, JsonValue] = dict(lexical.versions_of(self.names))
        return {
            "normalization": self.normalization,
            **({"libraries": libraries} if libraries else {}),
        }

    def measure(
        self,
        samples: Iterable[Sample],
        store: Store | None,
        on_scored: Scored,
    ) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        units = self.units
        texts = _warned_once(map(_texts, samples), self.normalization, self.names)
        for row in lexical.score(texts, self.names, normalization=self.normalization):
            yield Measured(defined(row.scores, units, "missing_input"), {})


def _warned_once(
    texts: Iterable[lexical.LexicalSample],
    normalization: str,
    names: Iterable[str],
) -> Iterator[lexical.LexicalSample]:
    """Yield the texts, and warn once about a script that English normalization cannot read."""
    warned = normalization != "squad"
    rouge = any(name.startswith("rouge") for name in names)
    for text in texts:
        if not warned and (problem := _unreadable_script(text.answer or "", rouge=rouge)):
            warned = True
            warnings.warn(
                f"sample {text.id!r} {problem}; use --normalization multilingual", stacklevel=2
            )
        yield text


def _unreadable_script(text: str, *, rouge: bool) -> str:
    if lexical.is_unspaced_script(text):
        return "has no spaces between words"
    if rouge and any(map(str.isalpha, text)) and not re.search("[A-Za-z]", text):
        return "has no letters a to z, and ROUGE reads no others"
    return ""


@dataclass(frozen=True)
class RankMetrics:
    """Rank metrics of retrieved documents against reference contexts."""

    names: tuple[str, ...]
    match: retrieval.Match | None
    collapse_ids: str | None

    @property
    def _measures(self) -> tuple[ir.Measure, ...]:
        return retrieval.asked(",".join(self.names))

    @property
    def units(self) -> dict[str, str]:
        """The unit of each measure."""
        return retrieval.units(self._measures)

    @property
    def settings(self) -> dict[str, JsonValue]:
        """How documents are matched with references."""
        return {
            "match": self.match,
            **({"collapse_ids": self.collapse_ids} if self.collapse_ids else {}),
        }

    def measure(
        self,
        samples: Iterable[Sample],
        store: Store | None,
        on_scored: Scored,
    ) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        # The metrics read samples in blocks, so their rows come later than the samples that they
        # are of.
        samples, scored = tee(samples)
        rows = retrieval.score(scored, self._measures, self.match, fold=self.collapse_ids)
        for sample, row in zip(samples, rows, strict=True):
            matching = retrieval.matched_by(sample, self.match)
            details: dict[str, JsonValue] = {}
            if matching.because:
                details = {MATCHING: {"match": matching.match, "because": matching.because}}
            yield Measured(row, details)


@dataclass(frozen=True)
class LocalModel(ABC):
    """A local model that computes metrics; its weights are loaded on first use."""

    local: LocalOptions
    stored: ClassVar[bool] = True
    """Whether its results are stored in the reply cache."""

    @cached_property
    @abstractmethod
    def scorer(
        self,
    ) -> perplexity.QuestionScorer | reward.RewardScorer | similarity.SimilarityScorer:
        """The model with its settings."""

    def __getstate__(self) -> dict[str, LocalOptions]:
        """Leave the weights out; a copy loads them again."""
        return {"local": self.local}

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The model and its settings."""
        return {"model": self.scorer.name, "revision": self.scorer.revision, **self.scorer.settings}


@dataclass(frozen=True)
class QueryLikelihood(LocalModel):
    """The likelihood of the question given each retrieved text, by a local model."""

    @cached_property
    def scorer(self) -> perplexity.QuestionScorer:
        """The model with its settings."""
        return perplexity.QuestionScorer(self.local)

    @property
    def units(self) -> dict[str, str]:
        """The unit of the metrics of the best text, of the first k and of the best k."""
        return dict.fromkeys(perplexity.METRICS, "share")

    def measure(
        self,
        samples: Iterable[Sample],
        store: Store | None,
        on_scored: Scored,
    ) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        for measured in perplexity.measure(samples, self.scorer, store, on_scored=on_scored):
            because: Reason | None = "missing_input" if measured.because else None
            scores = {
                name: Score.share(value, because=because) for name, value in measured.scores.items()
            }
            texts: list[JsonValue] = [
                text.model_dump(exclude_defaults=True) for text in measured.texts
            ]
            yield Measured(scores, {"texts": texts} if texts else {})


@dataclass(frozen=True)
class AnswerReward(LocalModel):
    """The reward of each answer, by a local reward model."""

    @cached_property
    def scorer(self) -> reward.RewardScorer:
        """The model with its settings."""
        return reward.RewardScorer(self.local)

    @property
    def units(self) -> dict[str, str]:
        """The unit of the reward."""
        return {reward.METRIC: "share"}

    def measure(
        self,
        samples: Iterable[Sample],
        store: Store | None,
        on_scored: Scored,
    ) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        for measured in reward.measure(samples, self.scorer, store, on_scored=on_scored):
            because: Reason | None = "missing_input" if measured.because else None
            # A question that fills the window leaves no room for the answer, which is there all the
            # same.
            because = "too_long" if measured.because == "question too long" else because
            score = Score.share(measured.score, because=because)
            yield Measured(
                {reward.METRIC: score}, {"tokens_cut": measured.cut} if measured.cut else {}
            )


@dataclass(frozen=True)
class AnswerSimilarity(LocalModel):
    """The similarity of each answer to its reference answers, by a local embedding model."""

    stored: ClassVar[bool] = False

    @cached_property
    def scorer(self) -> similarity.SimilarityScorer:
        """The model with its settings."""
        return similarity.SimilarityScorer(self.local)

    @property
    def units(self) -> dict[str, str]:
        """The unit of the similarity, from -1 to 1."""
        return {similarity.METRIC: "cosine"}

    def measure(
        self,
        samples: Iterable[Sample],
        store: Store | None,
        on_scored: Scored,
    ) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        texts = map(_texts, samples)
        for measured in similarity.measure(
            ((text.answer, text.references) for text in texts), self.scorer
        ):
            yield Measured(
                defined({similarity.METRIC: measured.value}, self.units, "missing_input"),
                {"tokens_cut": measured.cut} if measured.cut else {},
            )


@dataclass(frozen=True)
class OwnMetrics:
    """Custom metrics, computed by functions."""

    functions: Mapping[str, OwnMetric]

    @property
    def units(self) -> dict[str, str]:
        """The names of the functions; their units are unknown."""
        return dict.fromkeys(self.functions, "value")

    @property
    def settings(self) -> dict[str, JsonValue]:
        """Nothing: the settings of functions are unknown."""
        return {}

    def measure(
        self,
        samples: Iterable[Sample],
        store: Store | None,
        on_scored: Scored,
    ) -> Iterator[Measured]:
        """Return the scores of each sample, in order."""
        for sample in samples:
            values = {name: function(sample) for name, function in self.functions.items()}
            numbers = {
                name: None if value is None else float(value) for name, value in values.items()
            }
            yield Measured(defined(numbers, self.units), {})


@dataclass(frozen=True)
class MeasureJob(ComputedJob[SampleResult]):
    """Compute metrics without a judge."""

    sources: tuple[Source, ...]
    cluster: str | None = None
    notes: tuple[str, ...] = ()
    judges: tuple[Judge, ...] = field(default=(), init=False)
    name = NAME

    @property
    def local(self) -> bool:
        """Whether results of a local model are stored in the reply cache."""
        return any(isinstance(source, LocalModel) and source.stored for source in self.sources)

    @property
    def manifest(self) -> Manifest:
        """All settings that affect numbers."""
        return Manifest(
            job=self.name,
            metrics=tuple(chain.from_iterable(source.units for source in self.sources)),
            settings=merged(source.settings for source in self.sources),
            cluster=self.cluster,
            notes=self.notes,
            versions=versions(),
        )

    def cache(self, options: RunOptions) -> AbstractContextManager[Store | None]:
        """Return the reply cache, in which results of local models are stored; None for other
        metrics."""
        return Store(cache_folder(options.cache)) if self.local else nullcontext()

    def compute(
        self,
        items: Iterable[Sample],
        options: RunOptions,
        progress: Progress,
    ) -> Iterator[SampleResult]:
        """Yield the result of each sample, in order; `progress` may count the texts that a model
        has scored."""
        with self.cache(options) as store:
            yield from self.results(items, store, texts_counted(progress))

    def results(
        self,
        samples: Iterable[Sample],
        store: Store | None = None,
        on_scored: Scored = lambda _: None,
    ) -> Iterator[SampleResult]:
        """Yield the result of each sample, in order. Memory does not grow with the number of
        samples."""
        samples, *streams = tee(samples, len(self.sources) + 1)
        rows = [
            source.measure(stream, store, on_scored)
            for source, stream in zip(self.sources, streams, strict=True)
        ]
        for sample, *measured in zip(samples, *rows, strict=True):
            yield SampleResult.of(
                sample,
                scores=merged(row.scores for row in measured),
                details=merged(row.details for row in measured),
            )


def merged(mappings: Iterable[Mapping[str, T]]) -> dict[str, T]:
    """Return the entries of several mappings; of equal keys, the last one counts."""
    entries: dict[str, T] = {}
    for mapping in mappings:
        entries.update(mapping)
    return entries


def texts_counted(progress: Progress) -> Scored:
    """Return the function that counts scored texts, if these are what `progress` counts."""

    def scored(number: int) -> None:
        """Count texts."""
        for _ in range(number if progress.unit == "texts" else 0):
            progress.sample_done()

    return scored


def job_of(record: Manifest) -> MeasureJob:
    """Return the job of a run of lexical or rank metrics."""
    settings = record.settings
    if "model" in settings:
        raise UsageError("the run used a local model; measure its data again with the same options")
    match = settings.get("match")
    by: retrieval.Match | None = None
    if match is not None:
        by = "text" if match == "text" else "ids"
    collapse = settings.get("collapse_ids")
    normalization = settings.get("normalization", "squad")
    assert isinstance(collapse, str | None), "the manifest has the setting unchanged"
    assert isinstance(normalization, str), "the manifest has the setting unchanged"
    return make_job(
        Measurement(
            metrics=record.names,
            match=by,
            collapse_ids=collapse,
            normalization=normalization,
            cluster=record.cluster,
        )
    )


KIND = JobKind(NAME, resume=job_of)


def make_job(options: Measurement) -> MeasureJob:
    """Return the job after checking all settings. Raises UsageError for a metric that does not
    exist."""
    if isinstance(options.metrics, Mapping):
        if not options.metrics:
            raise UsageError("name a metric to measure, as in rouge_l,recall@5")
        return MeasureJob((OwnMetrics(dict(options.metrics)),), options.cluster)
    names = _names(options.metrics)
    words = tuple(name for name in names if name in lexical.ALL_METRICS)
    ranks = tuple(name for name in names if name not in (*words, *_LOCAL_MODELS))
    models = dict.fromkeys(_LOCAL_MODELS[name] for name in names if name in _LOCAL_MODELS)
    if len(models) > 1:
        raise UsageError(
            "query_likelihood, answer_reward and answer_similarity take different models; measure"
            " one of them at a time"
        )
    sources: list[Source] = []
    if words:
        sources.append(WordMetrics(words, options.normalization))
    if ranks:
        retrieval.check_match(options.match, options.collapse_ids)
        sources.append(RankMetrics(ranks, options.match, options.collapse_ids))
    sources += [model(options.local) for model in models]
    return MeasureJob(tuple(sources), options.cluster, _notes(options.metrics))


_LOCAL_MODELS: dict[str, type[QueryLikelihood | AnswerReward | AnswerSimilarity]] = {
    **dict.fromkeys(perplexity.METRICS, QueryLikelihood),
    reward.METRIC: AnswerReward,
    similarity.METRIC: AnswerSimilarity,
}
"""The local model that computes each metric."""


def _names(metrics: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of the metrics, with groups and aliases resolved."""
    lists = [metrics] if isinstance(metrics, str) else metrics
    specs = [spec.strip() for spec in chain.from_iterable(map(split_names, lists))]
    members = chain.from_iterable(GROUPS.get(spec, (spec,)) for spec in specs)
    names = [ALIASES.get(name, name) for name in of_whole_lists(tuple(members))]
    if not names:
        raise UsageError("name a metric to measure, as in rouge_l,recall@5")
    available = {*lexical.ALL_METRICS, *_LOCAL_MODELS}
    for name in names:
        if name not in available:
            try:
                retrieval.asked(name)
            except UsageError as error:
                if is_known(name):
                    raise _of_another_number(name, error) from error
                ranks = set(chain.from_iterable((row.name, *row.aliases[:1]) for row in MEASURES))
                raise unknown(
                    "metric without a judge",
                    name,
                    {*available, *GROUPS, *ranks},
                ) from error
    return tuple(dict.fromkeys(names))


def _of_another_number(name: str, error: UsageError) -> UsageError:
    """Return the error of a rank measure, with the other numbers of its name: `f1` is rather one of
    answers than f1@10."""
    number = number_of(name)
    if number and not number.takes_number:
        return UsageError(f"{error}; {elsewhere(name)}")
    return error


def of_whole_lists(names: tuple[str, ...]) -> list[str]:
    """Return names with `precision` and `recall` without a cutoff as those of whole lists, and
    `map` beside them as the mean over the retrieved relevant documents."""
    known = dict(WHOLE_LISTS)
    if not WHOLE_LISTS.keys().isdisjoint(names):
        known["map"] = WHOLE_LIST_MAP
    return [known.get(name, name) for name in names]


def _notes(metrics: str | Sequence[str]) -> tuple[str, ...]:
    """Return which MAP is meant, if names of whole lists make it another one."""
    lists = [metrics] if isinstance(metrics, str) else metrics
    typed = [name.strip() for name in chain.from_iterable(map(split_names, lists))]
    if "map" not in typed or WHOLE_LISTS.keys().isdisjoint(typed):
        return ()
    return (
        "map beside precision and recall of whole lists is ap_retrieved, the mean of P@rank over"
        " the relevant documents that were retrieved; average_precision is trec_eval's map, which"
        " counts missed documents as 0",
    )


def _texts(sample: Sample) -> lexical.LexicalSample:
    documents = sample.documents("contexts")
    joins_references = sample.references == "together" and sample.reference_answers
    return lexical.LexicalSample(
        answer=sample.answer,
        question=sample.question,
        contexts=None if documents is None else [document.text for document in documents],
        references=(
            ["\n\n".join(sample.reference_answers)]
            if joins_references
            else sample.reference_answers
        ),
        id=sample.id,
    )
