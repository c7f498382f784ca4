"""The extraction job: measure the quality of claims from their words, against gold claims, and by a judge.

The claims come from a run, a field of the data, the local splitter, or an extractor. The scores of a sample are counts,
as hits of a total; the summary divides sums over all samples (`claimeval.metrics.extraction`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from claimeval.data.rows import read_rows
from claimeval.data.survey import repeated_id
from claimeval.evaluation.claim_checks import GOLD, ClaimChecks, Planted, check_claims, planted_samples
from claimeval.evaluation.claims import extract_text
from claimeval.evaluation.manifest import Manifest, versions
from claimeval.execution import Executor
from claimeval.judging import prompts
from claimeval.judging.prompts import Prompt
from claimeval.lexical.claims import sentences, split_claims
from claimeval.lexical.extraction import MATCHINGS, MEASURES, Matching, examine, match
from claimeval.metrics.extraction import CLAIMS_BY_RULE, ratio_score, statements
from claimeval.metrics.scoring import undefined
from claimeval.providers import reads_prompts, specs
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import DataError, UsageError, unknown_name
from claimeval.types.options import require_at_least
from claimeval.types.records import Call, Claim, Part, Reason, Sample, SampleResult, Score, has_words
from claimeval.types.requests import Failure, Judge

NAME = "extraction"
LOCAL, SENTENCES = "local", "sentences"
SECOND: Matching = "contain"
"""The default matching that is reported next to the guarded one."""
BY_JUDGE = "judge"
GOLD_ROW, AGAINST = "people", "against"
"""Keys in a result's details for the counts of the gold claims, and of the other extractor."""
_TEXT_KEYS = ("text", "claim", "claim_string", "fact", "statement")
_TRIPLET_KEYS = ("triplet", "triple")


@dataclass(frozen=True, kw_only=True)
class ExtractionOptions:
    """User settings of the extraction job."""

    claims: str | None = None
    """`local`, `sentences`, a field of the data, or a prompt. Default: the run's claims, or `local` without a run."""
    extractor: str | Judge | None = None
    """Model that extracts the claims with a prompt."""
    gold: str | None = None
    """A field of the data, or a file, with gold claims."""
    judge: str | Judge | None = None
    sample: int = 200
    """Maximum number of texts that the judge is asked about."""
    elements: bool = False
    """Whether the judge lists the elements of each text and says which are verifiable and covered."""
    matching: str = "guarded"
    """The matching that is shown first."""
    against: Mapping[str, tuple[Claim, ...]] | None = None
    """The claims of another extractor, by sample."""
    against_name: str = ""
    cluster: str | None = None

    def __post_init__(self) -> None:
        require_at_least(self, 1, "sample")


class ClaimSource(NamedTuple):
    """The source of claims."""

    kind: str
    """`run`, `local`, `sentences`, `field` or `prompt`."""
    name: str
    """The name in the manifest."""
    prompt: Prompt | None = None


