"""What `claimeval lexical` does: samples from a file or a run, scored by words, kept beside a run's other scores."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from claimeval import lexical, side_scores
from claimeval.cli.table import print_sides
from claimeval.data.reading import parse_fields, read_samples
from claimeval.errors import DataError, UsageError
from claimeval.records import Sample
from claimeval.run import RESULTS, read_results


def score_and_tell(
    data: Path,
    *,
    metrics: tuple[str, ...] | None,
    normalisation: str,
    out: Path | None,
    fields: tuple[str, ...],
    limit: int | None,
    as_json: bool,
) -> None:
    """Scores all samples and prints what they add up to."""
    run = data if (data / RESULTS).exists() else out
    if run and limit and (run / RESULTS).exists():
        raise UsageError("--limit would leave samples of the run without scores; leave it out")
    samples: Iterator[Sample] = itertools.islice(_samples(data, fields), limit)
    if run and run != data and (run / RESULTS).exists():
        samples = _same_samples(samples, run)
    warned = _Warner(normalisation)
    rows = (
        side_scores.SideRow(id=row.id, scores=row.scores, undefined=dict(row.undefined))
        for row in lexical.score(
            (warned.look(_texts(sample)) for sample in samples), metrics or lexical.METRICS, normalisation=normalisation
        )
    )
    names = list(dict.fromkeys([*(metrics or lexical.METRICS), "answer_length"]))
    units = {name: lexical.METRICS[name].unit for name in names if name in lexical.METRICS}
    folder = run or Path("runs") / f"{data.stem}-lexical"
    summary = side_scores.write(folder, "lexical", rows, units, {"normalisation": normalisation})
    if as_json:
        print(json.dumps({"run": str(folder), **summary.model_dump()}, indent=1))
        return
    console = Console(highlight=False)
    print_sides(console, [summary])
    console.print(f"Run: {folder}", markup=False, soft_wrap=True)


def _samples(data: Path, fields: tuple[str, ...]) -> Iterator[Sample]:
    if (data / RESULTS).exists():
        return (result.sample for result in read_results(data))
    return read_samples(data, fields=parse_fields(list(fields)))


def _same_samples(samples: Iterator[Sample], run: Path) -> Iterator[Sample]:
    """The samples, made sure to be those of the run, in its order."""
    for ours, theirs in itertools.zip_longest(samples, read_results(run)):
        if ours is None or theirs is None or ours.id != theirs.sample.id:
            found = "no more samples" if ours is None else repr(ours.id)
            wanted = "no more samples" if theirs is None else repr(theirs.sample.id)
            raise DataError(f"the data has {found} where the run {run} has {wanted}; they must be the same samples")
        yield ours


def _texts(sample: Sample) -> lexical.Texts:
    return lexical.Texts(
        answer=sample.answer,
        question=sample.question,
        contexts=[document.text for document in sample.contexts],
        references=sample.reference_answers,
        id=sample.id,
    )


class _Warner:
    """Says once that a text is in a script without spaces, which the English normalisation takes for one word."""

    def __init__(self, normalisation: str) -> None:
        self._silent = normalisation != "squad"

    def look(self, texts: lexical.Texts) -> lexical.Texts:
        if not self._silent and texts.answer and lexical.unspaced(texts.answer):
            self._silent = True
            print(
                f"claimeval: sample {texts.id!r} has no spaces between words; use --normalisation multilingual",
                file=sys.stderr,
            )
        return texts
