"""`claimeval doctor`: what a data file can feed and what is wrong with it."""

from __future__ import annotations

from claimeval.cli import options as o


def doctor(data: o.Data, metrics: o.Metrics = None, field: o.Field = None, json: o.Json = False) -> None:
    """Say which metrics a file can feed, what its samples lack, and what is malformed, with line numbers.

    Reads the whole file and calls nobody. Exits with 1 when lines cannot be read or ids stand twice.

    Fields of a sample: `id`, `question` (needed), `answer`, `contexts` (texts, or objects with `id`, `text`,
    `title`), `reference_answers`, `reference_contexts`, `reference_context_ids`, `is_answerable`, `generator`,
    `evidence` (named lists of texts), `metadata`. The names used by LabelledRagDataset, ragas and RAGChecker are
    understood too; `--field` says any other.

    Example: `claimeval doctor answers.jsonl --field answer=draft_llm_answer`
    """
    from claimeval.cli.examination import examine_and_tell

    examine_and_tell(data, tuple(metrics.split(",")) if metrics is not None else None, tuple(field or ()), as_json=json)
