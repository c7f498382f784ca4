"""Several gold answers are alternatives unless the data or an option say that they belong
together."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import claim_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval import testing
from claimeval.data.reading import read_samples
from claimeval.evaluation.claims import ClaimsOptions, make_job
from claimeval.evaluation.forecast import forecast
from claimeval.judging import assess, prompts
from claimeval.metrics.derived import best, select_metrics
from claimeval.types.errors import UsageError
from claimeval.types.records import Claim, Document, Sample, Score
from tests import scripted
from tests.command_line import call
from tests.conftest import StartServer

NAMES = ["Paris.", "City of FROM_City.", "FROM_Paname."]
"""Under the judge's rule `FROM_City` is supported only where the evidence says City."""


class Server:
    def __init__(self, start: StartServer) -> None:
        self.prompts: list[str] = []
        self.url = start(judge=self._judge).url

    def _judge(self, body: Body) -> Reply:
        self.prompts.append(text_of(body))
        return claim_judge.answer(body)

    @property
    def assessments(self) -> list[str]:
        return [prompt for prompt in self.prompts if "<evidence>" in prompt]


@pytest.fixture
def server(start_server: StartServer) -> Server:
    return Server(start_server)


def row(**fields: Any) -> dict[str, Any]:
    return {
        "id": "a",
        "question": "Which city?",
        "answer": "Paris.",
        "reference_answers": NAMES,
        **fields,
    }


def scored(
    server: Server, sample: dict[str, Any], metrics: str, judges: int = 1, **settings: Any
) -> ce.Run:
    named = [f"openai:judge-{n}@{server.url}" for n in range(judges)]
    return ce.score([sample], judges=named, metrics=metrics.split(","), **settings)


def test_an_answer_that_is_one_of_the_alternatives_covers_the_gold_answer(server: Server) -> None:
    found = scored(server, row(), "coverage,correctness,f1").results[0]
    assert {name: score.value for name, score in found.scores.items()} == {
        "coverage": 1.0,
        "correctness": 1.0,
        "f1": 1.0,
    }
    assert (found["coverage"].alternative, found["coverage"].total) == (1, 1)


@pytest.mark.parametrize("where", ["data", "option"])
def test_answers_that_belong_together_are_all_needed(server: Server, where: str) -> None:
    if where == "data":
        report = scored(server, row(references="together"), "coverage")
    else:
        report = scored(server, row(references="any"), "coverage", references="together")
    found = report.results[0]["coverage"]
    assert found.value == pytest.approx(1 / 3)
    assert (found.hits, found.total, found.alternative) == (1, 3, None)


def test_f1_and_nuggets_go_by_the_alternative_that_is_covered_best(server: Server) -> None:
    """Of the first alternative half is covered, of the second 2 of 3: f1 = 2 (1 * 2/3) / (1 + 2/3)
    = 0.8."""
    answers = ["It is. FROM_here.", "It is. It was. FROM_there."]
    found = scored(server, row(reference_answers=answers), "f1,nugget_recall,coverage").results[0]
    assert found["coverage"].value == pytest.approx(2 / 3)
    assert found["f1"].value == pytest.approx(0.8)
    assert found["nugget_recall"].value == pytest.approx(2 / 3)
    assert {s.alternative for name, s in found.scores.items() if name != "correctness"} == {2}


def test_context_recall_is_that_of_the_alternative_that_the_contexts_have_best(
    server: Server,
) -> None:
    """The answer has the first alternative, the contexts the second."""
    sample = row(answer="alpha", contexts=["beta"], reference_answers=["FROM_alpha.", "FROM_beta."])
    found = scored(server, sample, "coverage,context_recall").results[0]
    assert [(s.value, s.alternative) for s in found.scores.values()] == [(1.0, 1), (1.0, 2)]


def test_alternatives_keep_the_order_in_which_they_are_given() -> None:
    given = Sample(id="s", question="?", reference_answers=("Paris", "City of Paris", "paris."))
    assert given.reference_answers == ("Paris", "City of Paris")


def test_equal_alternatives_count_once(server: Server) -> None:
    found = scored(
        server, row(reference_answers=["Paris.", "paris", " PARIS . "]), "coverage"
    ).results[0]
    assert (found.sample.reference_answers, found["coverage"].total) == (("Paris.",), 1)
    assert len(server.prompts) == 2


def test_the_judge_is_told_in_one_call_that_the_answers_are_alternatives(server: Server) -> None:
    scored(server, row(), "correctness")
    [prompt] = server.assessments
    assert "The documents are alternatives: each is a right answer by itself." in prompt
    assert 'd3: "FROM_Paname."' in prompt


