"""Shows `score = blocking_twin(ascore)` in the reference as the function that it is."""

from __future__ import annotations

from typing import Any

import griffe


class Twins(griffe.Extension):  # type: ignore[misc]  # griffe is in the extra docs alone
    """Gives a blocking twin the signature and the docstring of the coroutine function."""

    def on_package(self, *, pkg: griffe.Module, loader: Any, **_: Any) -> None:
        """Replace the attributes of the modules of the API that hold a twin."""
        for module in pkg["api"].modules.values():
            for name, member in list(module.members.items()):
                if (
                    isinstance(member, griffe.Attribute)
                    and str(member.value) == f"blocking_twin(a{name})"
                ):
                    module.set_member(name, _function(name, module.members[f"a{name}"]))


def _function(name: str, twin: griffe.Function) -> griffe.Function:
    function = griffe.Function(
        name,
        lineno=twin.lineno,
        endlineno=twin.endlineno,
        parameters=twin.parameters,
        returns=twin.returns,
    )
    if twin.docstring:
        function.docstring = griffe.Docstring(
            twin.docstring.value,
            lineno=twin.docstring.lineno,
            parent=function,
            parser=twin.docstring.parser,
            parser_options=twin.docstring.parser_options,
        )
    return function
