"""Decision models: `decisions:MODEL` or `decisions:MODEL@URL` answers typed questions with
probabilities and writes no text.

One request has the evidence as its input and a question for each claim, whose choices are the words
of the scale with their meanings. A reply is stored as the server sent it, with the verdicts in the
chat-completions format, so that one reader serves all. What is not exactly an answer to a question
becomes no label.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from claimeval.providers import Keep, Provider, check_settings
from claimeval.providers.http import ResponseRecorder, check_endpoint
from claimeval.providers.local import EngineAnswer, write_verdicts
from claimeval.providers.openai import OFFICIAL, SDK, open_sdk
from claimeval.types.chat_format import write_chat
from claimeval.types.requests import AssessTask, CallError, Completion, Judge, Request, TypedTask
from claimeval.types.scales import Scale

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from pydantic import SecretStr

MAX_QUESTIONS = 400
"""The most questions that the API takes in one request."""
TOLERANCE = 0.02
"""How far the probabilities of one answer may be from 1 together, since servers round them."""
_ROUNDING = 1e-9


def resolve(judge: Judge) -> Judge:
    """Return the judge with its endpoint. Raises UsageError for settings that cannot work."""
    check_settings(judge)
    endpoint = check_endpoint(judge.endpoint or PROVIDER.default_endpoint or OFFICIAL, judge.name)
    return judge.model_copy(update={"endpoint": endpoint, "structured": False})


def body(task: AssessTask | TypedTask, judge: Judge) -> dict[str, Any]:
    """Return the body of a request: the texts, and a question for each claim or question."""
    texts = [f"<{tag}>\n{text}\n</{tag}>" for tag, text in _inputs(task)]
    if isinstance(task, TypedTask):
        instructions = [question.text for question in task.questions]
    else:
        instructions = [f"Claim: {claim.text}" for claim in task.claims]
        heading = "Documents:"
        if task.alternatives:
            heading = "Alternatives; one that supports a claim is enough:"
        texts.insert(0, heading)
    return {
        **judge.extra,
        "model": judge.model.partition(":")[2],
        "input": "\n\n".join(texts),
        "questions": [
            {
                "type": "choice",
                "name": f"c{number}",
                "instructions": asked,
                "choices": _choices(scale),
            }
            for number, (asked, scale) in enumerate(zip(instructions, task.scales, strict=True), 1)
        ],
    }


def _inputs(task: AssessTask | TypedTask) -> list[tuple[str, str]]:
    """Return the texts of a task, each with its tag."""
    if isinstance(task, TypedTask):
        return [(heading.lower().replace(" ", "_"), text) for heading, text in task.inputs]
    return [
        (f"d{number}", f"{document.title or ''}\n{document.text}")
        for number, document in enumerate(task.documents, 1)
    ]


def _choices(scale: Scale) -> list[dict[str, str]]:
    if not scale.meanings:
        return [{"value": word} for word in scale.offered]
    return [{"value": each["word"], "description": each["meaning"]} for each in scale.shown]


def reader(task: AssessTask | TypedTask, request: Request) -> Callable[[bytes], bytes]:
    """Return the function that adds the verdicts in a reply to it, in the chat-completions
    format."""

    def as_chat(content: bytes) -> bytes:
        try:
            # NaN stays in the stored reply as a text, because JSON has no word for it
            reply = json.loads(content, parse_constant=str)
        except (ValueError, RecursionError):
            return content
        if not isinstance(reply, dict) or not isinstance(reply.get("answers"), list):
            start = content[:120].decode("utf-8", "replace")
            problem = f"the reply is not a list of answers, as the Decisions API gives: {start!r}"
            raise CallError("provider_error", problem, status=200, possibly_paid=True)
        text = write_verdicts(task, request, _answers(reply["answers"], task, request))
        chat = json.loads(write_chat(text, ""))
        usage = {"usage": _usage(reply["usage"])} if isinstance(reply.get("usage"), dict) else {}
        return json.dumps({**reply, **usage, "choices": chat["choices"]}).encode()

    return as_chat


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return token counts under the names of chat completions."""
    details = usage.get("input_tokens_details")
    return {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "total_tokens": usage.get("total_tokens"),
        "prompt_tokens_details": details if isinstance(details, dict) else {},
    }