@dataclass(frozen=True)
class ExtractionJob:
    """Measure the quality of claims."""

    part: Part
    source: ClaimSource
    extractor: Judge | None = None
    judge: Judge | None = None
    checks: ClaimChecks | None = None
    gold: Mapping[str, tuple[str, ...]] | None = None
    """Gold claims, by sample."""
    gold_name: str = ""
    foreign_claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Gold claims of another text, which should not match, by sample."""
    matchings: tuple[Matching, ...] = ("guarded", SECOND)
    judged: frozenset[str] = frozenset()
    """Ids of the samples that the judge is asked about."""
    against: Mapping[str, tuple[Claim, ...]] | None = None
    against_name: str = ""
    sample: int = 0
    cluster: str | None = None
    remarks: tuple[str, ...] = ()
    name = NAME

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judge, if there is one."""
        return (self.judge,) if self.judge else ()

    @property
    def asked(self) -> tuple[Judge, ...]:
        """All judges and extractors that may get requests."""
        return (*self.judges, *((self.extractor,) if self.extractor else ()))

    @property
    def first_stage(self) -> ExtractionJob:
        """The job itself."""
        return self

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return whether no judge or extractor is left."""
        return bool(self.asked) and all(judge.name in stopped for judge in self.asked)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the scores."""
        gold_metrics = self._gold_metrics if self.gold else ()
        return (*MEASURES, *gold_metrics, *(self.checks.metrics if self.checks else ()))

    @property
    def _gold_metrics(self) -> tuple[str, ...]:
        names = (name for matching in self.matchings for name in matching_metrics(matching))
        return (*names, "granularity", "false_matches")

    @property
    def manifest(self) -> Manifest:
        """All settings that affect numbers."""
        source_prompts = (self.source.prompt,) if self.source.prompt else ()
        used = (*source_prompts, *(self.checks.prompts if self.checks else ()))
        return Manifest(
            job=NAME,
            metrics=self.metrics,
            questions=self.checks.records if self.checks else (),
            judges=self.judges,
            extractor=self.extractor,
            prompts=tuple({prompt.id: prompt.record for prompt in used}.values()),
            settings={
                "claims": self.source.name,
                "part": self.part,
                "gold": self.gold_name or None,
                "matchings": list(self.matchings),
                "against": self.against_name or None,
                "sample": self.sample or None,
                "remarks": list(self.remarks),
            },
            notes=specs.notes(self.judges, self.extractor) if self.judge and self.extractor else (),
            cluster=self.cluster,
            versions=versions(*self.judges, self.extractor),
        )

    async def evaluate(self, item: Sample | SampleResult, executor: Executor) -> SampleResult:
        """Return the counts of one sample, and the judge's verdicts on its claims."""
        if isinstance(item, Planted):
            assert self.checks, "planted claims are for a judge"
            return await self.checks.planted(item, executor, self.metrics)
        sample = item.sample if isinstance(item, SampleResult) else item
        claims, calls = await self._claims(item, sample, executor)
        if isinstance(claims, Failure):
            because: Reason = claims.reason
            scores = undefined(dict.fromkeys(self.metrics, "share"), because)
            return SampleResult(sample=sample, unextracted={self.part: because}, scores=scores, calls=calls)
        return await self._examine(sample, claims, calls, executor)

    async def _claims(
        self, item: Sample | SampleResult, sample: Sample, executor: Executor
    ) -> tuple[tuple[Claim, ...] | Failure, tuple[Call, ...]]:
        text = sample.text(self.part)
        if text is None:
            return Failure(reason="missing_input", message="there is no text"), ()
        if self.source.kind == "run":
            assert isinstance(item, SampleResult), "the items are those of the run"
            failure = item.unextracted.get(self.part)
            if failure and failure != "no_claims":
                return Failure(reason=failure, message="the run could not extract claims"), ()
            return claims_in_run(item, self.part), ()
        if not has_words(text):
            return (), ()
        if self.source.prompt:
            assert self.extractor, "a prompt goes to an extractor"
            extracted = await extract_text(sample, self.part, text, self.extractor, self.source.prompt, executor)
            return extracted.value, extracted.calls
        if self.source.kind == "field":
            texts = texts_in(sample.metadata, self.source.name)
            if texts is None:
                return Failure(reason="missing_input", message=f"no field {self.source.name}"), ()
            return as_claims(texts, self.part), ()
        split = _split(self.source.kind, text)
        return tuple(
            Claim(id=f"{self.part}-{i}", text=words, of=self.part, sentence_ids=ids, span=span, grounding="exact")
            for i, (words, ids, span) in enumerate(split, 1)
        ), ()

    async def _examine(
        self, sample: Sample, claims: tuple[Claim, ...], calls: tuple[Call, ...], executor: Executor
    ) -> SampleResult:
        text = sample.text(self.part) or ""
        counts = examine(text, statements(claims), sample.full_question)
        scores = {name: ratio_score(name, *counts.counts[name]) for name in MEASURES}
        details: dict[str, JsonValue] = {
            "kinds": {str(kind): n for kind, n in counts.kinds.items()},
            "claims": {name: [claims[i].id for i in indices] for name, indices in counts.claims.items() if indices},
            "sentences": {name: [i + 1 for i in indices] for name, indices in counts.sentences.items() if indices},
        }
        gold = (self.gold or {}).get(sample.id)
        if self.gold is not None:
            scores |= self._match_scores([claim.text for claim in claims], sample.id, gold)
            if gold is not None:
                details[GOLD_ROW] = _measure_counts(text, as_claims(gold, GOLD), sample)
        if self.against is not None and sample.id in self.against:
            other = self.against[sample.id]
            compared = _measure_counts(text, other, sample)
            if gold is not None:
                for matching in self.matchings:
                    row = _match_counts([claim.text for claim in other], gold, matching)
                    compared[f"{matching}_f1"] = list(row)
            details[AGAINST] = compared
        result = SampleResult(
            sample=sample,
            claims=claims,
            unextracted={} if claims else {self.part: "no_claims"},
            scores=scores,
            calls=calls,
            details={"extraction": details},
        )
        if self.checks is None:
            return result
        if sample.id not in self.judged:
            return result.model_copy(
                update={"scores": scores | undefined(dict.fromkeys(self.checks.metrics, "share"), "not_asked")}
            )
        return await check_claims(self.checks, result, self.part, gold or (), executor)

    def _match_scores(self, claims: list[str], sample: str, gold: tuple[str, ...] | None) -> dict[str, Score]:
        if gold is None:
            return undefined(dict.fromkeys(self._gold_metrics, "share"), "missing_input")
        scores: dict[str, Score] = {}
        for matching in self.matchings:
            scores |= gold_scores(matching, _match_counts(claims, gold, matching))
        foreign = self.foreign_claims.get(sample, ())
        wrong = sum(match(claims, foreign, self.matchings[0]).right) if foreign else 0
        scores["granularity"] = ratio_score("granularity", len(claims), len(gold))
        scores["false_matches"] = ratio_score("false_matches", wrong, len(claims) if foreign else 0)
        return scores


