"""A sample that ends its process: three processes, then it is recorded as a failure and the rest
goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.distributed.attempts import AttemptsFile
from claimeval.types.errors import StoppedEarly

SCRIPT = """
import json, os, sys
from pathlib import Path
import claimeval as ce
# once, and not in each process
import claimeval.api.claims, claimeval.api.run, claimeval.distributed.parts
from claimeval.testing import claims_reply, verdicts_reply

log = Path("asked")

def answer(messages):
    text = json.dumps(messages)
    name = next(word for word in ("q0", "q1", "q2", "q3", "q4", "q5") if f"Question {word}" in text)
    with log.open("a") as file:
        file.write(name + "\\n")
    if name == "q3":
        os._exit(9)
    if "claims" in text and "verdict" not in text:
        return claims_reply("It is so.")
    return verdicts_reply(["supported"])

judge = ce.Judge.from_callable("house", answer, model="house")
same = {"answer": "It is so.", "contexts": ["It is so."]}
rows = [{"id": f"q{i}", "question": f"Question q{i}?", **same} for i in range(6)]
options = ce.RunOptions(cache="cache", shard="1/1", concurrency=2)
for attempt in range(3):
    if not (child := os.fork()):
        ce.score(rows, judges=judge, metrics="faithfulness", out="run", options=options)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9, attempt
    print(Path("run/parts/00001-of-00001.attempts").read_text().count("begun"))
ce.score(rows, judges=judge, metrics="faithfulness", out="run", options=options)
run = ce.Run.merge("run")
print(json.dumps([[r.sample.id, r["faithfulness"].value, r["faithfulness"].because] for r in run]))
"""


def test_a_sample_that_ends_three_processes_is_recorded_and_the_rest_goes_on(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    assert results == [
        [f"q{i}", None, "worker_died"] if i == 3 else [f"q{i}", 1.0, None] for i in range(6)
    ]
    asked = (tmp_path / "asked").read_text().split()
    assert asked.count("q3") == 3
    assert not (tmp_path / "run" / "parts").exists()


def test_a_metric_that_ends_its_process_on_one_sample_is_recorded_for_that_sample(
    tmp_path: Path,
) -> None:
    rows = [{"id": f"q{i}", "question": "Why?", "answer": f"word {i}"} for i in range(4)]
    measured: list[str] = []

    def words(sample: ce.Sample) -> float:
        measured.append(sample.id)
        if sample.id == "q2":
            raise RuntimeError("a defect")
        return len((sample.answer or "").split())

    def measure() -> ce.Run:
        return ce.measure(
            rows, {"words": words}, out=tmp_path / "run", options=ce.RunOptions(shard="1/1")
        )

    for _ in range(3):
        with pytest.raises(RuntimeError, match="a defect"):
            measure()
    run = measure()
    assert [result["words"].value for result in run] == [2.0, 2.0, None, 2.0]
    assert run["words"].missing == {"worker_died": 1}
    assert measured.count("q2") == 3


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_items_in_work_at_a_crash_are_suspects_and_those_that_were_done_are_not(
    tmp_path: Path,
) -> None:
    file = tmp_path / "parts" / "a.attempts"
    file.parent.mkdir()
    file.write_text("crashed 7 1\nbegun 3\nbegun 4\ndone 3\nbegun 7\nbegun 1")
    with AttemptsFile(file) as attempts:
        assert attempts.crashes == {7: 2, 4: 1, 1: 1}
        attempts.begun(4)
        attempts.done(4)
    assert lines(file) == ["crashed 1 1", "crashed 7 2"]  # 4 was done after all


@pytest.mark.parametrize("end", [StoppedEarly("cap"), KeyboardInterrupt(), OSError("disk full")])
def test_an_orderly_end_suspects_nobody(end: BaseException, tmp_path: Path) -> None:
    file = tmp_path / "parts" / "a.attempts"
    file.parent.mkdir()
    with pytest.raises(type(end)), AttemptsFile(file) as attempts:  # noqa: PT012
        attempts.begun(5)
        raise end
    assert lines(file) == []


def test_a_defect_leaves_its_suspects(tmp_path: Path) -> None:
    file = tmp_path / "parts" / "a.attempts"
    file.parent.mkdir()
    with pytest.raises(MemoryError), AttemptsFile(file) as attempts:  # noqa: PT012
        attempts.begun(5)
        raise MemoryError
    with AttemptsFile(file) as again:
        assert again.crashes == {5: 1}
