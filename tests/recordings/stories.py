"""What is recorded: stories of commands over the bundled data, each in an empty folder with a
server of its own."""

from __future__ import annotations

import importlib
import json
import shlex
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.data.test_recorded import DEEPEVAL, STATEMENTS, traced
from tests.data.test_result_files import RAGCHECKER
from tests.providers.local import tiny_models
from tests.recordings import harness
from tests.recordings.harness import Bench, Json, Story

UNRECORDED = {
    "extraction": "its tables are in tests/cli",
    "completion": "a script of click's, tried in tests/cli",
    "locate": "a planted world with all causes, tried in tests/api",
    "view": "a server for a browser",
    "merge": "the run of `score`, compared in tests/distributed",
}
"""Commands without a recording, and why."""

CORPUS = [
    {
        "id": "tower#p1",
        "text": (
            "The tower of the old town hall in Moewenburg is 58 metres high and was built in 1871."
        ),
    },
    {
        "id": "tower#p2",
        "text": "From April to October visitors climb its 231 steps between ten and six o'clock.",
    },
    {
        "id": "garden#p1",
        "text": "The botanical garden keeps four hundred kinds of roses from all over Europe.",
    },
    {
        "id": "ferry#p1",
        "text": "The ferry to the island leaves the harbour every hour and takes twenty minutes.",
    },
]
QUERIES = "q1\thow high is the tower\nq2\twhen does the ferry leave\nq3\twhere do roses grow\n"
QRELS = "q1 0 tower#p1 3\nq1 0 tower#p2 1\nq2 0 ferry#p1 3\nq3 0 garden#p1 2\nq3 0 tower#p1 0\n"
BM25 = (
    "q1 Q0 tower#p2 1 9.5 bm25\nq1 Q0 tower#p1 2 9.1 bm25\nq2 Q0 garden#p1 1 3.0 bm25\nq2 Q0"
    " ferry#p1 2 2.0 bm25\nq3 Q0 garden#p1 1 7.0 bm25\n"
)
DENSE = (
    "q1 Q0 tower#p1 1 0.9 dense\nq1 Q0 ferry#p1 2 0.5 dense\nq2 Q0 ferry#p1 1 0.8 dense\nq3 Q0"
    " tower#p1 1 0.4 dense\n"
)
IMPORTED = [
    {
        "row": f"r{i}",
        "question": f"Is it {i}?",
        "answer": f"It is {i}.",
        "gold": [f"It is {i % 3}."],
        "model": reply,
    }
    for i, reply in enumerate(
        ["Yes, it is.", "No, it is not.", "The answer is yes.", "Yes and no.", "", "No."]
    )
]
MAPPING = """
id: row
question: question
answer: answer
reference_answers: gold
claim: answer
against: reference
judges: {gpt-4: model}
forms: [first_word, answer, statement]
"""
PANEL = """
judges: [{a}, {b}]
vote: majority
tie: beta
"""
GRID = """
data: few.jsonl
metrics: [faithfulness]
judges: ["{a}"]
labels: few_labels.jsonl
grid: {{assess_prompt: [three_way, binary]}}
"""


def demo(bench: Bench) -> None:
    bench.run("--version")
    bench.run("demo", keep="runs/demo")
    bench.run("doctor demo.jsonl")
    bench.run("metrics")
    bench.run("metrics f1")
    bench.run("doctor demo.jsonl --json")
    bench.run("doctor few.jsonl --metrics f1,on_policy=answer:policy")
    bench.run("demo --json --out runs/again")
    bench.run("doctor nowhere.jsonl")
    bench.run("nonsense")


def helps(bench: Bench) -> None:
    """What `--help` says, without its layout."""
    import click

    from claimeval.cli.main import app

    for name, command in _tree().commands.items():
        for path, one in {
            name: command,
            **{f"{name} {sub}": c for sub, c in getattr(command, "commands", {}).items()},
        }.items():
            one.get_help(
                click.Context(one, info_name=path, **app.context_settings)
            )  # reads the texts of options
            options = {"/".join(p.opts): [p.default, getattr(p, "help", None)] for p in one.params}
            bench.note(f"claimeval {path} --help", {"help": one.help, "options": options})


