"""What is blank, empty or absent: never sent, and the same in every format and from Python."""

from __future__ import annotations

import asyncio
import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import claimeval as ce
from benchmarks.loopback import claim_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.data.reading import read_samples
from claimeval.evaluation.claims import ClaimsOptions, make_job
from claimeval.evaluation.forecast import forecast
from claimeval.lexical.sentences import sentences
from claimeval.metrics.derived import select_metrics
from claimeval.types.options import PanelOptions
from claimeval.types.records import Document, Sample
from tests.command_line import call
from tests.conftest import StartServer

BLANK: tuple[Any, ...] = ("", " ", [""], [" ", "\n"])


class Server(NamedTuple):
    url: str
    prompts: list[str]
    """What it was asked, in order."""

    @property
    def evidence(self) -> list[str]:
        """What stood in each request for verdicts."""
        return [
            p.partition("<evidence>\n")[2].partition("</evidence>")[0]
            for p in self.prompts
            if "<evidence>" in p
        ]


@pytest.fixture
def server(start_server: StartServer) -> Server:
    prompts: list[str] = []

    def judge(body: Body) -> Reply:
        prompts.append(text_of(body))
        return claim_judge.answer(body)

    return Server(start_server(judge=judge).url, prompts)


def scored(server: Server, sample: dict[str, Any], metrics: str, **settings: Any) -> ce.Run:
    return ce.score(
        [sample], judges=[f"openai:judge-1@{server.url}"], metrics=metrics.split(","), **settings
    )


def row(**fields: Any) -> dict[str, Any]:
    return {"id": "a", "question": "How many moons?", "answer": "Mars has 2 moons.", **fields}


def written(folder: Path, ending: str, fields: dict[str, Any]) -> Path:
    path = folder / f"data.{ending}"
    match ending:
        case "json":
            path.write_text(json.dumps([fields]))
        case "jsonl":
            path.write_text(json.dumps(fields) + "\n")
        case "csv":
            with path.open("w", newline="") as file:
                table = csv.writer(file)
                table.writerow(fields)
                table.writerow(
                    [json.dumps(v) if isinstance(v, list) else v for v in fields.values()]
                )
        case _:
            import pyarrow
            from pyarrow import parquet

            parquet.write_table(pyarrow.Table.from_pylist([fields]), path)
    return path


# --- Answers of one character ---


@pytest.mark.parametrize("answer", ["2", "A", "是", "7.", "(b)"])
def test_one_letter_digit_or_ideograph_is_an_answer_that_is_judged(
    server: Server, answer: str
) -> None:
    found = scored(
        server,
        row(answer=answer, contexts=["x y"], reference_answers=["x"]),
        "faithfulness,correctness",
    )
    # one claim, which the judge's rule supports
    assert [(s.value, s.judged) for s in found.results[0].scores.values()] == [(1.0, 1), (1.0, 1)]


@pytest.mark.parametrize("answer", ["...", "-", "—", "?!", "🎉"])
def test_marks_alone_are_no_answer(server: Server, answer: str) -> None:
    found = scored(server, row(answer=answer, contexts=["x"]), "faithfulness")
    assert found.results[0]["faithfulness"].because == "no_claims"
    assert server.prompts == []


@pytest.mark.parametrize(
    ("text", "said"), [("7.", ["7."]), (" 7)\n", ["7)"]), ("1.\nIt is.", ["It is."])]
)
def test_a_list_mark_is_text_where_it_marks_nothing(text: str, said: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == said


@pytest.mark.parametrize("answer", ["2", "7.", "是"])
def test_local_lexical_takes_a_claim_from_one_character(answer: str) -> None:
    found = ce.score(
        [row(answer=answer, contexts=[answer])], judges=["local:lexical"], metrics=["faithfulness"]
    )
    assert [claim.text for claim in found.results[0].claims] == [answer]


# --- Blank references ---


@pytest.mark.parametrize("blank", BLANK)
def test_a_blank_reference_from_python_is_missing_and_costs_nothing(
    server: Server, blank: Any
) -> None:
    two = [row(reference_answers=blank), row(id="b", reference_answers=["Mars has 2 moons."])]
    found = ce.score(
        two, judges=[f"openai:judge-1@{server.url}"], metrics=["correctness", "coverage"]
    )
    assert [s.because for s in found.results[0].scores.values()] == [
        "missing_input",
        "missing_input",
    ]
    assert found.results[0].calls == ()
    assert (found.summary["correctness"].mean, found.summary["correctness"].n) == (1.0, 1)


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "parquet"])
@pytest.mark.parametrize("blank", BLANK)
def test_a_blank_reference_is_no_reference_in_every_format(
    tmp_path: Path, ending: str, blank: Any
) -> None:
    [sample] = read_samples(written(tmp_path, ending, row(reference_answers=blank)))
    assert sample.reference_answers == ()


