"""Every job in shards, merged, against the run of one process: the same bytes, votes over the whole
run included."""

from __future__ import annotations

import asyncio
import csv
import json
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jq
import pytest

import claimeval as ce
from benchmarks.loopback import Options, ThreadHandle, serve_in_thread
from benchmarks.loopback.claim_judge import answer
from claimeval.api import data as api
from claimeval.api.jobs import before_run
from claimeval.distributed.parts import Part
from claimeval.distributed.shards import Recipe, cut, score_shard, write_part
from claimeval.runs import lines
from claimeval.runs.jobs import Prepared
from claimeval.types.options import Shard
from claimeval.types.records import SampleResult
from tests.command_line import call

ROWS: list[dict[str, Any]] = [
    {
        "id": f"q{i}",
        "question": f"How high is tower {i % 4}?",
        "answer": (
            f"Tower {i} is high. The WRONG king built it. A MISSING priest"
            f" prayed.{' It stands.' * (i % 3)}"
        ),
        "contexts": [
            f"GRADE{i % 4} Tower {i} is high.",
            "GRADE1 It stands. The king built it.",
            f"GRADE0 lawn {i}",
        ],
        "context_ids": [f"a{i}", f"b{i}", f"c{i}"],
        "reference_answers": [f"Tower {i} is high. A MISSING moat."],
        "reference_contexts": [f"Tower {i} is high."],
        "reference_context_ids": [f"a{i}"],
        "is_answerable": i % 3 > 0,
        "generator": ["gpt-5", "llama-3-70b"][i % 2],
    }
    for i in range(7)
]
Door = Callable[..., ce.Run]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadHandle]:
    with serve_in_thread(Options(), judge=answer) as handle:
        yield handle


