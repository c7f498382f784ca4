"""A whole test set: documents drawn from a corpus, questions written and sorted out, and everything written down."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b, sha256
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from claimeval import ir
from claimeval.data.sampling import DistinctQuestions
from claimeval.evaluation.forecast.estimates import Range
from claimeval.evaluation.forecast.quotes import Prospect
from claimeval.evaluation.queries import Query, WritingPlan, Written, write
from claimeval.evaluation.relevance import check_name
from claimeval.execution.runner import RunStatus, run_items
from claimeval.judging import check_query, write_query
from claimeval.judging import prompts as prompting
from claimeval.judging.prompts import PromptRecord
from claimeval.providers import reads_prompts, specs
from claimeval.types.errors import DataError, UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Document, Record
from claimeval.types.requests import Judge

DATA, QRELS, WRITTEN, SUMMARY = "queries.jsonl", "qrels.txt", "written.jsonl", "queries.json"

WRITTEN_TOKENS, SCREEN_TOKENS = Range(60, 250), Range(40, 120)
"""Tokens assumed of a question with its answer and passage, and of an opinion on one."""


class MadeSet(Record):
    """Everything about a test set but its lines."""

    complete: bool
    corpus: str
    seed: int
    writer: Judge
    checker: Judge
    prompts: tuple[PromptRecord, ...]
    per_document: int = 1
    """Questions about each document, at most."""
    documents: int
    written: int
    """Questions that the writer gave."""
    kept: int
    rejected: dict[str, int]
    """Questions that were not kept, by the first reason."""
    failures: dict[str, int]
    """Documents without a usable reply and questions without an opinion, by reason."""
    versions: dict[str, str] = Field(default_factory=dict)


class Outcome(NamedTuple):
    """How the making ended."""

    summary: MadeSet
    ending: RunStatus


def writing_plan(
    writer: str | Judge,
    checker: str | Judge | None = None,
    *,
    write_prompt: str = "plain",
    check_prompt: str = "plain",
    per_document: int = 1,
) -> WritingPlan:
    """What is asked, checked; UsageError before any call can be made. The writer checks unless said otherwise."""
    first = specs.parse_judge(writer)
    second = specs.parse_judge(checker) if checker else first
    for one in (first, second):
        if not reads_prompts(one):
            raise UsageError(f"judge {one.name!r} assesses claims only; questions are written by a language model")
    if first.name == second.name and first != second:
        raise UsageError(f"writer and checker are both called {first.name!r} but differ; give one another name")
    return WritingPlan(
        first,
        second,
        prompting.load("queries", write_prompt),
        prompting.load("screen", check_prompt),
        per_document,
    )


def draw(corpus: Iterable[Document], count: int, seed: int) -> tuple[Document, ...]:
    """`count` documents with a text, each as likely as any other, in one pass; the same for the same seed."""

    def number(document: Document) -> int:
        key = document.id.encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(key, digest_size=8, key=str(seed).encode()).digest(), "big")

    found = heapq.nsmallest(count, (document for document in corpus if document.text.strip()), key=number)
    if not found:
        raise DataError("the corpus has no document with a text")
    for document in found:
        check_name(document.id, "document")
    return tuple(found)


def prospects(documents: Iterable[Document], plan: WritingPlan) -> Iterator[Prospect]:
    """What will be asked, for an estimate of the cost; questions that are not written yet have a usual length."""
    for document in documents:
        request = write_query.ask(plan.write_prompt, plan.writer, document, plan.per_document)
        yield Prospect("queries", request, Range(10, plan.per_document * WRITTEN_TOKENS.high))
        for n in range(plan.per_document):
            question, answer = f"{n:080}", "." * 120
            request = check_query.ask(plan.check_prompt, plan.checker, question, answer, document)
            yield Prospect("screen", request, SCREEN_TOKENS, certain=False)


async def run(
    documents: Sequence[Document],
    plan: WritingPlan,
    folder: Path,
    *,
    corpus: str,
    seed: int,
    options: RunOptions,
    progress: Progress,
    overwrite: bool = False,
) -> Outcome:
    """Writes `written.jsonl` (all that was said), `queries.json` and, when complete, `queries.jsonl` and `qrels.txt`.

    Of questions that are nearly the same the first stays. The same call goes on from the stored replies, and so does
    one for more documents. UsageError where the folder holds a test set of other settings, unless it may `overwrite`
    it.
    """
    if not overwrite:
        _check_same(folder, plan, corpus, seed, len(documents))
    folder.mkdir(parents=True, exist_ok=True)
    for name in (DATA, QRELS):
        (folder / name).unlink(missing_ok=True)
    texts = {document.id: document for document in documents}
    kept: list[tuple[Document, Query]] = []
    rejected: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    distinct = DistinctQuestions()
    number = 0
    part = folder / f"{WRITTEN}.part"
    with part.open("w", encoding="utf-8") as file:

        def take(found: Written) -> None:
            nonlocal number
            number += len(found.queries)
            if found.failed_because:
                failures[found.failed_because] += 1
            queries = []
            for query in found.queries:
                if query.kept and not distinct.add(query.question.casefold()):
                    query = query.model_copy(update={"rejected": ("nearly the same as another",)})
                if query.kept:
                    kept.append((texts[found.document], query))
                elif query.rejected:
                    rejected[query.rejected[0]] += 1
                else:
                    failures[str(query.unchecked_because)] += 1
                queries.append(query)
            line = found.model_copy(update={"queries": tuple(queries)})
            file.write(line.model_dump_json(exclude_defaults=True) + "\n")

        ending = await run_items(
            documents,
            lambda document, executor: write(document, plan, executor),
            judges=(plan.writer,) if plan.writer == plan.checker else (plan.writer, plan.checker),
            options=options,
            progress=progress,
            on_result=take,
            hopeless=lambda stopped: plan.writer.name in stopped or plan.checker.name in stopped,
            run=_identity(plan, documents) if options.capped else "",
        )
    part.replace(folder / WRITTEN)
    summary = MadeSet(
        complete=ending.complete,
        corpus=corpus,
        seed=seed,
        writer=plan.writer,
        checker=plan.checker,
        prompts=(plan.write_prompt.record, plan.check_prompt.record),
        per_document=plan.per_document,
        documents=len(documents),
        written=number,
        kept=len(kept),
        rejected=dict(rejected.most_common()),
        failures=dict(failures.most_common()),
        versions={"claimeval": version("claimeval")},
    )
    if ending.complete:
        lines = (json.dumps(_sample(document, query, plan, summary), ensure_ascii=False) for document, query in kept)
        (folder / DATA).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        with (folder / QRELS).open("w", encoding="utf-8") as file:
            ir.write_qrels({query.id: {document.id: 1} for document, query in kept}, file)
    (folder / SUMMARY).write_text(json.dumps(summary.model_dump(mode="json"), indent=1) + "\n", encoding="utf-8")
    return Outcome(summary, ending)


def _check_same(folder: Path, plan: WritingPlan, corpus: str, seed: int, documents: int) -> None:
    path = folder / SUMMARY
    if not path.exists():
        return
    try:
        before = MadeSet.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise DataError(f"{path} is not a summary of a test set: {error.errors()[0]['msg']}") from error
    settings = {
        "another corpus": before.corpus == corpus,
        "another seed": before.seed == seed,
        "another writer": before.writer == plan.writer,
        "another checker": before.checker == plan.checker,
        "other prompts": tuple(prompt.digest for prompt in before.prompts)
        == (plan.write_prompt.digest, plan.check_prompt.digest),
        "another number of questions per document": before.per_document == plan.per_document,
        f"more documents ({before.documents})": before.documents <= documents,
    }
    for name, same in settings.items():
        if not same:
            raise UsageError(f"{folder} holds a test set with {name}; choose another --out, or --overwrite it")


def _identity(plan: WritingPlan, documents: Iterable[Document]) -> str:
    digest = sha256(repr((plan.writer, plan.checker, plan.write_prompt.digest, plan.check_prompt.digest)).encode())
    for document in documents:
        digest.update(repr(document).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _sample(document: Document, query: Query, plan: WritingPlan, made: MadeSet) -> dict[str, object]:
    """One line of the data file, as every command reads it; where it comes from stays in it."""
    return {
        "id": query.id,
        "question": query.question,
        "reference_answers": [query.answer],
        "reference_contexts": [query.passage],
        "reference_context_ids": [document.id],
        "is_answerable": True,
        "reference_author": plan.writer.model,
        "made": {
            "corpus": made.corpus,
            "document": document.id,
            "seed": made.seed,
            "writer": plan.writer.name,
            "checker": plan.checker.name,
            "write_prompt": f"{plan.write_prompt.name} {plan.write_prompt.digest[:12]}",
            "check_prompt": f"{plan.check_prompt.name} {plan.check_prompt.digest[:12]}",
        },
    }
