"""The front doors of `claimeval queries` and `claimeval sample`: test sets written by a judge, or drawn from a log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.api.run import raise_if_stopped
from claimeval.api.twins import blocking_twin
from claimeval.data.corpora import read_corpus
from claimeval.data.reading import read_samples
from claimeval.data.rows import read_rows
from claimeval.data.sampling import DUPLICATE_THRESHOLD, MIN_PER_STRATUM, as_line
from claimeval.data.sampling import draw as draw_rows
from claimeval.evaluation.queries_run import DATA, MadeSet, draw, run, writing_plan
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Document, Sample
from claimeval.types.requests import Judge


class WrittenSet(NamedTuple):
    """Questions that the documents of a corpus answer."""

    samples: tuple[Sample, ...]
    """Those that were kept, with answer, passage and source document."""
    summary: MadeSet


async def awrite_queries(
    corpus: str | Path | Iterable[Document],
    *,
    judge: str | Judge,
    out: str | Path,
    checker: str | Judge | None = None,
    n: int = 50,
    per_document: int = 1,
    seed: int = 0,
    write_prompt: str = "plain",
    check_prompt: str = "plain",
    overwrite: bool = False,
    options: RunOptions = RunOptions(),
) -> WrittenSet:
    """Has a judge write questions about `n` documents drawn from a corpus, and sorts out the useless ones.

    `out` is the folder that gets the test set, its qrels and all that was rejected; one with other settings in it is
    only replaced with `overwrite`. `checker` looks a second time; the
    writer unless said.
    """
    plan = writing_plan(judge, checker, write_prompt=write_prompt, check_prompt=check_prompt, per_document=per_document)
    if isinstance(corpus, (str, Path)):
        name, texts = Path(corpus).name, read_corpus(Path(corpus))
    else:
        name, texts = "documents", iter(corpus)
    documents = draw(texts, n, seed)
    outcome = await run(
        documents,
        plan,
        Path(out),
        corpus=name,
        seed=seed,
        overwrite=overwrite,
        options=options,
        progress=Progress(len(documents), options.progress, unit="documents"),
    )
    raise_if_stopped(outcome.ending)
    kept = tuple(read_samples(Path(out) / DATA)) if outcome.summary.kept else ()
    return WrittenSet(kept, outcome.summary)


write_queries = blocking_twin(awrite_queries)


def draw_sample(
    log: str | Path,
    n: int = 200,
    *,
    by: str | None = None,
    at_least: int = MIN_PER_STRATUM,
    seed: int = 0,
    text: str | None = None,
    keep_copies: bool = False,
    near: float = DUPLICATE_THRESHOLD,
) -> list[dict[str, Any]]:
    """Draws a test set from a log of real questions, in one pass; its rows with `drawn` added, as `claimeval sample`.

    `by` is a field whose values get their share each but `at_least` so many rows, `text` the field with the question
    where it has none of the usual names. Equal questions are one, and of copies as near as `near` of 100 one stays;
    `keep_copies` draws rows and not questions.
    """
    path = Path(log)
    drawing = draw_rows(
        read_rows(path),
        n,
        seed=seed,
        stratify=by,
        question_field=text,
        duplicate_threshold=None if keep_copies else near,
        min_per_stratum=at_least,
    )
    return [json.loads(as_line(drawn, path.name, seed)) for drawn in drawing.rows]
