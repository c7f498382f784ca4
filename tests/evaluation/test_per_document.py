"""Claims against single documents, weighed by the question, and under other orders, with a real SDK
on loopback."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle, claim_judge
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.data.reading import read_samples
from claimeval.evaluation.claims import ClaimsOptions, make_job
from claimeval.evaluation.forecast import forecast
from claimeval.execution.batch import polling
from claimeval.judging.panel import Panel
from claimeval.metrics.derived import select_metrics
from claimeval.store.store import Store
from claimeval.testing import claims_reply, verdicts_reply
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.records import Document, Evidence, Sample, other_order
from claimeval.types.requests import AssessTask, Request
from tests import scripted
from tests.conftest import StartServer
from tests.scripted import Scripted
from tests.shared_data import shared_data

TOWER = {
    "id": "tower",
    "question": "What is the tower?",
    "answer": (
        "FROM_alpha it is high. FROM_beta it is old. FROM_alpha FROM_beta both. It is MISSING. It"
        " is WRONG."
    ),
    "contexts": ["alpha", "beta", "gamma"],
    "reference_answers": ["FROM_alpha it is high. ASIDE FROM_zeta it has doors."],
}
ALONE = {
    "id": "alone",
    "question": "?",
    "answer": "FROM_alpha it is.",
    "contexts": ["alpha"],
    "reference_answers": ["x."],
}
BARE = {
    "id": "bare",
    "question": "?",
    "answer": "It is.",
    "contexts": [],
    "reference_answers": ["It is."],
}
SINGLY: dict[str, Any] = {"per_document": True}
CONTEXTS = Evidence(part="contexts")


@pytest.fixture
def asked() -> list[str]:
    """What the judge was asked, one text a call."""
    return []


@pytest.fixture
def server(start_server: StartServer, asked: list[str]) -> ThreadHandle:
    def answer(body: Body) -> Reply:
        asked.append(text_of(body))
        return claim_judge.answer(body)

    return start_server(judge=answer)


def spec(server: ThreadHandle, model: str = "judge") -> str:
    return f"openai:{model}@{server.url}"


def single(rank: int) -> Evidence:
    """One of the contexts alone."""
    return Evidence(part="contexts", document=rank)


def labels(report: ce.Run, evidence: Evidence, of: str = "answer", at: int = 0) -> str:
    found = report.results[at]
    part = {claim.id: claim.of for claim in found.claims}
    held = (a for a in found.assessments if a.evidence == evidence)
    return "".join((a.label or "unassessed")[0] for a in held if part[a.subject] == of)


def assessed(asked: list[str]) -> int:
    return sum("<evidence>" in text for text in asked)


def test_each_document_alone_then_all_together_about_the_rest(
    server: ThreadHandle, asked: list[str]
) -> None:
    report = ce.score([TOWER], judges=[spec(server)], metrics=["faithfulness"], **SINGLY)
    assert [labels(report, single(rank)) for rank in (1, 2, 3)] == ["snnnc", "nsnnc", "nnnnc"]
    assert labels(report, CONTEXTS) == "sssnc"
    assert assessed(asked) == 3 + 1
    together = asked[-1]
    assert "both" in together
    assert "high" not in together.rpartition("<claims>")[2]
    first = report.results[0].whole[0].verdicts[0]
    assert (first.label, first.cites) == ("supported", ("1",))
    assert report.results[0]["faithfulness"].value == 3 / 5


def test_one_document_is_asked_about_once_and_none_not_at_all(
    server: ThreadHandle, asked: list[str]
) -> None:
    report = ce.score([ALONE, BARE], judges=[spec(server)], metrics=["faithfulness"], **SINGLY)
    assert assessed(asked) == 1
    assert [result.per_document for result in report.results] == [(), ()]
    assert report.results[1]["faithfulness"].value == 0  # nothing was retrieved, and that is known


def test_the_matrix_comes_at_no_further_call(server: ThreadHandle) -> None:
    report = ce.score([TOWER, ALONE, BARE], judges=[spec(server)], **SINGLY)
    sent = len(server.exchanges())
    found = {name: summary.mean for name, summary in report.summary.items()}
    # tower: p = s n n n c, q = s n; the first context is relevant
    tower = {name: score.value for name, score in report.results[0].scores.items()}
    assert tower == {
        "faithfulness": 3 / 5,
        "correctness": 1 / 5,
        "coverage": 1 / 2,
        "context_recall": 1 / 2,
        "claim_recall": 1 / 2,
        "context_precision_claims": 1 / 3,
        "context_utilization": 1.0,
        "faithfulness_per_document": 2 / 5,
        "noise_sensitivity_in_relevant": 0.0,
        "noise_sensitivity_in_irrelevant": 1 / 5,
        "hallucination": 3 / 5,
        "self_knowledge": 0.0,
        "f1": pytest.approx(2 * 0.2 * 0.5 / 0.7),
        "context_conflict_rate": 0.0,
        "contradiction_rate": 1 / 5,
    }
    assert list(found) == list(tower)
    again = ce.rejudge(report, metrics=["ragchecker"])
    assert len(server.exchanges()) == sent
    assert again.results[0]["hallucination"].value == 3 / 5
    assert report.to_pandas()["hallucination"]["tower"] == 3 / 5


def test_a_panel_is_merged_judge_by_judge(server: ThreadHandle, start_server: StartServer) -> None:
    def sceptic(body: Body) -> Reply:
        return Reply(
            str(claim_judge.answer(body).content).replace(
                '"label": "supported"', '"label": "not_found"'
            )
        )

    other = start_server(judge=sceptic)
    report = ce.score(
        [TOWER],
        judges=[spec(server), spec(other, "sceptic"), spec(server, "third")],
        extractor=spec(server),
        metrics=["faithfulness"],
        **SINGLY,
    )
    assert labels(report, CONTEXTS) == "sssnc"
    by_judge = [[(v.label or "unassessed")[0] for v in a.verdicts] for a in report.results[0].whole]
    assert by_judge[0] == ["s", "n", "s"]
    assert all(len(cell.verdicts) == 3 for cell in report.results[0].per_document)
    again = ce.rejudge(report, panel=PanelOptions(vote="unanimous"))
    assert (
        labels(again, single(1)) == "unnnc"
    )  # one sceptic is enough to leave the first claim without a label
    assert len(other.exchanges()) == 3 + 1


def test_a_run_without_single_documents_is_asked_only_about_these(
    server: ThreadHandle, asked: list[str]
) -> None:
    plain = ce.score([TOWER], judges=[spec(server)], metrics=["faithfulness", "correctness"])
    sent = assessed(asked)
    report = ce.rejudge(plain, **SINGLY)
    assert assessed(asked) == sent + 3 + 1
    assert report.results[0]["faithfulness_per_document"].value == 2 / 5
    back = ce.rejudge(report, per_document=False)
    assert assessed(asked) == sent + 3 + 1  # the store has it
    assert [name for name, s in back.results[0].scores.items()] == [
        "faithfulness",
        "correctness",
        "contradiction_rate",
    ]


def test_verdicts_on_record_are_not_taken_for_those_of_another_way(server: ThreadHandle) -> None:
    plain = ce.score([TOWER], judges=[spec(server)], metrics=["faithfulness"])
    singly = ce.rejudge(plain, **SINGLY)
    changes: list[tuple[ce.Run, dict[str, Any]]] = [
        (plain, SINGLY),
        (singly, {"per_document": False}),
        (plain, {"shuffle_contexts": 1}),
    ]
    for run, asked in changes:
        with pytest.raises(UsageError, match="different document settings"):
            ce.rejudge(run, **asked, options=RunOptions(offline=True))
        with pytest.raises(UsageError, match="different document settings"):
            ce.rejudge(run, judges=[spec(server, "other")], keep_verdicts=True, **asked)


def test_a_prompt_of_two_labels_drops_what_it_cannot_feed(server: ThreadHandle) -> None:
    report = ce.score([TOWER], judges=[spec(server)], **SINGLY)
    again = ce.rejudge(report, assess_prompt="binary")
    gone = set(report.manifest.derived) - set(again.manifest.derived)
    assert gone == {"contradiction_rate", "context_conflict_rate"}


def test_a_second_run_sends_nothing(server: ThreadHandle, tmp_path: Path) -> None:
    first = ce.score([TOWER, ALONE], judges=[spec(server)], **SINGLY)
    sent = len(server.exchanges())
    assert ce.score([TOWER, ALONE], judges=[spec(server)], **SINGLY) == first
    assert len(server.exchanges()) == sent
    first.save(tmp_path / "run")
    assert tuple(ce.Run.load(tmp_path / "run").results) == tuple(first.results)


def test_batches_bring_the_same_in_one_more_round(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "MIN_INTERVAL", 0.01)
    server = start_server(judge=claim_judge.answer)
    online = ce.score([TOWER, ALONE], judges=[spec(server)], metrics=["faithfulness"], **SINGLY)
    sent = len(server.exchanges())
    other = spec(server, "other")
    came = ce.score(
        [TOWER, ALONE],
        judges=[other],
        metrics=["faithfulness"],
        **SINGLY,
        options=RunOptions(batch=True),
    )
    labeled = [[a.label for a in r.assessments] for r in came.results]
    assert labeled == [[a.label for a in r.assessments] for r in online.results]
    lines = server.batch_lines()
    assert len({line.custom_id for line in lines}) == len(lines) == sent
    assert len({line.batch for line in lines}) == 3, "claims, single documents, all together"


def test_reports_of_real_companies_through_two_kinds_of_judge(server: ThreadHandle) -> None:
    data = shared_data("sec10q") / "rag_mini.jsonl"
    report = ce.score(
        data, judges=[spec(server), "local:lexical"], extractor="local:lexical", **SINGLY
    )
    for result in report.results:
        documents = len(result.sample.contexts or ())
        cells = [a for a in result.per_document if a.subject.startswith("reference")]
        claims = sum(claim.of == "reference" for claim in result.claims)
        assert len(cells) == documents * claims
        assert all(
            {v.judge for v in cell.verdicts} == {spec(server), "local:lexical"} for cell in cells
        )
        found = result.scores
        whole = ("faithfulness_per_document", "hallucination", "self_knowledge")
        if all(found[name].judged and found[name].judged == found[name].total for name in whole):
            assert sum(found[name].value or 0 for name in whole) == pytest.approx(1)
    assert (
        report.summary["context_precision_claims"].n
        + sum(report.summary["context_precision_claims"].missing.values())
        == 9
    )
    again = ce.rejudge(report, judges=["local:lexical"])
    assert (
        again.summary["faithfulness"].mean
        == ce.score(data, judges=["local:lexical"], **SINGLY).summary["faithfulness"].mean
    )


PARTLY: dict[str, Any] = {**TOWER, "reference_answers": ["It is FROM_high high. PARTLY it is old."]}


def test_claims_are_weighed_by_the_question(server: ThreadHandle) -> None:
    report = ce.score(
        [TOWER], judges=[spec(server)], metrics=["on_topic", "contradiction_rate", "nuggets"]
    )
    found = {name: score.value for name, score in report.results[0].scores.items()}
    assert found["on_topic"] == 1.0
    assert found["vital"] == 1 / 2
    assert found["contradiction_rate"] == 1 / 5
    assert found["nugget_recall_vital"] == 1.0
    assert found["nugget_recall_weighted"] == 1 / 1.5
    names = [prompt.name for prompt in report.manifest.prompts]
    assert names == ["extract/atomic", "assess/three_way", "weigh/on_topic", "weigh/vital"]


def test_partial_support_counts_half(server: ThreadHandle) -> None:
    """One gold claim wholly in the answer, one in part: (1 + 1/2) / 2, and strictly 1 / 2. No
    prompt is named."""
    report = ce.score([PARTLY], judges=[spec(server)], metrics=["nuggets"])
    found = {name: score.value for name, score in report.results[0].scores.items()}
    assert (found["nugget_recall"], found["nugget_recall_strict"]) == (0.75, 0.5)
    assert [a.label for a in report.results[0].whole if a.evidence.part == "answer"] == [
        "supported",
        "partly_supported",
    ]
    assert "assess/partial" in [prompt.name for prompt in report.manifest.prompts]
    assert report.record.notes == ()


@pytest.mark.parametrize(
    "arguments",
    [
        {"metrics": ["nuggets"], "assess_prompt": "three_way"},
        {"metrics": ["nuggets", "contradiction_rate"]},
    ],
)
def test_nuggets_under_a_prompt_without_partial_support_say_that_pairs_are_equal(
    server: ThreadHandle, arguments: dict[str, Any]
) -> None:
    """`contradiction_rate` needs contradictions told apart, so both together are asked with
    three_way."""
    report = ce.score([PARTLY], judges=[spec(server)], **arguments)
    found = {name: score.value for name, score in report.results[0].scores.items()}
    assert found["nugget_recall"] == found["nugget_recall_strict"] == 0.5
    (note,) = report.record.notes
    assert (
        note
        == "the prompt assess/three_way has no label for partial support, so nugget_recall_vital,"
        " nugget_recall, nugget_recall_weighted equal the strict form (assess/partial has one)"
    )


def test_strict_nuggets_alone_are_asked_with_the_usual_prompt(server: ThreadHandle) -> None:
    report = ce.score([PARTLY], judges=[spec(server)], metrics=["nugget_recall_strict"])
    assert "assess/three_way" in [prompt.name for prompt in report.manifest.prompts]
    assert report.record.notes == ()


def test_a_local_judge_does_not_weigh(server: ThreadHandle) -> None:
    with pytest.raises(UsageError, match="takes a language model"):
        ce.score([TOWER], judges=["local:lexical"], metrics=["on_topic"])
    judges = [spec(server), "local:lexical"]
    report = ce.score([TOWER], judges=judges, extractor=judges[0], metrics=["on_topic"])
    weighed = [a for a in report.results[0].whole if a.evidence.part == "asked"]
    assert [len(a.verdicts) for a in weighed] == [1] * 5


def first_only(body: Body) -> Reply:
    """A judge who reads the first document and forgets the rest."""
    text = text_of(body)
    head, _, rest = text.rpartition("<evidence>\n")
    line, _, tail = rest.partition("\n")
    forgetful = f"{head}<evidence>\n{line}\n</evidence>{tail.partition('</evidence>')[2]}"
    return claim_judge.answer(
        {**body, "messages": [{"role": "user", "content": forgetful if head else text}]}
    )


def test_flips_under_other_orders_are_counted_by_place(start_server: StartServer) -> None:
    server = start_server(judge=first_only)
    sample = {
        **TOWER,
        "id": "orders",
        "answer": "FROM_alpha it is high.",
        "contexts": ["alpha", "beta"],
    }
    report = ce.score([sample], judges=[spec(server)], metrics=["faithfulness"], shuffle_contexts=1)
    assert (labels(report, CONTEXTS), labels(report, Evidence(part="contexts", order=1))) == (
        "s",
        "n",
    )
    orders = report.record.order_effects
    assert orders is not None
    assert (orders.claims, orders.flipped, orders.lost, orders.gained, orders.rate.value) == (
        1,
        1,
        1,
        0,
        1.0,
    )
    places = [(p.rank, p.labeled, p.supported, p.compared, p.flipped) for p in orders.places]
    assert places == [(1, 1, 1, 0, 0), (2, 1, 0, 1, 1)]
    assert report.results[0]["faithfulness"].value == 1.0


def test_what_single_documents_leave_open_is_counted_with_its_reason(
    start_server: StartServer,
) -> None:
    def refuses_beta(body: Body) -> Reply:
        said = claim_judge.answer(body)
        alone = 'd1: "beta"' in text_of(body).rpartition("<evidence>")[2]
        return Reply("", refusal="no") if alone else said

    server = start_server(judge=refuses_beta)
    report = ce.score(
        [TOWER],
        judges=[spec(server)],
        metrics=["faithfulness", "faithfulness_per_document"],
        **SINGLY,
    )
    whole = report.summary["faithfulness"]
    single = report.summary["faithfulness_per_document"]
    assert (whole.unassessed, whole.judged, whole.failure_rate) == ({}, 5, 0.0)
    assert (single.hits, single.judged, single.total) == (1, 1, 5)
    assert (single.unassessed, single.failure_rate) == ({"refused": 4}, 0.8)


def test_no_order_is_asked_about_twice(server: ThreadHandle, asked: list[str]) -> None:
    two = {**TOWER, "id": "two", "contexts": ["alpha", "beta"]}
    report = ce.score(
        [two, TOWER], judges=[spec(server)], metrics=["faithfulness"], shuffle_contexts=3
    )
    assert assessed(asked) == (1 + 1) + (1 + 3)
    orders = report.record.order_effects
    assert orders is not None
    assert sum(place.labeled for place in orders.places) == 3 * 2 + 3 * 4, (
        "claims with support, by order"
    )
    fewer = ce.rejudge(report, shuffle_contexts=1)
    assert {
        cell.evidence for result in fewer.results for cell in (*result.per_document, *result.orders)
    } == {Evidence(part="contexts", order=1)}


def test_orders_are_the_same_each_time_and_all_different() -> None:
    assert [other_order("x", n, 3) for n in range(1, 6)] == [
        other_order("x", n, 3) for n in range(1, 6)
    ]
    assert {other_order("x", n, 3) for n in range(1, 6)} == {
        (0, 2, 1),
        (1, 0, 2),
        (1, 2, 0),
        (2, 0, 1),
        (2, 1, 0),
    }
    assert other_order("x", 6, 3) != (0, 1, 2)
    assert other_order("x", 1, 1) == (0,)
    assert len({other_order("y", n, 40) for n in range(1, 20)}) == 19


def test_evidence_is_a_part_one_of_its_documents_or_another_order() -> None:
    contexts = tuple(Document(id=i, text=i) for i in "abc")
    sample = Sample(id="s", question="Q?", contexts=contexts, evidence={"law": (contexts[0],)})
    assert sample.documents(CONTEXTS) == sample.documents("contexts") == contexts
    assert sample.documents(single(2)) == (contexts[1],)
    assert sample.documents(single(4)) is None
    assert sample.documents(Evidence(part="law", document=1)) == (contexts[0],)
    assert sample.documents(Evidence(part="rules", document=1)) is None
    turned = sample.documents(Evidence(part="contexts", order=1)) or ()
    assert {d.id for d in turned} == set("abc")
    assert turned != contexts
    assert [
        contexts[rank - 1] for rank in sample.ranks(Evidence(part="contexts", order=1))
    ] == list(turned)
    assert [d.text for d in sample.documents("asked") or ()] == ["Q?"]


def test_a_name_is_never_read_as_a_place_in_a_set() -> None:
    law = Document(id="x", text="x")
    sample = Sample(
        id="s", question="Q?", contexts=(law, law), evidence={"law": (law, law), "law.2": ()}
    )
    assert sample.documents("law.2") == ()
    assert sample.documents("contexts.1") is None
    assert sample.documents("contexts~1") is None


def test_kept_verdicts_of_two_sets_with_look_alike_names_stay_apart() -> None:
    """`policy.2` supports one claim in each of its documents, `policy` supports none: x is 1 for
    both judges."""

    def by_words(request: Request) -> str:
        assert isinstance(request.task, AssessTask)
        shown = " ".join(document.text for document in request.task.documents)
        return verdicts_reply(claim_judge.label(claim.text, shown) for claim in request.task.claims)

    def documents(*texts: str) -> tuple[Document, ...]:
        return tuple(Document(id=str(i), text=text) for i, text in enumerate(texts, 1))

    claims = ("FROM_alpha it is high.", "FROM_beta it is old.")
    sample = Sample(
        id="s",
        question="?",
        answer=" ".join(claims),
        evidence={"policy.2": documents("alpha", "beta"), "policy": documents("gamma", "delta")},
    )
    x = ce.Metric(name="x", claims_of="answer", against="policy.2")
    y = ce.Metric(name="y", claims_of="answer", against="policy")
    plan = scripted.plan("faithfulness", judges=[scripted.judge("first")])
    plan = replace(plan, metrics=(x, y), panel=Panel(per_document=True))
    executor = Scripted([claims_reply(*claims)], [by_words] * 10)
    first = asyncio.run(plan.evaluate(sample, executor))
    both = replace(
        plan, judges=(*plan.judges, scripted.judge("second")), recorded_judges=frozenset({"first"})
    )
    again = asyncio.run(both.evaluate(first, executor))
    assert (first["x"].value, first["y"].value) == (1.0, 0.0)
    assert (again["x"].value, again["y"].value) == (1.0, 0.0)
    kept = [a.verdicts[0].label for a in again.whole if a.evidence.part == "policy.2"]
    assert kept == ["supported", "supported"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"metrics": ["context_precision_claims"]}, "add --per-document"),
        ({"per_document": True, "shuffle_contexts": 2}, "order of documents matters"),
        ({"metrics": ["contradiction_rate"], "assess_prompt": "binary"}, "three_way"),
    ],
)
def test_what_does_not_go_together_is_said(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ce.score([TOWER], **{"judges": ["openai:m@http://127.0.0.1:9"], **arguments})


def test_settings_of_the_panel_make_another_run(server: ThreadHandle) -> None:
    one, two = (
        ce.score([ALONE], judges=[spec(server)], metrics=["faithfulness"], **asked).manifest
        for asked in ({}, SINGLY)
    )
    assert one.differs(two) == "panel"


def test_the_plan_counts_one_question_once(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(judge=claim_judge.answer)
    twin = Sample(id="twin", question="?", answer="It is.", reference_answers=("It is.",))
    plan = make_job(
        ClaimsOptions(judges=[spec(server)]), select_metrics(["correctness", "coverage"])
    )
    with Store(tmp_path / "store") as store:
        low, _ = asyncio.run(forecast([twin], plan, store)).calls
    ce.score([twin], judges=[spec(server)], metrics=["correctness", "coverage"])
    assert low == len(server.exchanges()) == 2


def test_the_plan_foretells_the_calls(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(judge=claim_judge.answer)
    file = tmp_path / "data.jsonl"
    cache = tmp_path / "store"
    file.write_text("".join(json.dumps(sample) + "\n" for sample in (TOWER, ALONE, BARE)))
    samples = list(read_samples(file))
    chosen = select_metrics(["faithfulness", "correctness"])
    plan = make_job(ClaimsOptions(judges=[spec(server)], **SINGLY), chosen)

    def ahead() -> tuple[int, int]:
        with Store(cache) as store:
            return asyncio.run(forecast(samples, plan, store)).calls

    assert ahead()[0] == 3 + 3 + 1 + 3  # extractions; three documents and one; the references
    ce.score(file, judges=[spec(server)], metrics=["correctness"], options=RunOptions(cache=cache))
    assert ahead() == (3 + 1, 3 + 1 + 1)  # and perhaps all documents together
    sent = len(server.exchanges())
    ce.score(
        file,
        judges=[spec(server)],
        metrics=["faithfulness", "correctness"],
        **SINGLY,
        options=RunOptions(cache=cache),
    )
    assert len(server.exchanges()) == sent + 5
    assert ahead() == (0, 0)
