"""Engines on this machine, without a key: `local:lexical` scores shared words, `local:nli=MODEL`
uses a model.

They read the typed task of a request and answer in the reply format of its prompt, so their replies
go through the same parser, reply cache, panel and report as those of language models. Both extract
claims by rules, because entailment models cannot. The other models in this package (perplexity,
reward, similarity) score without a judge. Nothing here opens a connection.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from claimeval.judging.prompts import quoted
from claimeval.judging.replies import ExtractedClaim
from claimeval.lexical.citations import as_written, name_key, numbers_as_words, without_names
from claimeval.lexical.claims import split_claims
from claimeval.providers import Backend, Keep, Provider
from claimeval.types.chat_format import SURROGATE, read_chat, write_chat
from claimeval.types.errors import UsageError, missing_part, unknown_name
from claimeval.types.records import Document
from claimeval.types.requests import (
    AssessTask,
    CallError,
    Completion,
    ExtractTask,
    Failure,
    Judge,
    Outcome,
    Request,
    TypedTask,
)
from claimeval.types.scales import ABSTAIN, Scale

if TYPE_CHECKING:
    from types import ModuleType

    from claimeval.lexical.support import PreparedDocuments, SupportScore
    from claimeval.providers.local.entailment import EntailmentJudge, EntailmentSettings


def resolve(judge: Judge) -> Judge:
    """Return the judge with the version of its engine as endpoint.

    The version identifies code, coefficients or model files, precision and prompt. The files of a
    model are located, and downloaded if the network may be used; its weights are not loaded.
    """
    settings = _settings(judge)
    if settings:
        version = settings.version
    else:
        support = _lexical_support()
        version = f"{support.ENGINE}/{support.coefficients_digest()[:16]}"
    if judge.endpoint not in (None, version):
        raise UsageError(
            f"judge {judge.name!r}: a local engine has no address; leave out what follows the @"
        )
    return judge.model_copy(update={"endpoint": version})


def note(judge: Judge) -> str:
    """Return the note to print with the numbers of this judge."""
    if compares_words(judge):
        notice: str = _lexical_support().NOTICE
        return notice
    return (
        f"probability of entailment by the local model {judge.model.partition('=')[2]}, not an LLM"
        " judgment"
    )


def compares_words(judge: Judge) -> bool:
    """Return whether the judge is the lexical engine."""
    return judge.model == "local:lexical"


def describe_device(judge: Judge) -> str | None:
    """Describe device and precision of an entailment model; None for other engines."""
    settings = _settings(judge)
    return str(settings.device) if settings else None


@asynccontextmanager
async def open_backend(judge: Judge) -> AsyncIterator[Backend]:
    """Open the engine for the duration of the block."""
    settings = _settings(judge)
    if not settings:
        yield ComputedBackend(answer_by_words)
        return
    from claimeval.providers.local.entailment import EntailmentJudge

    with EntailmentJudge(settings) as assessor:
        yield EntailmentBackend(assessor)


def _settings(judge: Judge) -> EntailmentSettings | None:
    """Return the settings of an entailment model; None for the lexical engine."""
    name = judge.model.partition(":")[2]
    engine, _, model = name.partition("=")
    if name == "lexical":
        return None
    if engine != "nli" or not model:
        raise unknown_name("local engine", name, ("lexical", "nli=MODEL"))
    from claimeval.providers.local.entailment import load_settings

    return load_settings(model, judge.extra)


def _lexical_support() -> ModuleType:
    """Return the module that scores shared words, which nothing but its judge needs.

    Raises UsageError if it is not installed.
    """
    try:
        from claimeval.lexical import support
    except ImportError as error:
        raise missing_part(error) or error from error
    return support


class ComputedBackend:
    """Replies with the outcomes of a function."""

    def __init__(self, answer: Callable[[Request], Outcome]) -> None:
        self._answer = answer

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return the outcome of the function. Raises CallError for a failure."""
        started = time.perf_counter()
        outcome = self._answer(request)
        if isinstance(outcome, Failure):
            raise CallError(outcome.reason, outcome.message, retryable=False)
        return completed(outcome.text or "", request, started, keep)


