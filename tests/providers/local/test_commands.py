"""`claimeval perplexity` and `claimeval reward`: what they print, what they leave, how they
fail."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from claimeval.cli import terminal
from claimeval.providers.local import perplexity
from claimeval.runs import directory
from claimeval.types.errors import UsageError
from claimeval.types.options import LocalOptions
from tests.command_line import call

ROOT = Path(__file__).parents[3]
SAMPLES: tuple[dict[str, object], ...] = (
    {
        "id": "a",
        "question": "who are we?",
        "answer": "We are.",
        "contexts": ["Rome", "London", " ".join(["Madrid"] * 40)],
    },
    {"id": "b", "question": "which city?", "answer": None, "contexts": []},
    {"id": "c", "question": "which city?", "answer": "London " * 60, "contexts": ["Rome"]},
)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in SAMPLES))
    return path


def test_perplexity_prints_means_and_leaves_every_score(data: Path, t5: Path) -> None:
    done = call(
        "perplexity", data, "--model", t5, "--device", "cpu", "--context-tokens", 64, "--out", "run"
    )
    for part in (
        "query_likelihood@5",
        "1 missing_input",
        "texts: 4",
        "texts cut: 1",
        "Report: run/report.html",
    ):
        assert part in done.stdout + done.stderr
    assert "on cpu (1 threads), float32" in done.stderr
    first, none, last = directory.RunResults.of(data.parent / "run")
    texts = first.details["texts"]
    assert isinstance(texts, list)
    assert {text["rank"] for text in texts if isinstance(text, dict)} == {1, 2, 3}
    assert none["query_likelihood"].because == "missing_input"
    assert last["query_likelihood"] == last["query_likelihood@5"]
    manifest = directory.load_manifest(data.parent / "run")
    assert manifest.job == "measure"
    assert "sha256:" in " ".join(map(str, manifest.settings.values()))


def test_perplexity_for_scripts_and_with_windows(data: Path, t5: Path) -> None:
    options = (
        "--model",
        t5,
        "--device",
        "cpu",
        "--context-tokens",
        64,
        "--long-texts",
        "window",
        "--json",
        "--batch-size",
        100,
    )
    done = call("perplexity", data, *options, "--batch-size", 100)
    printed = json.loads(done.stdout)
    assert printed["texts_in_windows"] == 1
    assert printed["texts_cut"] == 0
    assert printed["metrics"]["query_likelihood"]["n"] == 2
    assert printed["path"].startswith("runs/samples-")


def test_reduced_precision_is_said_with_its_deviation(data: Path, t5: Path) -> None:
    options = ("--model", t5, "--device", "cpu", "--dtype", "bfloat16", "--json")
    printed = json.loads(call("perplexity", data, *options).stdout)
    assert 0 <= printed["largest_deviation_from_float32"] < 0.05
    assert "largest_deviation_from_float32" not in json.loads(
        call("perplexity", data, *options[:4], "--json").stdout
    )


def test_reward_prints_the_mean_and_what_was_cut(data: Path, reward_model: Path) -> None:
    done = call(
        "reward",
        data,
        "--model",
        reward_model,
        "--device",
        "cpu",
        "--context-tokens",
        48,
        "--out",
        "run",
    )
    for part in ("answer_reward", "1 missing_input", "answers cut: 1"):
        assert part in done.stdout + done.stderr
    first, _, last = directory.RunResults.of(data.parent / "run")
    assert first.details == {}
    cut = last.details["tokens_cut"]
    assert isinstance(cut, int)
    assert cut > 0


@pytest.mark.parametrize("command", ["perplexity", "reward", "score"])
def test_local_models_in_shards_make_the_run_of_one_process(
    command: str, data: Path, t5: Path, reward_model: Path, nli: Path
) -> None:
    models = {
        "perplexity": ("--model", t5),
        "reward": ("--model", reward_model),
        "score": ("-j", f"local:nli={nli}"),
    }
    option, model = models[command]
    call(command, data, option, model, "--out", "plain")
    for shard in ("2/2", "1/2"):
        done = call(command, data, option, model, "--out", "run", "--shard", shard)
        assert f"Shard {shard}: " in done.stdout, done.stderr
    call("merge", "run")
    for name in ("results.jsonl", "summary.json"):
        assert Path("run", name).read_bytes() == Path("plain", name).read_bytes()


def test_scores_stand_beside_those_of_a_run(data: Path, t5: Path, reward_model: Path) -> None:
    call("score", data, "-j", "local:lexical", "--out", "run", "-m", "faithfulness")
    call("perplexity", "run", "--model", t5, "--device", "cpu")
    call("reward", "run", "--model", reward_model, "--device", "cpu")
    assert [summary.kind for summary in directory.beside(data.parent / "run")] == [
        "perplexity",
        "reward",
    ]


def test_a_command_without_the_weights_says_how_to_fetch_them(
    data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, torch_here: None
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub._snapshot_download.constants.HF_HUB_CACHE", str(tmp_path))
    done = call("perplexity", data, exits=2)
    assert "hf download google/flan-t5-small" in done.stderr


def test_a_slow_run_says_how_far_it_is(
    data: Path, t5: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "QUIET", 0.0)
    monkeypatch.setattr(terminal, "PLAIN_EVERY", 0.0)
    lines = call("perplexity", data, "--model", t5).stderr.splitlines()
    assert any("3/3 samples" in line for line in lines)


def test_score_says_where_an_entailment_model_computes(data: Path, nli: Path) -> None:
    done = call(
        "score",
        data,
        "-j",
        f"local:nli={nli}",
        "-j",
        "local:lexical",
        "-m",
        "faithfulness",
        "--out",
        "run",
    )
    assert f"local:nli={nli} on cpu (1 threads), float32" in done.stderr
    assert "local:lexical on" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("perplexity", "x.jsonl", "--batch-size", "many"), "'many' is not a whole number"),
        (("perplexity", "x.jsonl", "--device", "tpu"), "no device 'tpu' here. Found: cpu"),
        (("perplexity", "x.jsonl", "--dtype", "float16"), "unknown precision 'float16'"),
        (
            ("perplexity", "x.jsonl", "--prompt", "none.j2"),
            "no prompt file: none.j2 does not exist",
        ),
    ],
)
def test_mistakes_are_said_before_anything_is_computed(
    t5: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.jsonl").write_text(json.dumps(SAMPLES[0]))
    done = call(*arguments, "--model", t5, exits=2)
    assert problem in done.stderr


def test_the_device_can_be_named_once_for_all(t5: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAIMEVAL_DEVICE", "cpu")
    assert perplexity.QuestionScorer(LocalOptions(model=str(t5))).setting.device == "cpu"
    monkeypatch.setenv("CLAIMEVAL_DEVICE", "abacus")
    with pytest.raises(UsageError, match="no device 'abacus'"):
        perplexity.QuestionScorer(LocalOptions(model=str(t5)))


def test_without_torch_the_message_says_what_to_install(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = importlib.import_module

    def absent(name: str) -> object:
        if name.startswith("claimeval"):
            return load(name)
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", absent)
    done = call("perplexity", data, exits=2)
    assert "models on this machine need " in done.stderr


WITHOUT = """
import sys
MODULES = ("torch", "transformers", "tokenizers", "huggingface_hub", "safetensors")
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import json
from tests.command_line import call
for arguments in json.loads(sys.argv[1]):
    done = call(*arguments, exits=None)
    print(json.dumps([done.returncode, done.stdout + done.stderr]))
"""
"""Runs command lines where the packages of the `local` extra are not installed."""


def test_everything_else_works_where_torch_is_absent(data: Path) -> None:
    commands = (
        (
            "score",
            "samples.jsonl",
            "-j",
            "local:lexical",
            "-m",
            "faithfulness",
            "--out",
            "run",
            "--details",
        ),
        ("score", "samples.jsonl", "-j", "local:nli=org/model"),
        ("reward", "samples.jsonl"),
    )
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(commands)],
        cwd=data.parent,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    scored, entailment, reward = [json.loads(line) for line in done.stdout.splitlines()]
    assert scored[0] == 0
    assert "Report: run/report.html" in scored[1]
    assert entailment[0] == reward[0] == 2
    assert "models on this machine need " in entailment[1]
    assert "models on this machine need " in reward[1]
    assert "Traceback" not in done.stdout + done.stderr
