"""The extraction job: measure the quality of claims from their words, and against gold claims.

The claims come from a run, a field of the data, or an extractor. The scores of a sample are counts,
as hits of a total; the summary divides sums over all samples (`claimeval.metrics.extraction`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from claimeval.data.file_formats import sheet_in
from claimeval.data.rows import read_rows
from claimeval.data.survey import distinct
from claimeval.evaluation.claims import extract_text
from claimeval.evaluation.job import sample_of
from claimeval.evaluation.kinds import JobKind
from claimeval.evaluation.manifest import Manifest, versions
from claimeval.execution import Executor
from claimeval.judging import prompts
from claimeval.judging.prompts import Prompt
from claimeval.lexical.extraction import MEASURES, examine, match
from claimeval.metrics.claim_quality import GOLD_METRICS
from claimeval.metrics.extraction import gold_scores, ratio_score, statements
from claimeval.metrics.scoring import undefined
from claimeval.providers import reads_prompts, specs
from claimeval.types.errors import DataError, UsageError, missing_file, unknown_name
from claimeval.types.records import Call, Claim, Part, Reason, Sample, SampleResult, has_words
from claimeval.types.requests import Failure, Judge

NAME = "extraction"
LOCAL = "local:lexical"
"""The extractor of data without a run."""
GOLD = "people"
"""Key in a result's details for the counts of the gold claims."""
_TEXT_KEYS = ("text", "claim", "claim_string", "fact", "statement")
_TRIPLET_KEYS = ("triplet", "triple")


@dataclass(frozen=True)
class ExtractionJob:
    """Measure the quality of claims."""

    part: Part
    field: str | None = None
    """The field with the claims."""
    extractor: Judge | None = None
    prompt: Prompt | None = None
    """None with a field, or for the claims of a run."""
    gold: Mapping[str, tuple[str, ...]] | None = None
    """Gold claims, by sample."""
    gold_name: str = ""
    cluster: str | None = None
    judges: tuple[Judge, ...] = ()
    """Nothing is judged."""
    name = NAME

    @property
    def asked(self) -> tuple[Judge, ...]:
        """The extractor, if there is one."""
        return (self.extractor,) if self.extractor else ()

    @property
    def first_stage(self) -> ExtractionJob:
        """The job itself."""
        return self

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return whether the extractor was stopped."""
        return self.extractor is not None and self.extractor.name in stopped

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the scores."""
        return (*MEASURES, *(GOLD_METRICS if self.gold else ()))

    @property
    def _source(self) -> str:
        if self.extractor and self.prompt:
            return f"{self.prompt.name} by {self.extractor.name}"
        return self.field or "the run's"

    @property
    def manifest(self) -> Manifest:
        """All settings that affect numbers."""
        return Manifest(
            job=NAME,
            metrics=self.metrics,
            extractor=self.extractor,
            prompts=(self.prompt.record,) if self.prompt else (),
            settings={"claims": self._source, "part": self.part, "gold": self.gold_name or None},
            notes=(
                (specs.CLAIMS_BY_RULE,)
                if self.extractor and not reads_prompts(self.extractor)
                else ()
            ),
            cluster=self.cluster,
            versions=versions(self.extractor),
        )

    async def evaluate(self, item: Sample | SampleResult, executor: Executor) -> SampleResult:
        """Return the counts of one sample."""
        sample = sample_of(item)
        claims, calls = await self._claims(item, sample, executor)
        if isinstance(claims, Failure):
            because: Reason = claims.reason
            scores = undefined(dict.fromkeys(self.metrics, "share"), because)
            return SampleResult.of(
                sample,
                unextracted={self.part: because},
                scores=scores,
                calls=calls,
            )
        return self._examine(sample, claims, calls)

    async def _claims(
        self,
        item: Sample | SampleResult,
        sample: Sample,
        executor: Executor,
    ) -> tuple[tuple[Claim, ...] | Failure, tuple[Call, ...]]:
        text = sample.text(self.part)
        if text is None:
            return Failure(reason="missing_input", message="there is no text"), ()
        if self.extractor and self.prompt:
            if not has_words(text):
                return (), ()
            extracted = await extract_text(
                sample,
                self.part,
                text,
                self.extractor,
                self.prompt,
                executor,
            )
            return extracted.value, extracted.calls
        if self.field:
            texts = texts_in(sample.metadata, self.field)
            if texts is None:
                return Failure(reason="missing_input", message=f"no field {self.field}"), ()
            return as_claims(texts, self.part), ()
        assert isinstance(item, SampleResult), "the items are those of the run"
        failure = item.unextracted.get(self.part)
        if failure and failure != "no_claims":
            return Failure(reason=failure, message="the run could not extract claims"), ()
        return tuple(item.claims_of(self.part)), ()

    def _examine(
        self,
        sample: Sample,
        claims: tuple[Claim, ...],
        calls: tuple[Call, ...],
    ) -> SampleResult:
        text = sample.text(self.part) or ""
        counts = examine(text, statements(claims))
        scores = {name: ratio_score(name, *counts.counts[name]) for name in MEASURES}
        details: dict[str, JsonValue] = {
            "kinds": {str(kind): n for kind, n in counts.kinds.items()},
            "sentences": {
                name: [i + 1 for i in indices]
                for name, indices in counts.sentences.items()
                if indices
            },
        }
        if self.gold is not None:
            gold = self.gold.get(sample.id)
            if gold is None:
                scores |= undefined(dict.fromkeys(GOLD_METRICS, "share"), "missing_input")
            else:
                right, found = match([claim.text for claim in claims], gold)
                scores |= gold_scores((sum(right), len(right), sum(found), len(found)))
                of_gold = examine(text, statements(as_claims(gold, self.part))).counts
                details[GOLD] = {name: list(count) for name, count in of_gold.items()}
        return SampleResult(
            sample=sample,
            claims=claims,
            assessments=(),
            unextracted={} if claims else {self.part: "no_claims"},
            scores=scores,
            calls=calls,
            details={"extraction": details},
        )


