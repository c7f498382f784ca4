"""Functions as judges: `Judge.from_callable` makes them; what they give is stored, paced and capped like any reply."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import cast

from claimeval.providers import Keep, Provider
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.errors import UsageError
from claimeval.types.requests import FUNCTIONS, CallError, Completion, Judge, JudgeFunction, Request

THREADS = 32
"""Calls of a plain function at once."""
DEFECTS = (TypeError, NameError, AttributeError, LookupError, NotImplementedError, ImportError)
"""Errors that a further call of the function will not better."""


def resolve(judge: Judge) -> Judge:
    """Return the judge; UsageError if its function is not in this process."""
    if (judge.model, judge.endpoint) not in FUNCTIONS:
        raise UsageError(
            f"judge {judge.name!r}: its function is not in this process; make it again with Judge.from_callable"
        )
    return judge


@asynccontextmanager
async def open_backend(judge: Judge) -> AsyncIterator[CallableBackend]:
    """Open the function's backend, with threads for one that is not asynchronous."""
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix=judge.name)
    try:
        yield CallableBackend(FUNCTIONS[judge.model, judge.endpoint], threads)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


class CallableBackend:
    """Calls one function with the messages of a request."""

    def __init__(self, function: JudgeFunction, threads: ThreadPoolExecutor) -> None:
        self._function = function
        self._threads = threads
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004  # an object whose call is a coroutine function
        )

    async def complete(self, request: Request, keep: Keep) -> Completion:
        """Return what the function says; CallError for whatever it raises."""
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        started = time.perf_counter()
        try:
            text = await self._call(messages)
        except CallError:
            raise
        except TimeoutError as error:
            raise CallError("timeout", f"the function timed out: {error}", possibly_paid=True) from error
        except Exception as error:  # a function of the user may raise anything
            fatal = isinstance(error, DEFECTS)
            raise CallError(
                "judge_stopped" if fatal else "provider_error",
                f"the function raised {type(error).__name__}: {error}",
                fatal=fatal,
                possibly_paid=True,
            ) from error
        if not isinstance(text, str):
            raise CallError("judge_stopped", f"the function gave a {type(text).__name__}; a text is needed", fatal=True)
        body = write_chat(text, request.judge.model.partition(":")[2])
        completion = read_chat(body, latency=time.perf_counter() - started)
        keep(completion)
        return completion

    async def _call(self, messages: list[dict[str, str]]) -> object:
        if self._is_async:
            return await cast(Awaitable[str], self._function(messages))
        loop = asyncio.get_running_loop()
        value = await loop.run_in_executor(self._threads, self._function, messages)
        return await value if inspect.isawaitable(value) else value


PROVIDER = Provider(name="callable", open=open_backend, resolve=resolve, costs=True)
