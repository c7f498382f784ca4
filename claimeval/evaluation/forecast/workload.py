"""The questions of one judge in one step, as they are found, and what they come to in tokens and money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Literal, NamedTuple

from claimeval.evaluation.forecast import estimates
from claimeval.evaluation.forecast.estimates import Counted, Range
from claimeval.judging.assess import CLAIMS_PER_CALL
from claimeval.judging.prompts import Prompt
from claimeval.providers import reads_prompts
from claimeval.providers.prices import FREE, MESSAGE_TOKENS, Price, cost_bound, prompt_bytes
from claimeval.types.records import Record
from claimeval.types.requests import Completion, Judge, Request

Step = Literal["extract", "assess"]
OVERHEAD = 3 * MESSAGE_TOKENS
"""Tokens around a system message, a user message, and the whole, in the worst case."""
NOTHING = Range(0, 0)


class StepForecast(Record):
    """What one judge will be asked in one step."""

    step: str
    judge: str
    stored: int
    """Questions that the store answers."""
    calls: tuple[int, int]
    """At least and at most."""
    exact: bool
    """Whether the calls are known and not estimated."""
    prompt_tokens: tuple[int, int]
    output_tokens: tuple[int, int]
    price: Price | None
    """None where it is unknown."""
    cost: tuple[float, float] | None
    """US dollars."""
    worst: float | None
    """US dollars if every byte of the prompts were a token and every reply ran to its limit."""
    how: tuple[str, ...]
    """What the numbers of tokens rest on, in words; empty where nothing is left to ask."""


class _KnownRequests(NamedTuple):
    """Questions whose words are known, added up."""

    calls: int = 0
    bytes: int = 0
    output: Range = NOTHING
    """Tokens of the replies, as assumed."""
    worst: float = 0.0


class _Texts(NamedTuple):
    """Texts to be assessed whose claims are unknown, added up."""

    texts: int = 0
    bytes: int = 0
    frames: int = 0
    """Bytes of their requests without claims."""


class _Sum(NamedTuple):
    """All questions, at one end of the range."""

    calls: int
    bytes: float
    output: float
    worst: float


@dataclass
class _Found:
    """Questions that will be asked, or that may be."""

    asked: _KnownRequests = field(default_factory=_KnownRequests)
    unknown: dict[int, _Texts] = field(default_factory=dict)
    """By number of sentences."""


@dataclass
class StepWorkload:
    """What is found of one judge's questions in one step."""

    step: Step
    judge: Judge
    prompt: Prompt
    price: Price | None
    stored: int = 0
    counted: Counted = field(default_factory=Counted)
    certain: _Found = field(default_factory=_Found)
    possible: _Found = field(default_factory=_Found)
    """On top of these: what is asked only if earlier judges disagree."""

    @property
    def source(self) -> estimates.Source:
        """What the store calls the replies to such questions."""
        return self.judge.model, self.judge.endpoint, self.prompt.digest

    @property
    def is_open(self) -> bool:
        """Whether anything may be left to ask."""
        return bool(self.certain.asked.calls) or not self.is_exact

    @property
    def is_exact(self) -> bool:
        """Whether all that will be asked is known."""
        return not (self.certain.unknown or self.possible.unknown or self.possible.asked.calls)

    def answered(self, request: Request, reply: Completion) -> None:
        """Counts a question that the store answers."""
        self.stored += 1
        if tokens := reply.usage.prompt_tokens:
            self.counted = self.counted.plus(Counted(1, prompt_bytes(request), tokens))

    def ask(self, request: Request, *, certain: bool = True) -> None:
        """Counts a question that will, or may, be asked."""
        found = self.certain if certain else self.possible
        had, tokens = found.asked, estimates.output(request)
        found.asked = _KnownRequests(
            had.calls + 1,
            had.bytes + prompt_bytes(request),
            Range(had.output.low + tokens.low, had.output.high + tokens.high),
            had.worst + (cost_bound(request, self.price) if self.price else 0.0),
        )

    def expect(self, frame: Request, sentences: int, size: int, *, certain: bool = True) -> None:
        """Count the assessment of a text whose claims are not known yet.

        Args:
            frame: The request without claims.
            sentences: Number of sentences of the text.
            size: Size of the text in bytes.
            certain: Whether the text is assessed in any case.
        """
        found = self.certain if certain else self.possible
        had = found.unknown.get(sentences, _Texts())
        found.unknown[sentences] = _Texts(had.texts + 1, had.bytes + size, had.frames + prompt_bytes(frame))

    def line(self, per_sentence: Range, counted: Counted, seen: Range | None) -> StepForecast:
        """What it comes to: with so many claims in a sentence, prompts counted by this model, and outputs as seen."""
        low = self._sum([self.certain], per_sentence.low, estimates.CLAIM_BYTES.low, 0)
        high = self._sum([self.certain, self.possible], per_sentence.high, estimates.CLAIM_BYTES.high, 1)
        per_token = estimates.measured(counted) or estimates.BYTES_PER_TOKEN
        prompt = floor(low.bytes / per_token.high), ceil(high.bytes / per_token.low)
        least, most = (low.calls * seen.low, high.calls * seen.high) if seen else (low.output, high.output)
        output = floor(least), min(ceil(most), high.calls * self.judge.max_tokens)
        if not reads_prompts(self.judge):
            prompt = output = (0, 0)
        known = self.price if high.calls else FREE
        return StepForecast(
            step=self.step,
            judge=self.judge.name,
            stored=self.stored,
            calls=(low.calls, high.calls),
            exact=self.is_exact,
            prompt_tokens=prompt,
            output_tokens=output,
            price=self.price,
            cost=(known.dollars(prompt[0], output[0]), known.dollars(prompt[1], output[1])) if known else None,
            worst=high.worst if known else None,
            how=self._how(counted, seen) if any(prompt) else (),
        )

    def _sum(self, parts: Sequence[_Found], per_sentence: float, claim_bytes: float, end: Literal[0, 1]) -> _Sum:
        """The questions of these parts, if each sentence makes so many claims, which are so long beside their text."""
        calls = sum(part.asked.calls for part in parts)
        size: float = sum(part.asked.bytes for part in parts)
        output = sum(part.asked.output[end] for part in parts)
        worst = sum(part.asked.worst for part in parts)
        for sentences, texts in (item for part in parts for item in part.unknown.items()):
            claims = max(1, ceil(per_sentence * sentences))
            requests = ceil(claims / CLAIMS_PER_CALL) * texts.texts
            frames = texts.frames * ceil(claims / CLAIMS_PER_CALL)
            added = frames + texts.bytes * claim_bytes + texts.texts * claims * estimates.LINE_FRAME
            calls += requests
            size += added
            output += estimates.verdicts(self.judge, requests, texts.texts * claims)[end]
            worst += (self.price or FREE).dollars(added + requests * OVERHEAD, requests * self.judge.max_tokens)
        return _Sum(calls, size, output, worst)

    def _how(self, counted: Counted, seen: Range | None) -> tuple[str, str]:
        prompt, output = "prompt tokens", "output tokens"
        if (found := estimates.measured(counted)) is None:
            prompt += f": assumed, {estimates.BYTES_PER_TOKEN.low:g} to {estimates.BYTES_PER_TOKEN.high:g} bytes each"
        else:
            prompt += f": {found.low:.2f} to {found.high:.2f} bytes each, as in {counted.replies:,} stored replies"
        if seen is not None:
            output += f": {seen.low:.0f} to {seen.high:.0f} a call, as in stored replies to {self.prompt.name}"
        elif estimates.thinking(self.judge).high:
            output += (
                f": assumed, {estimates.THINKING_TOKENS.low:g} to {estimates.THINKING_TOKENS.high:g} of them thinking"
            )
        else:
            output += ": assumed"
        return prompt, output