def _match_counts(claims: list[str], gold: tuple[str, ...], matching: Matching) -> tuple[int, int, int, int]:
    right, covered = match(claims, gold, matching)
    return sum(right), len(right), sum(covered), len(covered)


def matching_metrics(matching: str) -> tuple[str, ...]:
    """Return the names of the scores of a matching: precision, recall, F1 over all texts, and the mean F1 of texts."""
    return tuple(f"{matching}_{name}" for name in ("precision", "recall", "f1", "f1_macro"))


def gold_scores(matching: str, row: tuple[int, int, int, int]) -> dict[str, Score]:
    """Return the scores of a text, given the numbers of right claims, claims, found gold claims and gold claims."""
    right, claims, covered, gold = row
    precision, recall = right / claims if claims else 0.0, covered / gold if gold else 0.0
    both = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    names = matching_metrics(matching)
    f1 = Score.share(both) if claims + gold else Score.undefined("no_evidence")
    ratios = ratio_score(names[0], right, claims), ratio_score(names[1], covered, gold)
    return dict(zip(names, (*ratios, f1, f1), strict=True))


def claims_in_run(result: SampleResult, part: Part) -> tuple[Claim, ...]:
    """Return the claims of a part; with `extract_per_judge`, those of the first judge."""
    claims = result.claims_of(part)
    first = claims[0].extractor if claims else None
    return tuple(claim for claim in claims if claim.extractor == first)


def as_claims(texts: Iterable[str], part: Part) -> tuple[Claim, ...]:
    """Return texts as claims of a part."""
    return tuple(Claim(id=f"{part}-{i}", text=text, of=part) for i, text in enumerate(texts, 1))


def _split(kind: str, text: str) -> list[tuple[str, tuple[int, ...], tuple[int, int]]]:
    if kind == SENTENCES:
        spans = sentences(text)
        return [(text[start:end], (i,), (start, end)) for i, (start, end) in enumerate(spans, 1)]
    return [
        (claim.text, tuple(i + 1 for i in claim.sentence_ids), (claim.start, claim.end)) for claim in split_claims(text)
    ]


def _measure_counts(text: str, claims: tuple[Claim, ...], sample: Sample) -> dict[str, JsonValue]:
    counts = examine(text, statements(claims), sample.full_question).counts
    return {name: list(count) for name, count in counts.items()}