def _answers(
    answers: Sequence[Any],
    task: AssessTask | TypedTask,
    request: Request,
) -> list[EngineAnswer | None]:
    """Return the answer to each question, found by its name; None for one without exactly one."""
    named: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for answer in answers:
        if isinstance(answer, dict) and isinstance(answer.get("name"), str):
            named[answer["name"]].append(answer)
    found: list[EngineAnswer | None] = []
    for number, scale in enumerate(task.scales, 1):
        several = named[f"c{number}"]
        # Two answers under one name may be those of two requests that a gateway mixed up.
        found.append(_answer(several[0], scale, request) if len(several) == 1 else None)
    return found


def _answer(answer: Mapping[str, Any], scale: Scale, request: Request) -> EngineAnswer | None:
    """Return one answer; None if it has no label and the format of the prompt has no place for
    why."""
    if answer.get("type") == "refusal":
        found = EngineAnswer(None, None, (), "the model declined to answer", refused=True)
    else:
        found = _chosen(answer, scale)
    return found if found.label or request.reply_format == "json" else None


def _chosen(answer: Mapping[str, Any], scale: Scale) -> EngineAnswer:
    """Return the answer to a `choice` question, with the problem if it is not one."""
    if answer.get("type") != "choice":
        return _unread(f"an answer of the type {str(answer.get('type'))[:40]!r}")
    shares = _shares(answer.get("probabilities"))
    # One choice without a probability may be the most probable one.
    if shares is None or sorted(shares) != sorted(scale.offered):
        return _unread("its probabilities are not one for each choice")
    total = sum(shares.values())
    if abs(total - 1) > TOLERANCE + _ROUNDING:
        return _unread(f"its probabilities add up to {total:.2f}")
    choice = answer.get("choice")
    label = scale.word(choice) if isinstance(choice, str) else None
    if label is None:
        return _unread(f"unknown choice {str(choice)[:40]!r}")
    if shares[str(choice)] < max(shares.values()) - _ROUNDING:
        return _unread("its choice is not the most probable")
    positive = [
        shares[reply]
        for reply, word in zip(scale.offered, scale.words, strict=True)
        if scale.positive(word)
    ]
    probability = min(1.0, float(sum(positive)) / total)
    return EngineAnswer(label, probability, (), "")


def _unread(problem: str) -> EngineAnswer:
    return EngineAnswer(None, None, (), "", problem=problem)


def _shares(probabilities: object) -> dict[str, float] | None:
    """Return the probability of each choice; None if one is doubled or is no probability."""
    if not isinstance(probabilities, list):
        return None
    shares: dict[str, float] = {}
    for each in probabilities:
        if not isinstance(each, dict):
            return None
        value = each.get("value")
        share = each.get("probability")
        if not isinstance(value, str) or value in shares:
            return None
        if not isinstance(share, int | float) or isinstance(share, bool):
            return None
        # Not `math.isfinite`, which fails for numbers of hundreds of digits. This is false for NaN.
        if not 0 <= share <= 1:
            return None
        shares[value] = share
    return shares


class DecisionServer:
    """Decisions through one AsyncOpenAI client."""

    def __init__(self, sdk: AsyncOpenAI, key: SecretStr) -> None:
        self._sdk = sdk
        self._key = key

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return the verdicts, after the reply as the server sent it was stored with `keep`."""
        import httpx2

        task = request.task
        if not isinstance(task, AssessTask | TypedTask):
            raise CallError(
                "provider_error",
                "a decision model answers questions and writes no claims",
                retryable=False,
            )
        recorder = ResponseRecorder(self._key, keep, reader(task, request))
        with recorder.open_for(self._sdk):
            # Not `decisions.create`: it goes through the body field by field.
            await self._sdk.post(
                "decisions",
                cast_to=httpx2.Response,
                body=body(task, request.judge),
            )
        return recorder.completion()


@asynccontextmanager
async def connect(judge: Judge) -> AsyncIterator[DecisionServer]:
    """Connect to a judge's server for the duration of the block."""
    async with open_sdk(judge) as (sdk, key):
        yield DecisionServer(sdk, key)


PROVIDER = Provider(
    name="decisions",
    open=connect,
    resolve=resolve,
    example="decisions:gpt-6-luna",
    reads_prompts=False,
    extracts=False,
    answers_any=True,
    answers_jointly=True,
    most_claims=MAX_QUESTIONS,
    endpoint=OFFICIAL,
    endpoint_variable="OPENAI_BASE_URL",
    key_variable="OPENAI_API_KEY",
    refuses=frozenset({"temperature", "top_p", "seed", "top_logprobs", "reasoning_effort"}),
    packages=SDK,
)
