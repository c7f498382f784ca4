"""The measure job: words, ranks and functions of your own over one stream of samples."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from claimeval.evaluation.measure import Measurement, make_job
from claimeval.execution.runner import run_job
from claimeval.runs.directory import RunInMemory
from claimeval.runs.jobs import RunSink
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Document, Sample, SampleResult
from tests.sample_runs import Outcome

SAMPLES = [
    Sample(
        id="paris",
        question="Which city?",
        answer="It is Paris.",
        contexts=(Document(id="b", text="Rome"), Document(id="a", text="Paris")),
        reference_answers=("Paris",),
        reference_context_ids=("a",),
    ),
    Sample(id="silent", question="Which city?", contexts=()),
]


def run(wanted: Measurement, cache: Path) -> tuple[Sequence[SampleResult], Outcome]:
    job = make_job(wanted)
    memory = RunInMemory(job.manifest)
    sink = RunSink(memory)
    status = asyncio.run(run_job(job, SAMPLES, sink.add, RunOptions(cache=cache), Progress()))
    summary = sink.finish(status)
    return memory.results, Outcome(summary, status)


def test_words_and_ranks_are_measured_in_one_run(tmp_path: Path) -> None:
    results, outcome = run(Measurement(metrics="token_recall,mrr,recall@1"), tmp_path)
    found = [
        {name: (score.value, score.unit) for name, score in result.scores.items()}
        for result in results
    ]
    assert found == [
        {
            "token_recall": (1.0, "share"),
            "answer_length": (3.0, "words"),
            "mrr": (0.5, "share"),
            "recall@1": (0.0, "share"),
        },
        {
            "token_recall": (None, "share"),
            "answer_length": (None, "words"),
            "mrr": (None, "share"),
            "recall@1": (None, "share"),
        },
    ]
    assert list(outcome.summary.metrics) == list(found[0])
    assert outcome.summary["answer_length"].unit == "words"
    assert outcome.summary["mrr"].missing == {"missing_input": 1}
    assert outcome.status.complete
    assert not list(tmp_path.iterdir()), "no reply cache is opened where nothing is kept"


def test_a_function_of_ones_own_is_a_metric(tmp_path: Path) -> None:
    words = {
        "words": lambda sample: None if sample.answer is None else float(len(sample.answer.split()))
    }
    results, outcome = run(Measurement(metrics=words), tmp_path)
    assert [result["words"].value for result in results] == [3.0, None]
    assert results[1]["words"].because == "no_evidence"
    assert outcome.summary["words"].mean == 3.0


def test_a_group_stands_for_its_metrics() -> None:
    job = make_job(Measurement(metrics="retrieval,answer_length"))
    assert job.manifest.names == ("answer_length", "mrr", "map", "recall@5", "P@5", "ndcg@10")
    assert job.manifest.settings == {"normalization": "squad", "match": None}


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ("rougel", "computes rouge_l"),
        ("", "name a metric to measure"),
        ("num_ret", "num_ret is no mean over samples"),
        ("query_likelihood,answer_reward", "one of them at a time"),
    ],
)
def test_what_cannot_be_measured_is_refused(metrics: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make_job(Measurement(metrics=metrics))
