"""`claimeval experiment`: arms share what they can, differences are paired, flips are listed."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from benchmarks.loopback import Faults, Options, ThreadHandle, claim_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from tests.api.test_claims import spec
from tests.cli.conftest import Run
from tests.conftest import StartServer

SENTENCES = [
    "The tower is high.",
    "It is old.",
    "A DOUBTFUL claim stands here.",
    "The WRONG king built it.",
]


def doubting(body: Body) -> Reply:
    """Judges by the rule of `claim_judge`; under a yes-or-no prompt it lets doubtful claims pass,
    else not."""
    reply = claim_judge.answer(body)
    if (
        "DOUBTFUL" in text_of(body)
        and '"verdicts"' in str(reply.content)
        and "- yes: " not in text_of(body)
    ):
        content = json.loads(str(reply.content))
        (doubtful,) = re.findall(r'^(c\d+): ".*DOUBTFUL', text_of(body), re.MULTILINE)
        verdict = next(verdict for verdict in content["verdicts"] if verdict["id"] == doubtful)
        verdict.update(label="not_found", reason="too doubtful")
        return Reply(json.dumps(content))
    return reply


@pytest.fixture
def server(start_server: StartServer) -> ThreadHandle:
    return start_server(judge=doubting)


@pytest.fixture
def file(tmp_path: Path, server: ThreadHandle) -> Path:
    samples = [
        {
            "id": str(i),
            "question": f"Tower {i}?",
            "answer": " ".join(SENTENCES),
            "contexts": ["About towers."],
        }
        for i in range(6)
    ]
    (tmp_path / "samples.jsonl").write_text(
        "".join(json.dumps(sample) + "\n" for sample in samples)
    )
    path = tmp_path / "prompts.yaml"
    path.write_text(
        f"data: samples.jsonl\nmetrics: [faithfulness]\njudges: ['{spec(server)}']\n"
        "grid: {assess_prompt: [three_way, binary, tags]}\n"
    )
    return path


def test_arms_share_the_extraction_and_are_compared_in_pairs(
    claimeval: Run, file: Path, server: ThreadHandle
) -> None:
    done = claimeval("experiment", file, "--json")
    table = json.loads(done.stdout)
    base, binary, tags = table["arms"]
    assert [arm["name"] for arm in table["arms"]] == ["three_way", "binary", "tags"]
    assert base["metrics"]["faithfulness"]["mean"] == 0.5
    assert base["metrics"]["faithfulness"]["difference"] is None
    cell = binary["metrics"]["faithfulness"]
    assert (cell["mean"], cell["difference"]["value"], cell["difference"]["n"]) == (0.75, 0.25, 6)
    # Six samples rise by .25. A share x of all may fall by 1 unseen, with probability (1 - x)^6;
    # the mean is above 0 as long as x is below .25 / 1.25.
    assert cell["p"] == pytest.approx(0.8**6, abs=1e-3)
    assert cell["p_adjusted"] == pytest.approx(2 * 0.8**6, abs=2e-3)
    assert (base["cost"]["calls"], base["new_calls"], binary["new_calls"], tags["new_calls"]) == (
        12,
        12,
        6,
        6,
    )
    assert len(server.exchanges()) == 24
    # six doubtful claims become supported; six contradicted ones become not_found, which counts the
    # same
    assert (base["flips"], binary["flips"], binary["relabeled"]) == (0, 6, 6)
    assert base["unassessed_rate"] == base["parse_failure_rate"] == 0.0
    assert base["cost"]["dollars"] is None
    assert base["median_latency"] > 0


def test_the_same_command_again_asks_nothing(
    claimeval: Run, file: Path, server: ThreadHandle
) -> None:
    first = json.loads(claimeval("experiment", file, "--json").stdout)
    sent = len(server.exchanges())
    again = json.loads(claimeval("experiment", file, "--json").stdout)
    assert len(server.exchanges()) == sent
    assert [arm["new_calls"] for arm in again["arms"]] == [0, 0, 0]
    assert [arm["metrics"] for arm in again["arms"]] == [arm["metrics"] for arm in first["arms"]]


def test_flipped_claims_are_listed_with_the_reasons_that_were_asked_for(
    claimeval: Run, file: Path
) -> None:
    claimeval("experiment", file, "--out", "found")
    folder = file.parent / "here" / "found"
    flips = [json.loads(line) for line in (folder / "flips.jsonl").read_text().splitlines()]
    doubtful = [flip for flip in flips if flip["arm"] == "binary" and "DOUBTFUL" in flip["claim"]]
    assert len(doubtful) == 6
    assert (doubtful[0]["a"], doubtful[0]["a_explanation"]) == ("not_found", "too doubtful")
    assert doubtful[0]["b"] == "supported"
    assert "b_explanation" not in doubtful[0]


def test_tables_are_written_for_people_and_for_spreadsheets(claimeval: Run, file: Path) -> None:
    done = claimeval("experiment", file, "--out", "found")
    folder = file.parent / "here" / "found"
    rows = list(csv.DictReader((folder / "experiment.csv").read_text().splitlines()))
    assert [(row["arm"], row["metric"], row["mean"]) for row in rows] == [
        ("three_way", "faithfulness", "0.5"),
        ("binary", "faithfulness", "0.75"),
        ("tags", "faithfulness", "0.75"),
    ]
    page = (folder / "experiment.md").read_text()
    assert "| `binary` | 0.75 | " in page
    assert "| +0.25 | " in page
    assert "](experiment-faithfulness.svg)" in page
    drawn = (folder / "experiment-faithfulness.svg").read_text()
    assert "three_way: 0.50, " in drawn
    assert "tags: +0.25, " in drawn
    again = claimeval("report", folder, "--out", "elsewhere.md").stdout
    assert again == "Report: elsewhere.md\n"
    assert (folder.parent / "elsewhere-faithfulness.svg").read_text() == drawn
    assert "![" not in claimeval("report", folder, "-f", "md").stdout
    assert "difference" in done.stdout
    assert "baseline" in done.stdout
    assert json.loads((folder / "experiment.json").read_text())["baseline"] == "three_way"


def test_a_cap_holds_for_all_arms_together_and_can_be_raised(
    claimeval: Run, file: Path, server: ThreadHandle
) -> None:
    done = claimeval("experiment", file, "--max-calls", "15", "--concurrency", "1", exits=3)
    assert "Budget reached" in done.stderr
    assert len(server.exchanges()) == 15
    claimeval("experiment", file, "--max-calls", "24")
    assert len(server.exchanges()) == 24


def test_a_mistake_is_said_before_any_call(
    claimeval: Run, file: Path, server: ThreadHandle
) -> None:
    file.write_text(file.read_text().replace("binary", "binray"))
    done = claimeval("experiment", file, exits=2)
    assert (
        "arm 'binray': unknown assess prompt 'binray'. Did you mean 'assess/binary'" in done.stderr
    )
    assert server.exchanges() == []


def test_arms_are_measured_against_human_labels_and_chosen_on_half(
    claimeval: Run, file: Path
) -> None:
    truth = ["supported", "supported", "supported", "contradicted"]
    rows = [
        {"id": str(i), "text": sentence, "label": label}
        for i in range(6)
        for sentence, label in zip(SENTENCES, truth, strict=True)
    ]
    (file.parent / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file.write_text(file.read_text() + "labels: labels.jsonl\n")
    done = claimeval("experiment", file, "--json")
    table = json.loads(done.stdout)
    three_way, binary, _ = (arm["label_agreement"] for arm in table["arms"])
    assert (
        three_way["claims"],
        three_way["accuracy"]["value"],
        three_way["balanced_accuracy"]["value"],
    ) == (
        24,
        0.75,
        pytest.approx(5 / 6),
    )
    assert (binary["accuracy"]["value"], binary["kappa"]["value"]) == (1.0, 1.0)
    done = claimeval("experiment", file, "--select", "--anyway", "--json", "-o", "selected")
    selection = json.loads(done.stdout)["selection"]
    assert selection["arm"] == "binary"
    halves = selection["selected_on"]["binary"]["claims"], selection["held_out"]["compared"]
    assert sum(halves) == 24
    assert min(halves) > 0
    assert selection["held_out_baseline"]["balanced_accuracy"]["value"] == pytest.approx(5 / 6)
    page = (file.parent / "here" / "selected" / "experiment.md").read_text()
    assert (
        f"Chosen on one half of the questions ({halves[0]} labels): binary. Equal to people on the"
        " other half" in page
    )


def test_an_arm_that_tells_contradicted_apart_is_not_wrong_where_people_say_no(
    claimeval: Run, file: Path
) -> None:
    """Three labels agree with people on all claims, yes or no lets the doubtful one pass."""
    rows = [
        {"id": str(i), "text": sentence, "label": label}
        for i in range(6)
        for sentence, label in zip(SENTENCES, ("yes", "yes", "no", "no"), strict=True)
    ]
    (file.parent / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    file.write_text(file.read_text() + "labels: labels.jsonl\n")
    done = claimeval("experiment", file)
    assert "Take three_way: it gives the label of people to 100.0% of 24 claims" in " ".join(
        done.stdout.split()
    )
    arms = json.loads(claimeval("experiment", file, "--json").stdout)["arms"]
    three_way, binary, _ = (arm["label_agreement"] for arm in arms)
    assert (three_way["same"]["value"], three_way["behind"]) == (1.0, None)
    assert (binary["same"]["value"], binary["behind"]["value"]) == (0.75, 0.25)


def test_select_without_labels_is_a_mistake(
    claimeval: Run, file: Path, server: ThreadHandle
) -> None:
    done = claimeval("experiment", file, "--select", exits=2)
    assert "give" in done.stderr
    assert server.exchanges() == []


def test_plan_says_what_the_arms_would_ask_and_counts_what_they_share_once(
    claimeval: Run, file: Path, server: ThreadHandle
) -> None:
    before = json.loads(claimeval("plan", file, "--json").stdout)
    assert server.exchanges() == []
    assert before["calls"][0] <= 24 <= before["calls"][1]
    assert len(before["judges_without_price"]) == 1
    claimeval("experiment", file)
    assert "total" in claimeval("plan", file).stdout
    assert json.loads(claimeval("plan", file, "--json").stdout)["calls"] == [0, 0]


def test_plan_without_a_judge_or_an_experiment_is_a_mistake(claimeval: Run, file: Path) -> None:
    done = claimeval("plan", file.parent / "samples.jsonl", exits=2)
    assert "no judge named" in done.stderr


@pytest.mark.parametrize(("dead", "baseline"), [("second", "first"), ("first", "first")])
def test_a_dead_judge_of_one_arm_leaves_the_others_their_table(
    claimeval: Run,
    file: Path,
    server: ThreadHandle,
    start_server: StartServer,
    dead: str,
    baseline: str,
) -> None:
    refusing = start_server(Options(faults=Faults(rates={"insufficient_quota": 1.0})))
    judges = {
        name: spec(refusing if name == dead else server) for name in ("first", "second", "third")
    }
    arms = "".join(
        f"  - {{name: {name}, judges: ['{judge}'], extractor: '{spec(server)}'}}\n"
        for name, judge in judges.items()
    )
    file.write_text(
        f"data: samples.jsonl\nmetrics: [faithfulness]\nbaseline: {baseline}\narms:\n{arms}"
    )
    done = claimeval("experiment", file, "--json", exits=3)
    assert f"arm {dead} failed: " in done.stderr
    assert "quota" in done.stderr
    shown = json.loads(done.stdout)
    assert [arm["name"] for arm in shown["arms"]] == [name for name in judges if name != dead]
    assert all(arm["metrics"]["faithfulness"]["mean"] == 0.5 for arm in shown["arms"])
    differences = [arm["metrics"]["faithfulness"]["difference"] for arm in shown["arms"]]
    assert [one and one["value"] for one in differences] == (
        [None, None] if dead == baseline else [None, 0.0]
    )
    assert list(shown["failed"]) == [dead]
    assert shown["stopped"].startswith(f"arm {dead} failed")
    table = (file.parent / "here" / "experiments" / "prompts" / "experiment.md").read_text()
    assert f"arm {dead} failed" in table


def test_an_arm_that_nobody_can_read_is_a_failure(
    claimeval: Run, file: Path, server: ThreadHandle, start_server: StartServer
) -> None:
    babbling = start_server(judge=lambda _: Reply("Sure! Here is what I think."))
    file.write_text(
        "data: samples.jsonl\nmetrics: [faithfulness]\nbaseline: good\narms:\n  - {name: good,"
        f" judges: ['{spec(server)}']}}\n  - {{name: babbling, judges: ['{spec(babbling)}']}}\n"
    )
    done = claimeval("experiment", file, exits=3)
    assert "arm babbling failed: " in done.stdout
    assert "10 unreadable replies in a row" in done.stdout
    last = (
        "claimeval: 1 arm failed (babbling), as said above. Fix the problem, then run the same"
        " command to resume."
    )
    assert done.stderr.splitlines()[-1] == last
    assert "arm babbling failed: " in claimeval("experiment", file, "-q", exits=3).stderr


def test_a_row_that_cannot_be_read_is_refused_or_left_out_as_in_score(
    claimeval: Run, file: Path, server: ThreadHandle
) -> None:
    with (file.parent / "samples.jsonl").open("a") as samples:
        samples.write('{"id": "6", "question": "Tower 6?", "answer": 6, "contexts": {}}\n')
    done = claimeval("experiment", file, exits=2)
    assert "samples.jsonl, line 7" in done.stderr
    assert server.exchanges() == []
    file.write_text(file.read_text() + "skip_malformed: true\n")
    done = claimeval("experiment", file, "--json", "-o", "found")
    assert "1 malformed row left out" in done.stderr
    table = json.loads(done.stdout)
    assert table["samples"] == 6
    run = Path(table["arms"][0]["run"])
    summary = json.loads((file.parent / "here" / run / "summary.json").read_text())
    assert summary["notes"] == ["1 malformed rows were left out"]
    ends = [
        (one["low"], one["high"])
        for one in (summary["metrics"]["faithfulness"], table["arms"][0]["metrics"]["faithfulness"])
    ]
    assert ends[0] == ends[1]
