"""The first screen: as many lines as the terminal has, that say what was judged, where it fails and
what to read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

import claimeval as ce
from claimeval.cli.running import report_line
from claimeval.runs.front import front
from claimeval.testing import ScriptedJudge
from claimeval.types.records import Document
from tests.cli.terminal import Terminal
from tests.command_line import call
from tests.first_day.servers import judged, serve

LONG = "x" * 200
HEAD = "24 samples, judged by recorded replies"


def test_the_demo_fits_on_a_screen_and_says_what_is_weak(tmp_path: Path) -> None:
    done = call("demo", folder=tmp_path)
    lines = done.stdout.splitlines()
    assert len(lines) <= 50
    assert max(map(cell_len, lines)) <= 80
    assert lines[1] == HEAD
    assert "9 of 24 answers contradict the gold answer (15 claims), 8 the documents (20" in lines
    assert sum(line.startswith(" ✗ ") for line in lines) == 3
    assert sum(line.startswith("   judge: ") for line in lines) == 3
    assert " faithfulness    0.80 ████████▓·  0.70 to 0.89    111          20        9" in lines


def test_messages_on_the_same_terminal_count_as_lines_and_are_folded(tmp_path: Path) -> None:
    with Terminal(tmp_path, "demo", rows=24, columns=80) as terminal:
        lines = terminal.until("claimeval view runs").replace("\r", "").splitlines()
    assert lines[0].startswith("claimeval: 3 of 24 samples lack reference_answers")
    assert len(lines) <= 24
    assert max(map(cell_len, lines)) <= 80
    assert "First to read" in lines


@pytest.mark.parametrize(("rows", "mark"), [(24, "<!-- demo, 24 lines -->"), (50, "<!-- demo -->")])
def test_the_docs_show_what_terminals_of_two_heights_print(
    tmp_path: Path, rows: int, mark: str
) -> None:
    page = Path(__file__).parents[2].joinpath("docs", "start.md").read_text(encoding="utf-8")
    block = page.partition(f"{mark}\n```\n")[2].partition("\n```")[0]
    with Terminal(tmp_path, "demo", rows=rows, columns=80) as terminal:
        shown = terminal.until("claimeval view runs").replace("\r", "").splitlines()
    first = next(i for i, line in enumerate(shown) if line.startswith(HEAD))
    assert [line.rstrip() for line in shown[first:]] == block.splitlines()
    assert len(shown) <= rows


def test_details_print_all_numbers_and_top_as_many_claims_as_asked_for(tmp_path: Path) -> None:
    done = call("demo", "--details", folder=tmp_path)
    assert HEAD in done.stdout
    assert " metric          mean  95% interval   n  missing     counted  micro" in done.stdout
    for top in (0, 1, 7):
        shown = call("demo", "--top", top, folder=tmp_path)
        assert shown.stdout.count(" ✗ ") == top
    call("demo", "--top", -1, folder=tmp_path, exits=2)


def test_a_run_that_stopped_early_says_of_how_many_samples_in_every_form(tmp_path: Path) -> None:
    lines = [
        json.dumps({"question": f"q{n}?", "answer": f"Fact {n}.", "contexts": [f"Fact {n}."]})
        for n in range(5)
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(lines))
    head = " of 5 samples (stopped early), judged by m"
    with serve(judged) as server:
        command = (
            "score",
            "data.jsonl",
            "-j",
            f"openai:m@{server.url}",
            "-o",
            "run",
            "--concurrency",
            1,
        )
        stopped = call(*command, "--max-calls", 4, folder=tmp_path, exits=3)
        again = call(*command, "--max-calls", 4, "--json", folder=tmp_path, exits=3)
    assert head in stopped.stdout
    assert json.loads(again.stdout)["front"]["head"].endswith(head)
    assert (
        " of 5 samples (stopped early), judged by `m`"
        in call("report", "run", "-f", "md", folder=tmp_path).stdout
    )
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["data"]["samples"] == 5


def test_what_replies_are_worth_is_over_replies_and_not_over_calls_that_failed(
    tmp_path: Path,
) -> None:
    (tmp_path / "data.jsonl").write_text(
        json.dumps({"question": "?", "answer": "Fact.", "contexts": ["Fact."]})
    )
    with serve(judged) as server:
        judges = ("-j", f"openai:m@{server.url}", "-j", "openai:down@http://127.0.0.1:9/v1")
        done = call("score", "data.jsonl", *judges, "-o", "run", "--json", folder=tmp_path, exits=3)
    assert json.loads(done.stdout)["cost"]["total"]["calls"] == 2, (
        "one reply with claims, one with a verdict"
    )
    assert json.loads(done.stdout)["cost"]["total"]["verdicts"] == 1
    assert "Cost of all replies of this run: unknown (2 calls, no price)." in done.stderr


def test_quiet_prints_the_scores_of_commands_without_a_first_screen_too(tmp_path: Path) -> None:
    row = {
        "question": "How high?",
        "answer": "It is 63 m.",
        "contexts": ["63 m"],
        "reference_answers": ["63 m"],
    }
    (tmp_path / "data.jsonl").write_text(json.dumps(row))
    done = call("measure", "data.jsonl", "-m", "token_recall", "-o", "run", "-q", folder=tmp_path)
    assert done.stdout == "token_recall 1.00, answer_length (words) 4.00\n"
    claims = call("extraction", "data.jsonl", "-q", folder=tmp_path)
    assert claims.stdout.startswith(
        "claims_per_sentence (claims) 1.00, words_per_claim (words) 4.00, "
    )
    assert claims.stdout.count("\n") == 1


def test_quiet_prints_the_scores_in_a_line_and_json_the_front(tmp_path: Path) -> None:
    quiet = call("demo", "-q", folder=tmp_path)
    assert (
        quiet.stdout
        == "faithfulness 0.80 (0.70 to 0.89), correctness 0.40 (0.27 to 0.52), coverage 0.59 (0.39"
        " to 0.75), context_recall 0.98 (0.85 to 1.00)\n"
    )
    record = json.loads(call("demo", "--json", folder=tmp_path).stdout)
    assert record["front"]["head"] == HEAD
    assert len(record["front"]["read"]) == 3


def test_quiet_on_a_terminal_is_folded_at_its_width(tmp_path: Path) -> None:
    with Terminal(tmp_path, "demo", "-q", columns=80) as terminal:
        assert terminal.ended() == 0
        lines = terminal.shown.replace("\r", "").splitlines()
    assert lines[-1] == "(0.39 to 0.75), context_recall 0.98 (0.85 to 1.00)"
    assert max(map(cell_len, lines)) <= 80


def test_a_terminal_without_block_characters_gets_others(tmp_path: Path) -> None:
    shown = call("demo", folder=tmp_path, PYTHONIOENCODING="ascii").stdout
    assert " faithfulness    0.80 ########x.  0.70 to 0.89" in shown
    assert " x energy-battery-storage: " in shown


@pytest.mark.parametrize(("columns", "rows", "claims"), [(60, 50, 3), (80, 24, 1), (80, 50, 3)])
def test_a_taller_terminal_shows_more_claims_and_no_line_is_wider_than_it(
    tmp_path: Path, columns: int, rows: int, claims: int
) -> None:
    with Terminal(tmp_path, "demo", rows=rows, columns=columns) as terminal:
        assert terminal.ended() == 0
        lines = terminal.shown.replace("\r", "").splitlines()
    assert len(lines) <= rows
    assert max(map(cell_len, lines)) <= columns
    assert sum(line.startswith(" ✗ ") for line in lines) == claims
    assert any("0.27 to 0.52" in line for line in lines)


def test_many_notes_metrics_and_long_texts_still_fit(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"{LONG}{n}",
            "question": LONG,
            "answer": f"{LONG} {n} is so. 建物は高い。",
            "contexts": [f"{LONG} not."],
        }
        for n in range(4)
    ]
    (tmp_path / "data.jsonl").write_text(
        "\n".join(map(json.dumps, [*rows, {"question": 1, "answer": ["no"]}])) + "\n"
    )
    metrics = "faithfulness,on_text=answer:contexts"
    done = call(
        "score",
        "data.jsonl",
        "-j",
        "local:lexical",
        "-m",
        metrics,
        "--skip-malformed",
        "-o",
        "run",
        folder=tmp_path,
    )
    lines = done.stdout.splitlines()
    assert len(lines) <= 50
    assert max(map(cell_len, lines)) <= 80
    assert "Note: 1 malformed rows were left out." in lines
    assert " Few questions (1): ten more may move a score far." in lines


def test_the_report_or_what_writes_it_has_a_line(tmp_path: Path) -> None:
    run = tmp_path / "my run"
    run.mkdir()
    assert report_line(run) == f"`claimeval report '{run}'` writes the report"
    (run / "report.html").touch()
    assert report_line(run) == f"Report: {run / 'report.html'}"


def samples(count: int) -> list[ce.Sample]:
    document = Document(id="d", text="Some text.")
    return [
        ce.Sample(
            id=f"s{n}",
            question="Which?",
            answer=f"It is {n}.",
            contexts=(document,),
            reference_answers=(f"Gold {n}.",),
        )
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        (
            ["yes", "yes", "yes", "yes", "no"],
            "1 of 5 answers is not supported by what was retrieved.",
        ),
        (["yes", "no", "no", "yes"], "2 of 4 answers are not supported by what was retrieved."),
        (["fully", "partly", "no"], "1 of 3 answers does not meet polite."),
    ],
)
def test_the_front_of_ratings_names_the_worst_rating_and_answers(
    answers: list[str], sentence: str
) -> None:
    def reply(prompt: str) -> str:
        return json.dumps(
            {"reason": "So it is.", "rating": answers[int(prompt.partition("It is ")[2][0])]}
        )

    criteria = {"polite": "It stays polite."} if "fully" in answers else {}
    ask = None if criteria else "faithfulness"
    judge = ScriptedJudge(reply=reply)
    run = ce.rate(samples(len(answers)), judges=judge, ask=ask, criteria=criteria)
    shown = front(run.manifest, run.record, run.results)
    assert shown.sentence == sentence
    bad = [n for n, answer in enumerate(answers) if answer == "no"]
    assert [(one.sample_id, one.explanation) for one in shown.answers] == [
        (f"s{n}", "So it is.") for n in bad
    ]
    assert not shown.read


def test_a_message_with_wide_characters_is_folded_by_cells(tmp_path: Path) -> None:
    """A Chinese character takes two cells of a terminal."""
    name = "样本测试终端宽度" * 6
    row = {"id": name, "question": "?", "answer": "房子很大。", "contexts": ["房子很大。"]}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    for columns in (60, 80):
        with Terminal(tmp_path, "lexical", "rows.jsonl", rows=24, columns=columns) as terminal:
            terminal.ended()
            lines = terminal.shown.replace("\r\n", "\n").splitlines()
        assert "has no spaces between words" in " ".join(lines)
        said = [line for line in lines if "样本" in line or "claimeval:" in line]
        assert max(map(cell_len, said)) <= columns
