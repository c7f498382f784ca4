"""How much of claimeval's input is the same in all questions, and what providers find of it.

    uv run --isolated --with bpe-openai --with . python -m benchmarks.beginnings [--samples 60]

The samples are those of `benchmarks.tokens`. A schema counts as the first tokens of its question.
"Static" is the input before the first token in which two questions of one step differ. The other
columns are what a provider finds that keeps the beginnings of all earlier questions in whole blocks
of so many tokens: DeepSeek of 64, vLLM of 16; SGLang, each token.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import claimeval as ce
from benchmarks.loopback import Options, serve_in_thread
from benchmarks.loopback.judge import Body, Reply, text_of
from benchmarks.tokens import KNOWN, SHAPES, answer, rows

BLOCKS = (64, 16, 1)


def asked(samples: Sequence[dict[str, Any]]) -> dict[str, list[list[int]]]:
    """Return the tokens of the questions of each step, in the order in which they are sent."""
    import bpe_openai  # type: ignore[import-not-found]  # not installed where types are checked

    encode = bpe_openai.get_encoding("o200k_base").encode
    questions: dict[str, list[list[int]]] = {"extraction": [], "assessment": []}

    def judge(body: Body) -> Reply:
        text = text_of(body)
        schema = json.dumps(body["response_format"]["json_schema"]["schema"], separators=(",", ":"))
        reply, verdicts = answer(text)
        questions["assessment" if verdicts else "extraction"].append(encode(schema + text))
        return Reply(reply)

    with tempfile.TemporaryDirectory() as folder, serve_in_thread(Options(), judge=judge) as server:
        model = ce.Judge(name="judge", model=f"openai:{KNOWN}", endpoint=server.url_for("openai"))
        options = ce.RunOptions(cache=folder, concurrency=1)
        run = ce.score(samples, judges=model, metrics="faithfulness", options=options)
        assert run.complete, run.notes
    return questions


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two questions begin with."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def found(questions: Sequence[Sequence[int]], block: int) -> int:
    """Return how many tokens of the questions the beginnings of earlier ones have."""
    total = 0
    for number, question in enumerate(questions):
        longest = max((common(question, one) for one in questions[:number]), default=0)
        total += longest // block * block
    return total


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=60)
    number = parser.parse_args().samples
    names = ("samples", "tokens in", "static: extraction", "assessment", "share")
    blocks = [f"found in blocks of {block}" for block in BLOCKS]
    print("|", " | ".join((*names, *blocks)), "|")
    print("|---" * (len(names) + len(blocks)) + "|")
    for name, shape in SHAPES.items():
        steps = asked(rows(number, shape)).values()
        sent = sum(len(question) for step in steps for question in step)
        static = [min(common(step[0], one) for one in step[1:]) for step in steps]
        share = sum(size * len(step) for size, step in zip(static, steps, strict=True)) / sent
        shares = [sum(found(step, block) for step in steps) / sent for block in BLOCKS]
        cells = [
            f"{sent / number:,.0f}",
            *map(str, static),
            *(f"{x:.0%}" for x in (share, *shares)),
        ]
        print(f"| {name} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
