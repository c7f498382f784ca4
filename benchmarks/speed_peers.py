"""Faithfulness with ragas and deepeval, for `pipeline_speed`.

They run in a separate interpreter, because they need other versions of the OpenAI SDK than claimeval:

    python3 -m venv peers && peers/bin/pip install ragas==0.4.3 deepeval==4.3.1
    python -m benchmarks.pipeline_speed cpu --peers peers/bin/python

As a program, this is the measured process: it runs one tool on a number of samples, once online and once from the
tool's cache, and prints the CPU milliseconds of both. As a module, it is the judge of both tools.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.loopback import Body, Judge, Reply, text_of

STATEMENTS = [f"The tower has the property {i}." for i in range(4)]


def make() -> Judge:
    """Return a judge that replies to both tools in their formats, without reading the texts."""
    return answer


def answer(body: Body) -> Reply:
    text = text_of(body)
    form = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    if "NLIStatementOutput" in text:
        said: dict[str, object] = {"statements": [{"statement": s, "reason": "so", "verdict": 1} for s in STATEMENTS]}
    elif "StatementGeneratorOutput" in text:
        said = {"statements": STATEMENTS}
    elif "verdicts" in form:
        said = {"verdicts": [{"verdict": "yes", "reason": "so"} for _ in STATEMENTS]}
    elif "reason" in form:
        said = {"reason": "so"}
    else:
        said = dict.fromkeys(form, STATEMENTS)
    return Reply(json.dumps(said))


def ragas(url: str, samples: int, in_flight: int) -> tuple[float, float]:
    from openai import AsyncOpenAI
    from ragas.cache import DiskCacheBackend
    from ragas.llms import llm_factory
    from ragas.metrics.collections import Faithfulness

    async def main(first: int, count: int) -> None:
        client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        metric = Faithfulness(llm=llm_factory("judge", client=client, cache=DiskCacheBackend("cache")))
        waiting = iter(range(first, first + count))

        async def worker() -> None:
            for i in waiting:
                question, said, documents = texts(i)
                result = await metric.ascore(user_input=question, response=said, retrieved_contexts=documents)
                assert result.value == 1.0

        await asyncio.gather(*[worker() for _ in range(in_flight)])

    return twice(lambda first, count: asyncio.run(main(first, count)), samples)


def deepeval(url: str, samples: int, in_flight: int) -> tuple[float, float]:
    os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "OPENAI_API_KEY": "none"}
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import FaithfulnessMetric
    from deepeval.models import GPTModel
    from deepeval.test_case import LLMTestCase

    def run(first: int, count: int) -> None:
        judge = GPTModel(model="gpt-4o", base_url=url, api_key="none")
        cases = []
        for i in range(first, first + count):
            question, said, documents = texts(i)
            cases.append(LLMTestCase(input=question, actual_output=said, retrieval_context=documents))
        with contextlib.redirect_stdout(io.StringIO()):
            evaluate(
                cases,
                [FaithfulnessMetric(model=judge)],
                async_config=AsyncConfig(max_concurrent=in_flight),
                cache_config=CacheConfig(use_cache=True, write_cache=True),
                display_config=DisplayConfig(show_indicator=False, print_results=False),
            )

    return twice(run, samples)


TOOLS: dict[str, Callable[[str, int, int], tuple[float, float]]] = {"ragas": ragas, "deepeval": deepeval}
WARM_UP = 5
"""Samples."""


def twice(run: Callable[[int, int], Any], samples: int) -> tuple[float, float]:
    """Return the CPU milliseconds online and from the cache, after a few other samples as a warm-up."""
    run(samples, WARM_UP)
    spent = []
    for _ in range(2):
        before = time.process_time()
        run(0, samples)
        spent.append(1000 * (time.process_time() - before))
    return spent[0], spent[1]


def texts(i: int) -> tuple[str, str, list[str]]:
    """Return question, answer and three documents, as long as those of `pipeline_speed`."""
    said = f"Tower {i} is {i} metres high. Ana Souto built it. The king paid for it. It stands to this day."
    words = "The tower of Porto Alto was begun by Ana Souto in the spring and it is built of granite from the north. "
    return f"What should I know about tower {i}?", said, [f"Page {n} on tower {i}. {words * 4}" for n in range(3)]


if __name__ == "__main__":
    print(json.dumps(TOOLS[sys.argv[1]](sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
