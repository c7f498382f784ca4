"""Functions as judges (`Judge.from_callable`), whose replies are stored, paced and limited like all
others."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import cast

from claimeval.providers import Keep, Provider
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.errors import UsageError
from claimeval.types.requests import FUNCTIONS, CallError, Completion, Judge, JudgeFunction, Request

DEFECTS = (TypeError, NameError, AttributeError, LookupError, NotImplementedError, ImportError)
"""Errors of a function's code, or of code that meets a reply it does not expect. The same messages
would most likely raise them again, so such a call is not repeated; `--ask-again provider_error`
does so later."""
DEFECTIVE = 3
"""Number of such errors after which a function that has never returned a text is stopped."""


def resolve(judge: Judge) -> Judge:
    """Return the judge. Raises UsageError if its function is not in this process."""
    if (judge.model, judge.endpoint) not in FUNCTIONS:
        raise UsageError(
            f"judge {judge.name!r}: its function is not in this process; make it again with"
            " Judge.from_callable"
        )
    return judge


@asynccontextmanager
async def open_backend(judge: Judge) -> AsyncIterator[CallableBackend]:
    """Open the function's backend."""
    yield CallableBackend(FUNCTIONS[judge.model, judge.endpoint])


class CallableBackend:
    """Calls one function with the messages of a request."""

    def __init__(self, function: JudgeFunction) -> None:
        self._function = function
        self._texts = self._defects = 0
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            # an object whose call is a coroutine function
            getattr(function, "__call__", None)  # noqa: B004
        )

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return the function's text. Raises CallError for any exception from it."""
        messages = [
            {"role": message.role, "content": message.content} for message in request.messages
        ]
        started = time.perf_counter()
        try:
            text = await self._call(messages)
        except CallError:
            raise
        except TimeoutError as error:
            raise CallError(
                "timeout", f"the function timed out: {error}", possibly_paid=True
            ) from error
        except Exception as error:  # a function of the user may raise anything
            defect = isinstance(error, DEFECTS)
            self._defects += defect
            # A function that once returned a text works, and fails by its input.
            fatal = defect and not self._texts and self._defects >= DEFECTIVE
            raise CallError(
                "judge_stopped" if fatal else "provider_error",
                f"the function raised {type(error).__name__}: {error}",
                retryable=not defect,
                fatal=fatal,
                possibly_paid=True,
            ) from error
        if not isinstance(text, str):
            raise CallError(
                "judge_stopped",
                f"the function returned a {type(text).__name__}; a text is needed",
                fatal=True,
            )
        self._texts += 1
        body = write_chat(text, request.judge.model.partition(":")[2])
        completion = read_chat(body, latency=time.perf_counter() - started)
        keep(completion)
        return completion

    async def _call(self, messages: list[dict[str, str]]) -> object:
        if self._is_async:
            return await cast(Awaitable[str], self._function(messages))
        value = await _in_thread(self._function, messages)
        return await value if inspect.isawaitable(value) else value


async def _in_thread(function: JudgeFunction, messages: list[dict[str, str]]) -> object:
    """Call a plain function in a thread that does not keep the process alive if the function never
    returns."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[object] = loop.create_future()

    def settle(value: object, error: Exception | None) -> None:
        if outcome.done():
            return
        if error is None:
            outcome.set_result(value)
        else:
            outcome.set_exception(error)

    def call() -> None:
        value: object = None
        error: Exception | None = None
        try:
            value = function(messages)
        except StopIteration as raised:  # futures cannot hold it
            error = RuntimeError(f"StopIteration: {raised}")
        except BaseException as raised:  # noqa: BLE001  # a function of the user may raise anything
            error = (
                raised
                if isinstance(raised, Exception)
                else RuntimeError(f"{type(raised).__name__}: {raised}")
            )
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, error)

    # A pool would wait at the end of the process for a function that never returns.
    threading.Thread(target=call, daemon=True).start()
    return await outcome


PROVIDER = Provider(name="callable", open=open_backend, resolve=resolve, costs=True)
