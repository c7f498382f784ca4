"""The pytest plugin with the fixture `claimeval`.

pytest loads this module in every session of an environment with claimeval. No other module of
claimeval is imported before the fixture judges an answer.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from claimeval.api.data import Data, Metrics
    from claimeval.api.jobs import Judges, JudgeSpec
    from claimeval.api.run import Run
    from claimeval.evaluation.manifest import Manifest
    from claimeval.types.gates import Gates
    from claimeval.types.options import RunOptions
    from claimeval.types.progress import Progress
    from claimeval.types.records import Document, SampleResult

NOTE = "answers that tests of a pytest session judged, no sample of real questions"
"""Note in the manifest of the run directory of a session."""
OFFLINE = "--claimeval-offline: only stored replies were used; run these tests once without it"
UNDEFINED = "undefined"
T = TypeVar("T")
FAILED_CALLS = 3
"""Messages of failed calls that a failed test shows."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixture `claimeval`."""
    group = parser.getgroup("claimeval", "answers judged by the fixture `claimeval`")
    group.addoption(
        "--claimeval-judge",
        metavar="JUDGE",
        help=(
            "Judge for tests that name none: openai:MODEL, openai:MODEL@URL, local:lexical, or a"
            " YAML file."
        ),
    )
    group.addoption(
        "--claimeval-offline",
        action="store_true",
        help="Use stored replies only; a score that needs another reply is undefined and fails.",
    )
    group.addoption(
        "--claimeval-out",
        metavar="DIR",
        help=(
            "Run directory for all answers that the session judged, with report.html. Default: in"
            " pytest's cache."
        ),
    )
    parser.addini(
        "claimeval_judge",
        "Judge for tests that name none, as --claimeval-judge; a YAML file relative to this file.",
    )


@pytest.fixture(scope="session")
def claimeval(request: pytest.FixtureRequest) -> Claimeval:
    """Judge answers: `claimeval.check(answer, contexts=...).assert_at_least(faithfulness=0.9)`, or
    a data set with `claimeval.score(data)`. A failed test shows the claims that are not
    supported."""
    return _session(request.config)


@dataclass
class _JobResults:
    """Results with the same settings, which are one run."""

    manifest: Manifest
    results: dict[str, SampleResult] = field(default_factory=dict)
    """By id."""


@dataclass(frozen=True)
class _JudgedTest:
    """Scores and claims of one call of the fixture in a test."""

    scores: Mapping[str, str]
    """By name of the property."""
    claims: Sequence[str]
    """Claims that are not supported, in words."""


def _gates(settings: dict[str, Any]) -> Gates | None:
    """Take the keywords of gates out of the arguments of a door, and return them as gates."""
    from dataclasses import fields

    from claimeval.types.gates import Gates

    names = [field.name for field in fields(Gates)]
    given = {name: settings.pop(name) for name in names if name in settings}
    if not given:
        gates: Gates | None = settings.pop("gates", None)
        return gates
    return Gates(**given)


def _passed(run: Run) -> Run:
    """Return the run. Raises AssertionError if it failed a gate."""
    __tracebackhide__ = True
    failed = [f"gate failed: {gate.says}" for gate in run.record.gates if gate.failed]
    if failed:
        raise AssertionError("\n".join([*failed, *run.worst_claims()]))
    return run


