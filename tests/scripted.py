"""An executor with given replies, for tests of logic without providers, and judges that no provider
knows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from claimeval.evaluation.claims import ClaimsJob
from claimeval.execution import Executor
from claimeval.judging import prompts
from claimeval.metrics.rows import rows
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.requests import Completion, ExtractTask, Failure, Judge, Outcome, Request

Answer = str | Outcome | Callable[[Request], str | Outcome]


def completion(text: str, finish_reason: str = "stop") -> Completion:
    """A completion as a server would send it."""
    done = read_chat(write_chat(text, "scripted"))
    return replace(done, finish_reason=finish_reason)


class Scripted(Executor):
    """Gives the answers in order, separately for extraction and assessment; each may look at its
    request."""

    def __init__(self, extract: Sequence[Answer] = (), assess: Sequence[Answer] = ()) -> None:
        self.requests: list[Request] = []
        self._extract = list(extract)
        self._assess = list(assess)

    async def ask(self, request: Request) -> Outcome:
        self.requests.append(request)
        answers = self._extract if isinstance(request.task, ExtractTask) else self._assess
        answer = answers.pop(0)
        if callable(answer):
            answer = answer(request)
        return completion(answer) if isinstance(answer, str) else answer

    @property
    def left(self) -> int:
        """Answers that nobody asked for."""
        return len(self._extract) + len(self._assess)


class Replies(Executor):
    """Gives the answers in order to whoever asks, or to each judge those of its name."""

    def __init__(self, *replies: str | Outcome, **of_judges: Sequence[str | Outcome]) -> None:
        self.requests: list[Request] = []
        self._replies = list(replies)
        self._of_judges = {name: list(said) for name, said in of_judges.items()}

    async def ask(self, request: Request) -> Outcome:
        self.requests.append(request)
        said = self._of_judges.get(request.judge.name, self._replies).pop(0)
        return completion(said) if isinstance(said, str) else said


def judge(name: str = "judge", **settings: object) -> Judge:
    """A judge that no backend knows."""
    return Judge.model_validate(
        {"name": name, "model": f"scripted:{name}", "claims_per_call": 20, **settings}
    )


def plan(
    *metrics: str,
    judges: Sequence[Judge] = (),
    extract_prompt: str = "atomic",
    assess_prompt: str = "three_way",
) -> ClaimsJob:
    """A plan over scripted judges; the extractor is called `extractor`."""
    return ClaimsJob(
        metrics=rows(metrics),
        judges=tuple(judges) or (judge(),),
        extractor=judge("extractor"),
        extract_prompt=prompts.load("extract", extract_prompt),
        assess_prompt=prompts.load("assess", assess_prompt),
        claim_order=None,  # replies name the claims c1, c2, ... as they stand in the text
    )


def labels(change: Callable[[str], object]) -> Callable[[str], str]:
    """What changes the labels of a reply."""
    return lambda text: re.sub(
        r'(?<="label": )"(\w+)"', lambda match: json.dumps(change(match[1])), text
    )


def bare(text: str) -> str:
    """The list of a reply without the object around it."""
    (entries,) = json.loads(text).values()
    return json.dumps(entries)


FAILED = Failure(reason="provider_error", message="status 503: overloaded")
