"""Test sets that a judge writes: `write_queries`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from claimeval.api.run import raise_if_stopped
from claimeval.api.twins import blocking_twin
from claimeval.data.corpora import read_corpus
from claimeval.data.reading import read_samples
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
    """Have a judge write questions that documents of a corpus answer, and reject useless ones.

    Args:
        corpus: A file or folder of documents, or documents.
        judge: The judge that writes.
        out: The folder that gets the test set, its qrels, and all that was rejected.
        checker: The judge that checks the questions. Default: the writer.
        n: How many documents to draw.
        per_document: How many questions to write about each.
        seed: Another seed draws other documents.
        write_prompt: Name or path of the prompt that writes.
        check_prompt: Name or path of the prompt that checks.
        overwrite: Replace a test set with other settings in `out`.
        options: How the judges are asked, and what may be spent.

    Returns:
        The questions that were kept, as samples with answer, passage and source, and what was rejected.

    Raises:
        UsageError: Before any call, for what you can fix.
        StoppedEarly: As for `score`.
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
