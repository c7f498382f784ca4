"""Choosing an arm by human labels: no leak between the halves, no gain out of noise, and a planted
gain is seen."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import claimeval as ce
from benchmarks.selection import BETTER, selected
from claimeval.judging import prompts
from claimeval.metrics.rows import METRICS
from claimeval.runs.experiments.selection import Selection, halve
from claimeval.statistics.agreement import kappa_difference
from claimeval.statistics.selection import (
    CrossValidatedKappa,
    cross_validated_kappa,
    first_within_error,
    labels_for_power,
    power,
    stratified_parts,
)
from claimeval.testing import LoopbackProvider, claims_reply, provider, verdicts_reply
from claimeval.types.errors import UsageError
from claimeval.types.records import Sample
from tests.cli.test_recorded_assessors import kappa
from tests.command_line import call, folded

RULE = "A number agrees if it rounds to the number of the claim."
Reply = Callable[[str], str]


def chance(*of: object) -> float:
    return int(hashlib.sha256(repr(of).encode()).hexdigest()[:8], 16) / 2**32


def truth(number: int) -> bool:
    return number % 5 >= 2


def claim_in(prompt: str) -> int:
    return int(re.findall(r"It is claim (\d+)\.", prompt)[0])


def judge_of(right: Callable[[str, int], float]) -> Reply:
    """A judge that extracts the claim, and labels it as people do with the chance that a prompt
    gives it."""

    def reply(prompt: str) -> str:
        number = claim_in(prompt)
        if "<claims>" not in prompt:
            return claims_reply(f"It is claim {number}.")
        fair = chance(number, "plain" if right(prompt, number) == 0.75 else "other") < right(
            prompt, number
        )
        return verdicts_reply(["yes" if truth(number) == fair else "no"])

    return reply


def mended(prompt: str, number: int) -> float:
    return 0.97 if RULE in prompt else 0.75


class Bench:
    """A folder with data of claims 0 to `count`, labels, three prompts and a design."""

    def __init__(self, folder: Path, server: LoopbackProvider, count: int = 120) -> None:
        self.folder = folder
        self.server = server
        self.count = count
        plain = prompts.load("assess", "binary").source
        for name, rule in {"plain": "", "rounding": RULE, "strict": "If in doubt, say no."}.items():
            text = plain.replace(
                "\n{% endblock %}\n{% block user %}",
                f"\n{rule}\n{{% endblock %}}\n{{% block user %}}",
            )
            (folder / f"{name}.j2").write_text(text)
        rows = [
            {
                "id": f"q{i}",
                "question": f"What about {i}?",
                "contexts": [f"It is {i}."],
                "answer": f"It is claim {i}.",
            }
            for i in range(count)
        ]
        (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.design: dict[str, Any] = {
            "data": str(folder / "data.jsonl"),
            "metrics": "faithfulness",
            "judges": f"openai:m@{server.url}",
            "claims_per_call": 1,
            "grid": {
                "assess_prompt": [
                    str(folder / f"{name}.j2") for name in ("plain", "rounding", "strict")
                ]
            },
        }
        (folder / "prompts.yaml").write_text(json.dumps(self.design))
        self.labels = self.write({i: truth(i) for i in range(count)})

    def write(self, labels: Mapping[int, bool], name: str = "labels.jsonl") -> Path:
        rows = [
            {"id": f"q{i}", "text": f"It is claim {i}.", "label": "yes" if v else "no"}
            for i, v in labels.items()
        ]
        (self.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return self.folder / name

    def select(self, labels: Path | None = None, **given: Any) -> Selection:
        arms = ce.experiment(self.design, labels=labels or self.labels, select=True, **given)
        assert arms.table
        assert arms.table.selection
        assert arms.chosen == arms.table.selection.arm
        return arms.table.selection

    @property
    def samples(self) -> list[Sample]:
        return list(ce.read_samples(self.folder / "data.jsonl"))

    def halves(self) -> tuple[set[int], set[int]]:
        made = halve(self.samples, self.labels, METRICS["faithfulness"], 3, None, anyway=False)
        return {int(one.id[1:]) for one in made.choose}, {int(one.id[1:]) for one in made.report}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Bench]]:
    monkeypatch.setenv("CLAIMEVAL_ENDPOINT_KEY", "k")
    with provider(lambda prompt: replies[0](prompt)) as server:
        replies: list[Reply] = []

        def make(reply: Reply, count: int = 120) -> Bench:
            replies.append(reply)
            return Bench(tmp_path, server, count)

        yield make


def test_labels_filled_in_a_spreadsheet_become_a_better_prompt(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    made = bench(judge_of(mended))
    options = (
        "-j",
        made.design["judges"],
        "-m",
        "faithfulness",
        "--assess-prompt",
        "binary",
        "-o",
        "run",
    )
    call("score", "data.jsonl", *options, folder=tmp_path)
    call("annotate", "run", "--export", "todo.csv", "--n", "200", folder=tmp_path)
    with (tmp_path / "todo.csv").open(newline="") as file:
        columns, *rows = csv.reader(file)
    for row in rows:
        row[columns.index("label")] = "yes" if truth(int(row[0][1:])) else "no"
    with (tmp_path / "todo.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    command = ("experiment", "prompts.yaml", "--labels", "todo.csv", "--select")
    planned = json.loads(call("plan", *command, "--json", folder=tmp_path).stdout)
    made.server.requests.clear()
    done = call(*command, folder=tmp_path)
    assert done.stderr.startswith("claimeval: 120 labeled claims on 120 questions: ")
    assert "rounding agrees more with people than plain." in " ".join(folded(done.stdout))
    assert "Prompt: experiments/prompts/selected.j2; use it with --assess-prompt" in done.stdout
    written = prompts.load("assess", str(tmp_path / "experiments/prompts/selected.j2"))
    assert RULE in written.source
    header = (
        r"\{# Agrees with people on 96\.7% of 61 claims, the baseline on 78\.7%; chosen by 59"
        r" other labels\. #\}"
    )
    assert re.search(header, written.source)
    # replies of the baseline are those of the run; the arm that was not chosen saw no claim of the
    # other half
    choose, report = made.halves()
    assert (len(choose) + len(report), min(len(choose), len(report)) > 40) == (120, True)
    asked = [["\n".join(m["content"] for m in r["messages"])][0] for r in made.server.requests]
    strict = {claim_in(prompt) for prompt in asked if "If in doubt" in prompt}
    assert strict == choose
    assert len(asked) == 2 * len(choose) + len(report)
    assert planned["calls"] == [len(asked)] * 2
    again = json.loads(call("plan", *command, "--json", folder=tmp_path).stdout)
    assert (
        again["calls"] == [len(report)] * 2
    )  # a plan assumes that the most expensive arm is chosen


def test_labels_of_the_other_half_change_no_choice(bench: Callable[..., Bench]) -> None:
    """People say the opposite about every claim that is only reported on: the same arm, and the
    opposite gain."""
    made = bench(judge_of(mended))
    _, report = made.halves()
    turned = made.write({i: truth(i) != (i in report) for i in range(120)}, "turned.jsonl")
    first = made.select()
    second = made.select(turned)
    assert (first.arm, first.selected_on) == (second.arm, second.selected_on)
    assert first.arm == "rounding"
    assert first.gain.value
    assert second.gain.value == pytest.approx(-first.gain.value)
    assert (first.beyond_noise, second.beyond_noise) == (True, False)
    third = made.select(
        made.write({i: truth(i) != (i not in report) for i in range(120)}, "choosing.jsonl")
    )
    assert third.arm == "plain"


def test_a_gain_within_the_noise_writes_nothing_and_removes_an_earlier_prompt(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    """The rule gives other mistakes and no fewer of them."""
    made = bench(judge_of(lambda prompt, number: 0.7500001 if RULE in prompt else 0.75))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "selected.j2").write_text("of earlier labels")
    selection = made.select(out=tmp_path / "out")
    assert not selection.beyond_noise
    assert selection.written is None
    assert not (tmp_path / "out" / "selected.j2").exists()
    done = call(
        "experiment", "prompts.yaml", "--labels", "labels.jsonl", "--select", folder=tmp_path
    )
    assert "selected.j2" not in done.stdout
    text = " ".join(folded(done.stdout))
    assert "No gain that these labels can show" in text or "No other arm is better" in text


def test_the_runs_of_an_experiment_over_all_samples_are_not_cut_to_the_labeled_ones(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    bench(judge_of(mended))
    call("experiment", "prompts.yaml", folder=tmp_path)
    kept = {
        path: path.read_bytes()
        for path in tmp_path.glob("experiments/prompts/arms/*/results.jsonl")
    }
    assert len(kept) > 1
    select = ("experiment", "prompts.yaml", "--labels", "labels.jsonl", "--select")
    done = call(*select, folder=tmp_path, exits=2)
    assert "name another folder with --out" in " ".join(done.stderr.split())
    assert all(path.read_bytes() == content for path, content in kept.items())
    for _ in range(2):  # its own folder may be used again
        call(*select, "--out", "chosen", folder=tmp_path)


def test_a_limit_holds_for_both_halves_and_nothing_is_paid_twice(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    made = bench(judge_of(mended))
    choose, report = made.halves()
    command = ("experiment", "prompts.yaml", "--labels", "labels.jsonl", "--select")
    capped = call(*command, "--max-calls", str(4 * len(choose) + 10), folder=tmp_path, exits=3)
    assert "Budget reached" in capped.stderr
    assert len(made.server.requests) == 4 * len(choose) + 10
    table = json.loads(call(*command, "--json", folder=tmp_path).stdout)
    assert len(made.server.requests) == 4 * len(choose) + 3 * len(report)
    assert [arm["name"] for arm in table["arms"]] == ["plain", "rounding", "strict"]
    assert [arm["metrics"]["faithfulness"]["n"] for arm in table["arms"]] == [120, 120, len(choose)]
    assert table["samples"] == 120
    assert {arm["label_agreement"]["claims"] for arm in table["arms"]} == {len(choose)}


def test_unreadable_replies_count_as_disagreement(bench: Callable[..., Bench]) -> None:
    plain = judge_of(mended)

    def reply(prompt: str) -> str:
        """With the rule, claims with an odd number have no readable verdict, and the others a
        better one."""
        silent = RULE in prompt and "<claims>" in prompt and claim_in(prompt) % 2
        return "I cannot say." if silent else plain(prompt)

    selection = bench(reply).select()
    assert selection.arm == "plain"
    assert selection.selected_on["rounding"].unassessed > 10
    assert (selection.selected_on["rounding"].same.value or 0) > (
        selection.selected_on["plain"].same.value or 0
    )


def test_an_arm_called_panel_and_arms_of_two_scales_are_compared_on_yes_and_no(
    bench: Callable[..., Bench],
) -> None:
    def reply(prompt: str) -> str:
        """With three labels half of what is not supported is contradicted, which people do not
        say."""
        number = claim_in(prompt)
        if "<claims>" not in prompt:
            return claims_reply(f"It is claim {number}.")
        if "contradicted" not in prompt:
            return verdicts_reply(["yes" if chance(number) < 0.75 else "no"])
        return verdicts_reply(
            ["supported" if truth(number) else ("contradicted", "not_found")[number % 2]]
        )

    made = bench(reply)
    del made.design["grid"]
    made.design["arms"] = [
        {"name": "plain", "assess_prompt": "binary"},
        {"name": "panel", "assess_prompt": "three_way"},
    ]
    selection = made.select()
    assert selection.arm == "panel"
    assert (selection.held_out.same.value, selection.beyond_noise) == (1.0, True)
    assert set(selection.held_out.labels) == {"supported", "not_found"}


def test_labels_of_claims_of_another_extraction_are_refused(bench: Callable[..., Bench]) -> None:
    """The ids are those of the claims that the arms judge, the texts are not."""
    made = bench(judge_of(mended))
    rows = [
        {
            "id": f"q{i}",
            "claim_id": "answer-1",
            "text": f"Other {i}",
            "label": "yes" if truth(i) else "no",
        }
        for i in range(120)
    ]
    made.labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UsageError, match=r"0 of \d+ labels are of claims that these arms judge"):
        made.select()
    for number, row in enumerate(rows):
        row["text"] = f"It is claim {number}."
    made.labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert made.select().arm == "rounding"


def test_what_cannot_be_selected_is_refused_before_any_call(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    made = bench(judge_of(mended))

    def refused(message: str, labels: Path | None = None, **given: Any) -> None:
        with pytest.raises(UsageError, match=message):
            made.select(labels, **given)

    refused(
        "50 labeled claims of the data are too few",
        made.write({i: truth(i) for i in range(50)}, "few.jsonl"),
    )
    refused(
        "all 120 labels say the same", made.write(dict.fromkeys(range(120), True), "same.jsonl")
    )
    one_half = made.write({i: truth(i) for i in made.halves()[0]}, "half.jsonl")
    refused("labels are of one half of the questions", one_half, anyway=True)
    (tmp_path / "run").mkdir()
    refused("has no labels; label claims with", tmp_path / "run")
    made.design["grid"] = {"assess_prompt": ["binary"]}
    refused("two arms or more")
    with pytest.raises(UsageError, match="needs human labels"):
        ce.experiment(made.design, select=True)
    assert made.server.requests == []


def test_few_labels_are_enough_if_told_so(bench: Callable[..., Bench]) -> None:
    made = bench(judge_of(mended), 40)
    assert made.select(anyway=True).power.labels == 40


def test_no_question_is_in_both_halves(bench: Callable[..., Bench]) -> None:
    made = bench(judge_of(mended), 150)
    samples = [
        one.model_copy(update={"question": f"What about {n // 3}?"})
        for n, one in enumerate(made.samples)
    ]
    halves = halve(samples, made.labels, METRICS["faithfulness"], 11, None, anyway=False)
    choose, report = ({one.question for one in half} for half in (halves.choose, halves.report))
    assert not choose & report
    numbers = halves.power
    assert (numbers.labels, numbers.questions) == (150, 50)
    assert (numbers.selected_on, numbers.reported_on) == (3 * len(choose), 3 * len(report))
    assert (
        numbers.least_power
        == power(2 * len(report), 0.1)
        < numbers.power
        == power(6 * len(report), 0.1)
    )
    assert "if a judge is right or wrong about whole questions" in numbers.in_words()
    by_topic = [
        one.model_copy(update={"metadata": {"topic": str(n % 7)}}) for n, one in enumerate(samples)
    ]
    halves = halve(by_topic, made.labels, METRICS["faithfulness"], 11, "topic", anyway=False)
    first, second = (
        {one.metadata["topic"] for one in half} for half in (halves.choose, halves.report)
    )
    assert not first & second


def test_the_script_of_the_page_writes_candidates_and_their_design(
    bench: Callable[..., Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(__file__).parents[3] / "docs" / "reference" / "selection.md"
    page = path.read_text(encoding="utf-8")
    (script,) = re.findall(r"<!-- proposer -->\n```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    made = bench(judge_of(mended), 40)
    (tmp_path / "base.j2").write_text(prompts.load("assess", "binary").source)
    exec(script, {})
    design = json.loads((tmp_path / "prompts.yaml").read_text())
    arms = ce.experiment(
        {**made.design, "grid": design["grid"]}, labels=made.labels, select=True, anyway=True
    )
    assert arms.table
    assert [arm.name for arm in arms.table.arms] == ["base", "rounding", "together", "strict"]
    read = [
        "".join(one["content"] for one in request["messages"]) for request in made.server.requests
    ]
    assert (
        sum("A number agrees if it rounds" in prompt for prompt in read) >= len(made.samples) // 4
    )


def test_where_nothing_helps_no_gain_is_reported() -> None:
    """24 of the seeds of `python -m benchmarks.selection`, which has 200: at most 3% may show a
    gain."""
    many = [selected(100, 10, seed) for seed in range(24)]
    assert sum(one.gain.beyond_noise for one in many) <= 1
    assert np.mean([one.gain.gain.value for one in many]) == pytest.approx(0, abs=0.025)
    assert np.mean([one.seems for one in many]) > 0.02  # what the choosing half would have claimed


def test_claims_of_one_question_that_stand_and_fall_together_show_no_gain_either() -> None:
    """A judge that is right or wrong about whole questions of five claims: intervals count
    questions."""
    many = [selected(300, 10, seed, per_question=5) for seed in range(12)]
    assert sum(one.gain.beyond_noise for one in many) <= 1


def test_the_right_one_of_ten_is_found_in_300_labels() -> None:
    many = [selected(300, 10, seed, helps=0.1) for seed in range(12)]
    right = [one for one in many if one.arm == BETTER]
    assert len(right) >= 10
    inside = [(one.gain.gain.low or 0) <= 0.1 <= (one.gain.gain.high or 0) for one in right]
    assert sum(inside) >= 0.85 * len(right)


def test_power_is_that_of_a_simulation_of_1000_experiments() -> None:
    """The simulated shares are those of a true gain of 10, and of 5 points, that was found and
    significant."""
    simulated = {100: (0.17, 0.03), 200: (0.47, 0.11), 300: (0.69, 0.17), 600: (0.96, 0.44)}
    for labels, (ten, five) in simulated.items():
        assert power(labels, 0.1) == pytest.approx(ten, abs=0.06)
        assert power(labels, 0.05) == pytest.approx(five, abs=0.06)
    assert labels_for_power(0.1) == 400


def test_the_first_within_one_standard_error_of_the_best_is_chosen() -> None:
    kappas = {
        "baseline": CrossValidatedKappa(0.40, 0.01),
        "first": CrossValidatedKappa(0.56, 0.01),
        "second": CrossValidatedKappa(0.60, 0.05),
        "mute": CrossValidatedKappa(None, None),
    }
    assert first_within_error(kappas) == "first"
    with pytest.raises(UsageError, match="no candidate has a kappa"):
        first_within_error({"mute": kappas["mute"]})


def test_kappa_over_folds_is_the_mean_of_the_folds() -> None:
    draw = random.Random(1)
    human = [draw.choice("ab") for _ in range(60)]
    labels: Sequence[str] = [one if draw.random() < 0.7 else draw.choice("ab") for one in human]
    folds = stratified_parts(human, range(60), 5)
    by_hand = [
        kappa([(human[i], labels[i]) for i in fold])
        for fold in ([i for i in range(60) if folds[i] == n] for n in range(5))
    ]
    over_folds = cross_validated_kappa(human, labels, folds)
    assert over_folds.mean == pytest.approx(np.mean(by_hand))
    assert over_folds.standard_error == pytest.approx(np.std(by_hand, ddof=1) / np.sqrt(5))
    mute = cross_validated_kappa(human, [None if one == "a" else one for one in human], folds)
    assert (mute.mean or 0) < 1  # who says nothing on "a" does not agree
    difference = kappa_difference(human, ["a"] * 30 + ["b"] * 30, labels)
    others = zip(human, ["a"] * 30 + ["b"] * 30, strict=True)
    assert difference.value == pytest.approx(
        kappa(list(zip(human, labels, strict=True))) - kappa(list(others))
    )
