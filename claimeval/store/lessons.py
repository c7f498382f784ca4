"""What judges' servers refuse, kept beside the replies, so that a run asks them as the run before did.

A lesson is found by the judge's id, so it holds for the same model at the same address with the same settings. It goes
with exported replies. Without the file, replies to requests of the newest form are found only after the server has
refused once more, which is free, and never offline.
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
from claimeval.types.requests import Completion, Failure, Judge, Learned, Request

FILE = "learned.json"
"""File name in the directory of the reply cache."""

logger = logging.getLogger("claimeval")


class Lessons:
    """What was learned of each judge's server, and its requests without what it refuses."""

    def __init__(self, folder: Path | None) -> None:
        """`folder` is that of the reply cache; None for lessons of this process alone."""
        self._file = folder / FILE if folder else None
        self._known = self._read()
        self._asked: dict[str, Judge] = {}
        """By name, the judges as their requests name them."""
        self._honoured: dict[str, bool] = {}
        self._forms: dict[str, tuple[Judge, ...]] = {}
        """By name, the judges before each lesson and after the last, where they differ from their settings."""

    @property
    def known(self) -> dict[str, Learned]:
        """Return what is kept of judges' servers, by the judges' ids."""
        return dict(self._known)

    def add(self, judge: str, learned: Learned) -> None:
        """Keep a lesson from elsewhere, after what is known of the judge with this id."""
        before = self._known.get(judge, Learned())
        refused = tuple(dict.fromkeys((*before.refused, *learned.refused)))
        window = before.context_tokens or learned.context_tokens
        self._write(judge, Learned(refused=refused, context_tokens=window))

    def adapt(self, request: Request, store: Store | None = None) -> Request:
        """Return the request in the first form that the store has a reply to; in the newest form if it has none.

        A lesson that is learned in the middle of a run so leaves the replies before it where they are.
        """
        judge = self.judge(request.judge)
        newest = request if judge is request.judge and not judge.context_tokens else request.to(judge)
        if newest is request or store is None:
            return newest
        for judge in self._forms_of(request.judge):
            earlier = request.to(judge)
            if store.get(earlier.key) is not None:
                return earlier
        return newest

    def _forms_of(self, judge: Judge) -> tuple[Judge, ...]:
        forms = self._forms.get(judge.name)
        if forms is None:
            knowing = judge.model_copy(update={"learned": self.judge(judge).learned})
            forms = self._forms[judge.name] = knowing.forms
        return forms

    def judge(self, judge: Judge) -> Judge:
        """Return a judge as it is asked, after all that is known of it."""
        requests = self._asked.get(judge.name)
        if requests is None:
            known = self._known.get(judge.id)
            refused = (*judge.learned.refused, *(known.refused if known else ()))
            window = judge.learned.context_tokens or (known.context_tokens if known else None)
            learned = judge.learned.model_copy(
                update={"refused": tuple(dict.fromkeys(refused)), "context_tokens": window}
            )
            knowing = judge if learned == judge.learned else judge.model_copy(update={"learned": learned})
            requests = self._asked[judge.name] = knowing.as_asked
            if known:
                _tell(judge, known.refused, window)
        return requests

    def learn(self, request: Request, sent: Request, failure: Failure) -> bool:
        """Take in why a request was refused; return whether it can be sent in another form now.

        Args:
            request: The request as it was put.
            sent: The request as it was sent.
            failure: The refusal.
        """
        judge = request.judge
        now = self.judge(judge)
        if now != sent.judge:  # learned meanwhile, from another request
            return True
        later = now.without(failure.refused)
        if later is None and failure.context_tokens and not now.context_tokens:
            learned = now.learned.model_copy(update={"context_tokens": failure.context_tokens})
            later = now.model_copy(update={"learned": learned, "context_tokens": failure.context_tokens})
        if later is None or request.to(later).key == sent.key:
            return False
        self._asked[judge.name] = later
        self._forms.pop(judge.name, None)
        new = later.learned.refused[len(now.learned.refused) :]
        _tell(judge, new, later.context_tokens if not new else None)
        self._write(judge.id, later.learned)
        return True

    def learn_window(self, judge: Judge, window: int) -> None:
        """Take in the context window to which a judge's server cut a prompt."""
        now = self.judge(judge)
        if now.context_tokens and now.context_tokens <= window:
            return
        later = now.model_copy(
            update={
                "learned": now.learned.model_copy(update={"context_tokens": window}),
                "context_tokens": window,
            }
        )
        self._asked[judge.name] = later
        self._forms.pop(judge.name, None)
        _tell(judge, (), window)
        self._write(judge.id, later.learned)

    def check_schema(self, sent: Request, reply: Completion) -> None:
        """Take in whether a reply kept to the JSON schema that was sent; say once if it did not.

        A server that enforces a schema gives one JSON object and nothing else, after its reasoning at most.
        """
        if sent.schema_sent is None or not reply.text or reply.finish_reason not in ("stop", None):
            return
        name, text = sent.judge.name, reply.text.rpartition("</think>")[2].strip()
        honored = text.startswith("{") and text.endswith("}")
        if not honored and self._honoured.get(name, True):
            logger.warning(
                "%s ignores response_format: a reply is not one JSON object (%r). Replies are read anyway if possible; "
                "set `structured: false` in a judge file to send no schema",
                name,
                text if len(text) <= 60 else f"{text[:60]}...",
            )
        self._honoured[name] = honored and self._honoured.get(name, True)

    def learned(self, judges: Iterable[Judge]) -> dict[str, Learned]:
        """Return what is known of each judge, by name."""
        return {
            judge.name: self.judge(judge).learned.model_copy(
                update={"schema_honoured": self._honoured.get(judge.name, judge.learned.schema_honoured)}
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
        self._known = self._read() | {judge: learned}
        if self._file:
            content = {name: lesson.model_dump(exclude_defaults=True) for name, lesson in self._known.items()}
            part = self._file.with_name(f"{FILE}.{os.getpid()}.{threading.get_ident()}")
            part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            part.replace(self._file)


def _tell(judge: Judge, refused: Iterable[str], window: int | None) -> None:
    """Say in one line what is asked in another form than the settings say."""
    forms = {
        "temperature": "temperature is left out, so its default applies",
        "max_tokens": "replies are limited by max_completion_tokens",
        "max_completion_tokens": "replies are limited by max_tokens",
        "response_format": "no JSON schema is sent; only claimeval checks replies",
    }
    words = [forms.get(name, f"{name} is left out of the JSON schema") for name in refused]
    if words:
        logger.warning("%s refuses %s: %s", judge.name, " and ".join(refused), "; ".join(words))
    elif window:
        logger.warning(
            "%s has a window of %s tokens: replies are limited to what prompts leave of it, and longer evidence is "
            "read in parts",
            judge.name,
            window,
        )
