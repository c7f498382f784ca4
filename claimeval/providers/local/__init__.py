"""Engines on this machine, without a key: `local:lexical` scores shared words, `local:nli=MODEL` uses a model.

They read the typed task of a request and answer in the reply format of its prompt, so their replies go through the same
parser, reply cache, panel and report as those of language models. Both extract claims by rules, because entailment
models cannot. The other models in this package (perplexity, reward, similarity) score without a judge. Nothing here
opens a connection.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from claimeval.judging.prompts import quoted
from claimeval.lexical import support as lexical_support
from claimeval.lexical.claims import split_claims
from claimeval.providers import Backend, Keep, Provider
from claimeval.types.chat_format import SURROGATE, read_chat, write_chat
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.requests import AssessTask, CallError, Completion, ExtractTask, Judge, Request, Usage
from claimeval.types.scales import ABSTAIN, Scale

if TYPE_CHECKING:
    from claimeval.providers.local.entailment import EntailmentJudge, EntailmentSettings

ENGINES = ("lexical", "nli=MODEL")


def resolve(judge: Judge) -> Judge:
    """Return the judge with the version of its engine as endpoint.

    The version identifies code, coefficients or model files, precision and prompt. The files of a model are located,
    and downloaded if the network may be used; its weights are not loaded.
    """
    engine, model = _engine(judge)
    if engine == "nli":
        version = _load_settings(model, judge).version
    else:
        version = f"{lexical_support.ENGINE}/{lexical_support.coefficients_digest()[:16]}"
    if judge.endpoint not in (None, version):
        raise UsageError(f"judge {judge.name!r}: a local engine has no address; leave out what follows the @")
    return judge.model_copy(update={"endpoint": version})


def note(judge: Judge) -> str:
    """Return the note to print with the numbers of this judge."""
    engine, model = _engine(judge)
    if engine == "nli":
        return f"probability of entailment by the local model {model}, not an LLM judgment"
    return lexical_support.NOTICE


def describe_device(judge: Judge) -> str | None:
    """Describe device and precision of an entailment model; None for other engines."""
    engine, model = _engine(judge)
    return _load_settings(model, judge).describe_device() if engine == "nli" else None


@asynccontextmanager
async def open_backend(judge: Judge) -> AsyncIterator[Backend]:
    """Open the engine for the duration of the block."""
    engine, model = _engine(judge)
    if engine == "lexical":
        yield LexicalBackend()
        return
    from claimeval.providers.local.entailment import EntailmentJudge

    with EntailmentJudge(_load_settings(model, judge)) as assessor:
        yield EntailmentBackend(assessor)


def _engine(judge: Judge) -> tuple[str, str]:
    """Return the engine and its model, which is empty if it has none."""
    name = judge.model.partition(":")[2]
    engine, _, model = name.partition("=")
    if name != "lexical" and not (engine == "nli" and model):
        raise unknown_name("local engine", name, ENGINES)
    return engine, model


def _load_settings(model: str, judge: Judge) -> EntailmentSettings:
    from claimeval.providers.local.entailment import load_settings

    return load_settings(model, judge.extra)


class LexicalBackend:
    """Splits texts by rules and scores claims by the words they share with the evidence."""

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return the engine's answer in the reply format of a judge."""
        started = time.perf_counter()
        return completed(_reply_by_words(request), request, started, keep)


_NO_USAGE = Usage()


def answer_by_words(request: Request) -> Completion:
    """Return the answer of the lexical engine, without the time it took and without a body to store."""
    text = _reply_by_words(request)
    return Completion(
        body=b"",
        text=text if text.isascii() else SURROGATE.sub("\ufffd", text),
        finish_reason="stop",
        refusal=None,
        served_model=request.judge.endpoint,
        usage=_NO_USAGE,
        latency=None,
        cached=False,
        rate_limits=None,
        key=None,
    )


def _reply_by_words(request: Request) -> str:
    task = request.task
    assert task is not None, "every step gives its request a task"
    if isinstance(task, ExtractTask):
        return write_claims(task, request)
    return write_verdicts(task, request, _by_words(task))


