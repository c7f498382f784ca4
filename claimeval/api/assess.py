"""`assess`: judge claims that you have against evidence that you have; nothing is extracted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.api.data import ALL, Data, Examination, path_of, rows_of
from claimeval.api.hints import with_hints
from claimeval.api.jobs import Judges, blocking, parse_specs, run_prepared
from claimeval.api.run import Run
from claimeval.data import documents
from claimeval.data.labels import NAMES, parse_label
from claimeval.data.rows import SourceRow, read_rows
from claimeval.evaluation.claims import (
    AUTO,
    ClaimsOptions,
    make_job,
    prompt_language,
)
from claimeval.metrics.derived import MetricSelection
from claimeval.metrics.rows import Metric
from claimeval.types.errors import UsageError
from claimeval.types.gates import Gates
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.questions import Reasons
from claimeval.types.records import CLAIMS, Document, GivenClaim, Label, Sample, has_words
from claimeval.types.requests import ClaimsPerCall

Texts = Sequence[str | Document | Mapping[str, Any]]
Evidence = str | Texts | Mapping[str, str | Texts]
"""Documents for all claims, or by the id of a claim."""

SUPPORT = Metric(name="support", claims_of=CLAIMS, against="evidence")
_TEXT = ("text", "claim", "statement")
_ID = ("id", "claim_id")


class _Row(NamedTuple):
    """A claim with its question and its evidence."""

    claim: GivenClaim
    question: str
    evidence: tuple[Document, ...]


@with_hints
def assess(
    claims: Data,
    evidence: Evidence | None = None,
    *,
    judges: Judges,
    assess_prompt: str | Path | None = None,
    language: str | None = None,
    per_document: bool | None = None,
    shuffle_contexts: int | None = None,
    claims_per_call: ClaimsPerCall | None = None,
    reasons: Reasons | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
    gates: Gates | None = None,
) -> Run:
    """Judge given claims against given evidence. Nothing is extracted.

    Claims with the same evidence and question are one sample, and are asked in the same calls, as
    many in each as in any run of the judge.

    Args:
        claims: Texts, or rows with `text` and, as far as you have them, `id`, `label` (the label by
            people), `question`, and `evidence`; also a file or table of such rows.
        evidence: The documents that all claims are judged against, as texts or objects, or the
            documents of each claim by its id. None: rows have their `evidence`.
        judges: As for `score`.
        assess_prompt: As for `score`.
        language: As for `score`.
        per_document: As for `score`.
        shuffle_contexts: As for `score`.
        claims_per_call: As for `score`.
        reasons: As for `score`.
        out: As for `score`.
        overwrite: Replace a run with other settings in `out`.
        panel: How the verdicts of several judges are counted.
        options: How the judges are asked, and what may be spent.
        gates: As for `score`, for the metric `support`.

    Returns:
        The verdicts on every claim, and their summary: the metric `support` is the share of claims
        that the evidence supports. `run.claims` yields the claims with your ids; `agreement(run)`
        compares the judges with the labels of the rows.

    Raises:
        UsageError: Before any call, for what you can fix: a claim without text or evidence, an id
            that is repeated.
        DataError: A row of a file is malformed.
        StoppedEarly: As for `score`.

    Examples:
        >>> run = ce.assess(
        ...     ["It opened in 1888.", "It has a library."],
        ...     ["The town hall opened in 1888 and has a tower."],
        ...     judges="local:lexical",
        ... )
        >>> run["support"].mean
        0.5
        >>> [assessment.label for assessment in run.results[0].assessments]
        ['supported', 'not_found']
    """
    return blocking(aassess(**locals()))


@with_hints
async def aassess(
    claims: Data,
    evidence: Evidence | None = None,
    *,
    judges: Judges,
    assess_prompt: str | Path | None = None,
    language: str | None = None,
    per_document: bool | None = None,
    shuffle_contexts: int | None = None,
    claims_per_call: ClaimsPerCall | None = None,
    reasons: Reasons | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    panel: PanelOptions = PanelOptions(),
    options: RunOptions = RunOptions(),
    gates: Gates | None = None,
) -> Run:
    """Assess as `assess` does, in an asynchronous program. The arguments are the same.

    Examples:
        >>> import asyncio
        >>> claims = ["It opened in 1888."]
        >>> run = asyncio.run(ce.aassess(claims, ["It opened in 1888."], judges="local:lexical"))
        >>> run["support"].mean
        1.0
    """
    samples = _samples(_rows(claims, evidence))
    auto = language == AUTO
    chosen, why = prompt_language(samples) if auto else (language, "")
    requested = ClaimsOptions(
        judges=parse_specs(judges),
        assess_prompt=None if assess_prompt is None else str(assess_prompt),
        language=chosen,
        per_document=per_document,
        shuffle_contexts=shuffle_contexts,
        claims_per_call=claims_per_call,
        reasons=reasons,
        panel=panel,
        cluster=options.cluster,
    )
    job = make_job(requested, MetricSelection((SUPPORT,), None), extracts=False)
    remarks = (why,) if auto else ()
    job = replace(job, extracts=False, remarks=remarks)
    # The data name the file in the manifest, and rows in memory have no name.
    examination = Examination(samples, path_of(claims) and str(claims), ALL, options)
    for _ in examination:
        pass
    prepared = examination.prepared(job)
    return await run_prepared(prepared, out=out, overwrite=overwrite, options=options, gates=gates)


class _GivenEvidence:
    """The evidence that the caller gave: for all claims, by the id of a claim, or none."""

    def __init__(self, given: Evidence | None) -> None:
        self._by_id: Mapping[str, Any] | None = None
        self._shared: tuple[Document, ...] | None = None
        if isinstance(given, Mapping) and not _is_document(given):
            # Numbers of rows are ids too, as in a table.
            self._by_id = {str(name): texts for name, texts in given.items()}
        elif given is not None:
            self._shared = _documents(given, "evidence")

    def of(self, claim: str, row: SourceRow) -> tuple[Document, ...]:
        """Return the documents of a claim. Raises UsageError if there are none, or two sets."""
        own = row.fields.get("evidence")
        others = self._shared if self._by_id is None else self._by_id.get(claim)
        if own is not None and others is not None:
            whom = "all" if self._by_id is None else "it"
            raise UsageError(
                f"{row.location}: the claim has its evidence, and `evidence` gives some to {whom};"
                " leave one out"
            )
        own = others if own is None else own
        if own is None:
            where = "give `evidence`"
            if self._by_id is not None:
                where = "`evidence` has none under its id"
            raise UsageError(f"{row.location}: claim {claim!r} has no evidence; {where}")
        if self._shared is not None and own is others:
            return self._shared
        return _documents(own, f"evidence of claim {claim!r}")

    def check(self, names: Sequence[str]) -> None:
        """Raise UsageError for evidence under the id of no claim."""
        for name in self._by_id or ():
            if name not in names:
                raise UsageError(
                    f"evidence: no claim has the id {name!r}; ids are {', '.join(names[:5])}"
                )


def _rows(claims: Data, evidence: Evidence | None) -> list[_Row]:
    """Return the claims with their evidence. Raises UsageError for what you can fix."""
    given = _GivenEvidence(evidence)
    rows = list[_Row]()
    places = dict[str, int]()
    for number, row in enumerate(_sources(claims), 1):
        claim = _claim(row, number)
        name = claim.id or str(number)
        if name in places:
            raise UsageError(
                f"claims {places[name]} and {number} have the id {name!r}; give each another"
            )
        places[name] = number
        question = str(row.fields.get("question") or "")
        rows.append(_Row(claim, question, given.of(name, row)))
    if not rows:
        raise UsageError("claims: there is none; give texts, or rows with text")
    given.check([*places])
    return rows


def _sources(claims: Data) -> Iterable[SourceRow]:
    """Return the rows of a file, a table or a list."""
    if isinstance(claims, (str, Path)):
        # A text in place of a list of texts would be looked for as a file.
        if isinstance(claims, str) and " " in claims.strip() and not Path(claims).exists():
            raise UsageError("claims: one text; give a list of texts, as in [text]")
        return read_rows(Path(claims).expanduser())
    return (
        SourceRow(
            f"claim {i}",
            i,
            _fields(item),
        )
        for i, item in enumerate(rows_of(claims), 1)
    )


def _fields(item: object) -> dict[str, object]:
    """Return the fields of a row, without those that a data frame has as NaN."""
    if not isinstance(item, Mapping):
        return {"text": item}
    # NaN is the one value that differs from itself, also that of numpy.
    return {
        str(name): value
        for name, value in item.items()
        if not isinstance(value, float) or value == value
    }


def _claim(row: SourceRow, number: int) -> GivenClaim:
    text = row.first(_TEXT)
    if not isinstance(text, str) or not has_words(text):
        raise UsageError(f"{row.location}: no claim; give a text, or a row with `text`")
    word = row.first(NAMES["label"])
    label: Label | None = None
    if word is not None and str(word).strip():
        label, _ = parse_label(word, row.location)
    name = row.first(_ID)
    if name is None:
        name = number
    return GivenClaim(text=text, id=str(name), label=label)


def _is_document(evidence: Mapping[str, Any]) -> bool:
    """Return whether a mapping is one document rather than documents by the ids of claims."""
    return isinstance(evidence.get("text"), str) and set(evidence) <= {*Document.model_fields}


def _documents(evidence: object, where: str) -> tuple[Document, ...]:
    """Return documents as they are, from texts or from objects."""
    one = isinstance(evidence, (str, Document, Mapping))
    items = [evidence] if one else evidence
    if not isinstance(items, Iterable):
        raise UsageError(f"{where}: {type(evidence).__name__}; give texts or documents")
    found = list[Document]()
    for rank, item in enumerate(items, 1):
        if isinstance(item, Document):
            found.append(item)
            continue
        fields = documents.document(item)
        if fields is None:
            raise UsageError(
                f"{where}, document {rank}: no text in {type(item).__name__}; give a list of texts"
                " or documents, against which every claim is judged"
            )
        named = {**documents.ranked(rank), **fields}
        named["id"] = str(named["id"])
        named["id_is_rank"] = "id" not in fields
        found.append(Document.model_validate(named))
    return tuple(found)


def _samples(rows: Sequence[_Row]) -> list[Sample]:
    """Return one sample for the claims that have the same question and evidence."""
    groups: dict[tuple[str, tuple[Document, ...]], list[GivenClaim]] = {}
    for row in rows:
        groups.setdefault((row.question, row.evidence), []).append(row.claim)
    samples = list[Sample]()
    for (question, evidence), claims in groups.items():
        name = CLAIMS if len(groups) == 1 else claims[0].id
        samples.append(
            Sample(
                id=name or CLAIMS,
                question=question,
                claims=claims,
                evidence={SUPPORT.against: evidence},
            )
        )
    return samples