def test_answers_that_belong_together_are_shown_without_that_word(server: Server) -> None:
    scored(server, row(references="together"), "correctness")
    assert "alternatives" not in server.assessments[0]


@pytest.mark.parametrize("name", ["three_way", "binary", "tags", "partial"])
def test_the_prompt_for_one_gold_answer_is_what_it_would_be_without_alternatives(name: str) -> None:
    prompt = prompts.load("assess", name)
    before, rest = prompt.source.split("{% if alternatives %}\n", 1)
    without = prompts.Prompt("x", "assess", before + rest.split("{% endif %}\n", 1)[1])
    claims = [Claim(grounding="ungrounded", id="answer-1", text="It is.", of="answer")]
    shown = assess.ShownDocuments([Document(id="r", text="It is.")])
    asked = [
        assess.ask(p, scripted.judge(), claims, shown, "Q?").messages for p in (prompt, without)
    ]
    assert asked[0] == asked[1]


def test_each_judge_of_a_panel_goes_by_the_alternative_that_suits_it(server: Server) -> None:
    found = scored(server, row(), "coverage", judges=2)
    members = found.summary["coverage"].by_judge.values()
    assert [(m.mean, m.total) for m in members] == [(1.0, 1), (1.0, 1)]


def test_rejudging_asks_nothing_twice_and_keeps_the_alternatives(
    server: Server, tmp_path: Path
) -> None:
    scored(server, row(), "coverage").save(tmp_path / "a")
    extractions = len(server.prompts) - len(server.assessments)
    again = ce.rejudge(tmp_path / "a", judges=[f"openai:other@{server.url}"])
    assert (again.results[0]["coverage"].value, again.results[0]["coverage"].alternative) == (
        1.0,
        1,
    )
    assert len(server.prompts) - len(server.assessments) == extractions == 3
    assert len(server.assessments) == 2


def test_a_plan_counts_an_extraction_for_each_alternative() -> None:
    sample = Sample(id="a", question="Q?", answer="It is Paris.", reference_answers=tuple(NAMES))
    plan = make_job(
        ClaimsOptions(claims_per_call=20, judges=["openai:gpt-5-mini"]),
        select_metrics(["coverage", "correctness"]),
    )
    assert asyncio.run(forecast([sample], plan, None)).calls == (6, 6)  # 3 + 1 texts, 2 assessments


def test_local_lexical_finds_an_answer_in_any_of_the_alternatives() -> None:
    answers = ["The tower was built in 1901 by Ana Souto.", "Nobody knows."]
    sample = row(answer=answers[0], reference_answers=answers[::-1])
    found = ce.score(
        [sample], judges=["local:lexical"], metrics=["correctness", "coverage"]
    ).results[0]
    assert [score.value for score in found.scores.values()] == [1.0, 1.0]
    assert found.assessments[0].verdicts[0].cites == ("reference-2",)


def test_places_of_claims_are_counted_through_all_alternatives(server: Server) -> None:
    found = scored(
        server, row(reference_answers=["It is. It was.", "They are."]), "coverage"
    ).results[0]
    text = found.sample.text("reference") or ""
    assert [text[slice(*claim.span or (0, 0))] for claim in found.claims] == [
        "It is.",
        "It was.",
        "They are.",
    ]
    assert [claim.sentences for claim in found.claims] == [(1,), (2,), (3,)]
    assert [claim.alternative for claim in found.claims] == [1, 1, 2]


def test_the_bounds_of_the_best_are_the_best_of_the_bounds() -> None:
    """One of two judged claims unknown: 0 to .5 and value 0; the other alternative is known to have
    .25."""
    unsure = Score.counted(0, 1, 2)
    known = Score.counted(1, 4, 4)
    found = best({1: unsure, 2: known})
    assert (found.value, found.alternative, found.bounds) == (0.25, 2, (0.25, 0.5))


