"""A user's file, checked by mypy and pyright in strict mode against the installed wheel; it is not
run.

A comment that silences an error stands where both must see one.
"""

from __future__ import annotations

import claimeval as ce
from claimeval import ir, lexical
from claimeval.testing import ScriptedJudge
from claimeval.types.options import RunOptions

SAMPLES = [
    ce.Sample(
        id="tower",
        question="How high?",
        answer="58 m.",
        contexts=(ce.Document(id="d1", text="It is 58 m high."),),
    ),
    ce.Sample(
        question="How old?",
        answer="150 years.",
        contexts=["It was built in 1874."],
        reference_answers=["152"],
    ),
]


def evaluate(judge: ce.Judge | str) -> float | None:
    """Score, read the parts of a result, and compare."""
    options: RunOptions = ce.RunOptions(max_calls=10)
    run: ce.Run = ce.score(
        SAMPLES, judges=[judge, ScriptedJudge()], metrics=["faithfulness"], options=options
    )
    for result in run:
        print([claim.text for claim in result.claims], result.scores["faithfulness"].value)
    comparison: ce.Comparison = ce.compare(run, run)
    print(
        comparison.metrics["faithfulness"].difference.low,
        run.gate(fail_under={"faithfulness": 0.9}),
    )
    mean: float | None = run["faithfulness"].mean
    return mean


async def evaluate_later(path: str) -> ce.Run:
    """Wait for a run."""
    return await ce.ascore(path, judges="local:lexical")


async def guard(answer: str, contexts: list[str]) -> bool:
    """Check one answer, with a time limit."""
    result = await ce.acheck(answer, contexts, judge="local:lexical", timeout=5)
    return (result.faithfulness or 0.0) >= 0.8


def without_a_judge() -> None:
    """Use the libraries that need no judge."""
    scores: dict[str, float | None] = lexical.score_one(
        "It is Paris.", references=["Paris"], metrics=["token_recall"]
    )
    print(scores, ir.evaluate({"q": {"d": 1}}, {"q": {"d": 0.5}}, "ndcg@10").mean)


def mistakes() -> None:
    """Each line has an error."""
    ce.score(SAMPLES, judgez="local:lexical")  # type: ignore[call-arg]
    ce.score(SAMPLES, judges=7)  # type: ignore[arg-type]
