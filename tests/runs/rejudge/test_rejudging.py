"""Judging again pays only for what is new: counted by the servers that are asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle, claim_judge
from benchmarks.loopback.judge import Body, Reply
from claimeval.api.claims import rejudge
from claimeval.api.run import Run
from claimeval.data.recorded import field_map
from claimeval.judging.panel import Panel
from claimeval.runs.directory import load_manifest
from claimeval.runs.import_replies import import_judged, open_file
from claimeval.testing import ScriptedJudge
from claimeval.types.errors import UsageError
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.scales import BINARY, THREE_WAY
from tests.api.test_claims import SAMPLES, spec, values
from tests.conftest import StartServer

Judge = Callable[[Body], Reply]
SAMPLE: dict[str, Any] = {
    "id": "s",
    "question": "How is it?",
    "answer": "It is high.",
    "contexts": ["It is high."],
}
TWO = SAMPLES[:2]
"""One answer with two right claims; one with a right, a wrong, a missing and a right one. A gold
answer each."""


def lenient(body: Body) -> Reply:
    """Finds what is missing."""
    reply = claim_judge.answer(body)
    assert isinstance(reply.content, str)
    return Reply(reply.content.replace('"label": "not_found"', '"label": "supported"'))


@pytest.fixture
def first(start_server: StartServer) -> ThreadHandle:
    return start_server(judge=claim_judge.answer)


@pytest.fixture
def second(start_server: StartServer) -> ThreadHandle:
    return start_server(judge=lenient)


@pytest.fixture
def run(first: ThreadHandle) -> Run:
    return ce.score(TWO, judges=[spec(first)], metrics=["faithfulness", "coverage"])


def sent(server: ThreadHandle) -> int:
    return len(server.exchanges())


def test_another_judge_is_asked_about_the_runs_claims_and_nothing_else(
    run: Run, first: ThreadHandle, second: ThreadHandle
) -> None:
    before = sent(first)
    again = rejudge(run, judges=[spec(second, "judge-2")])
    assert (sent(first) - before, sent(second)) == (0, 4)
    assert values(again, "faithfulness") == [1.0, 0.75]
    assert [c.text for r in again.results for c in r.claims] == [
        c.text for r in run.results for c in r.claims
    ]
    assert again.manifest.extractor == run.manifest.extractor
    assert again.record.cost is not None
    assert (again.record.cost.total.calls, again.record.cost.total.reused) == (4, 4)


def test_the_runs_verdicts_may_stay_beside_the_new_ones(
    run: Run, first: ThreadHandle, second: ThreadHandle
) -> None:
    before = sent(first)
    both = rejudge(run, judges=[spec(second, "judge-2")], keep_verdicts=True)
    assert (sent(first) - before, sent(second)) == (0, 4)
    names = [judge.name for judge in both.manifest.judges]
    assert names == [spec(first), spec(second, "judge-2")]
    assert both.record.panel is not None
    assert both.record.panel.ties == 2
    members = both.summary["faithfulness"].by_judge
    assert [member.mean for member in members.values()] == [0.75, 0.875]


def test_votes_are_counted_anew_without_a_call_or_a_key(run: Run, second: ThreadHandle) -> None:
    both = rejudge(run, judges=[spec(second, "judge-2")], keep_verdicts=True)
    asked = sent(second)
    assert values(rejudge(both, panel=PanelOptions(vote="any")), "faithfulness") == [1.0, 0.75]
    assert values(
        rejudge(both, panel=PanelOptions(vote="unanimous", tie="conservative")), "faithfulness"
    ) == [1.0, 0.5]
    assert values(
        rejudge(both, panel=PanelOptions(tie=spec(second, "judge-2"))), "faithfulness"
    ) == [1.0, 0.75]
    assert sent(second) == asked
    assert rejudge(both, panel=PanelOptions(vote="any")).manifest.panel == Panel(vote="any")


def test_votes_that_are_counted_anew_have_a_price(run: Run, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(
        f"{run.manifest.judges[0].model}: {{input: 1000000, output: 0}}\n"
    )
    again = rejudge(
        run, panel=PanelOptions(vote="any"), options=RunOptions(prices=tmp_path / "prices.yaml")
    )
    assert run.cost is not None
    assert again.cost is not None
    assert run.cost.prompt_tokens
    assert (again.cost.calls, again.cost.dollars) == (0, run.cost.prompt_tokens)


def test_some_of_the_runs_judges_may_be_named(
    run: Run, first: ThreadHandle, second: ThreadHandle
) -> None:
    both = rejudge(run, judges=[spec(second, "judge-2")], keep_verdicts=True)
    asked = sent(first), sent(second)
    only = rejudge(both, judges=[spec(second, "judge-2")])
    assert (sent(first), sent(second)) == asked
    assert values(only, "faithfulness") == [1.0, 0.75]
    assert [judge.name for judge in only.manifest.judges] == [spec(second, "judge-2")]


def test_another_prompt_asks_the_judges_but_takes_no_claims(run: Run, first: ThreadHandle) -> None:
    before = sent(first)
    again = rejudge(run, assess_prompt="binary")
    assert sent(first) - before == 4
    assert again.manifest.panel.scale == BINARY
    assert values(again, "faithfulness") == values(run, "faithfulness")
    assert [prompt.name for prompt in again.manifest.prompts][-1].endswith("binary")


def test_naming_the_prompt_that_the_run_used_asks_nothing(run: Run, first: ThreadHandle) -> None:
    before = sent(first)
    assert values(rejudge(run, assess_prompt="three_way"), "coverage") == values(run, "coverage")
    assert sent(first) == before


def test_another_extract_prompt_takes_all_claims_anew(run: Run, first: ThreadHandle) -> None:
    """Four texts are taken apart; their claims come out the same, so the store has what is said of
    them."""
    before = sent(first)
    again = rejudge(run, extract_prompt="bullets")
    assert sent(first) - before == 4
    assert again.record.cost is not None
    assert (again.record.cost.total.calls, again.record.cost.total.reused) == (8, 0)


def test_a_new_metric_takes_only_the_claims_that_are_missing(first: ThreadHandle) -> None:
    narrow = ce.score(TWO, judges=[spec(first)], metrics=["faithfulness"])
    before = sent(first)
    wide = rejudge(narrow, metrics=["faithfulness", "coverage"])
    assert sent(first) - before == 2 + 2
    assert values(wide, "faithfulness") == values(narrow, "faithfulness")
    assert values(wide, "coverage") == [1.0, 0.5]


def test_a_metric_with_another_prompt_does_not_take_verdicts_on_its_claims(
    first: ThreadHandle, tmp_path: Path
) -> None:
    run = ce.score(TWO, judges=[spec(first)], metrics=["on_topic"])
    (shipped,) = [prompt for prompt in run.manifest.prompts if prompt.step == "weigh"]
    (own := tmp_path / "own.j2").write_text(
        shipped.source.replace("what they have to do with", "how they answer")
    )
    metric = ce.Metric(name="answering", claims_of="answer", against="asked", prompt=str(own))
    before = sent(first)
    offline = rejudge(run, metrics=[metric], options=RunOptions(offline=True))
    assert (sent(first), values(offline, "answering")) == (before, [None, None])
    assert [prompt.step for prompt in offline.manifest.prompts] == ["extract"]
    again = rejudge(run, metrics=[metric])
    assert sent(first) == before + 2, "each sample has one list of claims"
    (asked,) = [prompt for prompt in again.manifest.prompts if prompt.step == "weigh"]
    assert asked.name == str(own)
    given = {
        result.prompt_of(v)
        for result in again.results
        for a in result.assessments
        for v in a.verdicts
    }
    assert given == {asked.id}


def test_a_new_judge_may_be_asked_what_those_of_the_run_cannot(first: ThreadHandle) -> None:
    run = ce.score(TWO, judges=["local:lexical"], extractor=spec(first), metrics=["faithfulness"])
    for judges in ([spec(first)], ["local:lexical", spec(first)]):
        again = rejudge(run, judges=judges, metrics=["faithfulness", "on_topic"])
        assert list(again.summary) == ["faithfulness", "on_topic"]
    with pytest.raises(UsageError, match="takes a language model"):
        rejudge(run, metrics=["faithfulness", "on_topic"])


def test_fewer_metrics_are_a_matter_of_counting(run: Run, first: ThreadHandle) -> None:
    before = sent(first)
    narrow = rejudge(run, metrics=["coverage"])
    assert sent(first) == before
    assert list(narrow.summary) == ["coverage"]


def test_what_failed_is_asked_again_where_the_judge_is_named(run: Run, first: ThreadHandle) -> None:
    failed = (
        run.results[1]
        .assessments[0]
        .model_copy(
            update={
                "label": None,
                "unassessed": "timeout",
                "verdicts": tuple(
                    v.model_copy(update={"label": None, "unassessed": "timeout"})
                    for v in run.results[1].assessments[0].verdicts
                ),
            }
        )
    )
    broken = run.results[1].model_copy(
        update={"assessments": (failed, *run.results[1].assessments[1:])}
    )
    report = Run(run.manifest, run.record, (run.results[0], broken))
    before = sent(first)
    mended = rejudge(report, judges=[spec(first)])
    assert sent(first) - before == 1
    assert values(mended, "faithfulness") == [1.0, 0.5]
    assert rejudge(report).results[1].assessments[0].unassessed == "timeout"


def test_a_verdict_that_is_asked_for_again_names_the_call_that_gave_it(tmp_path: Path) -> None:
    fails = True

    def reply(text: str) -> str | None:
        return "rubbish" if fails and "<evidence>" in text else None

    judge = ScriptedJudge({"The tower is 63 metres high.": "supported"}, reply=reply)
    sample = {
        "question": "Q?",
        "answer": "The tower is 63 metres high.",
        "contexts": ["It is 63 metres high."],
    }
    failed = ce.score(
        [sample], judges=judge, metrics="faithfulness", options=RunOptions(cache=tmp_path / "one")
    )
    assert [call.failed for call in failed.results[0].calls] == [None, "unparsable", "unparsable"]
    fails = False
    (mended,) = rejudge(failed, judges=[judge.name], options=RunOptions(cache=tmp_path / "two"))
    assert [(call.step, call.failed, call.reused) for call in mended.calls] == [
        ("extract", None, True),
        ("assess", None, False),
    ]
    assert (mended.assessments[0].label, mended.assessments[0].verdicts[0].call) == ("supported", 1)


def test_calls_about_other_orders_go_with_their_verdicts(first: ThreadHandle) -> None:
    sample = {**TWO[1], "contexts": ["Ana Souto built the tower.", "It stands."]}
    run = ce.score([sample], judges=[spec(first)], metrics=["faithfulness"], shuffle_contexts=1)
    orders = [call.evidence.order for call in run.results[0].calls if call.evidence]
    assert orders == [None, 1]
    fewer = rejudge(run, shuffle_contexts=0)
    assert [call.evidence.order for call in fewer.results[0].calls if call.evidence] == [None]


def test_samples_without_verdicts_are_scored(first: ThreadHandle) -> None:
    scored = ce.score(TWO, judges=[spec(first)], metrics=["faithfulness"])
    assert rejudge(TWO, judges=[spec(first)], metrics=["faithfulness"]) == scored


def test_votes_on_given_claims_stay_where_they_were(first: ThreadHandle) -> None:
    given = [
        {"text": "It is high.", "importance": "vital"},
        {"text": "It is old."},
        {"text": "It is red."},
    ]
    given[2] |= {"importance": "okay"}
    sample = {
        **SAMPLE,
        "reference_answers": ["It is high, old and red."],
        "reference_claims": given,
    }
    run = ce.score([sample], judges=[spec(first)], metrics=["vital", "coverage"])
    assert [a.subject for a in run.results[0].assessments if a.against == "asked"] == [
        *("reference-2", "reference-1", "reference-3")
    ]
    assert rejudge(run).results[0].assessments == run.results[0].assessments


def test_repeats_ask_only_for_those_that_are_missing(run: Run, first: ThreadHandle) -> None:
    before = sent(first)
    again = rejudge(run, judges=[spec(first)], panel=PanelOptions(replicates=3))
    assert sent(first) - before == 2 * 4
    assert again.record.panel is not None
    assert again.record.panel.noise[spec(first)].inconsistent == 0


def test_a_run_directory_and_a_file_of_samples_are_sources_too(
    run: Run, first: ThreadHandle, tmp_path: Path
) -> None:
    run.save(tmp_path / "run")
    before = sent(first)
    assert values(
        rejudge(tmp_path / "run", panel=PanelOptions(vote="any")), "faithfulness"
    ) == values(run, "faithfulness")
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(sample) + "\n" for sample in TWO), encoding="utf-8")
    plain = rejudge(data, judges=[spec(first)], metrics=["faithfulness", "coverage"])
    assert sent(first) == before
    assert values(plain, "faithfulness") == values(run, "faithfulness")


def test_results_of_another_tool_are_judged_again(first: ThreadHandle, tmp_path: Path) -> None:
    rows = {
        "query_id": "7",
        "query": "How high?",
        "gt_answer": "63 metres.",
        "response": "It is high. It is WRONG.",
        "retrieved_context": [{"doc_id": "000", "text": "It is 63 metres high."}],
        "response_claims": [["It", "is", "high"], ["It", "is", "WRONG"]],
        "gt_answer_claims": [["It", "is", "63 metres"]],
        "answer2response": ["Neutral", "Neutral"],
        "response2answer": ["Neutral"],
        "retrieved2response": [["Entailment"], ["Entailment"]],
        "retrieved2answer": [["Entailment"]],
    }
    path = tmp_path / "checked.json"
    path.write_text(json.dumps({"results": [rows]}), encoding="utf-8")
    counted = rejudge(path)
    assert values(counted, "faithfulness") == values(counted, "claim_recall") == [1.0]
    assert values(rejudge(path, metrics=["ragchecker"]), "hallucination") == [0.0]
    lacking = rejudge(path, metrics=["long_form_f1_on_topic@5"]).results[0]
    assert {lacking[name].because for name in ("on_topic", "long_form_f1_on_topic@5")} == {
        "not_in_cache"
    }
    again = rejudge(path, judges=[spec(first)], metrics=["faithfulness"])
    assert values(again, "faithfulness") == [0.5]
    assert sent(first) == 1


MAPPING: dict[str, Any] = {
    "id": "id",
    "question": "question",
    "answer": "answer",
    "contexts": "context",
    "claim": "answer",
    "against": "contexts",
    "judges": {"old": "old", "older": "older"},
    "forms": "first_word",
    "human_label": "human",
}
RECORDED = [
    {
        "id": 1,
        "question": "q",
        "answer": "It is high.",
        "context": "High.",
        "old": "Yes.",
        "older": "No.",
        "human": "Yes",
    },
    {
        "id": 2,
        "question": "r",
        "answer": "It is WRONG.",
        "context": "Low.",
        "old": "Yes.",
        "older": "?",
        "human": "No",
    },
]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in RECORDED), encoding="utf-8")
    folder = tmp_path / "recorded"
    import_judged(open_file(path, field_map(MAPPING)), str(path), folder)
    return folder


def test_a_new_judge_joins_judges_on_record(recorded: Path, first: ThreadHandle) -> None:
    joined = rejudge(recorded, judges=[spec(first)], keep_verdicts=True)
    assert sent(first) == 2
    assert [a.label for r in joined.results for a in r.assessments] == ["supported", None]
    assert [v.unassessed for v in joined.results[1].assessments[0].verdicts] == [
        None,
        "unparsable",
        None,
    ]
    assert joined.manifest.panel.scale == THREE_WAY


def test_a_judge_on_record_cannot_be_asked(recorded: Path, first: ThreadHandle) -> None:
    with pytest.raises(UsageError, match="'old' cannot be asked again with another prompt"):
        rejudge(recorded, judges=["old"], assess_prompt="three_way")
    only = rejudge(recorded, judges=["old"])
    assert values(only, "faithfulness") == [1.0, 1.0]
    assert sent(first) == 0


def test_claims_that_are_nowhere_need_an_extractor_that_can_be_asked(
    recorded: Path, first: ThreadHandle
) -> None:
    with pytest.raises(UsageError, match="no sample has what coverage needs"):
        rejudge(recorded, judges=[spec(first)], metrics=["coverage"])
    with pytest.raises(
        UsageError, match=r"2 texts of contexts have no claims yet.*name an --extractor"
    ):
        rejudge(recorded, judges=[spec(first)], metrics=["back=contexts:answer"])
    back = rejudge(
        recorded, judges=[spec(first)], metrics=["back=contexts:answer"], extractor=spec(first)
    )
    assert values(back, "back") == [1.0, 1.0]


def test_claims_of_two_extractors_are_said(run: Run, first: ThreadHandle, tmp_path: Path) -> None:
    metrics = ["faithfulness", "back=contexts:answer"]
    panel = tmp_path / "panel.yaml"
    panel.write_text(f"judges: ['{spec(first)}']\nextractor: local:lexical\n")
    mixed = rejudge(run, judges=[str(panel)], metrics=metrics)
    said = f"missing claims were extracted by local:lexical, all others by {spec(first)}"
    assert said in mixed.manifest.notes
    alike = rejudge(run, judges=[spec(first)], metrics=metrics)
    assert not any("missing claims" in note for note in alike.manifest.notes)


def test_names_that_are_taken_and_judges_that_lack_are_said(run: Run, first: ThreadHandle) -> None:
    with pytest.raises(UsageError, match="is not of the form"):
        rejudge(run, judges=["nobody"])
    other = ce.Judge(name=spec(first), model="openai:judge-9", endpoint=first.url)
    with pytest.raises(UsageError, match=r"has a judge .* already"):
        rejudge(run, judges=[other], keep_verdicts=True)


def test_an_imported_run_keeps_what_it_was_made_of(recorded: Path) -> None:
    manifest = load_manifest(recorded)
    assert [judge.model for judge in manifest.judges] == ["imported:old", "imported:older"]
    assert manifest.prompts == ()
    unread = [
        json.loads(line)
        for line in (recorded / "unread.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [(u["sample"], u["judge"], u["reply"]) for u in unread] == [("2", "older", "?")]
    assert len((recorded / "labels.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_the_family_of_a_new_judge_is_that_of_its_file(run: Run, second: ThreadHandle) -> None:
    own = {"model": spec(second), "name": "ours", "family": "house"}
    again = rejudge(run, judges=[own])
    assert (
        again.manifest.panel.families == ce.score(TWO, judges=[own]).manifest.panel.families != {}
    )