def answer_by_words(request: Request) -> Completion:
    """Split a text by rules, or score claims by the words they share with the evidence, without a
    body to store."""
    task = _task(request)
    if isinstance(task, ExtractTask):
        return computed(write_claims(claims_by_rule(task), request), request)
    answers = _best([_by_words(task, documents) for documents in _evidence_sets(task)])
    return computed(write_verdicts(task, request, answers), request)


def _task(request: Request) -> ExtractTask | AssessTask:
    """Return the task of a request; of a question about an answer or document, that of support."""
    task = request.task
    if isinstance(task, TypedTask):
        task = task.support
    assert task is not None, "other questions are refused before a run"
    return task


def computed(text: str, request: Request) -> Completion:
    """Return a completion with the text, without the time it took and without a body to store."""
    text = text if text.isascii() else SURROGATE.sub("\ufffd", text)
    return Completion(
        body=b"",
        text=text,
        finish_reason="stop",
        served_model=request.judge.endpoint,
    )


class EntailmentBackend:
    """Splits texts by rules and asks a model on this machine whether the evidence entails the
    claims."""

    def __init__(self, judge: EntailmentJudge) -> None:
        self._judge = judge

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return the engine's answer in the reply format of a judge; concurrent requests are
        computed together."""
        started = time.perf_counter()
        task = _task(request)
        if isinstance(task, ExtractTask):
            return completed(write_claims(claims_by_rule(task), request), request, started, keep)
        try:
            answers = [
                await self._judge.assess(task.claims, documents)
                for documents in _evidence_sets(task)
            ]
        except RuntimeError as error:  # torch ran out of memory, or a device failed
            raise CallError(
                "provider_error", f"the model failed: {str(error)[:300]}", retryable=False
            ) from error
        text = write_verdicts(task, request, _best(answers))
        return completed(text, request, started, keep, device=f" on {self._judge.device}")


class EngineAnswer(NamedTuple):
    """The result of an engine for one claim."""

    label: str | None
    """None if the engine abstains."""
    probability: float | None
    """Probability of support."""
    documents: Sequence[int]
    """Indices of the documents it relied on."""
    reason: str
    refused: bool = False
    """Whether it declined to answer about this claim."""
    problem: str | None = None
    """Why its answer about this claim cannot be read."""


def completed(
    text: str,
    request: Request,
    started: float,
    keep: Keep,
    device: str = "",
) -> Completion:
    """Return a completion with the text, after storing it with `keep`.

    Args:
        text: The reply.
        request: The request.
        started: `time.perf_counter()` at the start of the computation.
        keep: Stores the reply durably.
        device: The device, which is added to the served model's name.
    """
    served = f"{request.judge.endpoint}{device}"
    reply = read_chat(write_chat(text, served), latency=time.perf_counter() - started)
    keep(reply)
    return reply


def claims_by_rule(task: ExtractTask) -> list[ExtractedClaim]:
    """Return the claims of a text, split by rules."""
    text = task.text if task.brackets_cite else numbers_as_words(task.text)
    claims: list[ExtractedClaim] = []
    for claim in split_claims(text):
        quote = task.text[claim.start : claim.end]
        words = claim.text if task.brackets_cite else as_written(claim.text, quote)
        claims.append(ExtractedClaim(words, tuple(i + 1 for i in claim.sentences), quote))
    return claims


def write_claims(claims: Sequence[ExtractedClaim], request: Request) -> str:
    """Write claims in the format that the prompt asks for."""
    if request.reply_format == "bullets":
        return "\n".join(f"- {claim.text}" for claim in claims) or "NONE"
    rows = [
        {"claim": claim.text, "sentences": claim.sentences, "quote": claim.quote}
        for claim in claims
    ]
    return json.dumps({"claims": rows}, ensure_ascii=False)


def write_verdicts(
    task: AssessTask | TypedTask,
    request: Request,
    answers: Sequence[EngineAnswer | None],
) -> str:
    """Write the answers in the format that the prompt asks for; claims and questions whose answer
    is None are left out."""
    answered = [
        (number, answer, _word(scale, answer.label))
        for number, (answer, scale) in enumerate(zip(answers, task.scales, strict=True), 1)
        if answer is not None
    ]
    if isinstance(task, AssessTask) and request.reply_format == "tags":
        return _write_lines(task, {number: word for number, _, word in answered})
    verdicts = [
        {
            "id": f"c{number}",
            "reason": answer.reason,
            "evidence": [f"d{index + 1}" for index in answer.documents],
            "label": word,
            "probability": answer.probability,
            **({"refused": True} if answer.refused else {}),
            **({"problem": answer.problem} if answer.problem else {}),
        }
        for number, answer, word in answered
    ]
    return json.dumps({"verdicts": verdicts}, ensure_ascii=False)


def _write_lines(task: AssessTask, words: Mapping[int, str]) -> str:
    """Write the word for each claim, by its number, in the format `tags`."""
    lines = [quoted(claim.text)[1:-1].replace('\\"', '"') for claim in task.claims]
    return "\n".join(f"- {lines[number - 1]} SUPPORTED={word}" for number, word in words.items())


def _word(scale: Scale, label: str | None) -> str:
    """Return the scale's word for a label; without a word for "contradicted", it becomes "not
    found"."""
    words: dict[str | None, str] = dict(zip(scale.words, scale.offered, strict=True))
    return words.get(
        "not_found" if label == "contradicted" and label not in words else label, ABSTAIN
    )


