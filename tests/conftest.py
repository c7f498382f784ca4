"""For every test: no network but loopback, no proxies, a claimeval home of its own, and keys that
it must not leave."""

from __future__ import annotations

import gc
import importlib
import ipaddress
import itertools
import os
import socket
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import pytest

from benchmarks.loopback import Judge, Options, ThreadHandle, claim_judge, serve_in_thread
from benchmarks.loopback.dialects import Name
from tests.canary import CANARY, KEY_VARIABLES, files_with_a_key, holds_a_key

UNSET_PREFIXES = ("OPENAI_", "AZURE_OPENAI_", "MISTRAL_", "ANTHROPIC_", "CLAIMEVAL_")
KEPT = {"CLAIMEVAL_DATA"}
"""Read by tests/shared_data.py."""
PROXIES = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}

attempts: list[str] = []
"""Connections that were refused; the test that tried fails even where the refusal was caught."""


class NetworkForbidden(RuntimeError):
    """A test tried to reach something that is not this machine."""


def is_local(host: object) -> bool:
    """Whether a host name or address is loopback; an empty or missing host means this machine."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


def check(host: object, how: str) -> None:
    if not is_local(host):
        attempts.append(f"{how} {host}")
        raise NetworkForbidden(
            f"tests reach loopback addresses only, this one tried to {how} {host!r}"
        )


def guard_sockets() -> None:
    """Makes every connection and name look-up of this process that is not local raise."""
    internet = (socket.AF_INET, socket.AF_INET6)

    def guarded(name: str) -> Callable[..., Any]:
        original = getattr(socket.socket, name)

        def call(self: socket.socket, *args: Any) -> Any:
            if self.family in internet and args and isinstance(args[-1], tuple):
                check(args[-1][0], name)
            return original(self, *args)

        return call

    for name in ("connect", "connect_ex", "sendto"):
        setattr(socket.socket, name, guarded(name))

    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        check(host, "look up")
        return look_up(host, *args, **kwargs)

    socket.getaddrinfo = getaddrinfo


def pytest_configure() -> None:
    """Before anything is collected, so that imports and session fixtures are covered too."""
    from hypothesis import HealthCheck, settings  # after pytest has it rewritten

    settings.register_profile(
        "tests", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50
    )
    settings.load_profile("tests")
    guard_sockets()
    # Tests run side by side: each with a thread a core, numpy's threads wait for one another.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Every worker and every interpreter that a test starts would else compile the package and
    # rewrite the tests anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    for name in list(os.environ):
        if (name.startswith(UNSET_PREFIXES) and name not in KEPT) or name.upper() in PROXIES:
            del os.environ[name]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collects without looking for garbage, a fifth of the time; then looks past what was
    collected, more rarely."""
    gc.disable()
    if "PYTEST_XDIST_WORKER" in os.environ and session.config.args == ["tests"]:
        _import_a_part_first()
    collected = yield
    gc.freeze()
    gc.set_threshold(20_000, 10, 20)
    gc.enable()
    return collected


def _import_a_part_first() -> None:
    """Import the modules of tests, and thereby what they need, in another order in each worker. In
    a new checkout nothing is compiled, and all workers would else compile the same at once."""
    root = Path(__file__).parents[1]
    files = sorted((root / "tests").rglob("test_*.py"))
    number = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    start = len(files) * number // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for file in files[start:] + files[:start]:
        # What fails or is skipped here does so again where it is collected.
        with suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))


FIRST = ("distributed/test_ray.py", "providers/local/", "recordings/")
"""What takes longest begins first, on one worker: others take up what is after it. Some of each
need torch."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts what takes longest before the rest, which keeps its order."""
    items.sort(
        key=lambda item: next(
            (n for n, name in enumerate(FIRST) if f"tests/{name}" in item.nodeid), len(FIRST)
        )
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Two more than there are cores: tests wait for servers and other processes over a third of
    their time."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else (os.cpu_count() or 1) + 2


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fails a test that printed or logged a key."""
    report = yield
    if any(holds_a_key(text) for _, text in report.sections):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} printed or logged a key"
    return report


@pytest.fixture(autouse=True, scope="session")
def _no_file_holds_a_key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Looks through all that the tests left behind."""
    yield
    assert files_with_a_key(tmp_path_factory.getbasetemp()) == []


@pytest.fixture(autouse=True, scope="session")
def _no_store_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A claimeval home and cache for what fixtures of all modules do."""
    with _home(tmp_path_factory):
        yield


@pytest.fixture(autouse=True, scope="module")
def _no_store_of_other_modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same for what fixtures of a module do, which else would find the replies of the modules
    before it; each test has its own (`_sealed`)."""
    with _home(tmp_path_factory):
        yield


@contextmanager
def _home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Set a new claimeval home and cache."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAIMEVAL_HOME", str(home))
        patch.setenv("CLAIMEVAL_CACHE", str(home / "cache"))
        yield