class Claimeval:
    """The fixture `claimeval`: the functions of claimeval for one test session.

    The judge is that of the call, of `--claimeval-judge`, or of `claimeval_judge` in pytest's
    settings. Replies are cached, so that unchanged tests cost nothing.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._parts: list[_JobResults] = []
        self._judged: dict[str, list[_JudgedTest]] = {}
        """Calls of the fixture by test."""
        self._calls = self._cached = 0

    def __repr__(self) -> str:
        return "<fixture claimeval>"

    def check(
        self,
        answer: str,
        contexts: Sequence[str | Document] = (),
        *,
        judge: JudgeSpec | None = None,
        timeout: float = 300.0,
        options: RunOptions | None = None,
        **settings: Any,
    ) -> SampleResult:
        """Judge one answer.

        Args:
            answer: The answer.
            contexts: The retrieved texts.
            judge: The judge; None for the judge of the session.
            timeout: Seconds for the whole check.
            options: How the judge is asked, and what may be spent.
            settings: Other arguments of `claimeval.check`, such as `question` or `metrics`.

        Returns:
            The result, with `assert_at_least(faithfulness=0.9)`; a score is None if calls failed.
        """
        from claimeval.api.check import acheck
        from claimeval.api.jobs import before_run, blocking

        manifests: list[Manifest] = []
        with (
            self._counted(options) as counted,
            before_run(lambda prepared: manifests.append(prepared.manifest)),
        ):
            judge = self._judge() if judge is None else judge
            result = blocking(
                acheck(answer, contexts, judge=judge, timeout=timeout, options=counted, **settings)
            )
        test = _current_test()
        number = len(self._judged.get(test, ())) + 1
        checked = _named(result, test if number == 1 else f"{test} [{number}]", test)
        self._keep(manifests[0], [checked])
        scores = {
            name: _figure(score.value, score.because) for name, score in result.scores.items()
        }
        self._record(
            test,
            scores,
            [*(claim.text for claim in result.failed_claims()), *_failed_calls(result)],
        )
        return result

    def score(
        self,
        data: Data,
        *,
        judges: Judges | None = None,
        options: RunOptions | None = None,
        **settings: Any,
    ) -> Run:
        """Judge the answers of a data set claim by claim, as `claimeval.score`.

        Args:
            data: As for `claimeval.score`.
            judges: As for `claimeval.score`. Default: `--claimeval-judge`, else the setting
                `claimeval_judge` of pytest.
            options: How judges are asked. The caps of the session hold as well.
            settings: Other arguments of `claimeval.score`, and those of `Run.gate` (`fail_under`,
                `fail_over`, `max_drop`, `baseline`, `max_missing`, `beyond_chance`) as gates: a
                failed one fails the test.
        """
        import claimeval as ce

        __tracebackhide__ = True
        judges = self._judge() if judges is None else judges
        gates = _gates(settings)
        run = self._run(
            lambda counted: ce.score(
                data,
                judges=judges,
                options=counted,
                gates=gates,
                **settings,
            ),
            options,
        )
        return _passed(run)

    def rate(
        self,
        data: Data,
        *,
        judges: Judges | None = None,
        options: RunOptions | None = None,
        **settings: Any,
    ) -> Run:
        """Rate whole answers, as `claimeval.rate`.

        Args:
            data: As for `claimeval.rate`.
            judges: As for `score`.
            options: As for `score`.
            settings: Other arguments of `claimeval.rate`, and gates as for `score`.
        """
        import claimeval as ce

        __tracebackhide__ = True
        judges = self._judge() if judges is None else judges
        gates = _gates(settings)
        run = self._run(
            lambda counted: ce.rate(
                data,
                judges=judges,
                options=counted,
                gates=gates,
                **settings,
            ),
            options,
        )
        return _passed(run)

    def measure(
        self, data: Data, metrics: Metrics, *, options: RunOptions | None = None, **settings: Any
    ) -> Run:
        """Compute metrics without a judge, as `claimeval.measure`.

        Args:
            data: As for `claimeval.measure`.
            metrics: As for `claimeval.measure`.
            options: As for `score`.
            settings: Other arguments of `claimeval.measure`.
        """
        import claimeval as ce

        return self._run(
            lambda counted: ce.measure(
                data,
                metrics,  # type: ignore[arg-type]
                options=counted,
                **settings,
            ),
            options,
        )

    def _run(self, door: Callable[[RunOptions], Run], options: RunOptions | None) -> Run:
        import claimeval as ce

        try:
            with self._counted(options) as counted:
                run = door(counted)
        except ce.StoppedEarly as stopped:
            if stopped.run is not None:
                self._keep_run(stopped.run)
            raise
        self._keep_run(run)
        return run

    def _keep_run(self, run: Run) -> None:
        """Keep the results of a run, and its scores for the report of the test."""
        from claimeval.metrics.scoring import figures

        test = _current_test()
        self._keep(
            run.manifest, [_named(result, f"{test}: {result.sample.id}", test) for result in run]
        )
        scores: dict[str, str] = {}
        for name, metric in run.summary.items():
            if metric.mean is None:
                scores[name] = _figure(metric.mean, metric.because)
            for figure, value in figures(name, metric).items():
                scores[figure] = f"{value:.4f}" if isinstance(value, float) else str(value)
        self._record(test, scores, run.worst_claims())

    def _record(self, test: str, scores: Mapping[str, str], claims: Sequence[str]) -> None:
        missing = self._offline and any("not_in_cache" in text for text in scores.values())
        lines = [*claims, OFFLINE] if missing else claims
        self._judged.setdefault(test, []).append(_JudgedTest(scores, lines))

    def _judge(self) -> str:
        from claimeval.types.errors import UsageError

        if judge := self._config.getoption("--claimeval-judge"):
            return str(judge)
        if not (judge := str(self._config.getini("claimeval_judge"))):
            raise UsageError(
                "no judge named; give judge=..., --claimeval-judge or claimeval_judge in pytest's"
                " settings. For example openai:gpt-5-mini, or local:lexical (words only, free)"
            )
        return str(self._config.rootpath / judge) if judge.endswith((".yaml", ".yml")) else judge

    @property
    def _offline(self) -> bool:
        return bool(self._config.getoption("--claimeval-offline"))

    @contextmanager
    def _counted(self, options: RunOptions | None) -> Iterator[RunOptions]:
        """Yield the options for the judges, and count the calls."""
        from claimeval.types.options import RunOptions

        options = options or RunOptions()
        report_progress = options.progress
        latest: list[Progress] = []

        def progress(now: Progress) -> None:
            latest[:] = [now]
            if report_progress:
                report_progress(now)

        try:
            yield replace(options, progress=progress, offline=options.offline or self._offline)
        finally:
            for last in latest:
                self._calls = self._calls + last.calls
                self._cached = self._cached + last.cached

    def _keep(self, manifest: Manifest, results: Sequence[SampleResult]) -> None:
        # Scores of other questions, settings or judges cannot be averaged together: they become a
        # run of their own, in a folder within that of the session.
        for part in self._parts:
            if joined := _joined(part.manifest, manifest):
                part.manifest = joined
                break
        else:
            self._parts.append(part := _JobResults(manifest))
        part.results |= {result.sample.id: result for result in results}

    # --- hooks that pytest calls once the fixture is used ---

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add scores as properties and, to a failed test, the claims that are not supported.

        A comparison with an undefined score, which is None, fails with the reason in its first
        line.
        """
        judged = self._judged.get(item.nodeid, [])
        if call.excinfo:
            _name_undefined(call.excinfo.value, judged)
        properties = _properties(judged)
        # pytest calls this for setup, call and teardown, and JUnit would list each score thrice.
        other_properties = [pair for pair in item.user_properties if pair[0] not in properties]
        item.user_properties[:] = [*other_properties, *properties.items()]
        report = yield
        if report.failed:
            claims = dict.fromkeys(itertools.chain.from_iterable(one.claims for one in judged))
            # The error of `assert_at_least` lists its claims itself, some with further lines.
            printed = report.longreprtext
            unprinted = [text for text in claims if text.partition("\n")[0] not in printed]
            if unprinted:
                report.sections.append(("claimeval", "\n".join(unprinted)))
        if report.when == "teardown":
            self._judged.pop(item.nodeid, None)
        return report

    # --- the end of the session ---

    def sent(self) -> list[object]:
        """Return the results of this xdist worker in builtin types, for its controller."""
        parts = [
            [
                part.manifest.model_dump_json(),
                [result.model_dump_json() for result in part.results.values()],
            ]
            for part in self._parts
        ]
        return [self._calls, self._cached, parts]

    def receive(self, sent: Any) -> None:
        """Add the results of an xdist worker."""
        from claimeval.evaluation.manifest import Manifest
        from claimeval.types.records import SampleResult

        calls, cached, parts = sent
        self._calls = self._calls + calls
        self._cached = self._cached + cached
        for manifest, results in parts:
            self._keep(
                Manifest.model_validate_json(manifest),
                list(map(SampleResult.model_validate_json, results)),
            )

    def write(self) -> list[str]:
        """Write the run directory of the session, and return the lines of its summary."""
        from claimeval.types.errors import ClaimevalError

        if not self._parts:
            return []
        answers = sum(len(part.results) for part in self._parts)
        lines = [
            f"answers judged: {answers}, calls: {self._calls}, replies from the cache:"
            f" {self._cached}"
        ]
        main_first = sorted(
            self._parts, key=lambda part: (part.manifest.job != "score", -len(part.results))
        )
        first, *later = map(_run_of, main_first)
        jobs = [run.job for run in (first, *later)]
        runs = {"": first}
        """The runs by the name of their folder in that of the first."""
        for n, run in enumerate(later, 2):
            runs[run.job if jobs.count(run.job) == 1 else f"{run.job}-{n}"] = run
        lines += _scores(runs)
        folder = self._folder()
        if folder is None:
            return lines
        try:
            _save(runs, folder)
        except (ClaimevalError, OSError) as error:
            return [*lines, f"no report: {error}"]
        return [*lines, f"report: {folder / 'report.html'}"]

    def _folder(self) -> Path | None:
        """Return the run directory; None if none is named and pytest keeps no cache."""
        if folder := self._config.getoption("--claimeval-out"):
            return Path(self._config.invocation_params.dir, folder)
        cache: pytest.Cache | None = getattr(self._config, "cache", None)
        return cache.mkdir("claimeval") if cache else None


