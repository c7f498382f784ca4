"""`claimeval write-queries`, against a loopback judge."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path

from benchmarks.clients import Client
from benchmarks.loopback import Latency, Options, query_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from tests.cli.conftest import Run
from tests.conftest import StartServer
from tests.sample_runs import untimed
from tests.shared_data import shared_data

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
        return Reply(
            json.dumps(
                {"reason": "", "answerable": True, "self_contained": True, "realistic": True}
            )
        )
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
    command = ("write-queries", corpus, "-j", f"openai:m@{server.url}", "-o", "out")
    planned = claimeval("plan", *command, "--json", OPENAI_API_KEY="k")
    assert [(row["step"], row["calls"]) for row in json.loads(planned.stdout)["lines"]] == [
        ("queries", [3, 3]),
        ("screen", [0, 3]),
    ]
    assert not server.exchanges()

    done = claimeval(*command, "--json", OPENAI_API_KEY="k")
    shown = json.loads(done.stdout)["counts"]
    assert (shown["documents"], shown["written"], shown["kept"]) == (3, 2, 2)
    here = tmp_path / "here" / "out"
    samples = [json.loads(line) for line in (here / "queries.jsonl").read_text().splitlines()]
    sample = next(sample for sample in samples if sample["reference_context_ids"] == ["one"])
    assert sample["question"] == QUESTIONS["The"]
    assert sample["reference_contexts"] == [CORPUS[0]["text"]]
    assert sample["made"]["corpus"] == "docs.jsonl"
    assert f"{sample['id']} 0 one 1\n" in (here / "qrels.txt").read_text()
    claimeval("doctor", "out/queries.jsonl")

    assert len(server.exchanges()) == 5
    names = "manifest.json", "results.jsonl", "summary.json", "queries.jsonl", "qrels.txt"
    before = {name: (here / name).read_bytes() for name in names}
    claimeval(*command, OPENAI_API_KEY="k")
    assert len(server.exchanges()) == 5
    assert {name: (here / name).read_bytes() for name in names} == before


def test_questions_about_pages_of_reports_survive_a_cap_and_kill_9(
    claimeval: Run, tmp_path: Path, start_server: StartServer
) -> None:
    """Planned, stopped by --max-calls, killed in the middle, gone on with: no reply that was read
    is asked for again, and the set is the one that an undisturbed run makes."""
    pages = shared_data("sec10q/pages.jsonl")
    texts = {page["id"]: page["text"] for page in map(json.loads, pages.read_text().splitlines())}
    server = start_server(Options(latency=Latency(seconds=0.1)), judge=query_judge.answer)
    concurrency = 4
    options = ["-j", f"openai:m@{server.url}", "-n", "60", "--concurrency", str(concurrency)]
    command = ["write-queries", str(pages), *options, "-o", "killed"]
    planned = claimeval("plan", *command, "--json", OPENAI_API_KEY="k")
    steps = {row["step"]: row["calls"] for row in json.loads(planned.stdout)["lines"]}
    assert steps == {"queries": [60, 60], "screen": [0, 60]}
    assert not server.exchanges()

    capped = claimeval(*command, "--max-calls", "20", OPENAI_API_KEY="k", exits=3)
    assert "Budget reached" in capped.stderr
    assert len(server.exchanges()) == 20
    left = {path.name for path in (tmp_path / "here" / "killed").iterdir()}
    assert left == {
        "manifest.json",
        "results.jsonl",
        "replies.jsonl.gz",
        "summary.json",
        "report.html",
    }

    client = Client(tmp_path / "here", "killed", command[:-2])
    while len(server.exchanges()) < 40:
        assert client.running()
        time.sleep(0.02)
    client.kill()

    done = claimeval(*command, "--json", OPENAI_API_KEY="k")
    shown = json.loads(done.stdout)["counts"]
    bodies = Counter(exchange.sha256 for exchange in server.exchanges())
    repeated = sum(bodies.values()) - len(bodies)
    assert repeated <= concurrency  # in flight when it was killed
    assert max(bodies.values()) <= 2
    claimeval(
        "write-queries",
        pages,
        *options,
        "-o",
        "quiet",
        "--cache",
        tmp_path / "new",
        OPENAI_API_KEY="k",
    )
    here = tmp_path / "here"
    for name in ("queries.jsonl", "qrels.txt", "results.jsonl", "summary.json"):
        assert untimed(here / "killed" / name) == untimed(here / "quiet" / name)

    samples = [
        json.loads(line) for line in (here / "killed" / "queries.jsonl").read_text().splitlines()
    ]
    assert shown["documents"] == 60
    assert shown["kept"] == len(samples) == shown["written"] - sum(shown["rejected"].values())
    for sample in samples:
        (source,) = sample["reference_context_ids"]
        made = query_judge.about(texts[source])
        assert made
        assert (sample["question"], sample["reference_contexts"]) == (
            made["question"],
            [made["passage"]],
        )
    ranked = claimeval(
        "rank", here / "killed" / "qrels.txt", run_of(here, samples), "-m", "mrr", "--json"
    )
    assert json.loads(ranked.stdout)["runs"][0]["mean"]["mrr"] == 1.0


def run_of(folder: Path, samples: list[dict[str, list[str]]]) -> Path:
    """A run that finds the source of every question first."""
    path = folder / "right.run"
    lines = [
        f"{sample['id']} Q0 {sample['reference_context_ids'][0]} 1 1 right\n" for sample in samples
    ]
    path.write_text("".join(lines))
    return path


def test_a_test_set_of_other_settings_is_not_written_over_and_more_documents_add_to_it(
    claimeval: Run, tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(judge=answer)
    corpus = tmp_path / "docs.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in CORPUS))
    command = ("write-queries", corpus, "-j", f"openai:m@{server.url}", "-o", "out")
    claimeval(*command, "-n", "2", OPENAI_API_KEY="k")
    before = {row["question"] for row in map(json.loads, read(tmp_path).splitlines())}
    for options in (("-n", "1"), ("-n", "2", "--seed", "1"), ("-n", "2", "--per-document", "2")):
        done = claimeval(*command, *options, OPENAI_API_KEY="k", exits=2)
        assert "holds a run with other settings" in done.stderr
    claimeval(*command, "-n", "3", "--overwrite", OPENAI_API_KEY="k")
    assert before <= {row["question"] for row in map(json.loads, read(tmp_path).splitlines())}
    claimeval(*command, "-n", "1", "--overwrite", OPENAI_API_KEY="k")
    assert not (
        tmp_path / "here" / "out" / "queries.jsonl"
    ).exists()  # the judge writes nothing about this document


def read(folder: Path) -> str:
    return (folder / "here" / "out" / "queries.jsonl").read_text()
