"""The pytest plugin in sessions of pytest: green, red, offline, in parallel, in JUnit files, and
asleep."""

from __future__ import annotations

import json
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.testing import ScriptedJudge
from tests.first_day.servers import judged, serve

pytest_plugins = "pytester"

PLUGIN = "claimeval.integrations.pytest_plugin"
HEIGHT = "test_bot.py::test_height"
TESTS = """
from claimeval.testing import ScriptedJudge

LABELS = {"It is 58 m high.": "supported", "It is red.": "contradicted"}
JUDGE = ScriptedJudge(LABELS, default="not_found")
DOCS = ["The tower is 58 m high.", "It was built by Swedes."]

def test_height(claimeval):
    claimeval.check("It is 58 m high.", DOCS, judge=JUDGE).assert_at_least(faithfulness=0.9)
"""
RED = """
def test_colour(claimeval):
    result = claimeval.check("It is 58 m high. It is red.", DOCS, judge=JUDGE)
    result.assert_at_least(faithfulness=0.9)

def test_colour_by_a_plain_assertion(claimeval):
    result = claimeval.check("It is 58 m high. It is blue.", DOCS, judge=JUDGE)
    assert result.faithfulness >= 0.9
"""
ROWS = """
ROWS = [
    {"id": "a", "question": "How high?", "answer": "It is 58 m high.", "contexts": DOCS},
    {
        "id": "b",
        "question": "What colour?",
        "answer": "It is red. It is 58 m high.",
        "contexts": DOCS,
    },
]
"""


@pytest.fixture(autouse=True, scope="module")
def _loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a session in this process loads it also unloads, and numpy does not bear that; so all is
    there before."""
    row = {
        "id": "a",
        "question": "?",
        "answer": "It.",
        "contexts": ["It."],
        "reference_answers": ["It."],
    }
    run = ce.score([row], judges=ScriptedJudge())
    run.save(tmp_path_factory.mktemp("loaded") / "run")
    ce.check("It.", ["It."], judge="local:lexical")
    ce.measure([row], "token_recall")


@pytest.fixture(autouse=True)
def _plain_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other plugins, and a summary as at home: where CI is set, pytest repeats whole messages
    there."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("BUILD_NUMBER", raising=False)


def session(pytester: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    """Run these tests in a session of their own, in this process."""
    pytester.makepyfile(test_bot=tests)
    return pytester.runpytest_inprocess("-p", PLUGIN, "--claimeval-out", "out", *options)


def of_session(pytester: pytest.Pytester) -> ce.Run:
    """The run directory that a session wrote."""
    return ce.Run.load(pytester.path / "out")


def test_a_green_session_has_a_run_directory_and_costs_nothing_the_second_time(
    pytester: pytest.Pytester,
) -> None:
    done = session(pytester, TESTS)
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(
        [
            "answers judged: 1, calls: 2, replies from the cache: 0",
            "faithfulness 1.00, *, n 1",
            "report: *out/report.html",
        ]
    )
    run = of_session(pytester)
    (result,) = run
    assert (result.sample.id, result.sample.metadata) == (HEIGHT, {"test": HEIGHT})
    assert run["faithfulness"].mean == 1.0
    assert (pytester.path / "out" / "report.html").read_text().startswith("<!doctype html>")
    session(pytester, TESTS).stdout.fnmatch_lines(
        ["answers judged: 1, calls: 0, replies from the cache: 2"]
    )
    assert run == of_session(pytester)


def test_a_red_session_prints_the_claims_with_verdict_and_evidence(
    pytester: pytest.Pytester,
) -> None:
    done = session(pytester, TESTS + RED)
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(
        [
            "E       AssertionError: faithfulness is 0.50 (1 of 2 claims), not at least 0.9",
            "E       contradicted: It is red.",
            "E           scripted: scripted",
            "E           contexts 1: The tower is 58 m high.",
            "*assert result.faithfulness >= 0.9",
            "*- claimeval -*",
            "not_found: It is blue.",
            "    scripted: scripted",
            "    contexts 1: The tower is 58 m high.",
        ]
    )
    assert done.stdout.str().count("contradicted: It is red.") == 1, (
        "what the assertion says is not said again"
    )
    assert "assert_at_least(self" not in done.stdout.str(), "the code of claimeval is not shown"
    assert [result.faithfulness for result in of_session(pytester)] == [0.5, 0.5, 1.0]


def test_a_failed_gate_fails_the_test(pytester: pytest.Pytester) -> None:
    tests = """
