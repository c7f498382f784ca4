"""The public names: which there are, their parameters, their docstrings, and the snippets of the
documentation."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import claimeval as ce
from benchmarks.loopback import ThreadHandle
from claimeval import types
from tests.api.test_claims import SAMPLES, spec

if TYPE_CHECKING:
    import pandas

HOW = ("mapping", "group", "turns", "answer_reasoning", "sheet")
READ = (*HOW, "limit", "skip_malformed")
WRITE = ("out", "overwrite")
ASK = ("panel", "options")
QUESTIONS = (
    *(
        "judges",
        "metrics",
        "extractor",
        "extract_prompt",
        "assess_prompt",
        "per_document",
        "shuffle_contexts",
    ),
    *("claims_per_call", "reasons", "quotes"),
)
DRAW = ("sheet", "stratify", "min_per_stratum", "seed", "keep_duplicates", "duplicate_threshold")
PARAMETERS: dict[str, tuple[str, ...]] = {
    "score": (
        *("data", *QUESTIONS, "language", "references", *READ, *WRITE, *ASK, "gates"),
        *("sources", "source_names"),
    ),
    "read_report": ("report", "sources", "source_names"),
    "rejudge": ("source", *QUESTIONS, "keep_verdicts", *READ, *WRITE, *ASK, "gates"),
    "assess": (
        *("claims", "evidence", "judges", "assess_prompt", "language", "per_document"),
        *("shuffle_contexts", "claims_per_call", "reasons", *WRITE, *ASK, "gates"),
    ),
    "locate": ("run", "corpus", "judges", *WRITE, "sheet", *ASK),
    "check": (
        *(
            "answer",
            "contexts",
            "judge",
            "question",
            "reference_answers",
            "metrics",
            "extract_prompt",
            "assess_prompt",
            "answer_reasoning",
        ),
        *("timeout", "options", "history"),
    ),
    "rate": ("data", "judges", "ask", "criteria", "prompts", *READ, *WRITE, *ASK, "gates"),
    "experiment": ("design", "out", "labels", "select", "anyway", "options"),
    "extraction": (*("source", "claims", "extractor", "gold", *READ, *WRITE, "options"),),
    "plan": ("door", "args", "kwargs"),
    "compare": ("runs", "baseline", "metrics", "by", "cluster"),
    "agreement": (
        *("run", "labels", "evidence", "scores", "ratings", "pairs", "by", "half_width", "cluster"),
        *("scale", "assessors", "trec_runs", "measures", "out", "sheet"),
    ),
    "correct": ("run", "labels", "metric", "method", "cluster", "sheet"),
    "annotate": (
        *(
            "run",
            "n",
            "metric",
            "design",
            "seed",
            "annotator",
            "documents",
            "depth",
            "corpus",
            "trec_run",
        ),
        *("disputed", *HOW, "out"),
    ),
    "measure": (
        "data",
        "metrics",
        "match",
        "collapse_ids",
        "normalization",
        "local",
        *READ,
        *WRITE,
        "options",
    ),
    "read_samples": ("data", *READ),
    "probe": ("judge", "options"),
    "doctor": ("data", "metrics", *HOW),
    "draw": ("log", "n", "every", *DRAW, "mapping", "out"),
    "import_replies": (
        *("file", "mapping", "answer_reasoning", "out", "overwrite", "panel", "cluster"),
    ),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_doors_take_the_parameters_of_the_contract_by_name(name: str) -> None:
    parameters = inspect.signature(getattr(ce, name)).parameters
    assert set(parameters) == set(PARAMETERS[name])
    kinds = {parameter.kind for parameter in list(parameters.values())[2:]}
    assert kinds <= {
        inspect.Parameter.KEYWORD_ONLY,
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
    }


@pytest.mark.parametrize("name", [name for name in ce.__all__ if f"a{name}" in ce.__all__])
def test_a_twin_has_the_same_parameters(name: str) -> None:
    door = getattr(ce, name)
    twin = getattr(ce, f"a{name}")
    assert inspect.signature(door) == inspect.signature(twin)
    assert (inspect.iscoroutinefunction(twin), door.__name__) == (True, name)
    assert f"\ndef {name}(\n" in Path(inspect.getsourcefile(inspect.unwrap(door)) or "").read_text(
        encoding="utf-8"
    ), "it can be found"


@pytest.mark.parametrize("name", ce.__all__)
def test_public_names_have_docstrings(name: str) -> None:
    value = getattr(ce, name)
    assert (inspect.getdoc(value) or "").strip(), name
    if inspect.isfunction(value):
        text = inspect.getdoc(value) or ""
        parameters = list(inspect.signature(value).parameters)
        if inspect.iscoroutinefunction(value):
            first = text.partition("\n\nExamples:")[0]
            assert first.endswith(
                f" as `{name[1:]}` does, in an asynchronous program. The arguments are the same."
            )
        elif len(parameters) > 3:
            assert all(f"\n{heading}:\n" in text for heading in ("Args", "Returns", "Raises")), name
            assert [p for p in parameters if f"\n    {p}: " not in text] == [], (
                f"parameters of {name} without a word"
            )
    if inspect.isclass(value):
        methods = [
            (key, one)
            for key, one in vars(value).items()
            if inspect.isfunction(one) and key[0] != "_"
        ]
        assert [key for key, one in methods if not inspect.getdoc(one)] == [], name


def test_what_every_function_returns_is_had_from_types() -> None:
    functions = [value for name in ce.__all__ if inspect.isfunction(value := getattr(ce, name))]
    received = {str(inspect.signature(function).return_annotation) for function in functions}
    others = {"DrawnRows", "Iterator[Sample]"}  # a list and an iterator, with methods of their own
    assert received - set(ce.__all__) - others <= set(types.__all__)


def test_received_records_are_had_from_types() -> None:
    stub = Path(types.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    typed = re.findall(r"from claimeval\.(\S+) import (\w+) as", stub)
    assert {name: home for home, name in typed} == types._HOME_OF
    for name in types.__all__:
        assert inspect.getdoc(getattr(types, name)), name
    with pytest.raises(AttributeError, match="no attribute 'Report'"):
        types.__getattr__("Report")


def in_use(judge: str, other: str, folder: Path, frame: pandas.DataFrame, answers: Path) -> None:
    """The snippets of the documentation, which mypy reads as users write them."""
    run = ce.score(answers, judges=judge)
    assert run["faithfulness"].mean is not None
    assert run["faithfulness"].low is not None
    run = ce.score(
        frame,
        judges=[judge, other],
        panel=ce.PanelOptions(tie="conservative"),
        out=folder / "runs" / "a",
    )
    strict = ce.rejudge(run, assess_prompt="binary", out=folder / "runs" / "b")
    arms = ce.experiment(
        {"data": str(answers), "judges": judge, "grid": {"assess_prompt": ["three_way", "binary"]}},
        out=folder / "exp",
    )
    assert arms.chosen is None
    comparison = ce.compare(folder / "runs" / "a", str(folder / "runs" / "b"))
    assert comparison.metrics["faithfulness"].difference.value is not None
    comparison.report(folder / "why.html")
    assert len(run.by("metadata.topic").to_pandas())
    ratings = ce.rate(strict, judges=judge, ask="relevance")
    assert ratings["rated_relevance"].n
    assert ce.measure(answers, "recall@5,ndcg@10,rouge_l,token_f1")["rouge_l"].unit == "share"
    ce.measure(frame, {"words": lambda sample: len((sample.answer or "").split())})
    ce.score(frame, judges=judge, metrics=["faithfulness", "on_policy=answer:policy"])
    ce.score(frame, judges=judge, options=ce.RunOptions(max_calls=1000, cache=folder / "replies"))
    assert ce.plan(ce.score, answers, judges=judge).calls[0] == 0
    assert run.to_pandas("claims").query("label == 'not_found'") is not None
    assert ce.annotate(run, n=2).labeled == 0
    for sample in ce.read_samples(frame):
        assert sample.question
    assert ce.doctor(answers).ok


def test_the_snippets_of_the_documentation_run(server: ThreadHandle, tmp_path: Path) -> None:
    import pandas

    rows = [{**sample, "metadata": {"topic": "a"}} for sample in SAMPLES[:2]]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    snippets: Callable[..., None] = in_use
    snippets(
        spec(server),
        spec(server, "judge-2"),
        tmp_path,
        pandas.DataFrame(rows),
        tmp_path / "answers.jsonl",
    )
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"a", "b"}
