"""What claimeval, ragas and DeepEval do with the same three answers and the same judge, for the
table in README.

The judge is a function: it answers in the form of each tool, and about the third answer in prose.
Run it beside the installed packages of the peers:

    uv run --isolated --with ragas==0.4.3 --with deepeval==4.3.1 \
        --with 'langchain-community<0.4' --with . python -m benchmarks.peers
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import tempfile
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

SAMPLES = [
    {
        "question": f"How high is tower {name}?",
        "answer": f"Tower {name} is 63 metres high.",
        "contexts": [f"Tower {name} is 63 metres high."],
    }
    for name in ("A", "B", "C")
]
UNREADABLE = "Tower C"
PROSE = "I would rather talk about something else."


class Found(NamedTuple):
    """What one tool did."""

    first: int
    """Requests of the evaluation."""
    second: int
    """Requests of the same evaluation once more, with the default settings."""
    mean: str
    unreadable: str
    """What stands for the answer about which the judge wrote prose."""
    ends: str
    """The interval next to the mean."""


def of_claimeval(folder: Path) -> Found:
    """Score with claimeval; the reply cache is a default."""
    import claimeval as ce

    asked: list[object] = []

    def judge(messages: Any, **_: Any) -> str:
        text = str(messages)
        asked.append(text)
        if UNREADABLE in text:
            return PROSE
        if '"verdicts"' in text:
            return json.dumps(
                {"verdicts": [{"id": "c1", "label": "supported", "reason": "", "quote": ""}]}
            )
        claim = re.search(r"Tower \w is 63 metres high\.", text)
        return json.dumps({"claims": [{"claim": claim and claim[0], "sentences": [1]}]})

    def once() -> tuple[ce.Run, int]:
        before = len(asked)
        options = ce.RunOptions(cache=folder / "cache")
        model = ce.Judge.from_callable("judge", judge, model="house:judge")
        return (
            ce.score(SAMPLES, judges=model, metrics="faithfulness", options=options),
            len(asked) - before,
        )

    run, first = once()
    metric = run["faithfulness"]
    reason = str(run.results[2]["faithfulness"].because)
    return Found(
        first, once()[1], f"{metric.mean:.2f}", reason, f"{metric.low:.2f} to {metric.high:.2f}"
    )


def of_ragas(_: Path) -> Found:
    """Score with ragas' Faithfulness."""
    from langchain_core.outputs import Generation, LLMResult
    from ragas import EvaluationDataset, evaluate
    from ragas.llms import BaseRagasLLM
    from ragas.metrics import Faithfulness

    class Judge(BaseRagasLLM):  # type: ignore[misc]  # not installed where types are checked
        calls = 0

        def generate_text(self, prompt: Any, *_: Any, **__: Any) -> LLMResult:
            type(self).calls += 1
            text = prompt.to_string()
            statement = re.findall(r"Tower \w is 63 metres high\.", text)[-1]
            if UNREADABLE in text:
                reply = PROSE
            elif '"verdict"' in text:
                reply = json.dumps(
                    {"statements": [{"statement": statement, "reason": "", "verdict": 1}]}
                )
            else:
                reply = json.dumps({"statements": [statement]})
            return LLMResult(generations=[[Generation(text=reply)]])

        async def agenerate_text(self, prompt: Any, *_: Any, **__: Any) -> LLMResult:
            return self.generate_text(prompt)

        def is_finished(self, response: LLMResult) -> bool:
            return True

    rows = [
        {"user_input": s["question"], "response": s["answer"], "retrieved_contexts": s["contexts"]}
        for s in SAMPLES
    ]

    def once() -> tuple[Any, int]:
        before = Judge.calls
        data = EvaluationDataset.from_list(rows)
        return (
            evaluate(data, metrics=[Faithfulness(llm=Judge())], show_progress=False),
            Judge.calls - before,
        )

    result, first = once()
    scores = [row["faithfulness"] for row in result.scores]
    known = [score for score in scores if not math.isnan(score)]
    return Found(
        first, once()[1], f"{sum(known) / len(known):.2f}", f"{scores[2]} without a reason", "none"
    )


def of_deepeval(_: Path) -> Found:
    """Score with DeepEval's FaithfulnessMetric."""
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, DisplayConfig, ErrorConfig
    from deepeval.metrics import FaithfulnessMetric
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase

    class Judge(DeepEvalBaseLLM):  # type: ignore[misc]  # as above
        calls = 0

        def load_model(self) -> Any:
            return self

        def get_model_name(self) -> str:
            return "judge"

        def generate(self, prompt: str, *_: Any, **__: Any) -> str:
            type(self).calls += 1
            statement = re.findall(r"Tower \w is 63 metres high\.", prompt)
            if UNREADABLE in prompt:
                return PROSE
            if '"verdicts"' in prompt:
                return json.dumps({"verdicts": [{"verdict": "yes", "reason": None}]})
            if '"reason"' in prompt:
                return json.dumps({"reason": "all is there"})
            return json.dumps({"truths": statement[-1:], "claims": statement[-1:]})

        async def a_generate(self, prompt: str, *_: Any, **__: Any) -> str:
            return self.generate(prompt)

    cases = [
        LLMTestCase(input=s["question"], actual_output=s["answer"], retrieval_context=s["contexts"])
        for s in SAMPLES
    ]

    def once() -> tuple[Any, int]:
        before = Judge.calls
        result = evaluate(
            cases,
            [FaithfulnessMetric(model=Judge())],
            async_config=AsyncConfig(run_async=False),
            error_config=ErrorConfig(ignore_errors=True),
            display_config=DisplayConfig(show_indicator=False, print_results=False),
        )
        return result, Judge.calls - before

    result, first = once()
    by_input = {found.input: found.metrics_data[0] for found in result.test_results}
    third = by_input[SAMPLES[2]["question"]]
    known = [found.score for found in by_input.values() if found.score is not None]
    return Found(
        first, once()[1], f"{sum(known) / len(known):.2f}", f"{third.score}: {third.error}", "none"
    )


def main() -> None:
    """Print what each tool did, and what only the others have."""
    warnings.simplefilter("ignore")
    os.environ |= {
        "RAGAS_DO_NOT_TRACK": "true",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "OPENAI_API_KEY": "none",
    }
    tools: dict[str, Callable[[Path], Found]] = {
        "claimeval": of_claimeval,
        "ragas": of_ragas,
        "deepeval": of_deepeval,
    }
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, tool in tools.items():
            found = tool(Path(folder))
            try:
                number = version(name)
            except Exception:  # noqa: BLE001  # claimeval's distribution has another name
                number = version(f"{name}-judge")
            print(f"{name} {number}: {found}")
    import deepeval.metrics
    import ragas.metrics

    print("metrics of tool calls:", [n for n in dir(ragas.metrics) if "Tool" in n], end=" ")
    print([n for n in dir(deepeval.metrics) if "Tool" in n])


if __name__ == "__main__":
    asyncio.set_event_loop(asyncio.new_event_loop())
    main()
