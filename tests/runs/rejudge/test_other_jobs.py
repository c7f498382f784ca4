"""Runs of ratings, grades and measures judged again: votes without a call, other judges, other
prompts."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.testing import ScriptedJudge
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions

WORDS = {
    "one": ("fully", "fully", "no"),
    "two": ("fully", "no", "no"),
    "three": ("partly", "partly", "partly"),
    "four": ("fully", "fully", "fully"),
}
"""By sample what judges a, b and c say of the answer; as grades 3, 2 and 0."""
GRADES = {"fully": 3, "partly": 2, "no": 0}
SAMPLES: list[dict[str, Any]] = [
    {
        "id": name,
        "question": f"Question {name}?",
        "answer": f"Answer {name}.",
        "contexts": [f"Text {name}.", f"More {name}."],
        "context_ids": ["a", "b"],
        "reference_context_ids": ["a"],
    }
    for name in WORDS
]


@pytest.fixture
def asked() -> Counter[str]:
    """How many calls each judge had."""
    return Counter()


def judges(asked: Counter[str], names: str = "abc") -> list[ScriptedJudge]:
    def scripted(number: int, name: str) -> ScriptedJudge:
        def reply(text: str) -> str:
            asked[name] += 1
            (sample,) = set(re.findall(f"({'|'.join(WORDS)})[.?]", text))
            word = WORDS[sample][number % 3]
            if "noncommittal" in text:
                return json.dumps({"reason": "r", "rating": word, "noncommittal": word == "no"})
            return json.dumps({"grades": [{"id": "d1", "reason": "r", "grade": GRADES[word]}]})

        return ScriptedJudge(reply=reply, name=name)

    return [scripted(number, name) for number, name in enumerate(names)]


def labels(run: ce.Run, question: str) -> list[str | None]:
    return [a.label for result in run for a in result.assessments if a.question == question]


def test_ratings_are_voted_on_again_without_a_call(asked: Counter[str], tmp_path: Path) -> None:
    options = RunOptions(cache=tmp_path / "cache")
    run = ce.rate(
        SAMPLES, judges=judges(asked), ask="relevance", out=tmp_path / "rate", options=options
    )
    assert labels(run, "rated_relevance") == ["fully", "no", "partly", "fully"]
    assert asked == {"a": 4, "b": 4, "c": 4}
    again = ce.rejudge(
        tmp_path / "rate", panel=PanelOptions(vote="unanimous"), out=tmp_path / "again"
    )
    assert labels(again, "rated_relevance") == [None, None, "partly", "fully"]
    assert labels(again, "noncommittal") == labels(run, "noncommittal") == ["no", "yes", "no", "no"]
    assert (again.job, again["rated_relevance"].mean, again["rated_relevance"].missing) == (
        "rate",
        0.75,
        {"tie": 2},
    )
    assert again.cost
    assert (again.cost.calls, again.cost.reused, asked.total()) == (0, 12, 12)
    assert (
        ce.rejudge(again, panel=PanelOptions(vote="median"))["rated_relevance"]
        == run["rated_relevance"]
    )


@pytest.mark.parametrize("door", [ce.rate, ce.grade])
def test_a_vote_that_needs_the_whole_run_comes_to_the_same_in_the_run_and_afterwards(
    door: Any, asked: Counter[str], tmp_path: Path
) -> None:
    options = RunOptions(cache=tmp_path / "cache")
    keywords: dict[str, Any] = {"ask": "relevance"} if door is ce.rate else {}
    line_up = judges(asked)
    run = door(
        SAMPLES, judges=line_up, options=options, panel=PanelOptions(vote="unanimous"), **keywords
    )
    direct = door(
        SAMPLES, judges=line_up, options=options, panel=PanelOptions(vote="any"), **keywords
    )
    again = ce.rejudge(run, panel=PanelOptions(vote="any"))
    assert [result.assessments for result in again] == [result.assessments for result in direct]
    assert again.summary == direct.summary
    assert again.summary != run.summary
    assert asked == dict.fromkeys("abc", 4 if door is ce.rate else 8)


def test_a_judge_joins_those_of_a_run_of_grades(asked: Counter[str], tmp_path: Path) -> None:
    options = RunOptions(cache=tmp_path / "cache")
    run = ce.grade(SAMPLES, judges=judges(asked, "a"), options=options)
    assert run.qrels["one"] == {"a": 3, "b": 3}
    asked.clear()
    both = ce.rejudge(run, judges=judges(asked, "xyz")[2], keep_verdicts=True, options=options)
    assert asked == {"z": 8}
    assert [judge.name for judge in both.manifest.judges] == ["a", "z"]
    lowest = {name: min(GRADES[word] for word in WORDS[name][::2]) for name in WORDS}
    assert both.qrels == {name: dict.fromkeys("ab", grade) for name, grade in lowest.items()}
    assert ce.rejudge(both, judges="a", options=RunOptions(offline=True)).qrels == run.qrels


def test_another_prompt_asks_again(asked: Counter[str], tmp_path: Path) -> None:
    options = RunOptions(cache=tmp_path / "cache")
    run = ce.grade(SAMPLES, judges=judges(asked, "a"), out=tmp_path / "grade", options=options)
    same = ce.rejudge(
        tmp_path / "grade", judges="a", assess_prompt="steps", options=RunOptions(offline=True)
    )
    assert (same.qrels, asked["a"]) == (run.qrels, 8)
    other = ce.rejudge(tmp_path / "grade", assess_prompt="plain", options=options)
    assert (other.manifest.prompts[0].name, other.qrels, asked["a"]) == (
        "rate/plain",
        run.qrels,
        16,
    )


def test_one_rating_of_several_is_kept(asked: Counter[str], tmp_path: Path) -> None:
    run = ce.rate(
        SAMPLES, judges=judges(asked), ask="relevance", options=RunOptions(cache=tmp_path / "cache")
    )
    with pytest.raises(UsageError, match="Did you mean 'rated_relevance'"):
        ce.rejudge(run, metrics="rated_relevancy")
    assert ce.rejudge(run, metrics="noncommittal")["noncommittal"] == run["noncommittal"]


def test_another_judge_answers_one_question_of_several(asked: Counter[str], tmp_path: Path) -> None:
    options = RunOptions(cache=tmp_path / "cache")
    run = ce.rate(SAMPLES, judges=judges(asked, "a"), ask="relevance,faithfulness", options=options)
    (other,) = judges(asked, "z")
    again = ce.rejudge(
        run, judges=other, metrics="rated_relevance", keep_verdicts=True, options=options
    )
    assert (asked["z"], list(again.summary)) == (4, ["rated_relevance", "noncommittal"])
    assert [prompt.name for prompt in again.manifest.prompts] == ["answers/relevance"]
    assert again.record.notes == ()


def test_fewer_rank_metrics_of_matches_are_kept(asked: Counter[str], tmp_path: Path) -> None:
    samples = [{**SAMPLES[0], "reference_contexts": ["Text one."], "reference_context_ids": ["a"]}]
    options = RunOptions(cache=tmp_path / "cache")
    run = ce.grade(
        samples,
        judges=judges(asked, "a"),
        against="reference_contexts",
        measures="mrr,map",
        options=options,
    )
    again = ce.rejudge(run, metrics="mrr")
    assert list(again.summary) == ["mrr"]
    assert again["mrr"] == run["mrr"]


def test_measures_are_computed_again(tmp_path: Path) -> None:
    run = ce.measure(SAMPLES, "mrr,answer_length", out=tmp_path / "measure")
    again = ce.rejudge(tmp_path / "measure")
    assert (again.summary, list(again)) == (run.summary, list(run))
    assert list(ce.rejudge(run, metrics="recall@1").summary) == ["recall@1"]
    assert ce.rejudge(run, options=RunOptions(cluster="answer")).manifest.cluster == "answer"
    with pytest.raises(UsageError, match="a run of measure, which has no judges"):
        ce.rejudge(run, judges="local:lexical")


def test_a_run_without_votes_says_so(asked: Counter[str], tmp_path: Path) -> None:
    writer = ScriptedJudge(reply=lambda text: json.dumps({"questions": []}))
    options = RunOptions(cache=tmp_path / "cache")
    made = ce.write_queries(
        [ce.Document(id="d", text="A text about rabbits.")], judge=writer, options=options
    )
    with pytest.raises(UsageError, match="a run of write-queries has no votes"):
        ce.rejudge(made, options=options)


@pytest.mark.parametrize(
    "setting", [{"extractor": "local:lexical"}, {"per_document": True}, {"extract_prompt": "x"}]
)
def test_what_only_claims_have_is_refused(
    setting: dict[str, Any], asked: Counter[str], tmp_path: Path
) -> None:
    run = ce.rate(
        SAMPLES, judges=judges(asked), ask="relevance", options=RunOptions(cache=tmp_path / "cache")
    )
    with pytest.raises(UsageError, match=f"{min(setting)}: a run of rate has no claims"):
        ce.rejudge(run, **setting)