def test_an_open_alternative_leaves_claim_recall_and_f1_open(tmp_path: Path) -> None:
    """The first alternative has half of its two claims (one in the contexts, one of them in the
    answer), the second is one claim that the judge is unsure about: it may be the better one.

    f1: precision 1 (Ada), recall 1 / 2 or, of the second, 0 to 1: 2/3, from 2/3 to 1.
    """
    judge = testing.ScriptedJudge(
        {"Ada built it.": "supported", "Ben paid for it.": "not_found", "Carl drew it.": "unsure"},
        name="j",
    )
    sample = {
        "question": "Who?",
        "answer": "Ada built it.",
        "contexts": ["One.", "Two."],
        "reference_answers": ["Ada built it. Ben paid for it.", "Carl drew it."],
    }
    metrics = ["context_recall", "claim_recall", "coverage", "f1"]
    options = ce.RunOptions(cache=tmp_path)

    def scores(**changes: object) -> dict[str, Score]:
        samples = [{**sample, **changes}]
        run = ce.score(samples, judges=judge, metrics=metrics, per_document=True, options=options)
        return run.results[0].scores

    found = scores()
    for name in ("context_recall", "claim_recall", "coverage"):
        assert (found[name].value, found[name].bounds) == (0.5, (0.5, 1.0)), name
    assert found["f1"].value == pytest.approx(2 / 3)
    assert found["f1"].bounds is not None
    assert list(found["f1"].bounds) == pytest.approx([2 / 3, 1.0])
    # an answer without claims covers nothing of the first, and perhaps the second
    empty = scores(answer="")
    assert (empty["f1"].value, empty["f1"].because) == (0.0, None)
    closed = scores(reference_answers=["Ada built it. Ben paid for it.", "Ben paid for it."])
    assert closed["f1"].bounds is not None
    assert list(closed["f1"].bounds) == pytest.approx([2 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("first", "second", "best_of_both"),
    [
        (Score.counted(0, 2, 2), Score.counted(1, 1, 1), 2),  # 0 of 2 and 1 of 1
        (Score.counted(1, 2, 2), Score.counted(2, 4, 4), 2),  # a half each, with more claims
        (Score.counted(2, 4, 4), Score.counted(2, 4, 4), 1),
        (Score.undefined("unsure", total=1), Score.counted(0, 1, 1), 2),
    ],
)
def test_the_best_has_the_highest_value_then_the_most_claims_then_comes_first(
    first: Score, second: Score, best_of_both: int
) -> None:
    assert best({1: first, 2: second}).alternative == best_of_both


def test_a_failed_extraction_of_one_alternative_leaves_the_best_unknown() -> None:

    sample = Sample(
        id="a", question="Q?", answer="Paris.", reference_answers=("Paris.", "City of Paris.")
    )
    executor = scripted.Scripted([testing.claims_reply("Paris."), scripted.FAILED])
    score = asyncio.run(scripted.plan("coverage").evaluate(sample, executor))["coverage"]
    assert score.because == "provider_error"


def test_a_file_says_how_its_references_are_meant(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        "".join(
            json.dumps(row(id=str(i), references=r)) + "\n"
            for i, r in enumerate(["any", "together", 3])
        )
    )
    found = list(read_samples(path))
    assert [sample.references for sample in found] == ["any", "together", None]
    assert found[2].metadata == {"references": 3}
    assert {sample.references for sample in read_samples(path, references="any")} == {"any"}


def test_another_word_for_references_is_refused() -> None:
    with pytest.raises(UsageError, match="together"):
        # what is refused
        ce.score([row()], judges=["local:lexical"], references="all")  # type: ignore[arg-type]


def test_a_field_says_that_references_belong_together(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row(references="together")) + "\n")
    judge = ["--judge", f"openai:judge-1@{server.url}", "--metrics", "coverage"]
    done = call("score", path, *judge, "--out", tmp_path / "run", "--json")
    assert json.loads(done.stdout)["metrics"]["coverage"]["mean"] == pytest.approx(1 / 3)
    call("plan", path, *judge, "--json")
    assert len(server.prompts) == 2  # one text, one list of verdicts


def judges_of(labels: dict[str, dict[str, str]]) -> list[ce.Judge]:
    return [testing.ScriptedJudge(by_claim, name=name) for name, by_claim in labels.items()]


GOLD = ["It is in France. It is on the Seine.", "It has two million people."]


def test_each_judge_goes_by_its_best_alternative_where_the_panel_has_no_score() -> None:
    """a finds the second alternative, b the first: the panel ties on every claim, and the best of
    each judge is 1."""
    first = "It is in France."
    second = "It is on the Seine."
    third = "It has two million people."
    judges = judges_of(
        {
            "a": {first: "not_found", second: "not_found", third: "supported"},
            "b": dict.fromkeys([first, second], "supported"),
        }
    )
    run = ce.score(
        [row(answer="Paris is a city.", reference_answers=GOLD)],
        judges=judges,
        metrics=["coverage"],
    )
    assert run["coverage"].missing == {"tie": 1}
    assert {name: (one.mean, one.total) for name, one in run["coverage"].by_judge.items()} == {
        "a": (1, 1),
        "b": (1, 2),
    }
