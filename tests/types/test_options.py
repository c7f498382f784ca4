"""The records of options: what they refuse, and that every door has all of them."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.judging.panel import Panel
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions
from tests.cli.test_command import of

PYTHON_ONLY = {"attempts", "backoff", "compress", "max_reply_bytes", "progress"}
ASKING_DOORS = (
    "score",
    "ascore",
    "rejudge",
    "arejudge",
    "rate",
    "arate",
    "grade",
    "agrade",
    "write_queries",
)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_cost": -0.5}, "max_cost: -0.5; it needs 0 or more"),
        ({"max_calls": -1}, "max_calls: -1"),
        ({"concurrency": 0}, "concurrency: 0; it needs 1 or more"),
        ({"rpm": 0}, "rpm"),
        ({"tpm": -5}, "tpm"),
        ({"timeout": 0}, "timeout: 0"),
        ({"timeout": float("nan")}, "timeout: nan"),
        ({"max_cost": float("nan")}, "max_cost: nan"),
        ({"max_cost": float("inf")}, "max_cost: inf; it needs 1,000,000,000 or less"),
        ({"max_calls": 10**22}, "max_calls: 1"),
        ({"attempts": 0}, "attempts"),
        ({"backoff": -1}, "backoff"),
        ({"detach": True}, "add --batch"),
    ],
)
def test_options_out_of_range_or_without_meaning_are_refused(
    given: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        RunOptions(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"on_same_family": "no_vote"}, "Did you mean 'no-vote'"),
        ({"quorum": 0}, "quorum: 0"),
        ({"replicates": 0}, "replicates: 0"),
    ],
)
def test_settings_of_a_panel_are_refused_alike(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        PanelOptions(**given)


def test_records_are_frozen_and_can_be_sent_to_another_process() -> None:
    options = RunOptions(max_cost=2.0, batch=True, detach=True)
    with pytest.raises(FrozenInstanceError):
        options.max_cost = 3.0  # type: ignore[misc]  # what is refused
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301  # of this process
    panel = PanelOptions(vote="any")
    assert pickle.loads(pickle.dumps(panel)) == panel  # noqa: S301  # of this process


def test_what_was_not_given_is_left_to_others(tmp_path: Path) -> None:
    assert PanelOptions().given == {}
    file = tmp_path / "families.yaml"
    file.write_text("house-*: llama\n")
    found = PanelOptions(vote="any", families=file).given
    assert found == {"vote": "any", "families": {"house-*": "llama"}}


def test_every_setting_of_a_panel_has_its_place_in_the_record_of_a_run() -> None:
    given = {field.name for field in fields(PanelOptions)} - {"labels"}
    assert given <= set(Panel.model_fields)


@pytest.mark.parametrize("door", ASKING_DOORS)
def test_every_door_that_asks_takes_the_same_options(door: str) -> None:
    parameters = inspect.signature(getattr(ce, door)).parameters
    assert parameters["options"].default == RunOptions()
    names = {field.name for record in (RunOptions, PanelOptions) for field in fields(record)}
    assert not names & set(parameters), "no option stands beside its record"
    if "queries" not in door:
        assert parameters["panel"].default == (None if "rejudge" in door else PanelOptions())


def test_the_command_line_has_the_options_by_the_same_names() -> None:
    names, again = (
        {parameter.name for parameter in of(name).params} for name in ("score", "rejudge")
    )
    assert names >= {field.name for field in fields(RunOptions)} - PYTHON_ONLY
    assert names | again | set(Panel.model_fields) >= {field.name for field in fields(PanelOptions)}


def test_the_records_load_no_pydantic() -> None:
    code = "import sys, claimeval.types.options; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
