"""A panel of a local engine, an OpenAI-compatible server and Mistral on real filings, one of them
failing half-way."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import redirect_stdout

import pytest

import claimeval as ce
from benchmarks.loopback import Faults, Options, ThreadHandle, claim_judge
from benchmarks.loopback.judge import Body, Reply
from claimeval.cli.printer import Output
from claimeval.data.reading import read_samples
from claimeval.runs.notes import notes
from claimeval.runs.views.run import cautions
from claimeval.types.errors import StoppedEarly
from claimeval.types.options import PanelOptions, RunOptions
from claimeval.types.records import Verdict
from tests.conftest import StartServer
from tests.shared_data import shared_data

ANSWERED = 4
"""Calls that the failing judge answers before its money runs out."""


def test_an_outage_half_way_is_an_abstention_of_one_judge(
    server: ThreadHandle, start_server: StartServer
) -> None:
    samples = list(read_samples(shared_data("sec10q/rag_mini.jsonl")))
    steady = server
    broke = Faults(first=(None,) * ANSWERED, rates={"insufficient_quota": 1.0})
    failing = start_server(Options(faults=broke), judge=claim_judge.answer, dialect="mistral")
    judges = [
        "local:lexical",
        f"openai:gpt-4o@{steady.url}",
        f"mistral:mistral-small@{failing.url}",
    ]
    with pytest.raises(
        StoppedEarly, match=r"judge mistral:mistral-small.* was stopped: .*quota"
    ) as stopped:
        ce.score(
            samples,
            judges=judges,
            metrics=["faithfulness", "correctness"],
            options=RunOptions(concurrency=1),
        )
    report = stopped.value.run

    by_judge: dict[str, Counter[str]] = {name: Counter() for name in judges}
    for result in report.results:
        for assessment in result.assessments:
            assert [verdict.judge for verdict in assessment.verdicts] == judges
            for verdict in assessment.verdicts:
                by_judge[verdict.judge][verdict.unassessed or "labeled"] += 1
            assert assessment.label == expected(assessment.verdicts)
    lexical, openai, mistral = by_judge.values()
    assert set(lexical) <= {"labeled", "unsure"}
    assert set(openai) == {"labeled"}
    assert set(mistral) == {"labeled", "judge_stopped"}
    assert len(failing.exchanges()) == ANSWERED + 1

    found = report.record
    assert found.complete
    assert found.panel is not None
    assert (found.panel.claims, found.samples) == (sum(lexical.values()), 9)
    members = found["faithfulness"].by_judge
    assert members[judges[1]].unassessed == {}
    assert members[judges[2]].unassessed["judge_stopped"] > 0
    assert [pair.claims for pair in found.panel.judge_pairs][2] == mistral["labeled"]
    assert found.panel.stopped_judges == {judges[2]: mistral["judge_stopped"]}
    said = (
        f"of {found.panel.claims} claims, there are no verdicts of mistral-small on"
        f" {mistral['judge_stopped']}"
    )
    with redirect_stdout(io.StringIO()) as printed:
        Output().draw(cautions(report.manifest, found))
    assert said in " ".join(printed.getvalue().split())
    assert "The panel is incomplete" in " ".join(
        note.text for note in notes(found, report.manifest.short_names)
    )


def expected(verdicts: tuple[Verdict, ...]) -> str | None:
    """Two of three must have spoken, and more find support than not, or fewer; nobody's silence is
    a no."""
    said = Counter(verdict.label for verdict in verdicts if verdict.label is not None)
    supported = said["supported"]
    others = said["contradicted"] + said["not_found"]
    if said.total() < 2 or supported == others:
        return None
    return (
        "supported"
        if supported > others
        else "contradicted"
        if said["contradicted"] > others / 2
        else "not_found"
    )


def in_other_words(body: Body) -> Reply:
    """The rule of `claim_judge`, but not_found for whatever is contradicted."""
    reply = claim_judge.answer(body)
    return Reply(str(reply.content).replace('"contradicted"', '"not_found"'))


@pytest.mark.parametrize("vote", ["majority", "unanimous", "mean"])
def test_a_panel_is_not_kinder_than_judges_who_give_the_same_score(
    server: ThreadHandle, start_server: StartServer, vote: str
) -> None:
    """10 samples of 5 claims, 3 of them supported: both judges say .6, and differ in how 1 of the 2
    others is none."""
    answer = "Mars is red. Mars is cold. Mars is far. Mars is WRONG. Mars is MISSING."
    samples = [
        {"id": str(n), "question": f"{n}?", "answer": answer, "contexts": ["Mars."]}
        for n in range(10)
    ]
    judges = [
        f"openai:a@{server.url}",
        f"openai:b@{start_server(judge=in_other_words).url}",
    ]
    found = ce.score(
        samples, judges=judges, metrics=["faithfulness"], panel=PanelOptions(vote=vote)
    ).summary["faithfulness"]
    assert [member.mean for member in found.by_judge.values()] == pytest.approx([0.6, 0.6])
    assert found.mean == pytest.approx(0.6)
    assert (found.unassessed, found.judged) == ({}, 50)
