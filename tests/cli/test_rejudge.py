"""`rejudge`, `import-replies`, `agreement` and the options of panels: what they print and leave."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from benchmarks.loopback import ThreadHandle, claim_judge
from benchmarks.loopback.judge import Body, Reply
from claimeval.runs.directory import load_manifest, load_summary
from tests.api.test_claims import SAMPLES, spec
from tests.cli.conftest import Run
from tests.command_line import call
from tests.conftest import StartServer
from tests.runs.rejudge.test_rejudging import MAPPING, RECORDED, lenient


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "samples.jsonl"
    path.write_text(
        "".join(json.dumps({**s, "generator": "openai:gpt-4o"}) + "\n" for s in SAMPLES),
        encoding="utf-8",
    )
    return path


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Path, Path]:
    replies = tmp_path / "replies.jsonl"
    mapping = tmp_path / "mapping.yaml"
    replies.write_text("".join(json.dumps(row) + "\n" for row in RECORDED), encoding="utf-8")
    mapping.write_text(json.dumps(MAPPING), encoding="utf-8")
    return replies, mapping


def test_a_panel_shows_its_members_its_rules_and_its_kin(
    claimeval: Run, data: Path, tmp_path: Path, server: ThreadHandle, start_server: StartServer
) -> None:
    other = start_server(judge=lenient, dialect="mistral")
    panel = {"judges": [spec(server, "gpt-4"), f"mistral:small@{other.url}"], "tie": "conservative"}
    (tmp_path / "panel.yaml").write_text(json.dumps(panel))
    done = claimeval(
        "score",
        data,
        "-j",
        tmp_path / "panel.yaml",
        "-m",
        "faithfulness",
        "--out",
        "a",
        "--details",
    )
    said = " ".join(done.stdout.split())
    assert "Panel of 2: majority vote, ties are not supported, quorum 2" in said
    assert "gpt-4 0.75" in said
    assert "small 0.88" in said
    assert "Caution: The judge gpt-4 is of the family (openai) that wrote 3 of 3 answers" in said
    assert "Krippendorff's alpha" in said
    assert "gpt-4 / small" in said


def test_a_judge_of_the_generators_family_can_be_refused_or_left_out(
    claimeval: Run, data: Path, tmp_path: Path, start_server: StartServer
) -> None:
    asked: list[str] = []

    def judge(body: Body) -> Reply:
        asked.append(body["model"])
        return claim_judge.answer(body)

    server = start_server(judge=judge)
    own = spec(server, "gpt-4")
    panel = tmp_path / "panel.yaml"
    panel.write_text(json.dumps({"judges": [own], "on_same_family": "error"}))
    refused = claimeval("score", data, "-j", panel, "--out", "a", exits=2)
    assert asked == []
    assert "is of the family of 'openai:gpt-4o'" in refused.stderr
    house = spec(server, "house-1")
    panel.write_text(
        json.dumps({"judges": [own, house], "extractor": house, "on_same_family": "skip"})
    )
    claimeval("score", data, "-j", panel, "-m", "faithfulness", "--out", "b")
    assert set(asked) == {"house-1"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"vote": "most"}, "unknown vote 'most'"),
        ({"families": "none.yaml"}, "panel setting families: needs a mapping of names to values"),
    ],
)
def test_settings_that_do_not_fit_are_one_line_before_any_call(
    claimeval: Run,
    data: Path,
    tmp_path: Path,
    server: ThreadHandle,
    settings: dict[str, str],
    words: str,
) -> None:
    panel = tmp_path / "panel.yaml"
    panel.write_text(json.dumps({"judges": [spec(server)], **settings}))
    done = claimeval("score", data, "-j", panel, "--out", "a", exits=2)
    assert server.exchanges() == []
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_two_runs_are_judged_again_by_one_command(
    claimeval: Run, data: Path, server: ThreadHandle, start_server: StartServer, tmp_path: Path
) -> None:
    for name, prompt in (("a", "three_way"), ("b", "binary")):
        done = claimeval(
            "score",
            data,
            "-j",
            spec(server),
            "-m",
            "faithfulness",
            "--assess-prompt",
            prompt,
            "-o",
            name,
        )
    other = start_server(judge=lenient)
    asked = len(server.exchanges())
    judge = spec(other, "judge-2")
    done = claimeval(
        "rejudge", "a", "b", "-j", judge, "--keep-verdicts", "--out", "again", "--details"
    )
    assert (len(server.exchanges()), len(other.exchanges())) == (asked, 4)
    assert done.stdout.count("Calls: 2 sent, 0 answered from the reply cache, 4 reused") == 2
    assert done.stdout.count("Sent now: 2 calls (") == 2
    for name in ("a", "b"):
        folder = tmp_path / "here" / "again" / name
        assert [judge.name for judge in load_manifest(folder).judges] == [
            spec(server),
            spec(other, "judge-2"),
        ]
        assert (folder / "report.html").exists()


def test_a_run_keeps_its_data_and_says_which_run_it_was_made_from(
    claimeval: Run, data: Path, tmp_path: Path
) -> None:
    """The store is empty and nothing may be asked: a run directory is enough to vote again and to
    report."""
    claimeval("score", data, "-j", "local:lexical", "-o", "a", "--max-missing", "1")
    elsewhere = ("--offline", "--cache", tmp_path / "empty", "--max-missing", "1")
    claimeval("rejudge", "a", "--vote", "any", "-o", "b", *elsewhere)
    here = tmp_path / "here"
    first, second = (json.loads((here / name / "manifest.json").read_text()) for name in ("a", "b"))
    assert (first["source"], second["data"]) == (None, first["data"])
    results = (here / "a" / "results.jsonl").read_bytes()
    assert second["source"] == {
        "path": "a",
        "digest": hashlib.sha256(results).hexdigest(),
        "asked_with": {"local:lexical": [first["questions"][0]["prompt"]]},
    }
    assert [prompt["id"] for prompt in second["prompts"]] == [
        prompt["digest"][:8] for prompt in first["prompts"]
    ]
    assert claimeval("report", "b", "--format", "md").stdout.startswith(
        f"### `{data.name}`: 3 samples"
    )
    (here / "a" / "results.jsonl").write_bytes(b"".join(results.splitlines(keepends=True)[:-1]))
    again = claimeval("rejudge", "a", "--vote", "any", "-o", "b", *elsewhere, exits=2)
    assert "b holds a run with other contents of its source" in again.stderr


def test_a_row_that_cannot_be_read_is_refused_or_left_out_as_in_score(
    claimeval: Run, data: Path, tmp_path: Path
) -> None:
    with data.open("a") as rows:
        rows.write('{"id": "odd", "question": "Q?", "answer": {}}\n')
    asked = (
        "rejudge",
        data,
        "-j",
        "local:lexical",
        "-m",
        "faithfulness",
        "-o",
        "a",
        "--max-missing",
        "1",
    )
    done = claimeval(*asked, exits=2)
    assert "--skip-malformed leaves malformed rows out" in done.stderr
    done = claimeval(*asked, "--skip-malformed")
    assert "1 malformed row left out" in done.stderr
    assert load_summary(tmp_path / "here" / "a").notes[-1] == "1 malformed rows were left out"


def test_votes_are_counted_again_as_json(claimeval: Run, data: Path, server: ThreadHandle) -> None:
    judges = ("-j", spec(server), "-j", "local:lexical")
    claimeval("score", data, *judges, "-m", "faithfulness", "-o", "a", "--max-missing", "1")
    asked = len(server.exchanges())
    done = claimeval("rejudge", "a", "--quorum", "1", "--vote", "any", "-o", "b", "--json")
    found = json.loads(done.stdout)
    assert found["calls_of_this_command"]["sent"] == 0
    assert found["panel"]["no_quorum"] == 0
    assert len(server.exchanges()) == asked
    same = claimeval("rejudge", "a", "-o", "a", exits=2)
    assert "give another --out" in same.stderr


def test_recorded_replies_become_a_run_that_is_held_to_people(
    claimeval: Run, recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    replies, mapping = recorded
    done = claimeval("import-replies", replies, "--mapping", mapping, "--out", "a")
    said = " ".join(done.stdout.split())
    assert "old 2 2 0 0 0 first_word 2" in said
    assert "older 2 1 0 1 0 first_word 1" in said
    assert "2 older: no verdict in the given forms ?" in said
    assert "2 human labels" in said
    held = claimeval("agreement", "a", "--json")
    report = json.loads(held.stdout)
    assert [(r["rater"], r["accuracy"]["value"], r["unassessed"]) for r in report["raters"]] == [
        ("old", 0.5, 0),
        ("older", 0.0, 1),
        ("panel", None, 2),
    ]
    table = claimeval("agreement", "a", "--details", "--plot", tmp_path / "raters.svg")
    assert "balanced accuracy" in table.stdout
    assert "people supported, old supported: 1;" in (tmp_path / "raters.svg").read_text(
        encoding="utf-8"
    )
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\n1,no\n9,yes\n", encoding="utf-8")
    other = json.loads(claimeval("agreement", "a", "--labels", labels, "--json").stdout)
    assert (other["items"], other["unmatched"]) == (1, 1)
    assert (
        "1 of 2 labels fits nothing: 1 with the id or question of no sample of the run"
        in claimeval("agreement", "a", "--labels", labels).stdout
    )


def test_a_file_with_a_row_that_cannot_be_read_leaves_no_half_of_a_run(
    claimeval: Run, recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    replies, mapping = recorded
    whole = replies.read_text(encoding="utf-8")
    claimeval("import-replies", replies, "--mapping", mapping, "--out", "a")
    before = (tmp_path / "here" / "a" / "results.jsonl").read_bytes()
    *rows, last = whole.splitlines()
    row = json.loads(last)
    row["human"] = "perhaps"
    replies.write_text("\n".join([*rows, json.dumps(row)]), encoding="utf-8")
    for out in ("a", "b"):
        told = "import-replies", replies, "--mapping", mapping, "--out", out, "--overwrite"
        assert "unknown label 'perhaps'" in claimeval(*told, exits=2).stderr
    assert (tmp_path / "here" / "a" / "results.jsonl").read_bytes() == before
    assert not (tmp_path / "here" / "b").exists()
    # The corrected file is imported without a further option.
    replies.write_text(whole, encoding="utf-8")
    claimeval("import-replies", replies, "--mapping", mapping, "--out", "b")


def test_labels_that_do_not_simply_count_are_said_in_a_line(
    claimeval: Run, recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    replies, mapping = recorded
    claimeval("import-replies", replies, "--mapping", mapping, "--out", "a")
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\n1,no\n2,yes\n2,no\n1,\n", encoding="utf-8")
    done = claimeval("agreement", "a", "--labels", labels)
    assert (
        "Caution: labels left out: 1 row without a label, 1 that the same annotator labeled"
        " differently" in done.stdout
    )
    labels.write_text("id,label\n2,yes\n2,no\n", encoding="utf-8")
    none = claimeval("agreement", "a", "--labels", labels, exits=2)
    assert none.stderr.count("\n") == 1
    assert (
        "no label can be compared with a: left out: 1 that the same annotator labeled differently"
        in none.stderr
    )
    labels.write_text("id,label\n", encoding="utf-8")
    claimeval("agreement", "a", "--labels", labels, exits=2)


def test_correct_takes_the_labels_that_a_run_was_imported_with(
    claimeval: Run, recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    replies, mapping = recorded
    claimeval("import-replies", replies, "--mapping", mapping, "--out", "a", "--quorum", "1")
    done = claimeval("correct", "a", "--json")
    found = json.loads(done.stdout)
    assert (found["unit"], found["labeled"]) == (
        "claim",
        1,
    )  # the judges have no label for the other
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\n1,no\n2,yes\n", encoding="utf-8")
    whole = claimeval("correct", "a", "--labels", labels)
    assert "share of samples with every claim supported" in whole.stdout


def test_a_file_of_no_known_shape_needs_a_mapping(claimeval: Run, data: Path) -> None:
    done = claimeval("import-replies", data, "--out", "a", exits=2)
    assert "--mapping" in done.stderr
    assert all(tool in done.stderr for tool in ("RAGChecker", "ragas", "deepeval"))


def test_another_judge_joins_recorded_ones(claimeval: Run, recorded: tuple[Path, Path]) -> None:
    replies, mapping = recorded
    claimeval("import-replies", replies, "--mapping", mapping, "--out", "a")
    done = claimeval(
        "rejudge", "a", "-j", "local:lexical", "--keep-verdicts", "-o", "b", "--max-missing", "1"
    )
    done = claimeval("rejudge", "b", "--per-document", "--offline", "-o", "c", exits=2)
    assert done.stderr.count("\n") == 1
    assert "were made with different document settings" in done.stderr


def test_without_out_a_run_is_rejudged_into_a_folder_by_its_settings(tmp_path: Path) -> None:
    sample = '{"question": "q", "answer": "It is red.", "contexts": ["It is red."]}\n'
    (tmp_path / "answers.jsonl").write_text(sample)
    call("score", "answers.jsonl", "-j", "local:lexical", "-o", "runs/a", folder=tmp_path)
    first = call("rejudge", "runs/a", "--vote", "any", "--json", folder=tmp_path)
    folder = json.loads(first.stdout)["run"]
    assert re.fullmatch(r"runs/answers-[0-9a-f]{8}", folder)
    assert (tmp_path / folder / "report.html").exists()
    again = call("rejudge", "runs/a", "--vote", "any", "--json", folder=tmp_path)
    assert json.loads(again.stdout)["run"] == folder