def _evidence_sets(task: AssessTask) -> list[tuple[Document, ...]]:
    """Return the documents, each by itself if they are alternatives."""
    return [(document,) for document in task.documents] if task.alternatives else [task.documents]


def _best(alternatives: Sequence[Sequence[EngineAnswer]]) -> list[EngineAnswer]:
    """Return for each claim the answer of the alternative that is most likely to support it."""
    if len(alternatives) == 1:
        return list(alternatives[0])
    ranked = (
        max(enumerate(column), key=lambda numbered: numbered[1].probability or 0.0)
        for column in zip(*alternatives, strict=True)
    )
    return [
        answer._replace(documents=tuple(index for _ in answer.documents))
        for index, answer in ranked
    ]


def _by_words(task: AssessTask, documents: Sequence[Document]) -> list[EngineAnswer]:
    texts = [document.text for document in documents]
    claims = [claim.text for claim in task.claims]
    if not task.brackets_cite:
        texts = list(map(numbers_as_words, texts))
        claims = list(map(numbers_as_words, claims))
    evidence = _evidence(tuple(texts))
    known = frozenset(
        name_key(name) for each in documents for name in (each.id, each.title) if name
    )
    lexical = _lexical_support()
    scores: list[SupportScore] = [
        lexical.score_claim(without_names(claim, known), evidence) for claim in claims
    ]
    return [
        EngineAnswer(
            lexical.label(support.score),
            support.score,
            () if support.best_document is None else (support.best_document,),
            _reason(support),
        )
        for support in scores
    ]


@lru_cache(maxsize=64)
def _evidence(documents: tuple[str, ...]) -> PreparedDocuments:
    """Return indexed documents, which the claims of an answer share."""
    prepared: PreparedDocuments = _lexical_support().prepare(documents)
    return prepared


SIGNS: Mapping[str, str] = MappingProxyType(
    {
        "number_nowhere": "a number is in no document",
        "negation": "only the claim or the sentence negates",
        "antonym": "an opposite stands in its place",
        "other_name": "another name stands in its place",
        "other_number": "another number stands in its place",
        "role_swap": "names are in another order",
        "nothing_to_find": "the claim has no words to look for",
    }
)
"""The flags of the lexical support score, in the words of those who read a claim."""


def _reason(support: SupportScore) -> str:
    signs = ", ".join(SIGNS[flag] for flag in support.flags)
    conflict = ", ".join(support.possible_conflict)
    found = f"{signs} ({conflict})" if conflict else signs
    return f"lexical support {support.score:.2f}{found and f': {found}'}"


PROVIDER = Provider(
    name="local",
    open=open_backend,
    resolve=resolve,
    example="local:lexical, local:nli=MODEL",
    costs=False,
    reads_prompts=False,
    computes=lambda judge: answer_by_words if compares_words(judge) else None,
    compares_words=compares_words,
    note=note,
    describe_device=describe_device,
)
