"""Aligning a prompt with people: "nothing helps" and the leak first, then judges whose fault a sentence mends."""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import claimeval as ce
from benchmarks.tuning import HELPFUL, tuned
from claimeval.evaluation.tune import Candidate, edits, fixed_candidates, with_sentences
from claimeval.judging import prompts
from claimeval.runs.tune import Halves, LabeledClaims, by_arm, choose, equal_labels, halve, read_labeled
from claimeval.statistics.agreement import kappa_difference
from claimeval.statistics.selection import (
    CrossValidatedKappa,
    cross_validated_kappa,
    first_within_error,
    labels_for_power,
    power,
    stratified_parts,
)
from claimeval.testing import ScriptedJudge, provider, verdicts_reply
from claimeval.types.errors import DataError, UsageError
from claimeval.types.records import Assessment, Evidence, SampleResult, Verdict
from tests.cli.test_recorded_assessors import kappa
from tests.command_line import call, folded

SENTENCE = edits()["rounding"]
Reply = Callable[[str], str]


def rows(count: int = 120) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{i}",
            "question": f"What about {i}?",
            "contexts": [f"It is {i}."],
            "claim": f"It is claim {i}.",
            "label": "no" if i % 5 < 2 else "yes",
        }
        for i in range(count)
    ]


def write(path: Path, content: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in content))
    return path


def chance(*of: object) -> float:
    return int(hashlib.sha256(repr(of).encode()).hexdigest()[:8], 16) / 2**32


def judge_of(content: Sequence[dict[str, Any]], *, mended: bool) -> Reply:
    """A judge that is right on 75 % of claims. With `mended` it is right on 95 % if its prompt has the sentence."""
    truth = {row["claim"]: row["label"] == "yes" for row in content}

    def reply(prompt: str) -> str:
        claim = re.findall(r'"(It is claim \d+\.)"', prompt)[0]
        right = chance(claim) < (0.95 if mended and SENTENCE in prompt else 0.75)
        return verdicts_reply(["yes" if truth[claim] == right else "no"])

    return reply


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "labels.jsonl", rows())


def test_where_nothing_helps_no_gain_is_reported() -> None:
    """24 of the seeds of `python -m benchmarks.tuning`, which has 200: at most 3 % may show a gain."""
    many = [tuned(100, 10, seed) for seed in range(24)]
    assert sum(one.shown for one in many) <= 1
    assert np.mean([one.gain.agreement.value for one in many]) == pytest.approx(0, abs=0.02)
    assert np.mean([one.choice.seeming_gain for one in many]) > 0.02  # what the choosing half would have claimed


def test_claims_of_one_question_that_stand_and_fall_together_show_no_gain_either() -> None:
    """A judge that is right or wrong about whole questions of five claims: intervals count questions."""
    many = [tuned(300, 10, seed, per_question=5) for seed in range(12)]
    assert sum(one.shown for one in many) <= 1


def test_a_half_without_a_contradicted_claim_keeps_contradicted_apart(tmp_path: Path) -> None:
    """What the whole file says decides it, not the few samples whose table is made."""
    content = rows(4)
    contradicting = [{**content[0], "label": "contradicted"}, *content[1:]]
    for labels, meant in ((content, "not_found"), (contradicting, "contradicted")):
        labeled = read_labeled(write(tmp_path / "labels.jsonl", labels), "three_way", None)
        verdict = Verdict(judge="j", label="contradicted")
        said = Assessment(
            subject="answer-1",
            question="arm",
            evidence=Evidence(part="contexts"),
            verdicts=(verdict,),
            unassessed="no_quorum",
        )
        other = labeled.items[1].model_copy(update={"assessments": (said,)})
        assert labeled.table([other], ["arm"]).raters["arm"] == [meant]