import claimeval as ce

def test_held(claimeval):
    limits = {"faithfulness": 0.75}
    run = claimeval.score(ROWS, judges=JUDGE, metrics="faithfulness", fail_under=limits)
    assert [gate.outcome for gate in run.record.gates] == ["passed"]

def test_lost(claimeval):
    main = claimeval.score([{**row, "answer": "It is 58 m high."} for row in ROWS], judges=JUDGE,
        metrics="faithfulness", out="main")
    claimeval.score(ROWS, judges=JUDGE, metrics="faithfulness", baseline="main",
        max_drop={"faithfulness": 0.1})

def test_gates(claimeval):
    gates = ce.Gates(fail_over={"faithfulness": 0.7})
    claimeval.score(ROWS, judges=JUDGE, metrics="faithfulness", gates=gates)
"""
    done = session(pytester, TESTS + ROWS + tests)
    done.assert_outcomes(passed=2, failed=2)
    done.stdout.fnmatch_lines(
        [
            "E       AssertionError: gate failed: faithfulness is 0.25 lower than in *main,"
            " more than the 0.1 allowed*",
            "E       AssertionError: gate failed: faithfulness is 0.75, above 0.7",
        ]
    )


def test_a_data_set_is_held_to_its_mean_interval_or_counts(pytester: pytest.Pytester) -> None:
    tests = """
def test_mean(claimeval):
    claimeval.score(ROWS, judges=JUDGE, metrics="faithfulness").assert_at_least(faithfulness=0.75)

def test_low(claimeval):
    run = claimeval.score(ROWS, judges=JUDGE, metrics="faithfulness")
    run.assert_at_least("low", faithfulness=0.74)

def test_count(claimeval):
    run = claimeval.score(ROWS, judges=JUDGE, metrics="faithfulness")
    run.assert_at_least("hits", faithfulness=3)
"""
    done = session(pytester, TESTS + ROWS + tests)
    done.assert_outcomes(passed=2, failed=2)
    done.stdout.fnmatch_lines(
        [
            "E       AssertionError: faithfulness: low is *, below 0.74",
            "E       b: contradicted: It is red.",
            "E       AssertionError: faithfulness: hits is 2, below 3",
        ]
    )
    assert "test_bot.py::test_low: b" in [result.sample.id for result in of_session(pytester)]


def test_offline_without_replies_a_score_is_undefined_and_fails_with_its_reason(
    pytester: pytest.Pytester,
) -> None:
    done = session(pytester, TESTS, "--claimeval-offline")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "E       AssertionError: faithfulness is undefined (not_in_cache: *), not at least 0.9",
            "--claimeval-offline: only stored replies were used; run these tests once without it",
        ]
    )
    session(pytester, TESTS).assert_outcomes(passed=1)
    session(pytester, TESTS, "--claimeval-offline").assert_outcomes(passed=1)


def test_a_comparison_with_an_undefined_score_fails_with_the_reason_in_its_first_line(
    pytester: pytest.Pytester,
) -> None:
    tests = (
        TESTS
        + """
def test_plain(claimeval):
    assert claimeval.check("It is 58 m high.", DOCS, judge=JUDGE).faithfulness >= 0.9

def test_none_of_ones_own(claimeval):
    claimeval.check("It is red.", DOCS, judge="local:lexical")
    assert None >= 1
"""
    )
    done = session(pytester, tests, "--claimeval-offline")
    done.stdout.fnmatch_lines(
        [
            (
                "E       TypeError: faithfulness is undefined (not_in_cache): '>=' not supported"
                " between instances of *"
            ),
            "E       TypeError: '>=' not supported between instances of 'NoneType' and 'int'",
        ]
    )


def test_the_summary_names_the_judge_of_each_run_and_no_interval_where_there_is_none(
    pytester: pytest.Pytester,
) -> None:
    tests = """
def test_nothing_said(claimeval):
    assert claimeval.check("I do not know.", DOCS, judge="local:lexical").faithfulness is None
"""
    session(pytester, TESTS + tests).stdout.fnmatch_lines(
        [
            "faithfulness 1.00, no interval, n 1, scripted",
            "faithfulness undefined, no interval, n 0, local:lexical",
        ]
    )


def test_a_second_run_of_the_same_judge_is_named_with_its_directory(
    pytester: pytest.Pytester,
) -> None:
    tests = """