def score(bench: Bench) -> None:
    a = bench.address("alpha")
    bench.run("score few.jsonl --out runs/a -j", a, keep="runs/a")
    bench.run("score few.jsonl --out runs/a --json -j", a)
    bench.run("score few.jsonl --out runs/a --offline -j", a)
    bench.run("score few.jsonl --out runs/a --metrics faithfulness -j", a)
    bench.run(
        "score few.jsonl --out runs/m -m faithfulness --limit 3 -j",
        bench.mistral("beta"),
        keep="runs/m",
    )
    bench.run(
        "score few.jsonl --out runs/c -m faithfulness --max-calls 3 -j", bench.openai("gamma")
    )
    other = "--extract-prompt bullets --assess-prompt tags --extractor local:lexical"
    bench.run(
        f"score few.jsonl --limit 3 --out runs/x -m faithfulness {other} --field answer=answer -j",
        a,
    )
    bench.run("score few.jsonl --metrics wrong -j", a)
    bench.run("score few.jsonl --judge nobody:x")
    bench.run("score few.jsonl")


def derived(bench: Bench) -> None:
    a = bench.openai("alpha")
    bench.run(
        "score few.jsonl --out runs/d -m"
        " f1,factscore,long_form_f1@5,contradiction_rate,faithful_but_incorrect -j",
        a,
    )
    bench.run(
        "score few.jsonl --out runs/n -m nuggets -j",
        a,
        keep="runs/n/summary.json runs/n/manifest.json",
    )
    bench.run(
        "score few.jsonl --out runs/t -m on_topic,long_form_f1_on_topic@5 -j",
        a,
        keep="runs/t/summary.json",
    )
    bench.run("score few.jsonl --out runs/o -m on_gold=answer:reference -j", a)
    gates = "--fail-under faithfulness=0.99 --fail-over hallucination=0.01"
    bench.run(
        f"score few.jsonl --out runs/g --per-document -m ragchecker {gates} -j",
        a,
        keep="runs/g/summary.json",
    )
    bench.run("rejudge runs/d -m f1,contradiction_rate --out runs/e", keep="runs/e/summary.json")


def documents(bench: Bench) -> None:
    a = bench.openai("alpha")
    bench.run("score few.jsonl --out runs/s --per-document -j", a, keep="runs/s")
    bench.run("rejudge runs/s --no-per-document --out runs/j -j", a, keep="runs/j/summary.json")
    bench.run(
        "rejudge runs/j --out runs/o --shuffle-contexts 2 -m faithfulness -j", a, keep="runs/o"
    )


def panel(bench: Bench) -> None:
    a = bench.openai("alpha")
    b = bench.mistral("beta")
    c = bench.openai("gamma")
    three = ("-j", a, "-j", b, "-j", c)
    bench.run("score few.jsonl --out runs/p -m faithfulness,coverage", *three, keep="runs/p")
    bench.run("rejudge runs/p --vote unanimous --out runs/u", keep="runs/u/summary.json")
    bench.run("rejudge runs/p -m faithfulness --out runs/f")
    weights = {"alpha": 2.0, "beta": 0.5, "gamma": 1.0}
    weighted = {"judges": [a, b, c], "vote": "weighted", "weights": weights}
    bench.write("weighted.yaml", json.dumps(weighted))
    bench.run("rejudge runs/f --out runs/w -j weighted.yaml", keep="runs/w/summary.json")
    bench.write(
        "repeated.yaml",
        json.dumps(
            {"judges": [a, c], "replicates": 2, "tie": "conservative", "on_same_family": "skip"}
        ),
    )
    bench.run("score few.jsonl --out runs/r -m faithfulness -j repeated.yaml")
    bench.write("panel.yaml", PANEL.format(a=a, b=b))
    bench.run(
        "score few.jsonl --out runs/y -m faithfulness -j panel.yaml", keep="runs/y/manifest.json"
    )
    bench.run("agreement runs/p")
    bench.run("agreement runs/p --json")
    bench.run("agreement runs/p --labels demo_labels.jsonl")
    bench.run("agreement runs/p --labels demo_labels.jsonl --evidence contexts")
    bench.run("agreement runs/p --labels few_labels.jsonl --evidence contexts")
    bench.run("report runs/p --format md")


def plan(bench: Bench) -> None:
    a = bench.openai("alpha")
    bench.run("plan few.jsonl -j", a)
    bench.run("plan few.jsonl --json -j", a)
    bench.run(
        "plan demo.jsonl -m nuggets,f1 --per-document -j openai:gpt-5-mini -j"
        " mistral:mistral-large-latest"
    )
    bench.run("plan demo.jsonl --batch -j openai:gpt-5-mini")
    bench.run("score few.jsonl --out runs/a -m faithfulness -j", a)
    bench.run("plan few.jsonl -m faithfulness --assess-prompt binary -j", a)
    bench.write("prompts.yaml", GRID.format(a=a))
    bench.run("plan prompts.yaml")


