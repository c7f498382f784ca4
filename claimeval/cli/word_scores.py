"""What `claimeval lexical` does: samples from a file or a run, scored by words, kept beside a run's other scores."""

from __future__ import annotations

import sys
from pathlib import Path

from claimeval import lexical
from claimeval.cli.beside_a_run import Place, tell
from claimeval.metrics.scoring import SampleScores
from claimeval.runs import scores
from claimeval.types.records import Sample, Score


def score_and_tell(
    data: Path,
    *,
    metrics: tuple[str, ...] | None,
    normalisation: str,
    out: Path | None,
    fields: tuple[str, ...],
    limit: int | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Scores all samples and prints what they add up to."""
    place = Place(data, "lexical", out=out, fields=fields, limit=limit, cluster=cluster)
    warned = _Warner(normalisation)
    rows = (
        SampleScores(
            id=row.id,
            scores=tuple(
                Score(
                    metric=name,
                    unit=lexical.METRICS[name].unit,
                    value=value,
                    because="missing_input" if name in row.undefined else None,
                )
                for name, value in row.scores.items()
            ),
        )
        for row in lexical.score(
            (warned.look(_texts(sample)) for sample in place.samples()),
            metrics or lexical.METRICS,
            normalization=normalisation,
        )
    )
    summary = scores.write(
        place.folder, "lexical", place.clustered(rows), {"normalisation": normalisation}, place.cluster
    )
    tell(summary, place.folder, {}, as_json=as_json)


def _texts(sample: Sample) -> lexical.LexicalSample:
    return lexical.LexicalSample(
        answer=sample.answer,
        question=sample.question,
        contexts=None if (found := sample.documents("contexts")) is None else [document.text for document in found],
        references=["\n\n".join(sample.reference_answers)]
        if sample.references == "together" and sample.reference_answers
        else sample.reference_answers,
        id=sample.id,
    )


class _Warner:
    """Says once that a text is in a script without spaces, which the English normalisation takes for one word."""

    def __init__(self, normalisation: str) -> None:
        self._silent = normalisation != "squad"

    def look(self, texts: lexical.LexicalSample) -> lexical.LexicalSample:
        if not self._silent and texts.answer and lexical.is_unspaced_script(texts.answer):
            self._silent = True
            print(
                f"claimeval: sample {texts.id!r} has no spaces between words; use --normalisation multilingual",
                file=sys.stderr,
            )
        return texts
