"""The files and runs that README, the guides and help texts name, made from the bundled demo."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from claimeval.types.bundled import bundled
from tests.command_line import call

Rows = list[dict[str, Any]]
EXPERIMENT = """\
data: answers.jsonl
metrics: [faithfulness]
judges: openai:gpt-5-mini
grid: {assess_prompt: [three_way, binary]}
"""
MONTHS = ("2026-09", "2026-10", "2026-11")
SERIES = tuple(f"2026-0{month}" for month in range(4, 9))
RUNS = (
    ("answers.jsonl", "a", "main", ("before", "first", "second", *SERIES, *MONTHS)),
    ("few.jsonl", "b", "branch", ("after",)),
)
"""Answers, the run that pays for its calls, one that finds them in the cache, and its copies."""
COPIES = ("answers.jsonl", "candidate.jsonl", "data.jsonl", "september.jsonl", "october.jsonl")
"""Names under which pages have answers."""
CACHE = ".cache"
"""The reply cache of the runs that a page begins with."""
GIVEN = ".given"
"""Marks a run that a page begins with."""
TRACES = 2_400
"""Enough that one in a thousand is some."""


def write(folder: Path) -> None:
    """Write every file that a page takes for granted."""
    for name in COPIES:
        shutil.copy(bundled("demo.jsonl"), folder / name)
    shutil.copy(bundled("demo_labels.jsonl"), folder / "labels.jsonl")
    rows = read(folder / "answers.jsonl")
    drafts = ({key: row[key] for key in ("question", "contexts")} for row in rows)
    texts = [row["answer"] for row in rows]
    both = zip(drafts, texts, strict=True)
    lines(folder / "drafts.jsonl", ({**row, "draft": text} for row, text in both))
    lines(folder / "gold.jsonl", ({"id": row["id"], "text": row["answer"]} for row in rows))
    _labels(folder, read(folder / "labels.jsonl"), rows)
    _logs(folder, rows)
    _claims(folder, rows)
    _report(folder)
    _retrieval(folder, rows)
    _other_tools(folder, rows)


def runs(folder: Path, environment: dict[str, str]) -> None:
    """Make the runs that a page compares or reads, and mark them."""
    for data, first, again, copies in RUNS:
        _judge(folder, data, f"runs/{first}", environment)
        _judge(folder, data, f"runs/{again}", environment)
        for copy in copies:
            shutil.copytree(folder / "runs" / again, folder / "runs" / copy)
    out = ("--out", "experiments/judges", "-q")
    call("experiment", "prompts.yaml", *out, folder=folder, exits=0, **environment)
    call("demo", "-q", "--out", "runs/demo", folder=folder, exits=0, **environment)
    call("cache", "export", "shared.jsonl", folder=folder, exits=0, **environment)
    call(
        "annotate",
        "runs/a",
        "--n",
        60,
        folder=folder,
        stdin="y\ny\nn\n" * 30,
        exits=0,
        **environment,
    )
    for run in (*(folder / "runs").iterdir(), *(folder / "experiments").iterdir()):
        (run / GIVEN).touch()


def _judge(folder: Path, data: str, out: str, environment: dict[str, str]) -> None:
    metrics = "faithfulness,correctness,coverage,context_recall"
    judge = "openai:gpt-5-mini"
    call(
        "score",
        data,
        "-j",
        judge,
        "-m",
        metrics,
        "-o",
        out,
        "-q",
        folder=folder,
        exits=0,
        **environment,
    )


def read(path: Path) -> Rows:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def lines(path: Path, rows: Iterable[object]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


def _labels(folder: Path, labels: Rows, rows: Rows) -> None:
    with (folder / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, ["id", "text", "label", "against"])
        table.writeheader()
        table.writerows({**row, "against": "contexts"} for row in labels)
    shutil.copy(folder / "labels.csv", folder / "todo.csv")
    with (folder / "ratings.csv").open("w", encoding="utf-8", newline="") as file:
        ratings = csv.writer(file)
        ratings.writerow(["id", "rating", "fluency", "overall"])
        ratings.writerows(
            [row["id"], number % 5, number % 4, number % 3] for number, row in enumerate(rows)
        )
    pairs = []
    for number, row in enumerate(rows):
        scores = [number % 3 / 3, number % 4 / 4]
        responses = {"f1": scores, "ragchecker": scores}
        human = {"overall": number % 5}
        known = {"id": row["id"], "question": row["question"]}
        pairs.append({**known, "responses": responses, "human": human})
    lines(folder / "pairs.jsonl", pairs)


def _claims(folder: Path, rows: Rows) -> None:
    """Answers with claims of their own, chats, reference contexts, and prompts."""
    said = [row["answer"].split(". ") for row in rows]
    with_claims = [
        {**row, "claims": [{"text": text} for text in texts], "human_claims": texts}
        for row, texts in zip(rows, said, strict=True)
    ]
    lines(folder / "claims.jsonl", with_claims)
    matched = [{**row, "reference_contexts": row["contexts"][:1]} for row in rows]
    lines(folder / "references.jsonl", matched)
    turns = [
        {"role": "user", "content": "Who designed the tower?"},
        {"role": "assistant", "content": "Ana Lind did."},
        {"role": "user", "content": "And how high is it?"},
        {"role": "tool", "content": "The tower is 63 metres high."},
        {"role": "assistant", "content": "Ana Lind's tower is 63 m high."},
    ]
    lines(folder / "chats.jsonl", [{"messages": turns}])
    (folder / "my").mkdir()
    for step, name in (("extract/atomic", "my/atomic.j2"), ("assess/three_way", "my/strict.j2")):
        shown = call("prompts", "show", step, folder=folder, exits=0).stdout
        (folder / name).write_text(shown, encoding="utf-8")
    shutil.copy(folder / "my" / "strict.j2", folder / "base.j2")
    (folder / "prompts.yaml").write_text(EXPERIMENT, encoding="utf-8")


def _report(folder: Path) -> None:
    """A report that cites a source."""
    (folder / "sources").mkdir()
    (folder / "sources" / "tower.md").write_text("The tower is 63 metres high.\n")
    (folder / "report.md").write_text("The tower is 63 metres high [1].\n\n[1]: tower.md\n")


def _logs(folder: Path, rows: Rows) -> None:
    topics = [{**row, "metadata": {"topic": row["metadata"]["subject"]}} for row in rows]
    lines(folder / "log.jsonl", topics)
    lines(
        folder / "export.jsonl",
        (
            {
                "id": row["id"],
                "input": {"text": row["question"]},
                "output": {
                    "answer": row["answer"],
                    "docs": [{"body": context["text"]} for context in row["contexts"]],
                },
                "metadata": row["metadata"],
            }
            for row in rows
        ),
    )
    few = [{**row, "contexts": row["contexts"][:1]} for row in rows]
    lines(folder / "few.jsonl", few)
    many = (
        {**row, "id": f"{row['id']}-{number}", "question": f"{row['question']} ({number})"}
        for number in range(TRACES // len(rows))
        for row in rows
    )
    lines(folder / "traces.jsonl", (span for row in many for span in _spans(row)))
    (folder / "logs").mkdir()
    with gzip.open(folder / "logs" / "may.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def _spans(row: dict[str, Any]) -> Rows:
    """A trace of Phoenix: a chain with a retriever below it."""
    trace = {"trace_id": row["id"]}
    question = {"input.value": row["question"]}
    documents = [{"document.content": context["text"]} for context in row["contexts"]]
    return [
        {
            "name": "chain",
            "span_kind": "CHAIN",
            "context": {**trace, "span_id": f"{row['id']}-1"},
            "parent_id": None,
            "attributes": {
                "openinference.span.kind": "CHAIN",
                **question,
                "output.value": row["answer"],
            },
        },
        {
            "name": "retriever",
            "span_kind": "RETRIEVER",
            "context": {**trace, "span_id": f"{row['id']}-2"},
            "parent_id": f"{row['id']}-1",
            "attributes": {
                "openinference.span.kind": "RETRIEVER",
                **question,
                "retrieval.documents": documents,
            },
        },
    ]


def _retrieval(folder: Path, rows: Rows) -> None:
    documents = {context["id"]: context["text"] for row in rows for context in row["contexts"]}
    for name in ("docs.jsonl", "chunks.jsonl"):
        passages = ({"id": key, "text": text} for key, text in documents.items())
        lines(folder / name, passages)
    queries = "".join(f"{row['id']}\t{row['question']}\n" for row in rows)
    (folder / "queries.tsv").write_text(queries, encoding="utf-8")
    for name in ("bm25.run", "dense.run", "a.run", "b.run", "pages.run"):
        (folder / name).write_text("".join(_ranking(name, rows)), encoding="utf-8")
    judgments = "".join(_judgments(rows))
    for name in ("qrels.txt", "qrels_docs.txt", "human.txt", "judge-a.txt", "judge-b.txt"):
        (folder / name).write_text(judgments, encoding="utf-8")
    for name in ("marks-ada.qrels", "marks-ben.qrels"):
        (folder / name).write_text(judgments, encoding="utf-8")
    means = "".join(f"{row['id']} map 0.5 0.2\n" for row in rows)
    (folder / "means.txt").write_text(means, encoding="utf-8")
    for name, line in (("qrels.dev.tsv", "{0}\t0\t{0}\t1\n"), ("run.dev.tsv", "{0}\t{0}\t1\n")):
        (folder / name).write_text("".join(map(line.format, range(5))), encoding="utf-8")
    relevant = {row["id"]: _gold(row) for row in rows}
    (folder / "qrels.json").write_text(json.dumps(relevant), encoding="utf-8")
    ranked = {query: dict.fromkeys(grades, 1.0) for query, grades in relevant.items()}
    (folder / "run.json").write_text(json.dumps(ranked), encoding="utf-8")
    beir = folder / "beir" / "nq"
    (beir / "qrels").mkdir(parents=True)
    gold = [
        f"{row['id']}\t{name}\t1\n"
        for row in rows
        for name in row.get("reference_context_ids") or ()
    ]
    (beir / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(gold), encoding="utf-8"
    )
    lines(beir / "queries.jsonl", ({"_id": row["id"], "text": row["question"]} for row in rows))
    lines(
        beir / "corpus.jsonl",
        ({"_id": name, "title": "", "text": text} for name, text in documents.items()),
    )


def _ranking(name: str, rows: Rows) -> Iterable[str]:
    step = -1 if name in ("dense.run", "b.run") else 1
    for row in rows:
        for number, context in enumerate(row["contexts"][::step]):
            page = f"#p{number}" if name == "pages.run" else ""
            yield f"{row['id']} Q0 {context['id']}{page} {number + 1} {10 - number} x\n"


def _gold(row: dict[str, Any]) -> dict[str, int]:
    gold = row.get("reference_context_ids") or ()
    return {context["id"]: int(context["id"] in gold) for context in row["contexts"]}


def _judgments(rows: Rows) -> Iterable[str]:
    for row in rows:
        for name, grade in _gold(row).items():
            yield f"{row['id']} 0 {name} {grade}\n"


def _other_tools(folder: Path, rows: Rows) -> None:
    lines(
        folder / "deepeval.jsonl",
        (
            {
                "input": row["question"],
                "actual_output": row["answer"],
                "retrieval_context": [context["text"] for context in row["contexts"]],
                "claims": [{"claim": row["answer"], "verdict": "yes", "reason": None}],
                "evaluationModel": "gpt-5-mini",
            }
            for row in rows
        ),
    )
    statements = {
        "statements": [{"statement": "It is high.", "reason": "it says so", "verdict": 1}]
    }
    traces = {"faithfulness": {"n_l_i_statement_prompt": {"output": statements}}}
    judged = [
        {
            "user_input": row["question"],
            "response": row["answer"],
            "retrieved_contexts": [context["text"] for context in row["contexts"]],
            "traces": traces,
        }
        for row in rows
    ]
    (folder / "ragas.json").write_text(json.dumps(judged), encoding="utf-8")
    lines(
        folder / "judged.jsonl",
        (
            {
                "row": row["id"],
                "question": row["question"],
                "answer": row["answer"],
                "gold_answers": row.get("reference_answers") or ["unknown"],
                "judges": {"gpt-4": {"raw": "Yes."}},
                "human": "yes",
            }
            for row in rows
        ),
    )
    (folder / "judged.yaml").write_text(
        "id: row\nquestion: question\nanswer: answer\nreference_answers: gold_answers\n"
        "claim: answer\nagainst: reference\njudges: {gpt-4: judges.gpt-4.raw}\n"
        "forms: [first_word]\nhuman_label: human\n",
        encoding="utf-8",
    )
    (folder / "experiment.yaml").write_text(EXPERIMENT, encoding="utf-8")