class EntailmentBackend:
    """Splits texts by rules and asks a model on this machine whether the evidence entails the claims."""

    def __init__(self, judge: EntailmentJudge) -> None:
        self._judge = judge

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return the engine's answer in the reply format of a judge; concurrent requests are computed together."""
        started = time.perf_counter()
        task = request.task
        assert task is not None, "every step gives its request a task"
        if isinstance(task, ExtractTask):
            return completed(write_claims(task, request), request, started, keep)
        try:
            sets = [[document] for document in task.documents] if task.alternatives else [task.documents]
            results = [await self._judge.assess(task.claims, documents) for documents in sets]
        except RuntimeError as error:  # torch ran out of memory, or a device failed
            raise CallError("provider_error", f"the model failed: {str(error)[:300]}", retryable=False) from error
        answers = _best(
            [
                [
                    EngineAnswer(
                        scale_word(task.scale, result.label), result.probability, result.documents, result.reason
                    )
                    for result in alternative
                ]
                for alternative in results
            ]
        )
        return completed(
            write_verdicts(task, request, answers), request, started, keep, device=f" on {self._judge.device}"
        )


class EngineAnswer(NamedTuple):
    """The result of an engine for one claim."""

    word: str
    probability: float | None
    documents: Sequence[int]
    """Indices of the documents it relied on."""
    reason: str


def completed(text: str, request: Request, started: float, keep: Keep, device: str = "") -> Completion:
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


def write_claims(task: ExtractTask, request: Request) -> str:
    """Write the claims of a text, split by rules, in the format that the prompt asks for."""
    claims = split_claims(task.text)
    if request.reply_format == "bullets":
        return "\n".join(f"- {claim.text}" for claim in claims) or "NONE"
    rows = [
        {
            "claim": claim.text,
            "sentences": [i + 1 for i in claim.sentence_ids],
            "quote": task.text[claim.start : claim.end],
        }
        for claim in claims
    ]
    return json.dumps({"claims": rows}, ensure_ascii=False)


def write_verdicts(task: AssessTask, request: Request, answers: Sequence[EngineAnswer]) -> str:
    """Write the answers in the format that the prompt asks for."""
    if request.reply_format == "tags":
        lines = [quoted(claim.text)[1:-1].replace('\\"', '"') for claim in task.claims]
        return "\n".join(f"- {line} SUPPORTED={answer.word}" for line, answer in zip(lines, answers, strict=True))
    verdicts = [
        {
            "id": f"c{number}",
            "reason": answer.reason,
            "evidence": [f"d{index + 1}" for index in answer.documents],
            "label": answer.word,
            "probability": answer.probability,
        }
        for number, answer in enumerate(answers, 1)
    ]
    return json.dumps({"verdicts": verdicts}, ensure_ascii=False)


def scale_word(scale: Scale, label: str | None) -> str:
    """Return the scale's word for a label; without a word for "contradicted", it becomes "not found"."""
    words = dict(zip(scale.words, scale.offered, strict=True))
    if label == "contradicted" and "contradicted" not in words:
        label = "not_found"
    return next((word for name, word in words.items() if name == label), ABSTAIN)


def _best(alternatives: Sequence[Sequence[EngineAnswer]]) -> list[EngineAnswer]:
    """Return for each claim the answer of the alternative that is most likely to support it."""
    if len(alternatives) == 1:
        return list(alternatives[0])
    ranked = (
        max(enumerate(column), key=lambda numbered: numbered[1].probability or 0.0)
        for column in zip(*alternatives, strict=True)
    )
    return [answer._replace(documents=tuple(index for _ in answer.documents)) for index, answer in ranked]


def _by_words(task: AssessTask) -> list[EngineAnswer]:
    if task.alternatives:
        alternatives = (replace(task, documents=(d,), alternatives=False) for d in task.documents)
        return _best([_by_words(alternative) for alternative in alternatives])
    evidence = _evidence(tuple(document.text for document in task.documents))
    scores = [lexical_support.score_claim(claim.text, evidence) for claim in task.claims]
    return [
        EngineAnswer(
            scale_word(task.scale, lexical_support.label(support.score)),
            support.score,
            () if support.best_document is None else (support.best_document,),
            _reason(support),
        )
        for support in scores
    ]


@lru_cache(maxsize=64)
def _evidence(texts: tuple[str, ...]) -> lexical_support.PreparedDocuments:
    return lexical_support.prepare(texts)


def _reason(support: lexical_support.SupportScore) -> str:
    reason = f"lexical support {support.score:.2f}"
    if support.possible_conflict:
        reason += f"; possible conflict: {', '.join(support.possible_conflict)}"
    if support.flags:
        reason += f"; look at: {', '.join(support.flags)}"
    return reason


PROVIDER = Provider(
    name="local",
    open=open_backend,
    resolve=resolve,
    example="local:lexical, local:nli=MODEL",
    costs=False,
    reads_prompts=False,
    computes=lambda judge: answer_by_words if judge.model == "local:lexical" else None,
    note=note,
    describe_device=describe_device,
)