def texts_in(value: Any, path: str) -> tuple[str, ...] | None:
    """Return the claims at a path of names with dots, which may lead through lists: `sentences.human_facts.text`.

    A claim is a text, an object with a text (`text`, `claim`, ...), or a triplet, whose words are joined. None if there
    is nothing at the path; empty if there is an empty list.
    """
    if isinstance(value, dict) and path in value:
        return None if value[path] is None else tuple(_claim_texts(value[path], path))
    values: list[Any] = [value]
    for name in path.split("."):
        values = [value[name] for value in _items(values) if isinstance(value, dict) and value.get(name) is not None]
    return tuple(text for value in values for text in _claim_texts(value, path.rpartition(".")[2])) if values else None


def _items(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _items(value)
        else:
            yield value


def _claim_texts(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip():
            yield value.strip()
    elif isinstance(value, dict):
        key = next((key for key in (*_TEXT_KEYS, *_TRIPLET_KEYS) if value.get(key)), None)
        if key:
            yield from _claim_texts(value[key], key)
    elif isinstance(value, (list, tuple)):
        if name in _TRIPLET_KEYS and not any(isinstance(item, (list, tuple, dict)) for item in value):
            yield from _claim_texts(f"{' '.join(map(str, value))}.", "")
        else:
            for item in value:
                yield from _claim_texts(item, _TRIPLET_KEYS[0] if isinstance(item, (list, tuple)) else name)


def read_gold(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the gold claims in a file, by sample. A row has a list of claims, or one claim."""
    gold: dict[str, list[str]] = {}
    for row in read_rows(path):
        name = row.first(("id", "sample_id", "sample", "question_id"))
        listed = row.first(("claims", "gold", "facts", *_TEXT_KEYS))
        if name is None or listed is None:
            raise DataError(f"{row.location}: a row of gold claims needs id, and claims (a list) or text (one claim)")
        gold.setdefault(str(name), []).extend(_claim_texts(listed, "claims"))
    return {name: tuple(texts) for name, texts in gold.items()}


def make_job(options: ExtractionOptions, items: Iterable[Sample | SampleResult], *, of_run: bool) -> ExtractionJob:
    """Return the job after checking all settings against the items. Raises UsageError before any call is made."""
    if options.matching not in (*MATCHINGS, BY_JUDGE):
        raise unknown_name("matching", options.matching, (*MATCHINGS, BY_JUDGE))
    if options.matching != "guarded" and options.gold is None:
        raise UsageError("--matching compares with gold claims; name them with --gold")
    if options.matching == BY_JUDGE and options.judge is None:
        raise UsageError("--matching judge needs a --judge")
    judge = specs.parse_judge(options.judge) if options.judge else None
    if options.elements and (judge is None or not reads_prompts(judge)):
        raise UsageError("--elements needs a language model; name one with --judge")
    extractor = specs.parse_judge(options.extractor) if options.extractor else None
    source = _source(options, extractor, of_run=of_run)
    if extractor and not source.prompt:
        raise UsageError(f"--extractor needs a prompt, but --claims {options.claims} is not one")
    gold_file = read_gold(Path(options.gold)) if options.gold and Path(options.gold).is_file() else None
    survey = _survey(items, options, source, gold_file)
    second: Matching = SECOND if options.matching in ("guarded", BY_JUDGE) else options.matching  # type: ignore[assignment]  # checked
    gold = survey.gold if options.gold else None
    by_judge = gold is not None and options.matching == BY_JUDGE
    checks = ClaimChecks.of(judge, gold=by_judge, elements=options.elements) if judge else None
    by_rule = survey.by_rule or (extractor is not None and not reads_prompts(extractor))
    return ExtractionJob(
        part=survey.part,
        source=source,
        extractor=extractor,
        judge=judge,
        checks=checks,
        gold=gold,
        gold_name=options.gold or "",
        foreign_claims=_foreign_claims(survey) if gold else {},
        matchings=("guarded", second),
        judged=survey.chosen if judge else frozenset(),
        against=options.against,
        against_name=options.against_name,
        sample=options.sample if judge else 0,
        cluster=options.cluster,
        remarks=(CLAIMS_BY_RULE,) if by_rule else (),
    )


def _source(options: ExtractionOptions, extractor: Judge | None, *, of_run: bool) -> ClaimSource:
    if options.claims is None and extractor is None:
        return ClaimSource("run", "the run's") if of_run else ClaimSource(LOCAL, LOCAL)
    claims = options.claims or "atomic"
    if claims in (LOCAL, SENTENCES):
        return ClaimSource(claims, claims)
    if extractor or claims.endswith(".j2"):
        if extractor is None:
            raise UsageError(f"--claims {claims} is a prompt; name the model that extracts claims with --extractor")
        prompt = prompts.load("extract", claims)
        return ClaimSource("prompt", f"{prompt.name} by {extractor.name}", prompt)
    return ClaimSource("field", claims)


class _ClaimSurvey(NamedTuple):
    part: Part
    gold: dict[str, tuple[str, ...]]
    clusters: dict[str, int]
    chosen: frozenset[str]
    """The samples that a judge is asked about."""
    by_rule: bool
    """Whether the claims of a run are those of the local splitter."""


def _survey(
    items: Iterable[Sample | SampleResult],
    options: ExtractionOptions,
    source: ClaimSource,
    gold_file: Mapping[str, tuple[str, ...]] | None,
) -> _ClaimSurvey:
    """Read the items once to find the part with texts, the gold claims, and the samples to judge; check the fields."""
    numbers: dict[str, int] = {}
    gold: dict[str, tuple[str, ...]] = {}
    clusters: dict[str, int] = {}
    columns: dict[str, None] = {}
    answers = references = with_claims = 0
    for number, item in enumerate(items, 1):
        sample = item.sample if isinstance(item, SampleResult) else item
        if (first := numbers.setdefault(sample.id, number)) != number:
            raise repeated_id(sample.id, first, number)
        answers += sample.has("answer")
        references += sample.has("reference")
        columns.update(dict.fromkeys(sample.metadata))
        clusters[sample.id] = cluster_of(sample, options.cluster)
        if options.gold:
            sample_gold = gold_file.get(sample.id) if gold_file is not None else texts_in(sample.metadata, options.gold)
            if sample_gold is not None:
                gold[sample.id] = sample_gold
        with_claims += source.kind == "field" and texts_in(sample.metadata, source.name) is not None
    if not numbers:
        raise DataError("there are no samples")
    if not answers and not references:
        raise UsageError("no sample has an answer; name its column with --field, as in answer=draft")
    if source.kind == "field" and not with_claims:
        shipped = (LOCAL, SENTENCES, *prompts.shipped("extract"))
        raise unknown_name("field or source of claims", source.name, (*shipped, *columns))
    if options.gold and not any(gold.values()):
        if gold_file is not None:
            raise UsageError(f"{options.gold}: none of its ids is the id of a sample")
        if options.gold in columns:
            raise UsageError(f"the field {options.gold!r} has no gold claims in any sample")
        raise unknown_name("file, or field of the samples with gold claims:", options.gold, columns)
    ranked = sorted(numbers, key=lambda name: hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest())
    chosen = frozenset(ranked[: options.sample])
    return _ClaimSurvey("answer" if answers else "reference", gold, clusters, chosen, source.kind == LOCAL)


def _foreign_claims(survey: _ClaimSurvey) -> dict[str, tuple[str, ...]]:
    """Return, for each sample, the gold claims of another question: the next by digest, whatever the sample order."""
    distinct: dict[bytes, tuple[int, tuple[str, ...]]] = {}
    digests: dict[str, bytes] = {}
    for name, texts in survey.gold.items():
        digest = hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).digest()
        digests[name] = digest
        distinct.setdefault(digest, (survey.clusters[name], texts))
    ring = sorted(distinct)
    index = {digest: i for i, digest in enumerate(ring)}
    foreign: dict[str, tuple[str, ...]] = {}
    for name, digest in digests.items():
        following = (distinct[ring[(index[digest] + step) % len(ring)]] for step in range(1, len(ring)))
        if other := next((texts for cluster, texts in following if cluster != survey.clusters[name]), None):
            foreign[name] = other
    return foreign


def items_of(job: ExtractionJob, items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items of the job; with a judge, planted claims come first."""
    if job.checks:
        yield from planted_samples()
    yield from items
