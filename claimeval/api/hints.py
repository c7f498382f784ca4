"""Hints in the errors of arguments that a function does not have."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, ParamSpec, TypeVar

from claimeval.types.options import PanelOptions, RunOptions

HOLDERS = {"options": RunOptions, "panel": PanelOptions}
"""Parameters that hold options, and the class of these options."""
_JUDGES = {
    "compare": ": it compares runs that `score` has judged",
    "experiment": ": name judges in the design, as in {'judges': ['MODEL']}",
}
"""Where the judges are of functions that take none."""
P = ParamSpec("P")
T = TypeVar("T")


def with_hints(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function with the closest parameter in the error of an argument that it does not
    have.

    Options that are given as a dict are refused with the class that they need.
    """
    names = inspect.signature(function).parameters
    options = {holder: of for holder, of in HOLDERS.items() if holder in names}

    def check(given: Mapping[str, object]) -> None:
        """Raise TypeError for a name that is no parameter, and for a dict of options."""
        for holder, of in options.items():
            if isinstance(given.get(holder), dict):
                raise TypeError(
                    f"{function.__name__}() got a dict as {holder}: give"
                    f" {holder}={of.__name__}(...)"
                )
        for name in given:
            if name not in names:
                near = get_close_matches(name, names, 1)
                hint = f". Did you mean {near[0]!r}?" if near else ""
                for holder, of in options.items():
                    if name in (field.name for field in fields(of)):
                        hint = f": give {holder}={of.__name__}({name}=...)"
                if name in ("judge", "judges"):
                    hint = _JUDGES.get(function.__name__, hint)
                raise TypeError(
                    f"{function.__name__}() got an unexpected keyword argument {name!r}{hint}"
                )

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        # A coroutine function stays one, since `inspect` and frameworks ask before they call.
        async def twin(*args: P.args, **kwargs: P.kwargs) -> Any:
            """Check the names of the arguments, then await the function."""
            check(kwargs)
            return await function(*args, **kwargs)

        return twin  # type: ignore[return-value]  # its result is the coroutine T

    @functools.wraps(function)
    def door(*args: P.args, **kwargs: P.kwargs) -> T:
        """Check the names of the arguments, then call the function."""
        check(kwargs)
        return function(*args, **kwargs)

    return door
