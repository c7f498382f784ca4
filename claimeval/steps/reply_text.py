"""The text of a completion, or why it must not be read."""

from __future__ import annotations

from claimeval.calls import Completion, Failure, Judge
from claimeval.replies import without_thinking


def reply_text(completion: Completion, judge: Judge) -> str | Failure:
    """The judge's words when it finished by itself; a cut, filtered, refused or empty reply is a failure."""
    finish = completion.finish_reason
    if finish in ("length", "model_length"):
        return Failure(reason="truncated", message="the reply was cut at the token limit; raise max_tokens")
    if finish == "content_filter":
        return Failure(reason="filtered", message="the provider's content filter ended the reply")
    if completion.refusal:
        return Failure(reason="refused", message=completion.refusal[:500])
    if finish != "stop":
        return Failure(reason="provider_error", message=f"the reply ended with finish reason {finish!r}, not 'stop'")
    if not completion.text or not completion.text.strip():
        return Failure(reason="unparsable", message="the reply is empty")
    return without_thinking(completion.text) if judge.thinks_aloud else completion.text
