"""Options that come together: written once as a function, and taken by every command that has them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

Command = Callable[..., None]


def takes(**groups: Callable[..., Any]) -> Callable[[Command], Command]:
    """Puts the options of each group in the place of the command's parameter of that name.

    A group is a function whose parameters are options; the command gets what it returns. `@takes(options=asking)`
    gives a command with the parameter `options` all options of `asking`.
    """

    def decorate(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True).parameters
        parameters: list[inspect.Parameter] = []
        for name, parameter in own.items():
            if name in groups:
                parameters += inspect.signature(groups[name], eval_str=True).parameters.values()
            else:
                parameters.append(parameter)
        members = {name: tuple(inspect.signature(group).parameters) for name, group in groups.items()}

        def taking(**given: Any) -> None:
            made = {name: groups[name](**{key: given.pop(key) for key in keys}) for name, keys in members.items()}
            command(**given, **made)

        taking.__name__, taking.__doc__, taking.__module__ = command.__name__, command.__doc__, command.__module__
        taking.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        taking.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # what inspect looks for
            [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        )
        return taking

    return decorate
