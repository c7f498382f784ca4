"""claimeval is installed in the environment of a RAG application, beside the newest release of what
is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compatibility.conftest import EXTRAS, resolved

NEIGHBOURS = (
    "arize-phoenix-evals",
    "deepeval",
    "dspy",
    "instructor",
    "langchain-openai",
    "litellm",
    "llama-index",
    "mlflow",
    "ragas",
    "trulens",
)
SHARED = ("openai", "httpx2", "mistralai", "anthropic", "rich", "click", "numpy", "pydantic")
"""Requirements of claimeval that neighbours hold back."""
PYTHON = "3.11"


def release(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(number) for number in version.split(".")[:2])


@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_a_neighbour_keeps_its_newest_release(
    neighbour: str, wheel: Path, record_property: Callable[[str, object], None]
) -> None:
    alone = resolved(neighbour, python=PYTHON)[neighbour]
    both = resolved(
        f"claimeval-judge[{','.join(EXTRAS)}] @ {wheel.as_uri()}", neighbour, python=PYTHON
    )
    shared = ", ".join(f"{name} {both[name]}" for name in SHARED)
    record_property("row", f"{neighbour + ' ' + both[neighbour]:32} {shared}")
    assert release(both[neighbour]) >= release(alone), (
        f"{neighbour} {alone} is pushed back to {both[neighbour]}"
    )


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_everything_that_is_required_has_a_wheel(python: str, wheel: Path) -> None:
    assert {"click", "openai", "mistralai", "numpy"} <= resolved(str(wheel), python=python).keys()