def test_a_table_has_the_claims_that_were_guarded_from_spreadsheets(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("id,question,contexts,claim,label\nq,Q,It is 5.,'=5 it is.,yes\n")
    assert read_labeled(tmp_path / "labels.csv", None, None).items[0].claims[0].text == "=5 it is."


def test_labels_of_the_reporting_half_change_no_choice(table: Path) -> None:
    """The halves are cut once; then people say something else about every claim that is only reported on."""
    labeled = read_labeled(table, None, None)
    halves = halve(labeled, 0, 10)
    reported = {item.sample.id for item in halves.report}
    other = {"supported": "not_found", "not_found": "supported"}
    changed = tuple(
        one.model_copy(update={"label": other[str(one.label)]}) if one.sample in reported else one
        for one in labeled.labels
    )
    leaky = LabeledClaims(labeled.items, changed, labeled.metric, labeled.prompt, None, None, labeled.blank)
    first, second = (_chosen(one, halves) for one in (labeled, leaky))
    assert first == second
    assert _chosen(labeled, halves._replace(choose=halves.report)) != _chosen(
        leaky, halves._replace(choose=halves.report)
    )


def _chosen(labeled: LabeledClaims, halves: Halves) -> object:
    """What is chosen of candidates that are right on 60 to 90 % of the claims."""
    candidates = [Candidate(f"c{n}", ()) for n in range(7)]
    truth = {row["claim"]: row["label"] for row in rows()}

    def verdict(name: str, share: float, claim: str) -> Verdict:
        yes = (truth[claim] == "yes") == (chance(name, claim) < share)
        return Verdict(judge="j", label="supported" if yes else "not_found")

    def judged(item: SampleResult) -> SampleResult:
        evidence = Evidence(part="contexts")
        found = [
            Assessment(
                subject=claim.id,
                question=one.name,
                evidence=evidence,
                verdicts=(verdict(one.name, 0.6 + 0.05 * n, claim.text),),
                unassessed="no_quorum",
            )
            for claim in item.claims
            for n, one in enumerate(candidates)
        ]
        return item.model_copy(update={"assessments": tuple(found)})

    results = list(map(judged, halves.choose))
    assert len(by_arm(results[0]).assessments) == 1
    return choose(candidates, labeled.table(results, [one.name for one in candidates]), 0)


def test_no_question_is_in_both_halves_and_both_have_the_same_labels(tmp_path: Path) -> None:
    content = [{**row, "id": f"r{n}", "question": f"What about {n // 3}?"} for n, row in enumerate(rows(150))]
    halves = halve(read_labeled(write(tmp_path / "l.jsonl", content), None, None), 0, 10)
    choose, report = ({item.sample.question for item in half} for half in (halves.choose, halves.report))
    assert not choose & report
    assert (halves.power.labels, halves.power.questions) == (150, 50)
    assert halves.power.least_power == power(50, 0.1) < halves.power.power == power(150, 0.1)
    assert "if a judge is right or wrong about whole questions" in halves.power.in_words()
    no = {row["id"] for row in content if row["label"] == "no"}
    shares = [sum(item.sample.id in no for item in half) / len(half) for half in halves[:2]]
    assert shares == pytest.approx([0.4, 0.4], abs=0.03)


def test_a_planted_sentence_is_found_and_its_prompt_written(table: Path, tmp_path: Path) -> None:
    judge = ScriptedJudge(reply=judge_of(rows(), mended=True))
    other = ScriptedJudge(reply=judge_of(rows(), mended=False), name="other")
    found = ce.tune(table, judge=judge, second_judge=other, candidates=3, out=tmp_path / "a.j2")
    assert (found.prompt, found.chosen, found.sentences) == ("assess/binary", "rounding", (SENTENCE,))
    assert found.beyond_noise
    assert (found.gain.agreement.low or 0) > 0
    by_people = sum(map(sum, found.gain.before.confusion))
    assert by_people == found.power.reported_on == found.gain.after.compared
    assert found.transfer
    assert (found.transfer.beyond_noise, found.transfer.agreement.value) == (False, 0)
    assert found.cost.calls == 60 * 4 + 60 * 2 * 2
    frame = found.to_pandas()
    assert frame[frame.chosen].prompt.tolist() == ["rounding"]
    assert len(frame) == 4
    assert "rounding *" in found._repr_html_()
    assert found.conclusion() in found._repr_html_()
    written = prompts.load("assess", str(tmp_path / "a.j2"))
    assert SENTENCE in written.source
    assert "NOT" not in written.source.partition("{% block")[0]


def test_a_gain_within_the_noise_writes_nothing_unless_told_to(table: Path, tmp_path: Path) -> None:
    content = rows()
    plain = judge_of(content, mended=False)

    def noisy(prompt: str) -> str:
        """Another prompt, other mistakes; with one sentence a few less on the choosing half."""
        return verdicts_reply(["yes"]) if SENTENCE in prompt and chance(prompt) < 0.3 else plain(prompt)

    judge = ScriptedJudge(reply=noisy)
    path = tmp_path / "a.j2"
    found = [ce.tune(table, judge=judge, candidates=3, seed=seed, out=path) for seed in range(2)]
    assert not any(one.beyond_noise or one.written for one in found)
    assert not path.exists()
    assert all(one.conclusion().startswith("No gain that these labels can show") for one in found)
    if changed := [seed for seed, one in enumerate(found) if one.chosen]:
        told = ce.tune(table, judge=judge, candidates=3, seed=changed[0], out=path, write_anyway=True)
        assert told.written == str(path)
        assert "NOT shown to be better" in path.read_text().partition("{% block")[0]


def test_the_right_one_of_ten_is_found_in_300_labels() -> None:
    many = [tuned(300, 10, seed, helps=0.1) for seed in range(12)]
    assert sum(one.right for one in many) >= 10
    held = [one for one in many if one.right]
    inside = [(one.gain.agreement.low or 0) <= 0.1 <= (one.gain.agreement.high or 0) for one in held]
    assert sum(inside) >= 0.85 * len(held)
    assert {one.choice.chosen.name for one in held} == {HELPFUL}


def test_power_is_that_of_a_simulation_of_1000_tunings() -> None:
    """The simulated shares are those of a true gain of 10, and of 5 points, that was found and significant."""
    simulated = {100: (0.17, 0.03), 200: (0.47, 0.11), 300: (0.69, 0.17), 600: (0.96, 0.44)}
    for labels, (ten, five) in simulated.items():
        assert power(labels, 0.1) == pytest.approx(ten, abs=0.06)
        assert power(labels, 0.05) == pytest.approx(five, abs=0.06)
    assert labels_for_power(0.1) == 400


def test_the_first_within_one_standard_error_of_the_best_is_chosen() -> None:
    kappas = {
        "in use": CrossValidatedKappa(0.40, 0.01),
        "short": CrossValidatedKappa(0.56, 0.01),
        "long": CrossValidatedKappa(0.60, 0.05),
        "mute": CrossValidatedKappa(None, None),
    }
    assert first_within_error(kappas) == "short"
    with pytest.raises(UsageError, match="no candidate has a kappa"):
        first_within_error({"mute": kappas["mute"]})


def test_kappa_over_folds_is_the_mean_of_the_folds() -> None:
    draw = random.Random(1)
    human = [draw.choice("ab") for _ in range(60)]
    said = [one if draw.random() < 0.7 else draw.choice("ab") for one in human]
    folds = stratified_parts(human, range(60), 5)
    by_hand = [
        kappa([(human[i], said[i]) for i in fold])
        for fold in ([i for i in range(60) if folds[i] == n] for n in range(5))
    ]
    found = cross_validated_kappa(human, said, folds)
    assert found.mean == pytest.approx(np.mean(by_hand))
    assert found.standard_error == pytest.approx(np.std(by_hand, ddof=1) / np.sqrt(5))
    mute = cross_validated_kappa(human, [None if one == "a" else one for one in human], folds)
    assert (mute.mean or 0) < 1  # who says nothing on "a" does not agree
    difference = kappa_difference(human, ["a"] * 30 + ["b"] * 30, said)
    others = zip(human, ["a"] * 30 + ["b"] * 30, strict=True)
    assert difference.value == pytest.approx(kappa(list(zip(human, said, strict=True))) - kappa(list(others)))


def test_every_candidate_adds_its_sentences_to_the_system_message_and_nothing_else() -> None:
    prompt = prompts.load("assess", "three_way")
    found = list(fixed_candidates())
    assert len(found) == len(edits()) * (len(edits()) + 1) / 2
    assert len({len(one.sentences) for one in found[: len(edits())]}) == 1
    odd = Candidate("odd", ('Say {"a": 1}, {{ claims }} or {% raw %}.',))
    variables: dict[str, Any] = {
        "question": '""', "documents": [], "claims": [], "scale": [], "alternatives": 0,
    }  # fmt: skip
    before = prompt.render(variables)
    for candidate in (*found, odd):
        after = with_sentences(prompt, candidate).render(variables)
        assert after[0].content == before[0].content + "\n" + "\n".join(candidate.sentences)
        assert after[1] == before[1]


def test_the_command_prints_what_was_chosen_and_its_json_is_the_record(tmp_path: Path) -> None:
    content = rows(80)
    table = write(tmp_path / "labels.jsonl", content)
    with provider(judge_of(content, mended=True)) as server:
        command = ("tune", table, "-j", f"openai:m@{server.url}", "--candidates", "3", "-o", tmp_path / "a.j2")
        capped = call(*command, "--max-calls", "170", CLAIMEVAL_ENDPOINT_KEY="k")  # 160 on the first half
        done = call(*command, CLAIMEVAL_ENDPOINT_KEY="k")
        record = json.loads(call(*command, "--json", CLAIMEVAL_ENDPOINT_KEY="k").stdout)
        asked = len(server.requests)
    assert (capped.returncode, done.returncode) == (3, 0), done.stderr
    assert "Budget reached" in capped.stderr
    assert asked == record["cost"]["calls"] == 40 * 4 + 40 * 2  # nothing was paid twice
    assert "A true gain of 10 points in agreement would be seen in" in done.stderr.splitlines()[0]
    lines = folded(done.stdout)
    assert "assess/binary with rounding agrees more with people than assess/binary alone." in lines
    assert any(line.startswith("- rounding adds: A number agrees") for line in lines)
    assert (record["chosen"], record["beyond_noise"], record["written"]) == ("rounding", True, str(tmp_path / "a.j2"))


def test_a_plan_counts_both_halves(table: Path) -> None:
    found = ce.plan(ce.tune, table, judge="openai:gpt-5-mini", second_judge="openai:gpt-5", candidates=4)
    assert found.calls == (60 * 5 + 60 * 2 * 2,) * 2


def test_a_plan_with_a_proposer_counts_its_calls_and_trials(table: Path) -> None:
    found = ce.plan(
        ce.tune, table, judge="openai:gpt-5-mini", proposer="openai:gpt-5", candidates=4, second_judge="openai:gpt-5.1"
    )
    calls = {(line.step, line.judge.rpartition(":")[2]): line.calls for line in found.lines}
    # 60 labels a half: five arms, and five trials on half of the first half; two arms of two judges on the other
    assert calls["propose", "gpt-5"] == (4, 4)
    assert calls["assess", "gpt-5-mini"] == (60 * 5 + 30 * 5 + 60 * 2,) * 2
    assert calls["assess", "gpt-5.1"] == (60 * 2,) * 2
    assert all(line.cost for line in found.lines)


def test_labels_of_a_run_align_the_prompt_of_the_run(tmp_path: Path) -> None:
    content = rows(80)
    data = write(tmp_path / "data.jsonl", [{**row, "answer": row["claim"]} for row in content])
    scored = ScriptedJudge({row["claim"]: "supported" for row in content}, name="was asked")
    run = ce.score(data, judges=scored, metrics="faithfulness", assess_prompt="binary", out=tmp_path / "run")
    assert run.path
    judge = ScriptedJudge(reply=judge_of(content, mended=False))
    with pytest.raises(
        UsageError, match=r"label claims with `claimeval annotate .*`, or pass a table of labeled claims"
    ):
        ce.tune(run.path, judge=judge)
    for item in ce.annotate(run, n=80):
        item.label("supported" if item.sample.metadata["label"] == "yes" else "not_found")  # type: ignore[union-attr]
    found = ce.tune(run.path, judge=judge, candidates=2)
    assert (found.prompt, found.power.labels) == ("assess/binary", 80)
    assert found.correction
    assert found.correction.people.value == pytest.approx(0.6)
    assert found.correction.judged.value == 1.0


def test_what_cannot_be_tuned_is_refused_before_any_call(tmp_path: Path) -> None:
    def refused(content: Sequence[dict[str, Any]], message: str, **given: Any) -> None:
        with pytest.raises((UsageError, DataError), match=message):
            ce.tune(write(tmp_path / "l.jsonl", content), **{"judge": "openai:gpt-5-mini", **given})

    refused([{"id": "1", "text": "It is.", "label": "yes"}], "give `question` and `contexts` with each labeled claim")
    refused(rows(50), "50 labeled claims are too few")
    refused([row for row in rows(200) if row["label"] == "yes"], "all 120 labels say supported")
    refused(rows(), "candidates: 40; there are 36", candidates=40)
    refused(rows(), "a prompt is a .j2 file", out="aligned.txt")
    refused(rows(), "prompts are aligned by a language model", judge="local:lexical")
    refused([{**row, "claim": None} for row in rows()], "needs its text")
    refused([{**row, "contexts": None} for row in rows()], "add a column contexts")
    refused([*rows(), {**rows()[0], "contexts": ["other"]}], "has other texts")
    refused([{**row, "label": ""} for row in rows()], "has no labels: 120 rows are blank")
    few = ScriptedJudge(reply=judge_of(rows(), mended=False))
    assert ce.tune(write(tmp_path / "f.jsonl", rows(40)), judge=few, candidates=1, anyway=True).power.labels == 40


def test_unreadable_replies_are_counted_and_do_not_help(table: Path) -> None:
    plain = judge_of(rows(), mended=False)

    def reply(prompt: str) -> str:
        return "I cannot say." if SENTENCE in prompt and chance(prompt) < 0.5 else plain(prompt)

    found = ce.tune(table, judge=ScriptedJudge(reply=reply), candidates=3)
    kappas = {one.name: one for one in found.candidates}
    assert kappas["rounding"].unassessed > 10
    assert "rounding" not in found.chosen


def test_annotators_are_told_apart_and_show_the_ceiling(tmp_path: Path) -> None:
    first = [{**row, "annotator": "a"} for row in rows(80)]
    second = [{**row, "annotator": "b", "label": "yes"} if n < 20 else {**row, "annotator": "b"}
              for n, row in enumerate(rows(80))]  # fmt: skip
    judge = ScriptedJudge(reply=judge_of(rows(), mended=False))
    found = ce.tune(write(tmp_path / "l.jsonl", [*first, *second]), judge=judge, candidates=1)
    assert found.equal_labels
    assert found.equal_labels.value == pytest.approx(72 / 80)  # 8 of the first 20 say no
    assert found.power.labels == 72  # where two differ, there is no majority


def test_equal_labels_are_compared_two_by_two_on_the_scale_of_the_prompt_and_by_question(tmp_path: Path) -> None:
    """Three labels of one claim, no, contradicted and yes: of three pairs, one is equal before a yes-or-no prompt and
    none before three labels. Of the other claim's pair both are yes. The two claims are of one question."""
    given = [("a", "no"), ("a", "contradicted"), ("a", "yes"), ("b", "yes"), ("b", "yes")]
    content = [
        {**rows(1)[0], "claim": f"It is claim {claim}.", "label": label, "annotator": str(number)}
        for number, (claim, label) in enumerate(given)
    ]
    path = write(tmp_path / "labels.jsonl", content)
    for prompt, expected in (("binary", 2 / 4), ("three_way", 1 / 4)):
        same = equal_labels(read_labeled(path, prompt, None))
        assert same
        assert same.value == pytest.approx(expected)
        assert (same.n, same.clusters) == (4, 1)


def test_a_proposer_sees_mistakes_of_the_choosing_half_alone(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def propose(prompt: str) -> str:
        """First a rule that helps nobody, then the one that does."""
        shown.append(prompt)
        return f"Better:\n```\n{SENTENCE if len(shown) > 1 else 'Mind the {braces}.'}\n```"

    judge = ScriptedJudge(reply=judge_of(rows(), mended=True))
    given: dict[str, Any] = {"judge": judge, "proposer": ScriptedJudge(reply=propose, name="writer"), "candidates": 2}
    found = ce.tune(table, **given)
    assert (found.sentences, found.beyond_noise) == ((SENTENCE,), True)
    assert "Wrong: people say" in shown[0]
    labeled = read_labeled(table, None, None)
    claims = {claim.text for item in halve(labeled, 0, 2).report for claim in item.claims}
    assert not any(f"Claim: {claim}\n" in prompt for prompt in shown for claim in claims)
    monkeypatch.setitem(sys.modules, "gepa.api", None)
    with pytest.raises(UsageError, match=r"pip install 'claimeval\[gepa\]'"):
        ce.tune(table, **given)
