"""The methods paragraph: each fact of it is that of the run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle
from claimeval.testing import samples
from tests.api.test_claims import SAMPLES, spec
from tests.command_line import call


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in SAMPLES), encoding="utf-8")
    return path


def test_the_paragraph_names_data_judge_prompts_and_numbers_of_the_run(
    data: Path, server: ThreadHandle, tmp_path: Path
) -> None:
    run = ce.score(data, judges=spec(server), metrics="faithfulness", out=tmp_path / "run")
    text = run.methods.text
    manifest = run.manifest
    metric = run["faithfulness"]
    assert f"{len(run)} samples of answers.jsonl (SHA-256 {manifest.data.digest[:12]})" in text  # type: ignore[index]  # a file has a digest
    assert f"with claimeval {ce.__version__} on {manifest.created[:10]}" in text  # type: ignore[index]  # a run on disk has a date
    (served,) = run.record.judges
    assert f"(served as {', '.join(served.served)}" in text
    for prompt in manifest.prompts:
        assert f"{prompt.name} (SHA-256 {prompt.digest[:12]})" in text
    assert f"n = {metric.n}, {metric.hits} of {metric.judged} claims" in text
    assert "faithfulness is claims of the answer that the contexts support" in text
    assert text.endswith("Agreement of the judges with people was not measured.")


def test_every_key_that_the_text_cites_is_an_entry_and_no_other(tmp_path: Path) -> None:
    run = ce.score(samples(), judges="local:lexical", metrics="f1,factscore@10,alce")
    methods = run.methods
    cited = {
        key for group in re.findall(r"\[([a-z0-9, ]+)\]", methods.text) for key in group.split(", ")
    }
    entries = set(re.findall(r"^@\w+\{(\w+),$", methods.bibtex, re.MULTILINE))
    assert entries == cited | {"claimeval"}
    assert {"ru2024", "min2023", "gao2023"} <= cited
    assert str(methods) == f"{methods.text}\n\n{methods.bibtex}\n"


def test_labels_in_the_directory_are_the_agreement_with_people(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    ce.score(data, judges="local:lexical", metrics="faithfulness", out=out)
    drawn = ce.annotate(out)
    for turn in drawn.turns:
        turn.label("supported")
    report = ce.agreement(out)
    text = ce.Run.load(out).methods.text
    assert f"On {report.raters[0].compared} item" in text
    assert "Cohen's kappa" in text
    assert "was not measured" not in text


def test_several_judges_are_named_with_their_vote(data: Path, server: ThreadHandle) -> None:
    judges = [spec(server), "local:lexical"]
    run = ce.score(data, judges=judges, metrics="faithfulness")
    assert "and local:lexical labeled each claim" in run.methods.text
    assert "Their labels were combined by majority vote (ties: abstain)." in run.methods.text


def test_a_custom_metric_is_defined_and_a_run_without_judges_says_so(data: Path) -> None:
    custom = ce.Metric(name="from_contexts", claims_of="answer", against="contexts")
    run = ce.score(data, judges="local:lexical", metrics=[custom])
    assert (
        "from_contexts (share of the claims of answer that contexts supports)" in run.methods.text
    )
    assert "No language model was asked. local:lexical extracted" in run.methods.text
    assert "with the prompt" not in run.methods.text
    measured = ce.measure(data, metrics="token_f1")
    assert "No language model was asked." in measured.methods.text
    assert "[rajpurkar2016]" in measured.methods.text


def test_the_command_prints_both_and_writes_either(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run = ce.score(data, judges="local:lexical", metrics="faithfulness", out=out)
    assert call("report", "run", "--methods", folder=tmp_path).stdout == str(run.methods)
    record = json.loads(call("report", "run", "--methods", "--json", folder=tmp_path).stdout)
    assert record["bibtex"] == run.methods.bibtex
    call("report", "run", "--methods", "-o", "paper.bib", folder=tmp_path)
    assert (tmp_path / "paper.bib").read_text() == f"{run.methods.bibtex}\n"
    done = call("report", "run", "--methods", "--compare", "run", folder=tmp_path, exits=2)
    assert "leave other options out" in done.stderr
