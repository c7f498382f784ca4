"""What is blank, empty or absent: never sent, and the same in every format and from Python."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import claimeval as ce
from claimeval.data.reading import read_samples
from claimeval.local.sentence_splitting import sentences
from claimeval.records import Document, Sample
from tests import claim_judge
from tests.conftest import StartServer
from tests.loopback.judge import Body, Reply, text_of

BLANK: tuple[Any, ...] = ("", " ", [""], [" ", "\n"])


class Server(NamedTuple):
    url: str
    prompts: list[str]
    """What it was asked, in order."""

    @property
    def evidence(self) -> list[str]:
        """What stood in each request for verdicts."""
        return [p.partition("<evidence>\n")[2].partition("</evidence>")[0] for p in self.prompts if "<evidence>" in p]


@pytest.fixture
def server(start_server: StartServer) -> Server:
    prompts: list[str] = []

    def judge(body: Body) -> Reply:
        prompts.append(text_of(body))
        return claim_judge.answer(body)

    return Server(start_server(judge=judge).url, prompts)


def scored(server: Server, sample: dict[str, Any], metrics: str, **settings: Any) -> ce.Report:
    return ce.score([sample], judges=[f"openai:judge-1@{server.url}"], metrics=metrics.split(","), **settings)


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
                table.writerow([json.dumps(v) if isinstance(v, list) else v for v in fields.values()])
        case _:
            pyarrow = pytest.importorskip("pyarrow")
            from pyarrow import parquet

            parquet.write_table(pyarrow.Table.from_pylist([fields]), path)
    return path


# --- Answers of one character ---


@pytest.mark.parametrize("answer", ["2", "A", "是", "7.", "(b)"])
def test_one_letter_digit_or_ideograph_is_an_answer_that_is_judged(server: Server, answer: str) -> None:
    found = scored(server, row(answer=answer, contexts=["x y"], reference_answers=["x"]), "faithfulness,correctness")
    # one claim, which the judge's rule supports
    assert [(s.value, s.judged) for s in found.results[0].scores] == [(1.0, 1), (1.0, 1)]


@pytest.mark.parametrize("answer", ["...", "-", "—", "?!", "🎉"])
def test_marks_alone_are_no_answer(server: Server, answer: str) -> None:
    found = scored(server, row(answer=answer, contexts=["x"]), "faithfulness")
    assert found.results[0].score("faithfulness").undefined_because == "no_claims"
    assert server.prompts == []


@pytest.mark.parametrize(("text", "said"), [("7.", ["7."]), (" 7)\n", ["7)"]), ("1.\nIt is.", ["It is."])])
def test_a_list_mark_is_text_where_it_marks_nothing(text: str, said: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == said


@pytest.mark.parametrize("answer", ["2", "7.", "是"])
def test_local_lexical_takes_a_claim_from_one_character(answer: str) -> None:
    found = ce.score([row(answer=answer, contexts=[answer])], judges=["local:lexical"], metrics=["faithfulness"])
    assert [claim.text for claim in found.results[0].claims] == [answer]


# --- Blank references ---


@pytest.mark.parametrize("blank", BLANK)
def test_a_blank_reference_from_python_is_missing_and_costs_nothing(server: Server, blank: Any) -> None:
    two = [row(reference_answers=blank), row(id="b", reference_answers=["Mars has 2 moons."])]
    found = ce.score(two, judges=[f"openai:judge-1@{server.url}"], metrics=["correctness", "coverage"])
    assert [s.undefined_because for s in found.results[0].scores] == ["missing_input", "missing_input"]
    assert found.results[0].calls == ()
    assert (found.summary["correctness"].mean, found.summary["correctness"].n) == (1.0, 1)


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "parquet"])
@pytest.mark.parametrize("blank", BLANK)
def test_a_blank_reference_is_no_reference_in_every_format(tmp_path: Path, ending: str, blank: Any) -> None:
    [sample] = read_samples(written(tmp_path, ending, row(reference_answers=blank)))
    assert sample.reference_answers == ()


@pytest.mark.parametrize("blank", [("",), (" ",), ("\n", "")])
def test_a_blank_reference_is_no_reference_in_a_record(blank: tuple[str, ...]) -> None:
    assert Sample(id="a", question="Q?", reference_answers=blank).reference_answers == ()


def test_a_blank_reference_beside_another_is_left_out() -> None:
    assert Sample(id="a", question="Q?", reference_answers=("", "Two.", " ")).reference_answers == ("Two.",)


def test_a_blank_reference_in_a_data_frame_is_no_reference() -> None:
    pandas = pytest.importorskip("pandas")
    from claimeval.api import as_samples

    frame = pandas.DataFrame([row(reference_answers=[""]), row(reference_answers=" "), row(reference_answers=["Two."])])
    assert [sample.reference_answers for sample in as_samples(frame)] == [(), (), ("Two.",)]


def test_a_reference_of_marks_alone_is_missing_for_the_judge(server: Server) -> None:
    two = [row(reference_answers=["-"]), row(id="b", reference_answers=["Two."])]
    found = ce.score(two, judges=[f"openai:judge-1@{server.url}"], metrics=["correctness"])
    assert found.results[0].score("correctness").undefined_because == "missing_input"


# --- Blank documents ---


def test_blank_contexts_are_the_same_as_none(server: Server) -> None:
    three = [row(id=str(i), contexts=contexts) for i, contexts in enumerate(([""], [" ", "..."], []))]
    found = ce.score([*three, row(contexts=["x"])], judges=[f"openai:judge-1@{server.url}"], metrics=["faithfulness"])
    blank, marks, none, one = (result.score("faithfulness") for result in found.results)
    assert blank == marks == none != one
    assert server.evidence == ['d1: "x"\n']


def test_a_blank_context_is_not_shown_and_the_others_keep_their_ranks(server: Server) -> None:
    contexts = ["Mars has moons.", " ", "Phobos is one."]
    sample = row(contexts=contexts, context_ids=["x", "y", "z"])
    found = scored(server, sample, "faithfulness", panel={"per_document": True}).results[0]
    assert {cell.evidence.document for cell in found.cells} == {1, 3}
    assert [document.id for document in found.sample.documents("contexts") or ()] == ["x", "z"]
    assert found.sample.ranks("contexts") == (1, 3)
    assert server.evidence == ['d1: "Mars has moons."\n', 'd1: "Phobos is one."\n']


def test_a_blank_context_is_none_of_the_contexts_that_precision_counts(server: Server) -> None:
    sample = row(contexts=["a MOON", "", "b"], reference_answers=["It has two FROM_MOON."])
    found = scored(server, sample, "context_precision", panel={"per_document": True})
    assert found.summary["context_precision"].mean == 0.5  # of two contexts the first has the gold claim


def test_a_document_with_a_title_alone_is_evidence() -> None:
    sample = Sample(id="a", question="Q?", contexts=(Document(id="x", text="", title="Moons of Mars"),))
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
    assert Sample(id="a", question="Q?", reference_contexts=("", " ")).documents("reference_contexts") is None


def test_a_blank_document_keeps_its_rank_in_retrieval_by_id(tmp_path: Path) -> None:
    from claimeval import ir, retrieval

    sample = Sample(
        id="a",
        question="Q?",
        contexts=tuple(Document(id=i, text=text) for i, text in (("x", "a"), ("y", ""), ("z", "b"))),
        reference_context_ids=("z",),
    )
    [found] = retrieval.score([sample], ir.parse("mrr"))
    assert found.scores == {"mrr": pytest.approx(1 / 3)}