@pytest.mark.parametrize("blank", [("",), (" ",), ("\n", "")])
def test_a_blank_reference_is_no_reference_in_a_record(blank: tuple[str, ...]) -> None:
    assert Sample(id="a", question="Q?", reference_answers=blank).reference_answers == ()


def test_a_blank_reference_beside_another_is_left_out() -> None:
    assert Sample(id="a", question="Q?", reference_answers=("", "Two.", " ")).reference_answers == (
        "Two.",
    )


def test_a_blank_reference_in_a_data_frame_is_no_reference() -> None:
    import pandas

    from claimeval.api.data import samples_of

    frame = pandas.DataFrame(
        [row(reference_answers=[""]), row(reference_answers=" "), row(reference_answers=["Two."])]
    )
    assert [sample.reference_answers for sample in samples_of(frame)] == [(), (), ("Two.",)]


def test_a_reference_of_marks_alone_is_missing_for_the_judge(server: Server) -> None:
    two = [row(reference_answers=["-"]), row(id="b", reference_answers=["Two."])]
    found = ce.score(two, judges=[f"openai:judge-1@{server.url}"], metrics=["correctness"])
    assert found.results[0]["correctness"].because == "missing_input"


# --- Blank documents ---


def test_blank_contexts_are_the_same_as_none(server: Server) -> None:
    three = [
        row(id=str(i), contexts=contexts) for i, contexts in enumerate(([""], [" ", "..."], []))
    ]
    found = ce.score(
        [*three, row(contexts=["x"])],
        judges=[f"openai:judge-1@{server.url}"],
        metrics=["faithfulness"],
    )
    blank, marks, none, one = (result["faithfulness"] for result in found.results)
    assert blank == marks == none != one
    assert server.evidence == ['d1: "x"\n']


def test_a_blank_context_is_not_shown_and_the_others_keep_their_ranks(server: Server) -> None:
    contexts = ["Mars has moons.", " ", "Phobos is one."]
    sample = row(contexts=contexts, context_ids=["x", "y", "z"])
    found = scored(server, sample, "faithfulness", per_document=True).results[0]
    assert {cell.evidence.document for cell in found.per_document} == {1, 3}
    assert [document.id for document in found.sample.documents("contexts") or ()] == ["x", "z"]
    assert found.sample.ranks("contexts") == (1, 3)
    assert server.evidence == ['d1: "Mars has moons."\n', 'd1: "Phobos is one."\n']


def test_a_blank_context_is_none_of_the_contexts_that_precision_counts(server: Server) -> None:
    sample = row(contexts=["a MOON", "", "b"], reference_answers=["It has two FROM_MOON."])
    found = scored(server, sample, "context_precision_claims", per_document=True)
    assert (
        found.summary["context_precision_claims"].mean == 0.5
    )  # of two contexts the first has the gold claim


def test_a_document_with_a_title_alone_is_evidence() -> None:
    sample = Sample(
        id="a", question="Q?", contexts=(Document(id="x", text="", title="Moons of Mars"),)
    )
    assert sample.ranks("contexts") == (1,)


def test_blank_texts_are_left_out_of_sets_of_ones_own_and_of_reference_contexts() -> None:
    sample = Sample(
        id="a",
        question="Q?",
        evidence={"policy": (Document(id="p", text=""), Document(id="q", text="Rules."))},
        reference_contexts=("", "Gold."),
        reference_context_ids=("g1", "g2"),
    )
    assert [d.id for d in sample.documents("policy") or ()] == ["q"]
    assert [d.id for d in sample.documents("reference_contexts") or ()] == ["g2"]


def test_reference_contexts_that_are_all_blank_are_missing() -> None:
    assert (
        Sample(id="a", question="Q?", reference_contexts=("", " ")).documents("reference_contexts")
        is None
    )


def test_a_blank_document_keeps_its_rank_in_retrieval_by_id(tmp_path: Path) -> None:
    from claimeval import ir
    from claimeval.evaluation import retrieval

    sample = Sample(
        id="a",
        question="Q?",
        contexts=tuple(
            Document(id=i, text=text) for i, text in (("x", "a"), ("y", ""), ("z", "b"))
        ),
        reference_context_ids=("z",),
    )
    [found] = retrieval.score([sample], ir.parse("mrr"))
    assert found["mrr"].value == pytest.approx(1 / 3)


