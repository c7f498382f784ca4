"""Runs over a Ray cluster on this machine, by the commands of the product, with a real server as
the provider."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import Faults, Options, Reply, serve_in_thread
from benchmarks.loopback.claim_judge import answer
from claimeval.store.store import Store
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from tests.distributed.providers import Provider, data
from tests.providers.local import tiny_models
from tests.providers.local.conftest import NLI_LABELS

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = pytest.mark.slow

SAMPLES = 100
"""Four shards of 25."""
REQUESTS = 200
ROOT = Path(__file__).parents[2]


class RayCluster:
    """Nodes, and orders to lose them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = self._answer()

    def order(self, order: str) -> None:
        """Have an order carried out."""
        assert self._process.stdin
        print(order, file=self._process.stdin, flush=True)
        assert self._answer() == "done"

    def _answer(self) -> str:
        """What it says, between what Ray says."""
        assert self._process.stdout
        return next(line.split()[1] for line in self._process.stdout if line.startswith("answer: "))

    def start(self, *arguments: object, folder: Path | None = None) -> subprocess.Popen[str]:
        """`claimeval ARGUMENTS --engine ray`, in a folder."""
        command = [sys.executable, "-m", "claimeval", *map(str, arguments), "--engine", "ray"]
        environment = {**os.environ, "RAY_ADDRESS": self.address}
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, env=environment, cwd=folder, stdout=pipe, stderr=pipe, text=True
        )

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """The same, to its end."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with started() as cluster:
        yield cluster


@contextlib.contextmanager
def started(*nodes: str) -> Iterator[RayCluster]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.distributed.ray_cluster", *nodes],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        yield RayCluster(process)
    finally:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def files(run: Path) -> list[bytes]:
    return [
        (run / name).read_bytes() for name in ("results.jsonl", "summary.json", "replies.jsonl.gz")
    ]


def test_a_run_goes_on_after_cap_deaths_and_a_lost_node_to_the_bytes_of_one_process(
    cluster: RayCluster, tmp_path: Path
) -> None:
    """Four times the same command: to its cap, to the asker's death, to the head's, and over a
    node's to the end."""
    samples = data(tmp_path, SAMPLES)
    in_flight = 4
    cap = 40
    over = threading.Event()
    doomed: list[RayCluster] = []
    provider = Provider(cap + 30, lambda: cluster.order("kill asker"))

    def lose_head() -> None:
        """Answer nobody until the run has noticed, or for ten seconds: what a head leaves behind
        still sends calls."""
        doomed[0].order("kill head")
        over.wait(10)

    provider.reached[cap + 80] = lose_head
    provider.reached[cap + 120] = lambda: cluster.order("kill node")
    with serve_in_thread(judge=provider) as server:
        judge = f"openai:model@{server.url}"
        command = (
            "score",
            samples,
            "-j",
            judge,
            "-o",
            tmp_path / "ray",
            "--cache",
            tmp_path / "cache",
        )
        paced = ("--concurrency", in_flight)
        capped = cluster.run(*command, *paced, "--max-calls", cap)
        assert (capped.returncode, provider.asked.total()) == (3, cap), capped.stderr[-3000:]
        assert (
            f"Budget reached: {cap} calls of unknown price are spent. To resume, raise the limit"
            in capped.stderr
        )
        killed = [cluster.run(*command, *paced)]
        with started("alone") as another:
            doomed.append(another)
            killed.append(another.run(*command, *paced))
        over.set()
        provider.rest()
        # When its head dies, Ray now and then aborts the process in its own C++ code before Python
        # hears of it. What must hold then is what holds after any kill: nothing is lost.
        if killed[-1].returncode == -signal.SIGABRT:
            killed.pop()
        for one in killed:
            assert one.returncode == 3, one.stderr[-3000:]
            assert "run the same command to resume" in one.stderr
        before = provider.asked.copy()
        done = cluster.run(*command)
        assert done.returncode == 0, done.stderr[-3000:]
        last = provider.asked - before
        assert set(last.values()) == {1}, "a lost node costs no call"
        assert not provider.reached
        assert f"Sent now: {last.total()} calls" in done.stdout
        assert len(provider.asked) == REQUESTS
        assert provider.asked.total() <= REQUESTS + 2 * in_flight
        ce.score(
            samples,
            judges=judge,
            out=tmp_path / "home",
            options=RunOptions(cache=tmp_path / "cache"),
        )
        assert provider.asked - before == last
    assert files(tmp_path / "ray") == files(tmp_path / "home")


@pytest.mark.parametrize(
    ("command", "fault", "code"),
    [
        ("score", "wrong key", 3),
        ("grade", "wrong key", 3),
        ("rejudge", "unreadable", 3),
        ("rate", "cap 0", 3),
        ("score", "failed gate", 1),
        ("grade", "23 digits", 2),
    ],
)
def test_a_command_on_a_cluster_ends_with_the_code_of_one_process(
    command: str, fault: str, code: int, cluster: RayCluster, tmp_path: Path
) -> None:
    """Cells of tests/test_endings.py."""
    samples = data(tmp_path, 12)
    more = list[str]()
    faults = Faults(rates={"status_401": 1.0}) if fault == "wrong key" else Faults()
    judge = (lambda _: Reply("I would rather not say.")) if fault == "unreadable" else answer
    with serve_in_thread(Options(faults=faults), judge=judge) as server:
        source: Path = samples
        if command == "rejudge":
            run = ce.score(
                samples, judges="local:lexical", metrics="faithfulness", out=tmp_path / "source"
            )
            source = run.path or samples
        more += {
            "cap 0": ["--max-calls", "0"],
            "failed gate": ["--fail-under", "faithfulness=1"],
        }.get(fault, [])
        more += ["--max-calls", "9" * 23] if fault == "23 digits" else []
        asked = (
            "-j",
            f"openai:judge@{server.url}",
            "--out",
            tmp_path / "out",
            "--cache",
            tmp_path / "cache",
        )
        done = cluster.run(command, source, *asked, *more)
    assert done.returncode == code, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("claimeval: ")