def rejudge(bench: Bench) -> None:
    a = bench.openai("alpha")
    b = bench.mistral("beta")
    bench.run("score few.jsonl --out runs/a -m faithfulness,coverage -j", a)
    bench.run("rejudge runs/a --keep-verdicts --out runs/b -j", b, keep="runs/b")
    bench.run(
        "rejudge runs/a --assess-prompt binary --out runs/c",
        keep="runs/c/summary.json runs/c/manifest.json",
    )
    bench.run("rejudge runs/b --vote any --out runs/d", keep="runs/d/summary.json")
    bench.run("rejudge runs/a --extract-prompt bullets --out runs/f", keep="runs/f/summary.json")
    bench.run("rejudge few.jsonl --out runs/g -m faithfulness -j", b)


def compared(bench: Bench) -> None:
    bench.run("score few.jsonl --out runs/a -m faithfulness,correctness -j", bench.openai("alpha"))
    bench.run("score few.jsonl --out runs/b -m faithfulness,correctness -j", bench.openai("gamma"))
    bench.run("compare runs/a runs/b")
    bench.run("compare runs/a runs/b --json")
    bench.run("compare runs/a runs/b runs/a -m faithfulness")
    bench.run("compare runs/a runs/b runs/b --json")
    bench.run("report runs/a", keep="runs/a/report.html")
    bench.run("report runs/a --compare runs/b --out both.html", keep="both.html")
    bench.run("push runs/a --to otlp --dry-run")
    bench.run("report runs/a --format md")
    bench.run("report runs/a --format json")
    bench.run("report runs/a --format csv --rows samples --out samples.csv", keep="samples.csv")
    bench.run("report runs/a --format csv --rows claims --out claims.csv", keep="claims.csv")


def experiment(bench: Bench) -> None:
    bench.write("prompts.yaml", GRID.format(a=bench.openai("alpha")))
    kept = (
        "experiments/prompts/experiment.md experiments/prompts/experiment.csv"
        " experiments/prompts/flips.jsonl"
    )
    bench.run("experiment prompts.yaml", keep=f"{kept} experiments/prompts/experiment.json")
    bench.run("experiment prompts.yaml --json")
    bench.run("experiment prompts.yaml --select")
    bench.run("report experiments/prompts --format md")


def people(bench: Bench) -> None:
    bench.run("score demo.jsonl --out runs/a -m faithfulness -j", bench.openai("alpha"))
    bench.run("annotate runs/a --n 12 --export todo.csv", keep="todo.csv")
    bench.run("agreement runs/a --labels demo_labels.jsonl")
    bench.run("agreement runs/a --labels demo_labels.jsonl --json")
    bench.run("correct runs/a --labels demo_labels.jsonl")
    bench.run("correct runs/a --labels demo_labels.jsonl --json")
    bench.run("correct runs/a --labels demo_labels.jsonl --method rogan-gladen")
    bench.run("correct runs/a")


def imported(bench: Bench) -> None:
    bench.write("ragchecker.json", json.dumps({"results": [RAGCHECKER]}))
    bench.write("deepeval.json", json.dumps([DEEPEVAL]))
    bench.write("ragas.json", json.dumps([traced(STATEMENTS)]))
    bench.write("judged.jsonl", IMPORTED)
    bench.write("judged.yaml", MAPPING)
    bench.run("import-replies ragchecker.json --out runs/ragchecker", keep="runs/ragchecker")
    for name in ("deepeval", "ragas"):
        bench.run(
            f"import-replies {name}.json --mapping {name} --out runs/{name}", keep=f"runs/{name}"
        )
    bench.run(
        "import-replies judged.jsonl --mapping judged.yaml --out runs/mapped", keep="runs/mapped"
    )
    bench.run("import-replies judged.jsonl --out runs/none")
    bench.run("agreement runs/mapped")
    bench.run("rejudge ragchecker.json --out runs/again -m faithfulness -j", bench.openai("alpha"))


def rated(bench: Bench) -> None:
    a = bench.openai("alpha")
    b = bench.mistral("beta")
    bench.run("plan rate few.jsonl -j", a)
    bench.run("rate few.jsonl --out runs/r -j", a, "-j", b, keep="runs/r")
    bench.run("score few.jsonl --out runs/a -m faithfulness -j", a)
    bench.run("rate runs/a --ask relevance,faithfulness -j", a, keep="runs/a/rate")
    bench.run("rate few.jsonl --ask abstention --out runs/s -j", a, keep="runs/s")
    bench.run("rate few.jsonl --ask abstention --json --out runs/t -j", b)


