"""Tables of results, with a row per sample, per claim and evidence, per verdict, or per call.

In a CSV, text that a spreadsheet would read as a formula is prefixed with an apostrophe.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Literal, get_args

from claimeval.evaluation.manifest import Manifest
from claimeval.types.errors import unknown_name
from claimeval.types.records import Assessment, SampleResult, Verdict

Rows = Literal["samples", "claims"]
CITATIONS = "citations"
"""The table of a run whose citations were judged."""
Table = Literal["samples", "claims", "verdicts", "calls", "citations"]
VERDICT = ("judge", "label", "unassessed", "replicate", "probability", "explanation", "prompt")
CALL = (
    *("key", "step", "judge", "part", "attempt", "replicate", "reused", "failed", "message"),
    *("served_model", "prompt_tokens", "completion_tokens"),
)
Cell = str | int | float | None


def rows(manifest: Manifest, results: Iterable[SampleResult], table: str) -> Iterator[list[Cell]]:
    """Return the rows of a table, the column names first. Undefined values are None."""
    if table not in get_args(Table):
        raise unknown_name("table", table, get_args(Table))
    makers = {
        "samples": _samples,
        "claims": _claims,
        "verdicts": _verdicts,
        "calls": _calls,
        "citations": _citations,
    }
    return makers[table](manifest, results)


def _samples(manifest: Manifest, results: Iterable[SampleResult]) -> Iterator[list[Cell]]:
    names = manifest.names
    parts = ("", "_because", "_supported", "_judged", "_claims")
    head = [
        "id",
        "question",
        "answer",
        "generator",
        "metadata",
        "calls",
        "prompt_tokens",
        "completion_tokens",
    ]
    for name in names:
        head += [f"{name}{part}" for part in parts]
    yield list[Cell](head)
    for result in results:
        sample = result.sample
        fields = json.dumps(sample.metadata, ensure_ascii=False) if sample.metadata else None
        row: list[Cell] = [
            sample.id,
            sample.question,
            sample.answer,
            sample.generator,
            fields,
            len(result.calls),
        ]
        row += [sum(call.prompt_tokens or 0 for call in result.calls)]
        row += [sum(call.completion_tokens or 0 for call in result.calls)]
        for name in names:
            score = result[name]
            row += [score.value, score.because, score.hits, score.judged, score.total]
        yield row


def _claims(manifest: Manifest, results: Iterable[SampleResult]) -> Iterator[list[Cell]]:
    judges = [judge.name for judge in manifest.judges]
    names = manifest.short_names
    fields = ("label", "probability", "explanation", "cites")
    head = ["id", "claim_id", "of", "claim", "grounding", "against", "document", "order"]
    head += ["label", "unassessed", "agreement", "cited_text"]
    located = manifest.job == "locate"
    head += ["cause"] * located
    for judge in judges:
        head += (f"{names[judge]}: {field}" for field in fields)
    yield list[Cell](head)
    for result in results:
        claims = {claim.id: claim for claim in result.claims}
        documents = result.sample.evidence["corpus"] if located else result.sample.contexts
        texts = {document.id: document.text for document in documents or ()}
        for assessment in result.assessments:
            if (claim := claims.get(assessment.subject)) is None:
                continue  # the assessment of a document or a whole answer
            row: list[Cell] = [result.sample.id, claim.id, claim.of, claim.text, claim.grounding]
            row += [assessment.against, assessment.evidence.document, assessment.evidence.order]
            row += [assessment.label, assessment.unassessed, assessment.agreement]
            row += ["\n\n".join(_cited(assessment, texts))]
            row += [assessment.cause] * located
            verdicts = {verdict.judge: verdict for verdict in assessment.verdicts}
            for judge in judges:
                row += _verdict_cells(verdicts.get(judge))
            yield row


def _cited(assessment: Assessment, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the texts of the documents that judges cite, each once; `texts` are those of the
    sample, by id."""
    cites = chain.from_iterable(verdict.cites for verdict in assessment.verdicts)
    return (texts[name] for name in dict.fromkeys(cites) if name in texts)


def _verdict_cells(verdict: Verdict | None) -> list[Cell]:
    if verdict is None:
        return [None] * 4
    label = verdict.unassessed or verdict.label
    return [label, verdict.probability, verdict.explanation, " ".join(verdict.cites)]


def _verdicts(_: Manifest, results: Iterable[SampleResult]) -> Iterator[list[Cell]]:
    yield ["id", "subject", "of", "against", "document", "order", *VERDICT, "cites"]
    for result in results:
        parts = {claim.id: claim.of for claim in result.claims}
        for assessment in result.assessments:
            evidence = assessment.evidence
            row: list[Cell] = [result.sample.id, assessment.subject, parts.get(assessment.subject)]
            row += [evidence.part, evidence.document, evidence.order]
            for verdict in assessment.verdicts:
                yield [*row, *(getattr(verdict, name) for name in VERDICT), " ".join(verdict.cites)]


def _calls(_: Manifest, results: Iterable[SampleResult]) -> Iterator[list[Cell]]:
    yield ["id", *CALL, "against"]
    for result in results:
        for call in result.calls:
            against = str(call.evidence) if call.evidence else None
            yield [result.sample.id, *(getattr(call, name) for name in CALL), against]


def _citations(_: Manifest, results: Iterable[SampleResult]) -> Iterator[list[Cell]]:
    """Yield a row for each source that a mark cites, or for the mark if it names none."""
    from claimeval.metrics.citations import cited_sources

    yield ["id", "citation", "source", "label", "why", "sentence", "claims", "passage"]
    for result in results:
        for one in cited_sources(result):
            row: list[Cell] = [result.id, one.mark, one.source, one.label, one.words]
            yield [*row, one.sentence, "\n".join(one.claims), one.passage]
