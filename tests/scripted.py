"""An executor with given replies, for tests of logic without providers, and judges that no provider knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from claimeval.evaluation.claims import ClaimsJob
from claimeval.judging import prompts
from claimeval.metrics.rows import rows
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.requests import Completion, ExtractTask, Failure, Judge, Outcome, Request

Answer = str | Outcome | Callable[[Request], str | Outcome]


def completion(text: str, finish_reason: str = "stop") -> Completion:
    """A completion as a server would send it."""
    done = read_chat(write_chat(text, "scripted"))
    return done.model_copy(update={"finish_reason": finish_reason})


class Scripted:
    """Gives the answers in order, separately for extraction and assessment; each may look at its request."""

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


def judge(name: str = "judge", **settings: object) -> Judge:
    """A judge that no backend knows."""
    return Judge.model_validate({"name": name, "model": f"scripted:{name}", **settings})


def plan(
    *metrics: str, judges: Sequence[Judge] = (), extract_prompt: str = "atomic", assess_prompt: str = "three_way"
) -> ClaimsJob:
    """A plan over scripted judges; the extractor is called `extractor`."""
    return ClaimsJob(
        metrics=rows(metrics),
        judges=tuple(judges) or (judge(),),
        extractor=judge("extractor"),
        extract_prompt=prompts.load("extract", extract_prompt),
        assess_prompt=prompts.load("assess", assess_prompt),
    )


FAILED = Failure(reason="provider_error", message="status 503: overloaded")