def as_claims(texts: Iterable[str], part: Part) -> tuple[Claim, ...]:
    """Return texts as claims of a part."""
    return tuple(
        Claim(id=f"{part}-{i}", of=part, text=text, grounding="ungrounded")
        for i, text in enumerate(texts, 1)
    )


def texts_in(value: Any, path: str) -> tuple[str, ...] | None:
    """Return the claims at a path of names with dots, which may lead through lists:
    `sentences.human_facts.text`.

    A claim is a text, an object with a text (`text`, `claim`, ...), or a triplet, whose words are
    joined. None if there is nothing at the path; empty if there is an empty list.
    """
    # A column may itself be called "facts.text", as a data frame that was flattened has it.
    if isinstance(value, dict) and path in value:
        return None if value[path] is None else tuple(_claim_texts(value[path], path))
    values: list[Any] = [value]
    for name in path.split("."):
        values = [
            value[name]
            for value in _items(values)
            if isinstance(value, dict) and value.get(name) is not None
        ]
    if not values:
        return None
    name = path.rpartition(".")[2]
    return tuple(chain.from_iterable(_claim_texts(value, name) for value in values))


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
        # RefChecker writes a claim as ["Bern", "lies in", "Switzerland"], which is one claim and
        # not three.
        if name in _TRIPLET_KEYS and not any(
            isinstance(item, (list, tuple, dict)) for item in value
        ):
            yield from _claim_texts(f"{' '.join(map(str, value))}.", "")
        else:
            for item in value:
                yield from _claim_texts(
                    item, _TRIPLET_KEYS[0] if isinstance(item, (list, tuple)) else name
                )


