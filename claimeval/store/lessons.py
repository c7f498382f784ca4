"""Lessons: parameters that judges' servers refuse, stored with the replies so that later runs send
the same requests.

Lessons are stored by the judge's id, so they apply to the same model at the same endpoint with the
same settings. They are exported with the replies. Without the file, a run sends the original
request, is refused (which is free), and only then finds the cached reply. Offline, it never does.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from claimeval.store.store import Store
from claimeval.types.requests import (
    ANY_KEYS,
    SYSTEM,
    THINKING,
    Completion,
    Failure,
    Judge,
    Learned,
    Request,
)

FILE = "learned.json"
"""File name in the directory of the reply cache."""

logger = logging.getLogger("claimeval")


class Lessons:
    """What was learned about each judge's server. Adapts requests to it."""

    def __init__(self, folder: Path | None) -> None:
        """Read the lessons in the folder of the reply cache; None keeps lessons in this process
        only."""
        self._file = folder / FILE if folder else None
        self._known = self._read()
        self._asked: dict[str, Judge] = {}
        """Judges with the settings that their requests are sent with, by name."""
        self._honoured: dict[str, bool] = {}
        self._forms: dict[str, tuple[Judge, ...]] = {}
        """`Judge.forms` by name, of judges that were adapted."""

    @property
    def known(self) -> dict[str, Learned]:
        """The stored lessons, by judge id."""
        return dict(self._known)

    def add(self, judge: str, learned: Learned) -> None:
        """Add an imported lesson to those of the judge with this id."""
        self._write(judge, _joined(self._known.get(judge, Learned()), learned))

    def adapt(self, request: Request, store: Store | None = None) -> Request:
        """Return the request in the first form that has a cached reply, else in the newest form.

        Replies that were cached before a lesson are therefore still found.
        """
        judge = self.judge(request.judge)
        newest = (
            request if judge is request.judge and not judge.context_tokens else request.to(judge)
        )
        if newest is request or store is None:
            return newest
        # Ten replies came before the server's first refusal: they answer the same question and are
        # paid.
        for judge in self._forms_of(request.judge):
            earlier = request.to(judge)
            if store.get(earlier.key) is not None:
                return earlier
        return newest

    def _forms_of(self, judge: Judge) -> tuple[Judge, ...]:
        forms = self._forms.get(judge.name)
        if forms is None:
            informed = judge.model_copy(update={"learned": self.judge(judge).learned})
            forms = self._forms[judge.name] = informed.forms
        return forms

    def judge(self, judge: Judge) -> Judge:
        """Return a judge with the settings that its requests are sent with."""
        adapted = self._asked.get(judge.name)
        if adapted is None:
            known = self._known.get(judge.id)
            learned = _joined(judge.learned, known) if known else judge.learned
            informed = (
                judge if learned == judge.learned else judge.model_copy(update={"learned": learned})
            )
            adapted = self._asked[judge.name] = informed.as_asked
            if known:
                _warn(judge, known.refused, learned)
        return adapted

    def learn(self, request: Request, sent: Request, failure: Failure) -> bool:
        """Learn from a refusal of `request`, sent as `sent`. Return whether it can be sent in
        another form now."""
        before = self.judge(request.judge)
        if before != sent.judge:  # learned meanwhile, from another request
            return True
        after = before.without(failure.refused)
        if after is None and (window := failure.context_tokens):
            # A server behind a gateway may have a smaller window than the one that was learned.
            smaller = request.judge.context_tokens is None and window < (before.context_tokens or 0)
            if smaller or not before.context_tokens:
                after = _with_window(before, window)
        if after is None or request.to(after).key == sent.key:
            return False
        self._replace(request.judge, before, after)
        return True

    def learn_refused(self, judge: Judge, refused: Iterable[str]) -> None:
        """Learn what a judge's server refuses, as a trial has shown."""
        before = after = self.judge(judge)
        for name in refused:
            after = after.without([name]) or after
        if after != before:
            self._replace(judge, before, after)

    def learn_window(self, judge: Judge, window: int) -> None:
        """Learn the context window to which a judge's server truncated a prompt."""
        before = self.judge(judge)
        if not before.context_tokens or before.context_tokens > window:
            self._replace(judge, before, _with_window(before, window))

    def learn_size(self, judge: Judge, parameters: int) -> None:
        """Learn that a judge's model is small, which limits its replies."""
        before = self.judge(judge)
        learned = before.learned.model_copy(update={"parameters": parameters})
        self._replace(judge, before, before.model_copy(update={"learned": learned}))

    def _replace(self, judge: Judge, before: Judge, after: Judge) -> None:
        self._asked[judge.name] = after
        self._forms.pop(judge.name, None)
        new = after.learned
        old = before.learned
        for name in ("max_tokens", "parameters"):
            if getattr(new, name) == getattr(old, name):
                new = new.model_copy(update={name: None})
        refused = after.learned.refused[len(before.learned.refused) :]
        _warn(judge, refused, new)
        self._write(judge.id, after.learned)

    def check_schema(self, sent: Request, reply: Completion) -> None:
        """Learn whether a reply follows the JSON schema that was sent. Warn once if it does not.

        A server that enforces a schema replies with one JSON object, at most preceded by reasoning.
        An object with any keys is not enforced everywhere.
        """
        if (
            sent.schema_sent is None
            or ANY_KEYS in sent.schema_sent
            or not reply.text
            or reply.finish_reason not in ("stop", None)
        ):
            return
        name = sent.judge.name
        text = reply.text.strip()
        if not _is_object(text):  # an object may quote the end of reasoning in a text
            text = text.rpartition("</think>")[2].strip()
        honored = _is_object(text)
        if not honored and self._honoured.get(name, True):
            logger.warning(
                "%s ignores response_format: a reply is not one JSON object (%r). Replies are read"
                " anyway if possible; set `structured: false` in a judge file to send no schema",
                name,
                text if len(text) <= 60 else f"{text[:60]}...",
            )
        self._honoured[name] = honored and self._honoured.get(name, True)

    def learned(self, judges: Iterable[Judge]) -> dict[str, Learned]:
        """Return what was learned about each judge, by name."""
        return {
            judge.name: (
                self.judge(judge).learned.model_copy(
                    update={
                        "schema_honoured": self._honoured.get(
                            judge.name, judge.learned.schema_honoured
                        )
                    }
                )
            )
            for judge in judges
        }

    def _read(self) -> dict[str, Learned]:
        if self._file is None:
            return {}
        try:
            content = json.loads(self._file.read_text(encoding="utf-8"))
            return {judge: Learned.model_validate(learned) for judge, learned in content.items()}
        except (OSError, ValueError, AttributeError, ValidationError):
            return {}

    def _write(self, judge: str, learned: Learned) -> None:
        # Another process may have learned about another judge since this one read the file.
        self._known = self._read() | {judge: learned}
        if self._file:
            content = {
                name: lesson.model_dump(exclude_defaults=True)
                for name, lesson in self._known.items()
            }
            part = self._file.with_name(f"{FILE}.{os.getpid()}.{threading.get_ident()}")
            part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            part.replace(self._file)