homes = itertools.count()


@pytest.fixture(autouse=True)
def _sealed(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """A claimeval home and cache of the test's own, keys; fails a test that tried the network."""
    home = tmp_path_factory.getbasetemp() / f"home-{next(homes)}"
    monkeypatch.setenv("CLAIMEVAL_HOME", str(home))
    monkeypatch.setenv("CLAIMEVAL_CACHE", str(home / "cache"))
    for variable in KEY_VARIABLES:
        monkeypatch.setenv(variable, CANARY)
    attempts.clear()
    yield
    assert not attempts, f"the test tried to reach the network: {attempts}"


@pytest.fixture
def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment in which no key is set."""
    for variable in KEY_VARIABLES:
        monkeypatch.delenv(variable)


@pytest.fixture
def quick_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are asked after a hundred times a second at most, in place of every few seconds."""
    from claimeval.execution.batch import polling

    monkeypatch.setattr(polling, "MIN_INTERVAL", 0.01)


class StartServer(Protocol):
    """Starts one more in-process server; all are stopped when the test ends."""

    def __call__(
        self,
        options: Options | None = None,
        *,
        judge: Judge | None = None,
        dialect: Name = "openai",
    ) -> ThreadHandle: ...


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """``start_server(Options(...), judge=..., dialect="mistral")`` for servers with settings of
    their own."""
    with ExitStack() as servers:

        def start(
            options: Options | None = None, *, judge: Judge | None = None, dialect: Name = "openai"
        ) -> ThreadHandle:
            return servers.enter_context(serve_in_thread(options, judge=judge, dialect=dialect))

        yield start


@pytest.fixture
def server(start_server: StartServer) -> ThreadHandle:
    """A server whose judge goes by the rule of `claim_judge`."""
    return start_server(judge=claim_judge.answer)


@pytest.fixture
def openai_server(start_server: StartServer) -> ThreadHandle:
    """A server that echoes; ``.url`` is AsyncOpenAI's base_url, ``.server.judge`` may be
    exchanged."""
    return start_server(dialect="openai")


@pytest.fixture
def mistral_server(start_server: StartServer) -> ThreadHandle:
    """A server that echoes; ``.url`` is Mistral's server_url, ``.server.judge`` may be
    exchanged."""
    return start_server(dialect="mistral")


@pytest.fixture(scope="session")
def page_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What is set while a page runs: a provider on loopback, a price of its models, and a reply
    cache."""
    from tests import page_judge

    folder = tmp_path_factory.mktemp("environment")
    with serve_in_thread(judge=page_judge.answer) as server:
        models = ("gpt-5-mini", "gpt-5")
        rows = [f"openai:{model}@{server.url}: {{input: 0.25, output: 2.00}}\n" for model in models]
        (folder / "prices.yaml").write_text("".join(rows), encoding="utf-8")
        yield {
            "OPENAI_API_KEY": "not-a-key",
            "OPENAI_BASE_URL": server.url,
            "CLAIMEVAL_CACHE": str(folder / "cache"),
            "CLAIMEVAL_PRICES": str(folder / "prices.yaml"),
        }


@pytest.fixture(scope="session")
def page_template(
    page_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with the files and the runs that pages name, and the replies of these runs. Modules
    copy it: making it takes seconds."""
    from tests import page_files

    folder = tmp_path_factory.mktemp("pages")
    page_files.write(folder)
    cache = {"CLAIMEVAL_CACHE": str(folder / page_files.CACHE)}
    page_files.runs(folder, page_environment | cache)
    return folder