@pytest.fixture(scope="module")
def source(server: ThreadHandle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data file, a run over it, and labels of its claims."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    options = ce.RunOptions(cache=folder / "cache")
    run = ce.score(
        folder / "data.jsonl",
        judges=panel(server),
        metrics="faithfulness",
        out=folder / "run",
        options=options,
    )
    with (folder / "labels.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "claim_id", "label"])
        rows.writerows(
            (result.sample.id, claim.id, "supported")
            for result in run
            for claim in result.claims[:2]
        )
    return folder


def panel(server: ThreadHandle) -> list[str]:
    return [f"openai:{name}@{server.url}" for name in ("gpt-5", "llama-3-8b")]


def repeated(source: Path, judges: list[str], **settings: Any) -> ce.Run:
    options = ce.PanelOptions(vote="unanimous", replicates=2)
    return ce.score(source / "data.jsonl", judges=judges, panel=options, **settings)


def shuffled(source: Path, judges: list[str], **settings: Any) -> ce.Run:
    return ce.score(
        source / "data.jsonl",
        judges=judges,
        metrics="faithfulness,f1",
        shuffle_contexts=2,
        **settings,
    )


def rejudge(source: Path, judges: list[str], **settings: Any) -> ce.Run:
    return ce.rejudge(source / "run", assess_prompt="binary", **settings)


def recount(source: Path, judges: list[str], **settings: Any) -> ce.Run:
    return ce.rejudge(source / "run", panel=ce.PanelOptions(vote="any"), **settings)


def rate(source: Path, judges: list[str], **settings: Any) -> ce.Run:
    return ce.rate(source / "data.jsonl", judges=judges, **settings)


def grade(source: Path, judges: list[str], **settings: Any) -> ce.Run:
    return ce.grade(source / "data.jsonl", judges=judges, **settings)


def match(source: Path, judges: list[str], **settings: Any) -> ce.Run:
    return ce.grade(
        source / "data.jsonl", judges=judges[:1], against="reference_contexts", **settings
    )


def measure(source: Path, judges: list[str], **settings: Any) -> ce.Run:
    return ce.measure(source / "data.jsonl", "rouge_l,recall@2,ndcg@3", **settings)


JOBS: list[Door] = [
    repeated,
    shuffled,
    rejudge,
    recount,
    rate,
    grade,
    match,
    measure,
]


def extraction(source: Path, judges: list[str], **settings: Any) -> ce.Run:
    return ce.extraction(source / "run", **settings)


def write_queries(source: Path, judges: list[str], **settings: Any) -> ce.Run:
    corpus = [
        ce.Document(id=f"d{i}", text=f"Tower {i} is high. It was built in 18{i}0.")
        for i in range(3)
    ]
    return ce.write_queries(corpus, judge=judges[0], n=3, **settings)


def empty(source: Path, judges: list[str], **settings: Any) -> ce.Run:
    """Samples without an answer, without claims and without evidence."""
    rows = [
        {**ROWS[0], "id": "none", "answer": None},
        {**ROWS[1], "id": "dots", "answer": "..."},
        {**ROWS[2], "contexts": [], "context_ids": []},
    ]
    return ce.score(rows, judges=judges, metrics="faithfulness,correctness", **settings)


@pytest.mark.parametrize(
    "job", [*JOBS, extraction, write_queries, empty], ids=lambda job: job.__name__
)
def test_the_lines_are_read_as_the_documentation_says(
    job: Door, source: Path, server: ThreadHandle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With jq and pandas, and nothing of ours."""
    monkeypatch.chdir(tmp_path)
    run = job(source, panel(server), out="runs/demo", options=ce.RunOptions(cache=source / "cache"))
    page = (ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
    texts, unsupported, labels = (
        [
            str(row)
            for row in jq.compile(program).input_text(Path("runs/demo/results.jsonl").read_text())
        ]
        for program in re.findall(r"^jq -r '(.+)' runs/demo/results.jsonl$", page, re.M)
    )
    assert texts == [claim.text for result in run for claim in result.claims]
    assert unsupported == [
        f"{result.sample.id}\t{a.subject}\t{a.label or a.unassessed}"
        for result in run
        for a in result.assessments
        if a.label != "supported"
    ]
    verdicts = [v for result in run for a in result.assessments for v in a.verdicts]
    assert labels == [f"{v.judge}\t{v.label or v.unassessed}" for v in verdicts]
    (script,) = re.findall(r"^```python\n(import json\nfrom pathlib.+?)^```$", page, re.M | re.S)
    found: dict[str, Any] = {}
    exec(script, found)
    assert list(found["scores"].columns) == list(run.manifest.names) or not len(run)
    assert len(found["claims"]) == len(texts)
    assert [*found["claims"].get("claim.text", [])] == texts
    assert [*found["verdicts"].get("verdict.judge", [])] == [v.judge for v in verdicts]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.__name__)
def test_three_shards_merged_are_the_run_of_one_process(
    job: Door, source: Path, server: ThreadHandle, tmp_path: Path
) -> None:
    cache = source / "cache"
    plain = job(source, panel(server), out=tmp_path / "plain", options=ce.RunOptions(cache=cache))
    sent = len(server.exchanges())
    for number in (3, 1, 2):
        job(
            source,
            panel(server),
            out=tmp_path / "run",
            options=ce.RunOptions(cache=cache, shard=f"{number}/3"),
        )
    merged = ce.Run.merge(tmp_path / "run")
    for name in ("results.jsonl", "summary.json", "qrels.txt"):
        written = tmp_path / "plain" / name
        assert written.exists() == (tmp_path / "run" / name).exists()
        if written.exists():
            assert (tmp_path / "run" / name).read_bytes() == written.read_bytes(), name
    assert merged == plain
    assert len(server.exchanges()) == sent  # the same questions, all in the cache


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "data.jsonl", "-m", "faithfulness"),
        ("rate", "data.jsonl"),
        ("grade", "data.jsonl"),
        ("rejudge", "run"),
        ("rejudge", "run", "--vote", "any"),
    ],
    ids=lambda arguments: "-".join(arguments[::2]),
)
def test_the_commands_take_shards(
    arguments: tuple[str, ...], source: Path, server: ThreadHandle, tmp_path: Path
) -> None:
    judges = () if arguments[0] == "rejudge" else ("-j", panel(server)[0])
    told = (*arguments, *judges, "--out", tmp_path / "run", "--cache", "cache", "--json", "--quiet")
    for shard in ("1/2", "2/2"):
        done = call(*told, "--shard", shard, folder=source)
        given = json.loads(done.stdout)
        assert (given["shard"], given["samples"]) == (shard, 3 if shard == "1/2" else 4)
    merged = call("merge", tmp_path / "run", "--json", "--by", "generator")
    assert json.loads(merged.stdout)["samples"] == 7
    assert set(json.loads(merged.stdout)["by"]["generator"]) == {"gpt-5", "llama-3-70b"}


def test_what_is_not_cut_into_shards_says_so(tmp_path: Path) -> None:
    options = ce.RunOptions(shard="1/2")
    with pytest.raises(ce.UsageError, match="an experiment cannot be split into shards"):
        ce.experiment({}, options=options)
    corpus = [ce.Document(id="d", text="The tower is high.")]
    with pytest.raises(ce.UsageError, match="a run of write_queries cannot be split into shards"):
        ce.write_queries(
            corpus, judge="openai:m@http://127.0.0.1:9/v1", out=tmp_path / "set", options=options
        )


def test_a_large_file_is_cut_without_reading_other_rows(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"HELD": 0, "EXAMINED": 2, "AHEAD": 1}.items():
        monkeypatch.setattr(api, name, value)
    rows = (source / "data.jsonl").read_text().splitlines()
    rows.insert(3, "   ")  # a blank line is no row
    file = tmp_path / "data.jsonl"
    file.write_text("\n".join(rows) + "\n")
    read: list[list[str]] = []

    def length(sample: ce.Sample) -> float:
        read[-1].append(sample.id)
        return len(sample.answer or "")

    for number in (1, 2, 3):
        read.append([])
        ce.measure(
            file,
            {"length": length},
            out=tmp_path / "run",
            options=ce.RunOptions(shard=f"{number}/3"),
        )
    assert read == [["q0", "q1"], ["q2", "q3"], ["q4", "q5", "q6"]]
    read.append([])
    ce.measure(file, {"length": length}, out=tmp_path / "plain")
    assert ce.Run.merge(tmp_path / "run") == ce.Run.load(tmp_path / "plain")


@pytest.mark.parametrize(("job", "passes"), [(rejudge, 1), (recount, 0)])
def test_a_shard_of_a_run_that_is_judged_again_parses_no_earlier_results(
    job: Door,
    passes: int,
    source: Path,
    server: ThreadHandle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[bytes] = []

    def read(line: bytes, replies: bytes | None = None, **how: bool) -> SampleResult:
        parsed.append(line)
        return real(line, replies, **how)

    real = lines.read
    monkeypatch.setattr(lines, "read", read)
    job(
        source, [], out=tmp_path / "run", options=ce.RunOptions(cache=source / "cache", shard="3/3")
    )
    every = (source / "run" / "results.jsonl").read_bytes().splitlines(keepends=True)
    assert parsed == [*every * passes, *every[4:]]  # those of the passes settle what is asked


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
@pytest.mark.parametrize("limit", [None, 5])
def test_files_of_every_format_are_cut_alike(
    suffix: str, limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pandas

    frame = pandas.DataFrame(
        [{"id": row["id"], "question": row["question"], "answer": row["answer"]} for row in ROWS]
    )
    file = tmp_path / f"data{suffix}"
    {
        ".csv": lambda: frame.to_csv(file, index=False),
        ".parquet": lambda: frame.to_parquet(file),
        ".json": lambda: frame.to_json(file, orient="records"),
    }[suffix]()
    for name, value in {"HELD": 0, "EXAMINED": 2, "AHEAD": 1}.items():
        monkeypatch.setattr(api, name, value)
    plain = ce.measure(file, "answer_length", limit=limit, out=tmp_path / "plain")
    for number in (1, 2, 3):
        ce.measure(
            file,
            "answer_length",
            limit=limit,
            out=tmp_path / "run",
            options=ce.RunOptions(shard=f"{number}/3"),
        )
    assert ce.Run.merge(tmp_path / "run") == plain
    assert len(plain) == (limit or 7)


def test_an_id_that_two_shards_have_is_refused_at_the_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"HELD": 0, "EXAMINED": 2}.items():
        monkeypatch.setattr(api, name, value)
    file = tmp_path / "data.jsonl"
    rows = [{**row, "id": "q0" if i == 5 else row["id"]} for i, row in enumerate(ROWS)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for number in (1, 2):
        ce.measure(
            file, "answer_length", out=tmp_path / "run", options=ce.RunOptions(shard=f"{number}/2")
        )
    with pytest.raises(ce.DataError, match=r"Duplicate sample id 'q0' \(samples 1 and 6\)"):
        ce.Run.merge(tmp_path / "run")


def test_shards_scored_elsewhere_are_the_same(
    source: Path, server: ThreadHandle, tmp_path: Path
) -> None:
    """As an engine does it: the recipe and the samples are pickled."""
    found: list[Prepared] = []
    settings: dict[str, Any] = {
        "judges": panel(server),
        "assess_prompt": "three_way",
        "metrics": "faithfulness",
    }
    options = ce.RunOptions(cache=source / "cache", offline=True)
    with before_run(found.append):
        plain = ce.score(source / "data.jsonl", **settings, out=tmp_path / "plain", options=options)
    (prepared,) = found
    samples = list(prepared.items)
    recipe = Recipe(prepared.job, plain.manifest, options)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_bytes(
        (tmp_path / "plain" / "manifest.json").read_bytes()
    )
    (tmp_path / "run" / "parts").mkdir()
    for number in (1, 2):
        part = Part(tmp_path / "run", Shard(number, 2))
        places = cut(len(samples), part.shard)
        posted = pickle.dumps((recipe, samples[places.start : places.stop]))
        sent_recipe, sent = pickle.loads(posted)  # noqa: S301
        result, _ = asyncio.run(score_shard(sent_recipe, sent))
        write_part(recipe, part, places, result)
    merged = ce.Run.merge(tmp_path / "run")
    assert list(merged) == list(plain)
    assert len(merged) == 7