def graded(bench: Bench) -> None:
    a = bench.openai("alpha")
    b = bench.mistral("beta")
    bench.run("plan grade few.jsonl -j", a)
    bench.run("grade few.jsonl --out runs/grades -j", a, "-j", b, keep="runs/grades")
    bench.write("docs.jsonl", CORPUS)
    for name, text in {
        "queries.tsv": QUERIES,
        "qrels.txt": QRELS,
        "bm25.run": BM25,
        "dense.run": DENSE,
    }.items():
        bench.write(name, text)
    pool = "grade queries.tsv --corpus docs.jsonl --trec-run bm25.run --trec-run dense.run"
    bench.run(
        f"{pool} --depth 2 --qrels qrels.txt --scale graded --out runs/pool -j", a, keep="runs/pool"
    )
    bench.run(
        "agreement runs/pool/qrels.txt --labels qrels.txt --trec-run bm25.run --trec-run dense.run"
    )
    bench.run("score few.jsonl --out runs/a -m faithfulness -j", a)
    bench.run("grade runs/a --scale binary -j", a, keep="runs/a/grade")
    bench.run("retrieval few.jsonl -m mrr,map,recall@5", keep="runs")
    bench.run("retrieval few.jsonl --match text --json")
    rows = [json.loads(line) for line in Path("few.jsonl").read_text(encoding="utf-8").splitlines()]
    bench.write("gold.jsonl", [{**row, "reference_contexts": row["contexts"][:1]} for row in rows])
    bench.run(
        "grade gold.jsonl --against reference_contexts --out runs/match -j", a, keep="runs/match"
    )


def ranked(bench: Bench) -> None:
    for name, text in {"qrels.txt": QRELS, "bm25.run": BM25, "dense.run": DENSE}.items():
        bench.write(name, text)
    bench.run("rank qrels.txt bm25.run dense.run -m ndcg@10,map,recall@100,judged@10")
    bench.run("rank qrels.txt bm25.run -m ndcg@10 --per-query")
    bench.run("rank qrels.txt bm25.run dense.run --json")
    bench.run("rank qrels.txt bm25.run --trec -q -c -M1000 -m all_trec")
    bench.run("rank qrels.txt bm25.run --collapse-ids '#.*' -m map,mrr")
    bench.run("rank qrels.txt bm25.run dense.run -m map,P@5 --paired --level 2 --judged-only")
    bench.run("rank qrels.txt bm25.run dense.run --plot runs.svg")
    bench.run("fuse bm25.run dense.run -o both.run", keep="both.run")
    bench.run("fuse bm25.run dense.run")


def measured(bench: Bench) -> None:
    bench.run("lexical few.jsonl --out runs/l", keep="runs/l")
    bench.run("score few.jsonl --out runs/a -m faithfulness -j local:lexical")
    bench.run("lexical runs/a", keep="runs/a/lexical")
    bench.run("measure few.jsonl -m token_f1,rouge_l,k_precision,mrr --json")


def models(bench: Bench) -> None:
    """Tiny models with random weights: the numbers mean nothing, the shape of what is printed
    does."""
    importlib.import_module("torch").set_num_threads(1)
    Path("t5").mkdir()
    Path("reward").mkdir()
    tiny_models.t5(Path("t5"))
    tiny_models.classifier(Path("reward"), ["LABEL_0"], kind="deberta-v2")
    bench.run(
        "perplexity few.jsonl --limit 3 --model t5 --context-tokens 64 --out runs/p", keep="runs/p"
    )
    bench.run(
        "reward few.jsonl --limit 3 --model reward --context-tokens 48 --out runs/r", keep="runs/r"
    )
    bench.run(
        "perplexity few.jsonl --limit 2 --model t5 --context-tokens 64 --long-texts window --out"
        " runs/w --json"
    )


def test_sets(bench: Bench) -> None:
    a = bench.openai("alpha")
    bench.run("draw demo.jsonl -n 6 -o test.jsonl", keep="test.jsonl")
    bench.run("draw demo.jsonl -n 6 --stratify generator --min-per-stratum 2 --json -o test.jsonl")
    bench.write("docs.jsonl", CORPUS)
    bench.run("plan write-queries docs.jsonl --n 3 -j", a)
    bench.run("write-queries docs.jsonl --n 3 --out runs/q -j", a, keep="runs/q")


def batches(bench: Bench) -> None:
    command = "score few.jsonl --limit 3 -m faithfulness --batch"
    slow = bench.openai("alpha", slow=True)
    quick = bench.mistral("beta")
    bench.run(f"{command} --detach --out runs/a -j", slow)
    bench.run("batch list")
    bench.run("batch list --refresh")
    bench.run("batch collect")
    bench.run("batch cancel --all")
    bench.run(f"{command} --out runs/b -j", quick, keep="runs/b/summary.json")
    bench.run("batch list --all")


