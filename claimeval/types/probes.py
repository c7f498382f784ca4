"""The result of `claimeval probe`: how a judge replied to test questions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from claimeval.types import html
from claimeval.types.records import Record


class ProbeStep(Record):
    """The result of one test question."""

    step: Literal["extract", "assess"]
    right: bool
    """Whether the reply could be read and is correct."""
    problem: str | None = None
    """Why there is no reply, or why it could not be read."""
    reply: str | None = None
    """The first words of the reply."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None

    @property
    def line(self) -> str:
        """The result as text, with tokens and seconds."""
        tokens = "tokens unknown"
        if self.prompt_tokens:
            tokens = f"{self.prompt_tokens} + {self.completion_tokens} tokens"
        cost = "no reply" if self.seconds is None else f"{tokens}, {self.seconds:.1f} s"
        if self.right:
            return f"right ({cost})"
        reply = f' It wrote: "{self.reply}"' if self.reply else ""
        return f"{self.problem} ({cost}).{reply}"


class Probe(Record):
    """The replies of a judge to one real question of each kind.

    Attributes that could not be determined are None.
    """

    judge: str
    """Name of the judge."""
    model: str
    endpoint: str | None
    reachable: bool
    """Whether a server responded, even with an error."""
    key_accepted: bool | None = None
    problem: str | None = None
    """Why the judge cannot be used."""
    served_model: str | None = None
    """The model that replied, as the server names it."""
    schema_honoured: bool | None = None
    """Whether replies followed the JSON schema. None: no schema was sent."""
    thinks_aloud: bool | None = None
    """Whether replies begin with reasoning, which is ignored but costs tokens."""
    log_probabilities: bool | None = None
    """Whether verdicts can have a probability (`top_logprobs`)."""
    refused: tuple[str, ...] = ()
    """Parameters that the server refuses, which claimeval leaves out automatically."""
    context_tokens: int | None = None
    """Context window: from the settings, the server, or the built-in table of models."""
    steps: tuple[ProbeStep, ...] = ()
    of_twenty: int | None = None
    """Number of twenty known claims in one question that it labels right; None if it was not asked,
    or left one out."""
    claims_at_once: int | None = None
    """Number of claims that it labels in one question as well as five at a time: 5, 20 or 40, of
    which 20 and 40 are tried. None if it was not asked."""
    price: dict[str, float] | None = None
    """US dollars per million tokens, `input` and `output`. None: unknown."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """Recommended settings for a judge file."""
    judge_file: dict[str, JsonValue] = Field(default_factory=dict)
    """The content of a judge file: the model, the given and the recommended settings, and the
    number of claims that it can handle in one question. Empty if nothing was asked."""

    @property
    def ok(self) -> bool:
        """Whether the judge can be used with its current settings."""
        return bool(self.steps) and all(step.right for step in self.steps)

    @property
    def seconds(self) -> float | None:
        """Seconds of the slowest reply; None if no reply is timed."""
        return max((step.seconds for step in self.steps if step.seconds is not None), default=None)

    @property
    def lines(self) -> dict[str, str]:
        """The results as text, by topic."""
        if self.problem and not self.steps:
            return {"reachable": "yes" if self.reachable else "no", "problem": self.problem}
        answers = f", {self.served_model or self.model} answers" if self.key_accepted else ""
        advice = f"check the address {self.endpoint}, and that the server runs"
        lines = {"reachable": f"yes{answers}" if self.reachable else f"no: {advice}"}
        if self.key_accepted is not None:
            lines["key"] = "accepted" if self.key_accepted else "not accepted"
        lines.update({step.step: step.line for step in self.steps})
        if self.claims_at_once is not None:
            right = "left some out" if self.of_twenty is None else f"{self.of_twenty} right"
            lines["twenty claims"] = (
                f"{right} in one question; it is asked about {self.claims_at_once} at once with"
                f" claims_per_call: {self.claims_at_once}"
            )
        return lines | self._abilities() | self._known_settings()

    def _abilities(self) -> dict[str, str]:
        """What the server does with the parts of a request."""
        lines: dict[str, str] = {}
        lines["JSON schema"] = _words(
            self.schema_honoured, "honored", "ignored; only claimeval checks replies", "unknown"
        )
        lines["thinks aloud"] = _words(
            self.thinks_aloud, "yes; ignored, but costs tokens", "no", "unknown"
        )
        lines["log-probabilities"] = _words(
            self.log_probabilities, "yes; set top_logprobs: 5 to use them", "no", "unknown"
        )
        lines["refused"] = (
            ", ".join(self.refused) + " (left out without a setting)" if self.refused else "nothing"
        )
        return lines

    def _known_settings(self) -> dict[str, str]:
        """The window and the price of the model, and what to write in a judge file."""
        lines: dict[str, str] = {}
        if self.context_tokens:
            lines["window"] = f"{self.context_tokens} tokens"
        price = self.price
        lines["price"] = (
            f"{price['input']:g} in, {price['output']:g} out per million tokens"
            if price
            else "unknown"
        )
        if self.settings:
            import json

            lines["judge file"] = "; ".join(
                f"{name}: {json.dumps(value)}" for name, value in self.settings.items()
            )
        return lines

    def __str__(self) -> str:
        return "\n".join((self.judge, *(f"  {name}: {text}" for name, text in self.lines.items())))

    def __repr__(self) -> str:
        return f"<Probe of {self}>"

    def _repr_html_(self) -> str:
        """Show the results by topic."""
        return html.shown(html.table(("judge", self.judge), self.lines.items()))


def _words(value: bool | None, yes: str, no: str, unknown: str) -> str:
    if value is None:
        return unknown
    return yes if value else no
