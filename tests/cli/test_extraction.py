"""`claimeval extraction` and `ce.extraction`: which claims are measured, beside which others, and
what is said."""

from __future__ import annotations

import json
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
PEOPLE = [
    "Ada was born in London.",
    "Ada was born in 1815.",
    "Ada wrote notes.",
    "The notes are on the engine.",
]
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
    found = json.loads(done.stdout)
    metrics = found["metrics"]
    # by hand, of one of 12 equal answers: 3 claims, 3 sentences, 1 of 3 sentences without a claim
    assert metrics["claims_per_sentence"]["mean"] == 1.0
    assert (metrics["statements_lost"]["hits"], metrics["statements_lost"]["total"]) == (12, 36)
    assert metrics["numbers_lost"]["because"] == "n = 12, too few"
    assert metrics["claim_precision"]["mean"] == pytest.approx(2 / 3)
    assert metrics["claim_recall"]["mean"] == 0.5
    assert metrics["claim_f1"]["mean"] == pytest.approx(2 * 2 / 7)
    assert metrics["granularity"]["mean"] == 0.75
    assert found["extraction"]["people"]["claims_per_sentence"]["value"] == pytest.approx(4 / 3)
    assert found["extraction"]["unclaimed"] == {"statement": 12}
    line = json.loads((tmp_path / "x" / "results.jsonl").read_text().splitlines()[0])
    assert line["details"]["extraction"]["sentences"]["statements_lost"] == [3]


def test_the_table_says_what_local_claims_are_and_what_people_lose(
    data: Path, tmp_path: Path
) -> None:
    done = call(
        *(
            "extraction",
            data,
            "--extractor",
            "local:lexical",
            "--gold",
            "facts.people.text",
            "--out",
            tmp_path / "x",
        ),
        folder=tmp_path,
        COLUMNS="200",
    )
    text = " ".join(folded(done.stdout))
    assert (
        "ada.jsonl: 36 claims (extract/atomic by local:lexical) of 36 sentences, 12 texts" in text
    )
    assert "statements lost ↓ 0.00 0.00 to 0.22 0 of 36 0.33" in text
    assert "claims split by rules: 1.14 per biography sentence" in text
    assert "the gold claims (facts.people.text, of 12 texts) leave 0.33 of the sentences" in text


def test_the_claims_of_a_run_are_measured_in_its_folder(data: Path, tmp_path: Path) -> None:
    run = ce.score(
        [{**row, "contexts": [TEXT]} for row in rows(3)],
        judges="local:lexical",
        out=tmp_path / "run",
        options=ce.RunOptions(cache=tmp_path / "cache"),
    )
    assert run.path
    done = call("extraction", run.path, folder=tmp_path)
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
    assert found["claim_recall"].hits == 2
    assert found["claim_recall"].missing == {"missing_input": 1}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"claims": "facts.modle"}, "unknown field with claims 'facts.modle'"),
        ({"gold": "people"}, "unknown file, or field of the samples with gold claims: 'people'"),
        ({"claims": "mine.j2"}, "name the model that extracts claims with --extractor"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_asked(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ce.UsageError, match=words.replace("(", r"\(")):
        ce.extraction(rows(2), **options)


def _takes_only_the_first(body: Body) -> Reply:
    """The judge of the loopback server, which gives the first claim alone to a prompt that says
    FIRST."""
    reply = claim_judge.answer(body)
    if (
        "FIRST" not in text_of(body)
        or not isinstance(reply.content, str)
        or '"claims"' not in reply.content
    ):
        return reply
    return Reply(json.dumps({"claims": json.loads(reply.content)["claims"][:1]}))


def test_an_arm_that_takes_fewer_claims_is_marked_and_never_chosen(
    start_server: StartServer, tmp_path: Path
) -> None:
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
        for i in range(30)
    ]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in data))
    labels = [
        {
            "id": f"q{i}",
            "claim_id": f"answer-{n}",
            "label": "supported" if n != 2 else "contradicted",
        }
        for i in range(30)
        for n in (1, 2, 3)
    ]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    design = {
        "data": str(tmp_path / "data.jsonl"),
        "labels": str(tmp_path / "labels.jsonl"),
        "judges": spec(server),
        "metrics": ["faithfulness"],
        "baseline": "all",
        "arms": [{"name": "few", "extract_prompt": str(tmp_path / "short.j2")}, {"name": "all"}],
    }
    found = ce.experiment(
        design, out=tmp_path / "x", select=True, options=ce.RunOptions(cache=tmp_path / "cache")
    )
    assert found.table
    few, whole = found.table.arms
    assert (whole.covers_less, found.chosen) == (None, "all")
    assert few.covers_less
    assert few.covers_less.startswith("than all (statements_lost +0.67")
    assert few.extraction
    assert few.extraction.measures["statements_lost"].value == pytest.approx(2 / 3)
    text = (tmp_path / "x" / "experiment.md").read_text()
    assert (
        "> **Caution:** few scores fewer claims: not comparable; it covers less than all"
        " (statements" in text
    )
    assert "| `few` | 0.33 | 0.67 |" in text