def test_ctrl_c_keeps_what_is_in_flight_and_ends_with_130(
    cluster: RayCluster, tmp_path: Path
) -> None:
    samples = data(tmp_path, SAMPLES)
    running = list[subprocess.Popen[str]]()

    def interrupt() -> None:
        """Press Ctrl-C, and answer when it has come to the asker."""
        running[0].send_signal(signal.SIGINT)
        time.sleep(1.0)

    provider = Provider(60, interrupt)
    with serve_in_thread(judge=provider) as server:
        judge = f"openai:model@{server.url}"
        command = (
            "score",
            samples,
            "-j",
            judge,
            "-o",
            tmp_path / "ray",
            "--cache",
            tmp_path / "cache",
        )
        running.append(cluster.start(*command, "--concurrency", 1))
        _, said = running[0].communicate(timeout=120)
        assert running[0].returncode == 130, said
    assert "Interrupted. All replies received so far are stored" in said
    with Store(tmp_path / "cache") as store:
        assert 60 <= len(store) == provider.asked.total() < REQUESTS


def test_a_relative_cache_is_in_the_folder_of_the_command(
    cluster: RayCluster, tmp_path: Path
) -> None:
    samples = data(tmp_path, 4)
    provider = Provider(1, lambda: None)
    with serve_in_thread(judge=provider) as server:
        command = (
            "score",
            samples,
            "-j",
            f"openai:model@{server.url}",
            "-o",
            "ray",
            "--cache",
            "replies",
        )
        running = cluster.start(*command, folder=tmp_path)
        _, said = running.communicate(timeout=120)
    assert running.returncode == 0, said
    with Store(tmp_path / "replies") as store:
        assert len(store) == provider.asked.total() > 0


SCRIPT = """
import json, os, sys
import claimeval as ce
from claimeval.distributed import ray_engine

deaths_file = sys.argv[2]

def poisonous(sample):
    if sample.id == "q3":
        with open(deaths_file, "a") as deaths:
            deaths.write("x")
        os._exit(1)
    return len(sample.answer)

run = ce.measure(sys.argv[1], {"length": poisonous}, options=ce.RunOptions(engine="ray"))
scores = {result.sample.id: result["length"] for result in run.results}
print("answer:", json.dumps({name: [score.value, score.because] for name, score in scores.items()}))
judges = json.loads(sys.argv[3])
options = ce.RunOptions(engine="ray")
run = ce.score(sys.argv[1], judges=judges, metrics="faithfulness", options=options)
print("answer:", json.dumps([[one.label for one in result.assessments] for result in run.results]))


def refused(door, *arguments, **options):
    try:
        door(sys.argv[1], *arguments, **options, options=ce.RunOptions(engine="ray"))
    except ce.UsageError as error:
        print("answer:", error)


judge = ce.Judge(name="nli", model=judges[1], num_gpus=0.5)
refused(ce.score, judges=judge, metrics="faithfulness")
ray_engine.VERSION = "0.0.1"
refused(ce.measure, "token_f1")
"""


def test_poisoned_samples_fail_local_models_run_on_nodes_and_what_nodes_lack_is_refused(
    cluster: RayCluster, tmp_path: Path
) -> None:
    samples = data(tmp_path, 6)
    deaths = tmp_path / "deaths"
    judges = ["local:lexical", f"local:nli={tiny_models.classifier(tmp_path / 'nli', NLI_LABELS)}"]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(samples), str(deaths), json.dumps(judges)],
        env={**os.environ, "RAY_ADDRESS": cluster.address},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    scores, spread, gpus, refusal = [
        line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith("answer: ")
    ]
    assert json.loads(scores) == {
        f"q{n}": (
            [None, "worker_died"]
            if n == 3
            else [len(f"Item {n} has the value {n}.") + 15 * (n % 2), None]
        )
        for n in range(6)
    }
    assert deaths.read_text() == "xxx"
    home = ce.score(samples, judges=judges, metrics="faithfulness")
    assert json.loads(spread) == [
        [one.label for one in result.assessments] for result in home.results
    ]
    assert gpus == "a judge needs 0.5 GPUs (num_gpus), and the cluster has 0"
    assert f"claimeval {ce.__version__} is installed on the node" in refusal
    assert "and this run is of 0.0.1" in refusal


def test_what_an_engine_cannot_do_is_refused() -> None:
    for given in ({"batch": True}, {"offline": True}, {"shard": "1/2"}):
        with pytest.raises(UsageError, match=f"--{next(iter(given))} cannot be used with --engine"):
            RunOptions(engine="ray", **given)
    with pytest.raises(UsageError, match="engine: 'dask'; it is ray, or ray://HOST:PORT"):
        RunOptions(engine="dask")