def test_other_prompt(claimeval):
    claimeval.score(ROWS, judges=JUDGE, metrics="faithfulness", assess_prompt="binary")
"""
    done = session(pytester, TESTS + ROWS + tests)
    done.stdout.fnmatch_lines(
        ["faithfulness *, n 2, scripted", "faithfulness *, n 1, scripted, score-2"]
    )
    assert list(of_session(pytester).attached) == ["score-2"]


def test_a_wrong_argument_is_shown_without_another_error_before_it(
    pytester: pytest.Pytester,
) -> None:
    tests = """
def test_one_text(claimeval):
    claimeval.check("It is 58 m high.", "The tower is 58 m high.", judge=JUDGE)
"""
    done = session(pytester, TESTS + tests)
    done.stdout.fnmatch_lines(
        ["E*UsageError: contexts: one text; give a list of texts, as in [[]text]"]
    )
    done.stdout.no_fnmatch_line("*no running event loop*")


def test_parallel_workers_write_one_run_directory(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    done = session(
        pytester, TESTS + RED, "-p", "xdist", "-n", "2", f"--junit-xml={tmp_path / 'tests.xml'}"
    )
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(["answers judged: 3, calls: 6, replies from the cache: 0"])
    assert [(result.sample.id, result.faithfulness) for result in of_session(pytester)] == [
        ("test_bot.py::test_colour", 0.5),
        ("test_bot.py::test_colour_by_a_plain_assertion", 0.5),
        ("test_bot.py::test_height", 1.0),
    ]
    values = [
        one.attrib["value"] for one in ElementTree.parse(tmp_path / "tests.xml").iter("property")
    ]
    assert sorted(values) == ["0.5000", "0.5000", "1.0000"]


def test_scores_are_properties_in_the_junit_file(pytester: pytest.Pytester, tmp_path: Path) -> None:
    tests = """
def test_three(claimeval):
    for answer in ("It is 58 m high.", "It is red."):
        claimeval.check(answer, DOCS, judge=JUDGE)
    claimeval.score(ROWS, judges=JUDGE, metrics="faithfulness")
"""
    session(
        pytester, TESTS + ROWS + tests, f"--junit-xml={tmp_path / 'tests.xml'}"
    ).assert_outcomes(passed=2)
    case = ElementTree.parse(tmp_path / "tests.xml").findall(".//testcase")[1]
    found = {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
    assert found["claimeval.faithfulness"] == "1.0000"
    assert found["claimeval[2].faithfulness"] == "0.0000"
    assert (found["claimeval[3].faithfulness"], found["claimeval[3].faithfulness.n"]) == (
        "0.7500",
        "2",
    )


def test_bounds_stand_for_a_withdrawn_interval(pytester: pytest.Pytester, tmp_path: Path) -> None:
    """A claim of row b has no label of two in it and three in all: the mean of these two samples is
    between 0.75 and 1, that of others unknown."""
    tests = """
def test_doubt(claimeval):
    judge = ScriptedJudge({"It is 58 m high.": "supported"}, default="unsure")
    run = claimeval.score(ROWS, judges=judge, metrics="faithfulness")
    run.assert_at_least("low", faithfulness=0.76)
"""
    done = session(
        pytester, TESTS + ROWS + tests, "-k", "doubt", f"--junit-xml={tmp_path / 'tests.xml'}"
    )
    done.assert_outcomes(failed=1, deselected=1)
    done.stdout.fnmatch_lines(
        ["E*faithfulness: low is 0.00, below 0.76", "faithfulness 1.00, bounds 0.00 to 1.00, n 2"]
    )
    found = {
        one.attrib["name"]: one.attrib["value"]
        for one in ElementTree.parse(tmp_path / "tests.xml").iter("property")
    }
    assert (found["claimeval.faithfulness.low"], found["claimeval.faithfulness.high"]) == (
        "0.0000",
        "1.0000",
    )


def test_answers_that_were_asked_about_in_other_ways_are_a_run_beside(
    pytester: pytest.Pytester,
) -> None:
    """Other metrics are the same run; another judge, or another job, is another."""
    tests = """
def test_gold(claimeval):
    gold = {"reference_answers": "58 m", "metrics": "correctness"}
    claimeval.check("It is 58 m high.", judge=JUDGE, **gold)

