"""The public names of the package."""

from __future__ import annotations

import subprocess
import sys

import claimeval.statistics


def test_every_public_name_loads_and_is_listed() -> None:
    names = claimeval.statistics.__all__
    assert set(names) <= set(dir(claimeval.statistics))
    for name in names:
        assert getattr(claimeval.statistics, name).__doc__


def test_no_name_hides_behind_a_module_of_the_same_name() -> None:
    """`from claimeval.statistics.correction import ...` must not turn a function of the package
    into a module."""
    for name in claimeval.statistics.__all__:
        assert not hasattr(getattr(claimeval.statistics, name), "__path__")
        assert f"claimeval.statistics.{name}" not in sys.modules


def test_importing_and_loading_every_name_loads_neither_numpy_nor_scipy() -> None:
    program = (
        "import sys, claimeval.statistics as s\n"
        "[getattr(s, name) for name in s.__all__]\n"
        "print(sorted(m for m in ('numpy', 'scipy', 'pydantic') if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
