"""Functions that wait, as coroutines and as blocking twins."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine to completion. If this thread already runs an event loop, use a new thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    outcome: list[T] = []
    errors: list[BaseException] = []

    context = contextvars.copy_context()

    def run() -> None:
        """Run the coroutine in this thread."""
        try:
            outcome.append(context.run(asyncio.run, coroutine))
        except BaseException as error:  # noqa: BLE001  # handed to the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, name="claimeval")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return outcome[0]


def blocking_twin(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Return `NAME`, which blocks, for the coroutine function `aNAME`; also inside a running event loop."""

    @functools.wraps(function)
    def door(*args: P.args, **kwargs: P.kwargs) -> T:
        """Block until the coroutine is done."""
        return blocking(function(*args, **kwargs))

    door.__name__ = door.__qualname__ = function.__name__.removeprefix("a")
    return door