def test_other_judge(claimeval):
    strict = ScriptedJudge(default="not_found", name="strict")
    claimeval.check("It is 58 m high.", DOCS, judge=strict)

def test_words(claimeval):
    rows = [{**ROWS[0], "reference_answers": ["58 m"]}]
    claimeval.measure(rows, "token_recall").assert_at_least(token_recall=1)
"""
    session(pytester, TESTS + ROWS + tests).assert_outcomes(passed=4)
    run = of_session(pytester)
    assert [result.sample.id for result in run] == [
        "test_bot.py::test_gold",
        "test_bot.py::test_height",
    ]
    assert run["faithfulness"].missing == {"not_asked": 1}
    assert (run["correctness"].mean, run["correctness"].failure_rate) == (1.0, 0.0)
    others = {name: [result.sample.id for result in other] for name, other in run.attached.items()}
    assert others == {
        "measure": ["test_bot.py::test_words: a"],
        "score-2": ["test_bot.py::test_other_judge"],
    }
    session(pytester, TESTS)
    assert dict(of_session(pytester).attached) == {}, "those of an earlier session are gone"


def test_an_answer_and_a_data_set_that_one_judge_read_are_one_run(
    pytester: pytest.Pytester,
) -> None:
    """Only the run of the data set has what was learned about the judge: that it honors the JSON
    schema."""
    tests = """
def test_answer(claimeval):
    claimeval.check("Fact one.", ["Fact one."], question="Which?", judge={judge!r})
def test_data(claimeval):
    rows = [{{"question": "Which?", "answer": "Fact two.", "contexts": ["Fact two."]}}]
    claimeval.score(rows, judges={judge!r}, metrics="faithfulness")
"""
    with serve(judged) as server:
        done = session(pytester, tests.format(judge=f"openai:m@{server.url}"))
    (line,) = [line for line in done.outlines if line.startswith("faithfulness ")]
    assert line.endswith("n 2")


def test_a_folder_of_others_is_not_written_to(pytester: pytest.Pytester) -> None:
    pytester.mkdir("out").joinpath("mine.txt").write_text("mine")
    done = session(pytester, TESTS)
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["no report: *out is not empty and holds no run; give another --out"])
    assert [path.name for path in (pytester.path / "out").iterdir()] == ["mine.txt"]


def test_without_a_cache_and_a_folder_there_is_no_report(pytester: pytest.Pytester) -> None:
    done = session(pytester, TESTS, "-p", "no:cacheprovider", "--claimeval-out=")
    done.assert_outcomes(passed=1)
    done.stdout.no_fnmatch_line("*report:*")


def test_the_judge_is_that_of_the_call_the_option_or_the_settings(
    pytester: pytest.Pytester,
) -> None:
    tests = """
def test_it(claimeval):
    claimeval.check("It is high.", ["It is high."]).assert_at_least(faithfulness=0.9)
"""
    done = session(pytester, tests)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["E*UsageError: no judge named; give judge=..., --claimeval-judge or *"]
    )
    session(pytester, tests, "--claimeval-judge", "local:lexical").assert_outcomes(passed=1)
    pytester.makeini("[pytest]\nclaimeval_judge = judges/words.yaml")
    pytester.mkdir("judges").joinpath("words.yaml").write_text("model: local:lexical")
    session(pytester, tests).assert_outcomes(passed=1)
    assert of_session(pytester).manifest.judges[0].name == "words"


def test_the_plugin_is_an_entry_point() -> None:
    project = tomllib.loads(
        (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    assert project["entry-points"]["pytest11"] == {"claimeval": PLUGIN}


def test_the_options_are_in_the_help(pytester: pytest.Pytester) -> None:
    session(pytester, "", "--help").stdout.fnmatch_lines(
        [
            "*--claimeval-judge=JUDGE",
            "*--claimeval-offline*",
            "*--claimeval-out=DIR*",
            "*claimeval_judge (string):*",
        ]
    )


def test_a_session_that_does_not_use_the_fixture_imports_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
import json, sys

def test_it():
    with open("loaded.json", "w") as file:
        ours = ("claimeval", "pydantic", "openai")
        json.dump([name for name in sys.modules if name.split(".")[0] in ours], file)
""")
    pytester.runpytest_subprocess("-p", PLUGIN).assert_outcomes(passed=1)
    loaded = json.loads((pytester.path / "loaded.json").read_text())
    assert sorted(loaded) == ["claimeval", "claimeval.integrations", PLUGIN]
