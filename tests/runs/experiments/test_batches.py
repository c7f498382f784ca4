"""An experiment through batches: what its arms need rides together, and the tables are those of the
online run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.clients import write_samples
from benchmarks.loopback import Batching as Plan
from benchmarks.loopback import Options, ThreadHandle, claim_judge
from claimeval.api.comparison import prepared_experiment
from claimeval.runs.experiments import read
from claimeval.runs.experiments.running import ExperimentStatus, run
from claimeval.types.options import RunOptions
from tests.conftest import StartServer
from tests.execution.batch_runs import spec
from tests.sample_runs import untimed

pytestmark = pytest.mark.usefixtures("quick_polling")


def carry_out(server: ThreadHandle, folder: Path, name: str, **how: Any) -> ExperimentStatus:
    """Two prompts, and a judge that runs here."""
    write_samples(folder / "samples.jsonl", 3)
    judge = spec(server, "openai")
    arms = [
        {"assess_prompt": "three_way"},
        {"assess_prompt": "binary"},
        {"judges": ["local:lexical"]},
    ]
    design = {
        "data": str(folder / "samples.jsonl"),
        "judges": judge,
        "extractor": judge,
        "metrics": ["faithfulness"],
    }
    file = folder / "experiment.yaml"
    file.write_text(yaml.safe_dump(design | {"arms": arms}))
    options = RunOptions(cache=folder / f"{name}-store", **how)
    return asyncio.run(
        run(prepared_experiment(read(file), options), folder / name, options=options)
    )


def summaries(folder: Path) -> dict[str, object]:
    return {
        file.parent.name: json.loads(untimed(file))
        for file in sorted(folder.glob("arms/*/summary.json"))
    }


def test_arms_ride_together_and_come_to_the_same_numbers(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(Options(batching=Plan(seconds=0.1)), judge=claim_judge.answer)
    online = carry_out(server, tmp_path, "online")
    batches = carry_out(server, tmp_path, "batch", batch=True)
    assert online.status.complete
    assert batches.status.complete
    assert batches.calls == online.calls
    found = summaries(tmp_path / "batch")
    assert len(found) == 3
    assert found == summaries(tmp_path / "online")
    lines = server.batch_lines()
    assert len(lines) == len({line.custom_id for line in lines}) == 3 * 3
    assert len({line.batch for line in lines}) == 3, (
        "the claims for all arms at once, then each prompt's questions"
    )


def test_a_detached_experiment_submits_what_all_arms_need_and_stops(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(Options(batching=Plan(seconds=60)), judge=claim_judge.answer)
    for _ in range(2):
        carried = carry_out(server, tmp_path, "batch", batch=True, detach=True)
        assert carried.status.pending_batches
    assert len(server.exchanges()) >= 2
    created = {e.sha256 for e in server.exchanges() if e.path.endswith("/files")}
    assert len(created) == 1
