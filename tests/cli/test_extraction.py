"""`claimeval extraction` and `ce.extraction`: which claims are measured, beside which others, and what is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import claim_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from tests.api.test_claims import spec
from tests.command_line import call, folded
from tests.conftest import StartServer

ROOT = Path(__file__).parents[2]
TEXT = "Ada was born in London in 1815. She wrote notes on the engine. She never met Mr Hill."
PEOPLE = ["Ada was born in London.", "Ada was born in 1815.", "Ada wrote notes.", "The notes are on the engine."]
MODEL = ["Ada was born in London.", "Ada was born in 1851.", "Ada wrote notes."]


def rows(n: int = 12) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{i}",
            "question": f"Who was Ada, in version {i}?",
            "answer": TEXT,
            "facts": {"people": [{"text": text} for text in PEOPLE], "model": MODEL},
        }
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "ada.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return path


def test_claims_of_a_field_beside_those_of_people(data: Path, tmp_path: Path) -> None:
    done = call(
        *(
            "extraction",
            data,
            "--claims",
            "facts.model",
            "--gold",
            "facts.people.text",
            "--out",
            tmp_path / "x",
            "--json",
        ),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    metrics = found["metrics"]
    # by hand, of one of 12 equal answers: 3 claims, 3 sentences, 1 of 3 sentences without a claim
    assert metrics["claims_per_sentence"]["mean"] == 1.0
    assert (metrics["statements_lost"]["hits"], metrics["statements_lost"]["total"]) == (12, 36)
    assert metrics["number_nowhere"]["mean"] == pytest.approx(1 / 3)  # 1851
    assert metrics["negations_lost"]["because"] == "n = 12, too few"
    assert metrics["guarded_precision"]["mean"] == pytest.approx(2 / 3)
    assert metrics["guarded_recall"]["mean"] == 0.5
    assert metrics["guarded_f1"]["mean"] == pytest.approx(2 * 2 / 7)
    assert metrics["granularity"]["mean"] == 0.75
    assert found["extraction"]["people"]["claims_per_sentence"]["value"] == pytest.approx(4 / 3)
    assert found["extraction"]["unclaimed"] == {"statement": 12}
    line = json.loads((tmp_path / "x" / "results.jsonl").read_text().splitlines()[0])
    assert line["details"]["extraction"]["claims"]["number_nowhere"] == ["answer-2"]
    assert line["details"]["extraction"]["sentences"]["statements_lost"] == [3]


def test_the_table_says_what_local_claims_are_and_which_extractor_covers_less(data: Path, tmp_path: Path) -> None:
    whole = [*MODEL, "She never met Mr Hill."]
    varied = [{**row, "facts": {"model": MODEL if i % 3 else whole}} for i, row in enumerate(rows())]
    ce.extraction(varied, claims="facts.model", out=tmp_path / "model")
    done = call(
        *("extraction", data, "--claims", "local", "--gold", "facts.people.text", "--against", tmp_path / "model"),
        *("--out", tmp_path / "local"),
        folder=tmp_path,
        COLUMNS="200",
    )
    assert done.returncode == 0, done.stderr
    text = " ".join(folded(done.stdout))
    assert "ada.jsonl: 48 claims (local) of 36 sentences, 12 texts" in text
    assert "statements lost 0.000 0.00 to 0.22 0 of 36 0.333 0.222 +0.222" in text
    assert "claims split by rules: 1.69 per biography sentence" in text
    assert "of the two extractors model covers less (statements_lost +0.222" in text
    assert "the gold claims (facts.people.text, of 12 texts) are measured too" in text


def test_the_claims_of_a_run_are_measured_in_its_folder(data: Path, tmp_path: Path) -> None:
    run = ce.score(
        [{**row, "contexts": [TEXT]} for row in rows(3)], judges="local:lexical", out=tmp_path / "run",
        options=ce.RunOptions(cache=tmp_path / "cache"),
    )  # fmt: skip
    assert run.path
    done = call("extraction", run.path, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (run.path / "extraction" / "summary.json").exists()
    assert ce.extraction(run)["statements_lost"].hits == 0
    assert "(the run's)" in done.stdout


def test_a_field_without_gold_claims_in_any_sample_is_not_called_unknown() -> None:
    empty = [{**row, "gold": []} for row in rows(2)]
    with pytest.raises(ce.UsageError, match="the field 'gold' has no gold claims in any sample"):
        ce.extraction(empty, claims="facts.model", gold="gold")


def test_gold_claims_may_be_in_a_file_a_row_a_claim(tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    file.write_text("".join(json.dumps({"id": "q0", "text": text}) + "\n" for text in PEOPLE))
    found = ce.extraction(rows(2), claims="facts.model", gold=file)
    assert found["guarded_recall"].hits == 2
    assert found["guarded_recall"].missing == {"missing_input": 1}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"claims": "facts.modle"}, "unknown field or source of claims 'facts.modle'"),
        ({"gold": "people"}, "unknown file, or field of the samples with gold claims: 'people'"),
        ({"gold": "facts.people.text", "matching": "garded"}, "Did you mean 'guarded'"),
        ({"matching": "support"}, "--matching compares with gold claims"),
        ({"claims": "mine.j2"}, "name the model that extracts claims with --extractor"),
        ({"sample": 0}, "sample: 0; it needs 1 or more"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_asked(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ce.UsageError, match=words.replace("(", r"\(")):
        ce.extraction(rows(2), **options)


def test_a_judge_is_checked_on_planted_claims_and_asked_about_a_sample_of_texts(
    start_server: StartServer, tmp_path: Path
) -> None:
    server = start_server(judge=claim_judge.answer)
    found = ce.extraction(
        rows(4), claims="facts.model", gold="facts.people.text", judge=spec(server), sample=2, matching="judge",
        options=ce.RunOptions(cache=tmp_path),
    )  # fmt: skip
    assert found["entailed"].judged == 6
    assert found["covered"].judged == 6
    assert found["judge_sensitivity"].judged == 30
    assert found["judge_specificity"].judged == 14
    assert found["judge_recall"].judged == 8
    assert found["statements_lost"].total == 12
    assert len([one for one in found.samples if one.metadata.get("planted")]) == 9
    assert found.record.extraction
    assert found.record.extraction.all_texts == 4
    # this judge supports whatever it is asked about, so its rows are not to be relied on
    assert (found["entailed"].mean, found["judge_specificity"].mean, found["judge_sensitivity"].mean) == (1, 1, 0)
    assert "unreliable: the judge noticed 0 of 30 planted faults" in found.record.extraction.remarks[-1]


def _covers_what_it_sees(body: Body) -> Reply:
    """The judge of the loopback server, which supports a claim only if the evidence has its words."""
    text = text_of(body)
    if "<claims>" not in text or "- yes: " not in text:
        return claim_judge.answer(body)
    evidence = text.rpartition("<evidence>")[2].partition("</evidence>")[0]
    claims = re.findall(r'^(c\d+): "(.*)"$', text.rpartition("<claims>")[2], re.MULTILINE)
    labels = {name: "yes" if said in evidence else "no" for name, said in claims}
    verdicts = [{"id": name, "reason": "r", "evidence": [], "label": label} for name, label in labels.items()]
    return Reply(json.dumps({"verdicts": verdicts}))


def test_elements_say_what_claims_should_cover_and_what_not(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(judge=_covers_what_it_sees)
    text = "Ada was born in London. She wrote notes. ASIDE they are lovely. ASIDE read them."
    taken = ["Ada was born in London.", "ASIDE they are lovely."]
    data = [{"id": f"q{i}", "question": f"q{i}?", "answer": text, "facts": taken if i else []} for i in range(3)]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in data))
    done = call(
        *("extraction", path, "--claims", "facts", "--judge", spec(server), "--elements", "--cache", tmp_path / "c"),
        *("--out", tmp_path / "x"),
        folder=tmp_path,
        COLUMNS="150",
    )
    assert done.returncode == 0, done.stderr
    # by hand: two texts cover one of two verifiable elements and one of two others, one text covers none
    found = ce.Run.load(tmp_path / "x")
    counted: dict[str, Any] = {r.sample.id: r.details.get("extraction") for r in found.results}
    cells = {name: one["elements"] for name, one in counted.items() if one}
    assert cells == {"q0": [0, 2, 0, 2], "q1": [1, 1, 1, 1], "q2": [1, 1, 1, 1]}
    assert (found["elements_right"].hits, found["elements_right"].judged) == (6, 12)
    # verifiable: 2 covered, 4 missed, and 2 others covered; others: 4 left out, and 4 verifiable ones; 2 covered
    assert found["elements_f1"].mean == pytest.approx((4 / (4 + 4 + 2) + 8 / (8 + 4 + 2)) / 2)
    assert re.search(r"elements right +0\.500 .* 6 of 12", done.stdout)
    options = ce.RunOptions(cache=tmp_path / "new")
    planned = ce.plan(ce.extraction, path, claims="facts", judge=spec(server), elements=True, options=options)
    assert {line.step: line.calls for line in planned.lines}["extract"] == (3, 3)
    with pytest.raises(ce.UsageError, match="--elements needs a language model"):
        ce.extraction(data, claims="facts", elements=True)


def _takes_only_the_first(body: Body) -> Reply:
    """The judge of the loopback server, which gives the first claim alone to a prompt that says FIRST."""
    reply = claim_judge.answer(body)
    if "FIRST" not in text_of(body) or not isinstance(reply.content, str) or '"claims"' not in reply.content:
        return reply
    return Reply(json.dumps({"claims": json.loads(reply.content)["claims"][:1]}))


def test_an_arm_that_takes_fewer_claims_is_marked_and_never_chosen(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(judge=_takes_only_the_first)
    short = (
        (ROOT / "prompts" / "extract" / "atomic.j2")
        .read_text()
        .replace("{% block system %}", "{% block system %}FIRST ")
    )
    (tmp_path / "short.j2").write_text(short)
    data = [
        {
            "id": f"q{i}",
            "question": f"q{i}?",
            "answer": f"Ada wrote {i} notes. WRONG is the tale. She sang.",
            "contexts": ["x"],
        }
        for i in range(12)
    ]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data))
    labels = [
        {"id": f"q{i}", "claim_id": f"answer-{n}", "label": "supported" if n != 2 else "contradicted"}
        for i in range(12)
        for n in (1, 2, 3)
    ]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    design = {
        "data": str(tmp_path / "data.jsonl"),
        "labels": str(tmp_path / "labels.jsonl"),
        "judges": spec(server),
        "metrics": ["faithfulness"],
        "arms": [{"name": "few", "extract_prompt": str(tmp_path / "short.j2")}, {"name": "all"}],
    }
    found = ce.experiment(design, out=tmp_path / "x", select=True, options=ce.RunOptions(cache=tmp_path / "cache"))
    assert found.table
    few, whole = found.table.arms
    assert (whole.covers_less, found.chosen) == (None, "all")
    assert few.covers_less
    assert few.covers_less.startswith("than all (statements_lost +0.667")
    assert few.extraction
    assert few.extraction.measures["statements_lost"].value == pytest.approx(2 / 3)
    text = (tmp_path / "x" / "experiment.md").read_text()
    assert "**few scores fewer claims: not comparable; it covers less than all (statements_lost" in text
    assert "| few | 0.333 | 0.667 |" in text


def test_a_forecast_counts_the_planted_claims_too(data: Path, tmp_path: Path) -> None:
    options = ce.RunOptions(cache=tmp_path)
    found = ce.plan(ce.extraction, data, claims="facts.model", judge="openai:gpt-5-mini", sample=2, options=options)
    # nine planted texts, and of two answers entailed and covered; their claims are the same, and asked about once
    assert {line.step: line.calls for line in found.lines} == {"assess": (15, 15), "weigh": (1, 1)}