def read_gold(path: Path, sheet: str | None = None) -> dict[str, tuple[str, ...]]:
    """Return the gold claims in a file, by sample. A row has a list of claims, or one claim."""
    gold: dict[str, list[str]] = {}
    for row in read_rows(path, sheet=sheet):
        name = row.first(("id", "sample_id", "sample", "question_id"))
        listed = row.first(("claims", "gold", "facts", *_TEXT_KEYS))
        if name is None or listed is None:
            raise DataError(
                f"{row.location}: a row of gold claims needs id, and claims (a list) or text (one"
                " claim)"
            )
        # Ids of JSON may be numbers where those of samples are texts.
        gold.setdefault(str(name), []).extend(_claim_texts(listed, "claims"))
    return {name: tuple(texts) for name, texts in gold.items()}


def make_job(
    items: Iterable[Sample | SampleResult],
    claims: str | None,
    extractor: str | Judge | None,
    gold: str | None,
    cluster: str | None,
    *,
    of_run: bool,
    sheet: str | None = None,
) -> ExtractionJob:
    """Return the job after checking all settings against the items. Raises UsageError before any
    call is made.

    Args:
        items: The samples, or the results of a run.
        claims: A field of the data, or a prompt for the extractor. None: the run's claims, if there
            is a run.
        extractor: Model that extracts the claims with a prompt.
        gold: A field of the data, or a file, with gold claims.
        cluster: Field whose equal values are one cluster.
        of_run: Whether the claims are those of the run.
        sheet: The sheet of gold claims in a spreadsheet.
    """
    is_prompt = extractor is not None or (claims or "").endswith(".j2")
    named = extractor or (None if of_run or claims else LOCAL)
    if is_prompt and not named:
        raise UsageError(
            f"--claims {claims} is a prompt; name the model that extracts claims with --extractor"
        )
    field = claims if not is_prompt else None
    part, of_gold = _survey(items, gold, field, sheet)
    return ExtractionJob(
        part=part,
        field=field,
        extractor=specs.parse_judge(named) if named else None,
        prompt=prompts.load("extract", claims or "atomic") if named else None,
        gold=of_gold,
        gold_name=gold or "",
        cluster=cluster,
    )


def _survey(
    items: Iterable[Sample | SampleResult],
    gold_name: str | None,
    field: str | None,
    sheet: str | None,
) -> tuple[Part, dict[str, tuple[str, ...]] | None]:
    """Read the items once to find the part with texts and the gold claims, and check the fields."""
    file = Path(gold_name) if gold_name and Path(gold_name).is_file() else None
    gold_file = read_gold(file, sheet_in(file, sheet)) if file else None
    gold: dict[str, tuple[str, ...]] = {}
    columns: dict[str, None] = {}
    answers = references = with_claims = 0
    for sample in distinct(map(sample_of, items)):
        answers += sample.has("answer")
        references += sample.has("reference")
        columns.update(dict.fromkeys(sample.metadata))
        if gold_name:
            sample_gold = _gold_of(sample, gold_file, gold_name)
            if sample_gold is not None:
                gold[sample.id] = sample_gold
        with_claims += field is not None and texts_in(sample.metadata, field) is not None
    if not answers and not references:
        raise UsageError(
            "no sample has an answer; name its column with --field, as in answer=draft"
        )
    if field and not with_claims:
        raise unknown_name("field with claims", field, columns)
    if gold_name and not any(gold.values()):
        raise _no_gold(gold_name, columns, is_file=gold_file is not None)
    return "answer" if answers else "reference", gold if gold_name else None


def _gold_of(
    sample: Sample,
    gold_file: Mapping[str, tuple[str, ...]] | None,
    name: str,
) -> tuple[str, ...] | None:
    """Return the gold claims of a sample, from a file or from one of its fields; None if there are
    none."""
    if gold_file is not None:
        return gold_file.get(sample.id)
    return texts_in(sample.metadata, name)


def _no_gold(name: str, columns: Iterable[str], *, is_file: bool) -> UsageError:
    if is_file:
        return UsageError(f"{name}: none of its ids is the id of a sample")
    if name in columns:
        return UsageError(f"the field {name!r} has no gold claims in any sample")
    if Path(name).suffix in (".jsonl", ".json", ".csv", ".parquet"):
        return missing_file(Path(name))
    return unknown_name("file, or field of the samples with gold claims:", name, columns)


KIND = JobKind(NAME, in_shards=False)