_SESSION = pytest.StashKey[Claimeval]()
_LINES = pytest.StashKey[list[str]]()


def _session(config: pytest.Config) -> Claimeval:
    if (session := config.stash.get(_SESSION, None)) is None:
        session = config.stash[_SESSION] = Claimeval(config)
        config.pluginmanager.register(session, "claimeval-session")
    return session


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the results of an xdist worker."""
    if sent := getattr(node, "workeroutput", {}).get("claimeval"):
        _session(node.config).receive(sent)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the run directory, or send the results to the xdist controller."""
    config = session.config
    if (used := config.stash.get(_SESSION, None)) is None:
        return
    # Only workers of pytest-xdist have it, and what they put there must be builtin types.
    if (output := getattr(config, "workeroutput", None)) is not None:
        output["claimeval"] = used.sent()
    else:
        config.stash[_LINES] = used.write()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print what was judged, the number of calls, and the path of the report."""
    if lines := config.stash.get(_LINES, []):
        terminalreporter.section("claimeval")
        for line in lines:
            terminalreporter.line(line)


def _name_undefined(error: BaseException, judged: Sequence[_JudgedTest]) -> None:
    """Put undefined scores and their reasons before the message of a comparison with None."""
    # `assert result["faithfulness"] >= 0.8` says "'>=' not supported between instances of
    # 'NoneType' and 'float'", and neither which score nor why.
    if not (isinstance(error, TypeError) and "NoneType" in str(error)):
        return
    scores: dict[str, str] = {}
    for answer in judged:
        scores.update(answer.scores)
    undefined = [f"{name} is {text}" for name, text in scores.items() if text.startswith(UNDEFINED)]
    if undefined:
        error.args = (f"{', '.join(undefined)}: {error}",)


def _properties(judged: Sequence[_JudgedTest]) -> dict[str, str]:
    """Return the scores of a test as properties of its report; calls after the first have a
    number."""
    properties: dict[str, str] = {}
    for number, answer in enumerate(judged, 1):
        prefix = "claimeval." if number == 1 else f"claimeval[{number}]."
        properties |= {prefix + name: text for name, text in answer.scores.items()}
    return properties


def _current_test() -> str:
    """Return the id of the running test, or of the test whose fixtures are set up."""
    # pytest sets it to the id and the phase, as in `test_a.py::test_b (call)`; an id may have
    # parentheses itself.
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0] or "no test"


def _figure(value: float | None, because: str | None) -> str:
    return f"{UNDEFINED} ({because})" if value is None else f"{value:.4f}"


def _named(result: SampleResult, name: str, test: str) -> SampleResult:
    """Return the result under a name that is unique in the session, with its test in the
    metadata."""
    metadata = {**result.sample.metadata, "test": test}
    return result.model_copy(
        update={"sample": result.sample.model_copy(update={"id": name, "metadata": metadata})}
    )


def _failed_calls(result: SampleResult) -> list[str]:
    failed = dict.fromkeys(
        f"{call.judge}: {call.message}" for call in result.calls if call.failed and call.message
    )
    return list(failed)[:FAILED_CALLS]


def _joined(first: Manifest, second: Manifest) -> Manifest | None:
    """Return the manifest of both runs together, which may have different metrics; None if their
    settings differ."""
    if not first.is_alike(second, "job", "judges", "extractor", "panel", "settings", "cluster"):
        return None
    questions = {question.name: question for question in first.questions}
    if any(
        questions.setdefault(question.name, question) != question for question in second.questions
    ):
        return None
    # Other prompts for claims split an answer into other claims, whose counts cannot be added up.
    if _extraction(first) != _extraction(second):
        return None
    prompts = {prompt.id: prompt for prompt in (*first.prompts, *second.prompts)}
    asked_with = {
        judge: _union(first.asked_with.get(judge, ()), second.asked_with.get(judge, ()))
        for judge in {**first.asked_with, **second.asked_with}
    }
    return first.model_copy(
        update={
            "metrics": _union(first.metrics, second.metrics),
            "questions": tuple(questions.values()),
            "prompts": tuple(prompts.values()),
            "asked_with": asked_with,
            "notes": _union(first.notes, second.notes),
        }
    )


def _extraction(manifest: Manifest) -> set[str]:
    """Return the ids of the prompts that split answers into claims."""
    return {prompt.id for prompt in manifest.prompts if prompt.step == "extract"}


def _union(first: Sequence[T], second: Sequence[T]) -> tuple[T, ...]:
    """Return the values of both without repetitions, in order."""
    return tuple(dict.fromkeys((*first, *second)))


def _scores(runs: Mapping[str, Run]) -> list[str]:
    """Return a line for each metric of each run; of several runs with the judges, and with the
    folder where two have the same judges."""
    from claimeval.metrics.scoring import ends_and_kind

    judges: dict[str, str] = {}
    for name, run in runs.items():
        listed = "".join(f", {judge.name}" for judge in run.manifest.judges)
        judges[name] = listed if len(runs) > 1 else ""
    lines: list[str] = []
    for folder, run in runs.items():
        who = judges[folder]
        place = f", {folder}" if folder and list(judges.values()).count(who) > 1 else ""
        for name, metric in run.summary.items():
            value = "undefined" if metric.mean is None else metric.mean_in_words
            lines.append(f"{name} {value}, {ends_and_kind(metric)}, n {metric.n}{who}{place}")
    return lines


def _save(runs: Mapping[str, Run], folder: Path) -> None:
    """Write the first run with the others in its folder, in place of those of a session before."""
    from claimeval.api.run import Run
    from claimeval.runs.directory import MANIFEST, attached, load_manifest

    for old in attached(folder).values():
        # Only runs that a session has written are removed: `--claimeval-out` may name a folder with
        # others.
        if NOTE in load_manifest(old).notes:
            shutil.rmtree(old)
    is_ours = (folder / MANIFEST).exists() and NOTE in load_manifest(folder).notes
    for name, run in runs.items():
        run.save(folder / name, overwrite=is_ours or bool(name))
    if len(runs) > 1:
        Run.load(folder).report(folder / "report.html")  # again, with the attached runs


def _run_of(part: _JobResults) -> Run:
    """Return the run of a part, with results in the order of their names and a score for every
    metric."""
    from claimeval.api.run import Run
    from claimeval.evaluation.manifest import DataSource
    from claimeval.evaluation.summary import SummaryBuilder
    from claimeval.types.records import Score

    manifest = part.manifest.model_copy(
        update={
            "data": DataSource(samples=len(part.results)),
            "notes": (*part.manifest.notes, NOTE),
            "created": None,
        }
    )
    units = {}
    for result in part.results.values():
        for name, score in result.scores.items():
            units[name] = score.unit
    not_asked = {
        name: Score.undefined("not_asked", units.get(name, "share")) for name in manifest.names
    }
    complete = (
        result.model_copy(
            update={
                "scores": {name: result.scores.get(name, not_asked[name]) for name in not_asked}
            }
        )
        # pytest-xdist returns results in the order in which its workers end; the files are the same
        # as without it.
        for _, result in sorted(part.results.items())
    )
    tallies = SummaryBuilder(manifest)
    results = tuple(tallies.each(complete))
    return Run(manifest, tallies.summary(), results)