# --- A system that says nothing, retrieval that brings nothing ---

GOLD = ["Mars has 2 moons. They are small."]
"""Two claims, both of which the judge's rule supports against anything that is shown to it."""


def test_an_empty_answer_covers_nothing_and_no_judge_is_asked(server: Server) -> None:
    silent = row(answer="", contexts=["x"], reference_answers=GOLD)
    found = scored(server, silent, "faithfulness,correctness,coverage,f1").results[0]
    assert {name: s.value for name, s in found.scores.items()} == {
        "faithfulness": None,
        "correctness": None,
        "coverage": 0.0,
        "f1": 0.0,
    }
    assert [found[name].because for name in ("faithfulness", "correctness")] == ["no_claims"] * 2
    assert found["coverage"].total == 2
    assert server.evidence == []


def test_nuggets_of_an_empty_answer_are_0(server: Server) -> None:
    found = scored(server, row(answer="", reference_answers=GOLD), "nuggets").results[0]
    assert {s.value for name, s in found.scores.items() if name.startswith("nugget_")} == {0.0}
    assert server.evidence == []  # what is vital is asked of the gold answer, whatever the answer


def test_a_rival_that_crashes_does_not_look_better(server: Server) -> None:
    """One perfect answer and one that is empty, or says the wrong thing: half of the gold is
    covered either way."""
    means = []
    for second in ("", "I do not know."):
        rows = [row(reference_answers=["Mars has 2 moons."])]
        rows.append(row(id="b", answer=second, reference_answers=["It is FROM_Phobos."]))
        found = ce.score(rows, judges=[f"openai:judge-1@{server.url}"], metrics=["coverage", "f1"])
        means.append((found.summary["coverage"].mean, found.summary["coverage"].n))
    assert means == [(0.5, 2), (0.5, 2)]


def test_retrieval_that_brought_nothing_supports_nothing(server: Server) -> None:
    found = scored(server, row(contexts=[], reference_answers=GOLD), "faithfulness,context_recall")
    assert [(s.value, s.judged, s.total) for s in found.results[0].scores.values()] == [
        (0.0, 1, 1),
        (0.0, 2, 2),
    ]
    assert server.evidence == []
    assert [found.summary[name].unasked for name in ("faithfulness", "context_recall")] == [1, 1]
    assert found.summary["faithfulness"].bounds == (0.0, 0.0)


@pytest.mark.parametrize("fields", [{}, {"contexts": None}])
def test_contexts_that_are_absent_or_null_are_missing(
    server: Server, fields: dict[str, Any]
) -> None:
    two = [row(**fields), row(id="b", contexts=["x"])]
    found = ce.score(two, judges=[f"openai:judge-1@{server.url}"], metrics=["faithfulness"])
    assert found.summary["faithfulness"].missing == {"missing_input": 1}


def test_an_evidence_set_that_is_given_and_empty_supports_nothing(server: Server) -> None:
    found = scored(server, row(evidence={"policy": []}), "on_policy=answer:policy")
    assert found.summary["on_policy"].mean == 0.0


def test_each_judge_of_a_panel_has_the_same_0_and_none_is_said_to_agree(server: Server) -> None:
    judges = [f"openai:judge-{n}@{server.url}" for n in (1, 2)]
    found = ce.score(
        [row(contexts=[]), row(id="b", contexts=["x"])], judges=judges, metrics=["faithfulness"]
    )
    members = found.summary["faithfulness"].by_judge
    assert [(m.mean, m.n, m.judged) for m in members.values()] == [(0.5, 2, 2), (0.5, 2, 2)]
    assert found.record.panel is not None
    assert found.record.panel.claims == 1  # the one that they were asked about


def test_another_vote_keeps_what_nobody_was_asked(server: Server) -> None:
    found = scored(server, row(contexts=[]), "faithfulness", panel=PanelOptions(vote="unanimous"))
    assert found.summary["faithfulness"].mean == 0.0


@pytest.mark.parametrize("vote", ["majority", "unanimous"])
def test_rejudging_and_other_votes_keep_the_0(server: Server, tmp_path: Path, vote: str) -> None:
    silent = row(answer="", contexts=[], reference_answers=GOLD)
    first = ce.score(
        [silent], judges=[f"openai:judge-1@{server.url}"], metrics=["coverage", "context_recall"]
    )
    first.save(tmp_path / "a")
    sent = len(server.prompts)
    again = ce.rejudge(
        tmp_path / "a", judges=[f"openai:judge-2@{server.url}"], panel=PanelOptions(vote=vote)
    )
    assert [score.value for score in again.results[0].scores.values()] == [0.0, 0.0]
    assert len(server.prompts) == sent