def _with_window(judge: Judge, window: int) -> Judge:
    learned = judge.learned.model_copy(update={"context_tokens": window})
    return judge.model_copy(update={"learned": learned, "context_tokens": window})


def _joined(first: Learned, second: Learned) -> Learned:
    """Return the lessons of both; the numbers of the first take precedence."""
    return first.model_copy(
        update={
            "refused": tuple(dict.fromkeys((*first.refused, *second.refused))),
            "context_tokens": first.context_tokens or second.context_tokens,
            "max_tokens": first.max_tokens or second.max_tokens,
            "parameters": first.parameters or second.parameters,
        }
    )


def _warn(judge: Judge, refused: Iterable[str], learned: Learned) -> None:
    """Log in one line what is refused or, if nothing is, the longest reply or the context
    window."""
    forms = {
        "temperature": "temperature is left out, so its default applies",
        "max_tokens": "replies are limited by max_completion_tokens",
        "max_completion_tokens": "replies are limited by max_tokens",
        "response_format": "no JSON schema is sent; only claimeval checks replies",
        SYSTEM: "the system text is put before the user's",
        THINKING: "thinking is turned off",
    }
    words = [forms.get(name, f"{name} is left out of the JSON schema") for name in refused]
    if words:
        logger.warning("%s refuses %s: %s", judge.name, " and ".join(refused), "; ".join(words))
    elif learned.parameters:
        logger.warning(
            "%s has %s million parameters, as its server says: replies are limited to what a"
            " question needs, because small models may repeat themselves without end; `max_tokens`"
            " in a judge file sets another limit",
            judge.name,
            f"{learned.parameters / 1e6:,.0f}",
        )
    elif learned.max_tokens:
        longest = learned.max_tokens
        logger.warning("%s allows replies of %s tokens, which limits them", judge.name, longest)
    elif window := learned.context_tokens:
        logger.warning(
            "%s has a window of %s tokens: replies are limited to the rest of the window, and"
            " longer evidence is read in parts",
            judge.name,
            window,
        )


def _is_object(text: str) -> bool:
    """Return whether a reply begins and ends as one JSON object."""
    return text.startswith("{") and text.endswith("}")
