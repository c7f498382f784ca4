"""What is asked for metrics of citations, with a real SDK on loopback."""

from __future__ import annotations

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle
from claimeval.runs.front import front
from tests.evaluation.test_per_document import labels, single, spec

TOWER = {
    "id": "tower",
    "question": "What is the tower?",
    "answer": (
        "FROM_alpha it is high [1]. FROM_beta it is old [1]. FROM_gamma it is near. FROM_zeta it is"
        " lost [1][9]."
    ),
    "contexts": ["alpha", "beta", "gamma"],
}
PLAIN = {
    "id": "plain",
    "question": "?",
    "answer": "FROM_beta it is.",
    "contexts": ["alpha", "beta"],
}
SHARES = {
    "citation_recall": 1 / 4,
    "citation_precision": 1 / 4,
    "citation_missing": 1 / 4,
    "citation_misplaced": 1 / 4,
    "citation_unfounded": 0,
    "citation_unresolved": 1 / 4,
}
"""`[1]` is right in the first sentence; alpha is not the source of the second, and `[9]` in the
last is nothing."""


def evidence_of_calls(run: ce.Run) -> list[str]:
    calls = [
        call
        for result in run.results
        for call in result.calls
        if call.step == "assess" and not call.reused
    ]
    return sorted(str(call.evidence) for call in calls)


def test_after_verdicts_on_each_document_nothing_is_asked(server: ThreadHandle) -> None:
    run = ce.score(
        [TOWER, PLAIN], judges=[spec(server)], metrics=["faithfulness"], per_document=True
    )
    sent = len(server.exchanges())
    again = ce.rejudge(run, metrics="citations")
    assert len(server.exchanges()) == sent
    assert {name: again.results[0][name].value for name in SHARES} == SHARES
    assert again.results[1]["citation_recall"].because == "no_citations"
    assert again["citation_recall"].missing == {"no_citations": 1}
    assert (again["citation_recall"].ends, again["citation_recall"].failure_rate) == ("none", 0)


def test_without_them_only_the_cited_documents_are_asked_about(server: ThreadHandle) -> None:
    run = ce.score([TOWER, PLAIN], judges=[spec(server)], metrics=["faithfulness"])
    again = ce.rejudge(run, metrics="citations")
    assert evidence_of_calls(again) == ["contexts, document 1"]
    assert labels(again, single(1)) == "snnn"
    assert {name: again.results[0][name].value for name in SHARES} == SHARES
    assert again["faithfulness"].mean == run["faithfulness"].mean
    assert again.manifest.panel.per_document == "cited"
    sent = len(server.exchanges())
    ce.rejudge(again, metrics="citations")
    assert len(server.exchanges()) == sent


def test_a_run_for_citations_asks_about_all_documents_together_and_each_cited_one(
    server: ThreadHandle,
) -> None:
    run = ce.score([TOWER], judges=[spec(server)], metrics=["citations"])
    assert evidence_of_calls(run) == ["contexts", "contexts, document 1"]
    assert run["citation_misplaced"].mean == 1 / 4
    counts = {
        score.name: score.counts for score in front(run.manifest, run.record, run.results).scores
    }
    assert (counts["citation_recall"], counts["citation_precision"]) == (
        "1 of 4 claims",
        "1 of 4 citations",
    )
    assert len(server.exchanges()) == 1 + 2
    with pytest.raises(
        ce.UsageError, match="hallucination needs a verdict for each document; add --per-document"
    ):
        ce.score(
            [TOWER | {"reference_answers": ["x"]}],
            judges=[spec(server)],
            metrics=["citations", "hallucination"],
        )


def test_numbers_are_places_in_the_sources_of_a_row(server: ThreadHandle) -> None:
    row = TOWER | {"context_ids": ["a", "b", "c"], "sources": ["b", "a"]}
    run = ce.score([row], judges=[spec(server)], metrics=["citations"])
    assert evidence_of_calls(run) == ["contexts", "contexts, document 2"]
    assert run.results[0].sample.sources == ("b", "a")


def test_a_column_of_texts_that_is_called_sources_is_no_list_of_names() -> None:
    texts = ["A text with what was retrieved has more words than the name of a document has.", "b"]
    for row in ({"sources": texts, "contexts": ["c"]}, {"sources": ["a", "b"]}):
        (sample,) = ce.read_samples([{"question": "?", "answer": "a", **row}])
        assert (sample.sources, sample.metadata["sources"]) == ((), row["sources"])


@pytest.mark.filterwarnings("ignore::claimeval.NoteWarning")
def test_a_source_with_an_empty_text_beside_others_is_one_that_could_not_be_read() -> None:
    row = {
        "question": "?",
        "answer": "Rain fell on Bern in May [1]. Snow fell on Basel in June [2].",
        "contexts": [
            {"id": "bern.html", "text": "Rain fell on Bern in May."},
            {"id": "basel.pdf", "text": ""},
        ],
    }
    run = ce.score([row], judges="local:lexical", metrics="citations")
    assert run.results[0]["citation_recall"].bounds == (0.5, 1.0)
    assert run["citation_recall"].unassessed == {"source_unread": 1}
    assert run.results[0]["citation_unfounded"].hits == 0
    row["contexts"] = [{"id": "a", "text": ""}]
    with pytest.raises(ce.DataError, match="no text"):
        ce.score([row], judges="local:lexical", metrics="citations")