def test_people_and_judges_are_not_compared_on_what_nobody_was_asked(
    server: Server, tmp_path: Path
) -> None:
    from claimeval.judging.panel import Panel
    from claimeval.runs.labels import join

    found = scored(server, row(contexts=[]), "faithfulness")
    assert join(found.results, ["a", "b"], Panel(), None).clusters == []


def test_what_is_planned_has_no_assessment_for_empty_contexts() -> None:
    sample = Sample(
        id="a", question="Q?", answer="Two.", contexts=(), reference_answers=("Two moons.",)
    )
    wanted = ClaimsOptions(judges=["openai:gpt-5-mini"], assess_prompt="binary")
    planned = make_job(wanted, select_metrics(["faithfulness", "context_recall"]))
    expected = asyncio.run(forecast([sample], planned, None))
    assert expected.calls == (2, 2)  # the claims of answer and reference


def test_words_of_an_answer_after_which_nothing_was_retrieved_have_k_precision_0() -> None:
    from claimeval import lexical

    names = ["k_precision", "k_precision_best_context", "k_precision_no_question"]
    given = lexical.score_one("Two moons.", question="How many?", contexts=[], metrics=names)
    absent = lexical.score_one("Two moons.", question="How many?", metrics=names)
    assert [given[name] for name in names] == [0.0, 0.0, 0.0]
    assert [absent[name] for name in names] == [None, None, None]


def test_rank_metrics_of_contexts_that_are_not_given_have_no_value() -> None:
    from claimeval import ir
    from claimeval.evaluation import retrieval

    absent = Sample(id="a", question="Q?", reference_context_ids=("x",))
    found = list(
        retrieval.score([absent, absent.model_copy(update={"contexts": ()})], ir.parse("mrr"))
    )
    assert [row["mrr"].value for row in found] == [None, 0.0]
    assert found[0]["mrr"].because == "missing_input"


def test_the_table_says_how_many_samples_had_no_documents(server: Server, tmp_path: Path) -> None:
    path = written(tmp_path, "jsonl", row(contexts=[], answer="It is."))
    arguments = (
        "score",
        path,
        "--judge",
        f"openai:judge-1@{server.url}",
        "--out",
        tmp_path / "run",
    )
    done = call(*arguments, "--metrics", "faithfulness", "--details", COLUMNS="200")
    assert "1 sample without documents counts 0" in done.stdout


# --- RAGChecker's results ---

CHECKED = {
    "query_id": "a",
    "query": "How many moons?",
    "gt_answer": "Mars has 2 moons. They are FROM_nowhere.",
    "response": "Mars has 2 moons. They are WRONG.",
    "retrieved_context": [],
    "gt_answer_claims": ["Mars has 2 moons.", "They are FROM_nowhere."],
    "response_claims": ["Mars has 2 moons.", "They are WRONG."],
    "answer2response": ["Entailment", "Contradiction"],
    "response2answer": ["Entailment", "Neutral"],
    "retrieved2response": [[], []],
    "retrieved2answer": [[], []],
}


def test_an_imported_row_without_documents_has_the_numbers_of_the_same_sample_scored(
    server: Server, tmp_path: Path
) -> None:
    from claimeval.runs.import_replies import import_judged, open_file

    path = tmp_path / "checked.json"
    path.write_text(json.dumps({"results": [CHECKED]}))
    imported = import_judged(open_file(path), str(path), tmp_path / "run").summary
    sample = {
        name: CHECKED[name]
        for name in ("query_id", "query", "gt_answer", "response", "retrieved_context")
    }
    names = ["ragchecker", "faithfulness", "context_recall", "contradiction_rate"]
    found = ce.score(
        [sample], judges=[f"openai:judge-1@{server.url}"], metrics=names, per_document=True
    ).summary
    ours = {name: (m.mean, m.n, m.missing) for name, m in found.items()}
    assert ours == {name: (m.mean, m.n, m.missing) for name, m in imported.metrics.items()}
    # of two answer claims one is right, none is in a context
    for name, mean in {
        "correctness": 0.5,
        "hallucination": 0.5,
        "self_knowledge": 0.5,
        "context_recall": 0.0,
    }.items():
        assert found[name].mean == mean
    assert (found["claim_recall"].mean, found["faithfulness_per_document"].mean) == (0.0, 0.0)
    assert found["context_precision_claims"].missing == {"no_evidence": 1}
