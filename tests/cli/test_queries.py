"""`claimeval queries` as a process, against a loopback judge."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.conftest import Run
from tests.conftest import StartServer
from tests.loopback.judge import Body, Reply, text_of

_DOCUMENT = re.compile(r'<document>\n(".*")\n</document>')
CORPUS = [
    {"id": "one", "text": "The Nile is 6650 km long and flows north."},
    {"id": "two", "text": "Mount Kenya is an extinct volcano near Nanyuki."},
    {"id": "bad", "text": "SKIP this page, it says nothing."},
]
QUESTIONS = {
    "The": "How far does the longest river of Africa run?",
    "Mou": "What sort of mountain stands by Nanyuki town?",
}


def answer(body: Body) -> Reply:
    """A question for each document but one; the second look finds all good."""
    text = text_of(body)
    match = _DOCUMENT.search(text)
    assert match
    document = json.loads(match.group(1))
    if '"self_contained"' in text:
        return Reply(json.dumps({"reason": "", "answerable": True, "self_contained": True, "realistic": True}))
    if document.startswith("SKIP"):
        return Reply('{"questions": []}')
    query = {"question": QUESTIONS[document[:3]], "answer": "So it is.", "passage": document}
    return Reply(json.dumps({"questions": [query]}))


def test_a_test_set_is_made_planned_and_made_again_without_a_call(
    claimeval: Run, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(judge=answer)
    corpus = tmp_path / "docs.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in CORPUS))
    command = ("queries", corpus, "-j", f"openai:m@{server.url}", "-o", "out")
    planned = claimeval(*command, "--plan", "--json", OPENAI_API_KEY="k")
    assert [(row["step"], row["calls"]) for row in json.loads(planned.stdout)] == [
        ("queries", [3, 3]),
        ("screen", [0, 3]),
    ]
    assert not server.exchanges()

    done = claimeval(*command, "--json", OPENAI_API_KEY="k")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert (shown["documents"], shown["written"], shown["kept"]) == (3, 2, 2)
    here = tmp_path / "here" / "out"
    samples = [json.loads(line) for line in (here / "queries.jsonl").read_text().splitlines()]
    sample = next(sample for sample in samples if sample["reference_context_ids"] == ["one"])
    assert sample["question"] == QUESTIONS["The"]
    assert sample["reference_contexts"] == [CORPUS[0]["text"]]
    assert sample["made"]["corpus"] == "docs.jsonl"
    assert f"{sample['id']} 0 one 1\n" in (here / "qrels.txt").read_text()
    assert claimeval("doctor", "out/queries.jsonl").returncode == 0

    assert len(server.exchanges()) == 5
    before = (here / "queries.jsonl").read_text()
    assert claimeval(*command, OPENAI_API_KEY="k").returncode == 0
    assert len(server.exchanges()) == 5
    assert (here / "queries.jsonl").read_text() == before
