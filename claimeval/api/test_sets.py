"""Test sets that a judge writes: `write_queries`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from claimeval.api.hints import with_hints
from claimeval.api.jobs import JudgeSpec, blocking, parse_spec, run_prepared
from claimeval.api.run import Run
from claimeval.data.test_collections import read_corpus
from claimeval.evaluation.write_queries import draw, make_job
from claimeval.runs.jobs import Prepared
from claimeval.types.options import RunOptions, check_at_least
from claimeval.types.records import Document


@with_hints
def write_queries(
    corpus: str | Path | Iterable[Document],
    *,
    judge: JudgeSpec,
    checker: JudgeSpec | None = None,
    n: int = 50,
    per_document: int = 1,
    seed: int = 0,
    write_prompt: str | Path = "plain",
    check_prompt: str | Path = "plain",
    out: str | Path | None = None,
    overwrite: bool = False,
    sheet: str | None = None,
    options: RunOptions = RunOptions(),
) -> Run:
    """Have a judge write questions that documents of a corpus answer, and reject useless ones.

    Args:
        corpus: A file or folder of documents, or documents.
        judge: The judge that writes.
        checker: The judge that checks the questions. Default: the writer.
        n: The number of documents to draw.
        per_document: The number of questions to write about each document.
        seed: Another seed draws other documents.
        write_prompt: Name or path of the prompt that writes.
        check_prompt: Name or path of the prompt that checks.
        out: As for `score`; the folder also gets `queries.jsonl` and `qrels.txt`.
        overwrite: Replace a run with other settings in `out`.
        sheet: The sheet of a spreadsheet of documents, if it has several.
        options: How the judges are asked, and what may be spent.

    Returns:
        A result for every document, with its questions and the reasons for rejections; `.samples`
        are the questions that were kept, with answer, passage and source, and `.qrels` their
        sources.

    Raises:
        UsageError: Before any call, for what you can fix.
        DataError: A document is malformed, or an id cannot stand in a qrels file.
        StoppedEarly: As for `score`.

    Examples:
        >>> run = ce.write_queries("docs.jsonl", judge="openai:gpt-5-mini", n=3)
        >>> len(run)
        3
    """
    return blocking(awrite_queries(**locals()))


async def awrite_queries(
    corpus: str | Path | Iterable[Document],
    *,
    judge: JudgeSpec,
    checker: JudgeSpec | None = None,
    n: int = 50,
    per_document: int = 1,
    seed: int = 0,
    write_prompt: str | Path = "plain",
    check_prompt: str | Path = "plain",
    out: str | Path | None = None,
    overwrite: bool = False,
    sheet: str | None = None,
    options: RunOptions = RunOptions(),
) -> Run:
    """Write queries as `write_queries` does, in an asynchronous program. The arguments are the
    same."""
    check_at_least(1, n=n, per_document=per_document)
    job = make_job(
        parse_spec(judge),
        None if checker is None else parse_spec(checker),
        write_prompt=str(write_prompt),
        check_prompt=str(check_prompt),
        per_document=per_document,
    )
    path, texts = (
        (Path(corpus), read_corpus(Path(corpus), sheet))
        if isinstance(corpus, (str, Path))
        else (None, corpus)
    )
    documents = draw(texts, n, seed)
    record = job.manifest.of_data(str(path) if path else None)
    record = record.model_copy(update={"settings": {**record.settings, "n": n, "seed": seed}})
    prepared = Prepared(job, record, documents, len(documents), path, unit="documents")
    return await run_prepared(prepared, out=out, overwrite=overwrite, options=options)