def stored(bench: Bench) -> None:
    a = bench.openai("alpha")
    bench.run("cache stats")
    bench.run("score few.jsonl --limit 2 --out runs/a -m faithfulness -j", a)
    bench.run("cache stats")
    bench.run("cache verify")
    bench.run("cache export all.jsonl")
    bench.run("cache import all.jsonl --cache other")
    bench.run("cache clear --older-than 0 --run runs/a --yes --cache other")
    bench.run("prompts list")
    bench.run("prompts show three_way")
    bench.run("prompts diff three_way binary")
    bench.run("prompts check partial")
    bench.run("prompts render three_way runs/a")


def python(bench: Bench) -> None:
    import claimeval as ce
    from claimeval.runs.series import track

    a = bench.openai("alpha")
    b = bench.mistral("beta")
    report = ce.score(
        "few.jsonl",
        judges=[a, b],
        metrics=["faithfulness", "f1"],
        panel=ce.PanelOptions(tie="conservative"),
    )
    bench.note("score(...).summary", report.record.model_dump(mode="json"))
    bench.note("score(...).manifest", report.manifest.model_dump(mode="json"))
    bench.note("score(...).results[0]", report.results[0].model_dump(mode="json"))
    bench.note("score(...).to_pandas().columns", list(report.to_pandas().columns))
    again = ce.rejudge(report, panel=ce.PanelOptions(vote="any"))
    bench.note("rejudge(...).summary", again.record.model_dump(mode="json"))
    bench.note("compare(...)", ce.compare(report, again).against(1).model_dump(mode="json"))
    report.save("runs/a")
    again.save("runs/b")
    tracked = track(["runs/a", "runs/b"])
    bench.note("track(...)", [track.model_dump(mode="json") for track in tracked.tracks])
    bench.note("Report.load(...).summary", ce.Run.load("runs/b").record.model_dump(mode="json"))
    ratings = ce.rate("few.jsonl", judges=[a], ask=["relevance", "correctness"])
    bench.note("rate(...).summary", ratings.record.model_dump(mode="json"))
    sorted_answers = ce.rate("few.jsonl", judges=[a], ask="abstention")
    bench.note("rate(..., ask='abstention').summary", sorted_answers.record.model_dump(mode="json"))
    grading = ce.grade("few.jsonl", judges=[a])
    bench.note("grade(...)", [grading.qrels, grading.record.model_dump(mode="json")])
    bench.note("__all__", list(ce.__all__))


STORIES: dict[str, Story] = {
    story.__name__: story
    for story in (
        *(
            demo,
            helps,
            score,
            derived,
            documents,
            panel,
            plan,
            rejudge,
            compared,
            experiment,
            people,
            imported,
        ),
        *(rated, graded, ranked, measured, models, test_sets, batches, stored, python),
    )
}


# --- what is covered ---


def _tree() -> Any:
    import click

    from claimeval.cli.main import app

    context = click.Context(app)
    return SimpleNamespace(
        commands={name: app.get_command(context, name) for name in app.list_commands(context)}
    )


def commands() -> list[str]:
    """The names of all commands."""
    return list(_tree().commands)


def options() -> dict[str, list[str]]:
    """The long options of every command."""
    return {
        name: [
            option
            for p in command.params
            for option in p.opts
            if option.startswith("--") and option != "--help"
        ]
        for name, command in _tree().commands.items()
    }


def _lines() -> Iterator[list[str]]:
    """The words of every recorded command that did something."""
    for name in STORIES:
        for step in harness.load(name):
            words = shlex.split(step.get("command", ""))[1:]
            if words and "--help" not in words:
                yield words


def commands_used() -> set[str]:
    """Commands that are recorded."""
    return {words[0] for words in _lines()} & set(commands())


def options_used() -> dict[str, set[str]]:
    """Options that are recorded, by command; short forms count for the long ones."""
    short = {
        (name, form): next(o for o in p.opts if o.startswith("--"))
        for name, command in _tree().commands.items()
        for p in command.params
        for form in p.opts
        if any(o.startswith("--") for o in p.opts)
    }
    used: dict[str, set[str]] = defaultdict(set)
    for words in _lines():
        used[words[0]] |= {short[words[0], word] for word in words if (words[0], word) in short}
    return used


__all__ = ["STORIES", "UNRECORDED", "Json", "commands", "commands_used", "options", "options_used"]
