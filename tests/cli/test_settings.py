"""Settings of a project: which file, variable or option counts, what is refused, and what commands
say about it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import claimeval as ce
from tests.command_line import Done, call

SAMPLE = (
    '{"id": "1", "question": "Q?", "answer": "The moon is cheese.", "contexts": ["The moon is'
    ' rock."]}\n'
)
LOCAL = 'judge = "local:lexical"\nmetrics = "faithfulness"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a folder `sub`, in which commands run."""
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub" / "s.jsonl").write_text(SAMPLE)
    return tmp_path


def score(project: Path, *options: str, **environment: str) -> Done:
    return call(
        "score", "s.jsonl", "-o", "run", *options, folder=project / "sub", **environment, exits=None
    )


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("claimeval.toml", LOCAL),
        ("pyproject.toml", f'[project]\nname = "p"\n[tool.claimeval]\n{LOCAL}'),
    ],
)
def test_the_nearest_file_names_judge_and_metrics_and_the_run_says_so(
    project: Path, file: str, text: str
) -> None:
    (project / file).write_text(text)
    done = score(project)
    assert done.returncode == 0, done.stderr
    path = os.path.join("..", file)
    assert f"claimeval: from {path}: judge local:lexical, metrics faithfulness\n" in done.stderr
    assert [judge.name for judge in ce.Run.load(project / "sub" / "run").manifest.judges] == [
        "local:lexical"
    ]


def test_json_has_the_source_of_each_setting_and_quiet_prints_no_line(project: Path) -> None:
    (project / "claimeval.toml").write_text(LOCAL)
    done = score(project, "--json", "-q", CLAIMEVAL_MAX_COST="3")
    source = os.path.join("..", "claimeval.toml")
    sources = {"judge": source, "metrics": source, "max-cost": "$CLAIMEVAL_MAX_COST"}
    assert json.loads(done.stdout)["settings_from"] == sources
    assert "from" not in done.stderr


def test_an_option_comes_before_the_environment_and_this_before_the_file(project: Path) -> None:
    (project / "claimeval.toml").write_text('judge = "local:nothing"\nmetrics = "coverage"\n')
    environment = {
        "CLAIMEVAL_JUDGE": "local:lexical,local:nothing",
        "CLAIMEVAL_METRICS": "context_recall",
    }
    done = score(project, "-j", "local:lexical", "--metrics", "faithfulness", **environment)
    assert done.returncode == 0, done.stderr
    assert "from" not in done.stderr
    done = score(project, "--metrics", "faithfulness", **environment)
    assert "claimeval: from $CLAIMEVAL_JUDGE: judge local:lexical, local:nothing\n" in done.stderr
    done = score(project, "--metrics", "faithfulness")
    assert "judge local:nothing" in done.stderr


def test_a_file_further_up_counts_only_inside_the_repository(project: Path) -> None:
    (project / "claimeval.toml").write_text(LOCAL)
    (project / "sub" / ".git").write_text("gitdir: elsewhere\n")
    assert "no judge named" in score(project).stderr
    (project / "sub" / ".git").unlink()
    (project / ".git").rmdir()
    assert "no judge named" in score(project).stderr
    (project / "sub" / "claimeval.toml").write_text(LOCAL)
    assert score(project).returncode == 0


def test_judge_files_and_prompts_are_relative_to_the_file(project: Path) -> None:
    (project / "judge.yaml").write_text("model: local:lexical\nname: words\n")
    (project / "claimeval.toml").write_text('judge = ["judge.yaml"]\nmetrics = ["faithfulness"]\n')
    assert score(project).returncode == 0
    assert [judge.name for judge in ce.Run.load(project / "sub" / "run").manifest.judges] == [
        "words"
    ]


def test_a_run_is_judged_again_as_it_was_and_its_caps_hold(project: Path) -> None:
    assert score(project, "-j", "local:lexical", "-m", "faithfulness").returncode == 0
    (project / "claimeval.toml").write_text(
        'judge = "openai:other"\nmetrics = "coverage"\nmax-cost = 0\n'
    )
    done = call("rejudge", "run", "-o", "again", folder=project / "sub")
    assert f"from {os.path.join('..', 'claimeval.toml')}: max-cost 0\n" in done.stderr
    assert ce.Run.load(project / "sub" / "again").manifest.names == ("faithfulness",)


def test_plan_takes_the_settings_of_the_command_that_it_plans(project: Path) -> None:
    (project / "claimeval.toml").write_text(LOCAL)
    done = call("plan", "s.jsonl", folder=project / "sub")
    assert "judge local:lexical" in done.stderr


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            'judgs = "local:lexical"',
            "unknown setting in FILE: 'judgs'. Did you mean 'judge'? Known: judge, ",
        ),
        (
            'openai_api_key = "abc"',
            "FILE: openai_api_key holds a secret; put it into the environment, never into a file",
        ),
        ('judge = "openai:m@http://me:pw@host/v1"', "FILE: judge holds a secret"),
        (
            "limit = 5",
            "FILE: limit changes which data count, or what is written; type it as an option",
        ),
        ('mapping = "map.yaml"', "FILE: mapping changes which data count"),
        ("skip-malformed = true", "FILE: skip-malformed changes which data count"),
        ('max-cost = "two"', "FILE: max-cost: 'two' is not a number, such as 5"),
        ("rpm = 2.5", "FILE: rpm: '2.5' is not a whole number, such as 2"),
        (
            'judge = {model = "local:lexical"}',
            "FILE: judge is {'model': 'local:lexical'}; give a text, a number or",
        ),
        ("judge = []", "FILE: judge is []; give a text, a number or a list of texts"),
        ("judge =", "FILE is not TOML: Invalid value"),
    ],
)
def test_what_is_no_setting_is_refused_in_one_line(project: Path, line: str, problem: str) -> None:
    (project / "claimeval.toml").write_text(f"{line}\n")
    done = score(project, "-j", "local:lexical")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "claimeval: " + problem.replace("FILE", os.path.join("..", "claimeval.toml"))
    )
    assert done.stderr.count("\n") == 1
    assert "abc" not in done.stderr
    call("score", "--help", folder=project / "sub")


def test_a_wrong_value_in_the_environment_names_the_variable(project: Path) -> None:
    done = score(project, "-j", "local:lexical", CLAIMEVAL_MAX_COST="two")
    assert (done.returncode, done.stderr) == (
        2,
        "claimeval: $CLAIMEVAL_MAX_COST: max-cost: 'two' is not a number, such as 5\n",
    )


def test_functions_read_no_settings(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "claimeval.toml").write_text(LOCAL)
    monkeypatch.chdir(project)
    monkeypatch.setenv("CLAIMEVAL_JUDGE", "local:lexical")
    with pytest.raises(TypeError, match="judges"):
        ce.score("sub/s.jsonl")  # type: ignore[call-arg]  # the point of the test
