"""Tokens and dollars of a verdict, of claimeval and of its peers on the same samples with one judge
and one tokenizer.

    uv run --isolated --with ragas==0.4.3 --with deepeval==4.3.1 \
        --with 'langchain-community<0.4' --with bpe-openai --with . \
        python -m benchmarks.tokens [--samples 100] [--shape middle] [--claims 9] [--tight] \
        [--refchecker FOLDER]

FOLDER has the package refchecker 0.2.17 (`uv pip install --no-deps --target FOLDER refchecker`),
whose prompts RAGChecker asks with; they are filled here, because the package needs torch. The
others run.

Samples: answers of 80 to 140 words or a little more, gold answers of 50 to 100, and 5 to 10
documents of 150 to 280, of sentences of the bundled data; others with `--shape`. The judge makes
about 9 claims of an answer of 120 words (as rules and older models do) or, with `--claims 14`,
about 14 (as newer ones do), at clauses of a least length. It gives 75% of the claims the first
label, 15% "not found" and 10% "contradicted", reasons of 17 words and quotes of five, the
most that the prompt allows. It writes JSON as the prompt shows it, without spaces or with them, but
never indented as ragas' examples are; with `--tight`, without spaces for all tools. Schemas are
counted as part of the prompt. The input is cached as far as it begins with 1,024 tokens or more, in
steps of 128, of a request that had ended: claimeval runs with 16 calls of .3 s in flight, the peers
one call after another. "Evidence" is the number of its copies that were sent and not cached.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import hashlib
import json
import math
import os
import random
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.loopback import Latency, Options, serve_in_thread
from benchmarks.loopback.judge import Body, Reply, text_of

ROOT = Path(__file__).parents[1]
INPUT = 0.25
CACHED = 0.025
OUTPUT = 2.0
"""Dollars per million tokens of gpt-5-mini on 2026-09-05."""
REASON = (
    "the documents say this in other words and give the same number for the same place and year"
)
LABELS = ("supported", "not_found", "contradicted")
CLAUSE = r";\s+|,\s+(?:and|but|which|who|while|because)\s+|,\s+"
PHRASE = CLAUSE + r"|\s+(?=(?:and|in|with|from|for|at|by|on|to) )"
SPLITS = {9: (CLAUSE, 9), 14: (PHRASE, 5)}
"""Where claims begin, and their least number of words, by the number of claims of an answer of 120
words."""
split: tuple[str, int] = SPLITS[9]
tight = False
LINE = re.compile(r'^(\w+): (".*")$', re.MULTILINE)


class Prices(NamedTuple):
    """Dollars per million tokens."""

    input: float
    cached: float
    output: float
    decided: float = 0.0
    """Of the input of a decision model, whose output is free."""


MINI = Prices(INPUT, CACHED, OUTPUT)
LUNA = Prices(0.10, 0.01, 0.50, decided=0.10)
"""gpt-6-luna on 2026-09-23, and as a decision model on 2026-10-10."""


class Count(NamedTuple):
    """What a tool sent and got for all samples."""

    calls: int
    sent: int
    cached: int
    received: int
    verdicts: int
    cached_short: int = 0
    """Input that a server finds which caches from 64 tokens on."""
    schemas: int = 0
    alone: int = 0
    """Questions about one claim of a text with several."""
    evidence: int = 0
    """Tokens of all different evidence."""
    evidence_paid: int = 0
    """Tokens of evidence that were sent and not cached."""
    decided: int = 0
    """Tokens of the requests to a decision model, of all their JSON."""
    prices: Prices = MINI

    @property
    def dollars(self) -> float:
        """With the provider's discount for cached input."""
        return self.dollars_with(self.cached)

    def dollars_with(self, cached: int) -> float:
        """With the discount for this many tokens of the input."""
        prices = self.prices
        return (
            (self.sent - cached) * prices.input
            + cached * prices.cached
            + self.received * prices.output
            + self.decided * prices.decided
        ) / 1e6


LONG = 1024, 128
SHORT = 64, 64
"""The least beginning that providers cache, and its steps: OpenAI; DeepSeek, vLLM and SGLang."""


class _Beginnings:
    """The beginnings of requests that a provider has in its cache."""

    def __init__(self, least: int, step: int) -> None:
        self._least = least
        self._step = step
        self._ended: dict[int, float] = {}

    def add(self, tokens: Sequence[int], started: float, ended: float) -> int:
        """Add a request, and return how many of its tokens were there when it began."""
        sizes = range(self._least, len(tokens) + 1, self._step)
        marks = [hash(tuple(tokens[:size])) for size in sizes]
        missing = (i for i, mark in enumerate(marks) if self._ended.get(mark, math.inf) > started)
        hits = next(missing, len(marks))
        for mark in marks:
            self._ended.setdefault(mark, ended)
        return self._least + self._step * (hits - 1) if hits else 0


class Log:
    """Counts the exchanges of one tool."""

    def __init__(self) -> None:
        import bpe_openai  # type: ignore[import-not-found]  # not installed where types are checked

        self.encode: Callable[[str], list[int]] = bpe_openai.get_encoding("o200k_base").encode
        self._seen = {LONG: _Beginnings(*LONG), SHORT: _Beginnings(*SHORT)}
        self.count = Count(0, 0, 0, 0, 0)
        self.schemas: set[str] = set()
        self._evidence: set[str] = set()

    def add(
        self, prompt: str, reply: str, verdicts: int, started: float, ended: float, schema: str = ""
    ) -> None:
        """Add an exchange; `schema` stands before the prompt."""
        tokens = self.encode(schema + prompt)
        cached = self._seen[LONG].add(tokens, started, ended)
        cached_short = self._seen[SHORT].add(tokens, started, ended)
        self.schemas |= {schema} if '"verdicts"' in schema else set()
        old = self.count
        head, _, rest = (schema + prompt).partition("<evidence>")
        evidence = rest.partition("</evidence>")[0]
        begin = len(self.encode(head))
        size = len(self.encode(evidence))
        self.count = Count(
            old.calls + 1,
            old.sent + len(tokens),
            old.cached + cached,
            old.received + len(self.encode(reply)),
            old.verdicts + verdicts,
            old.cached_short + cached_short,
            len(self.schemas),
            old.alone,
            old.evidence + (size if evidence not in self._evidence else 0),
            old.evidence_paid + size - min(max(cached - begin, 0), size),
        )
        self._evidence.add(evidence)


def clauses(text: str) -> list[str]:
    """The claims of a text: its clauses of a least number of words."""
    pattern, least = split
    found: list[str] = []
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        joined: list[str] = []
        for part in filter(None, re.split(pattern, sentence)):
            if joined and len(part.split()) < least:
                joined[-1] += ", " + part
            else:
                joined.append(part)
        found += joined
    return [part.strip(" .") + "." for part in found]


def label(claim: str) -> str:
    """The same label for the same claim in every tool."""
    share = int(hashlib.sha256(claim.encode()).hexdigest()[:8], 16) / 16**8
    return LABELS[0] if share < 0.75 else LABELS[1] if share < 0.9 else LABELS[2]


class Shape(NamedTuple):
    """The least and largest sizes of samples: words of texts, and the number of documents."""

    answer: tuple[int, int]
    gold: tuple[int, int]
    documents: tuple[int, int]
    document: tuple[int, int]


MIDDLE = Shape((80, 140), (50, 100), (5, 10), (150, 280))
SHAPES = {
    "short": Shape((20, 40), (15, 30), (3, 3), (60, 100)),
    "middle": MIDDLE,
    "long": Shape((200, 300), (120, 200), (10, 10), (380, 420)),
}
"""Answers of about 30 words with 3 documents of 80, of 120 with 5 to 10 of 220, and of 250 with 10
of 400."""


def rows(number: int, shape: Shape = MIDDLE) -> list[dict[str, Any]]:
    """Samples of sentences of the bundled data."""
    pool: list[str] = []
    for line in (
        (ROOT / "examples" / "data" / "demo.jsonl").read_text(encoding="utf-8").splitlines()
    ):
        row = json.loads(line)
        texts = [
            row["answer"],
            *row.get("reference_answers", []),
            *(doc["text"] for doc in row["contexts"]),
        ]
        pool += [
            sentence for text in texts if text for sentence in re.split(r"(?<=[.!?])\s+", text)
        ]
    pool = sorted({sentence for sentence in pool if 6 <= len(sentence.split()) <= 40})
    rng = random.Random(7)

    def text(least: int, most: int) -> str:
        size = rng.randint(least, most)
        words = 0
        chosen = []
        while words < size:
            chosen.append(rng.choice(pool))
            words += len(chosen[-1].split())
        return " ".join(chosen)

    return [
        {
            "id": f"s{i}",
            "question": f"What is said of case {i}?",
            "answer": text(*shape.answer),
            "reference_answers": [text(*shape.gold)],
            "contexts": [text(*shape.document) for _ in range(rng.randint(*shape.documents))],
        }
        for i in range(number)
    ]


def write_json(value: object, *, spaces: bool = True) -> str:
    """Write a reply."""
    return json.dumps(value, separators=None if spaces and not tight else (",", ":"))


# claimeval


KNOWN = "gpt-5-mini"
"""A model whose number of claims in a question is known."""


def of_claimeval(
    samples: Sequence[dict[str, Any]], metrics: str, model: str = KNOWN, **asked: Any
) -> Count:
    """Score for real, against a server on the loopback."""
    import claimeval as ce

    log = Log()
    subjects: dict[str, list[int]] = {}

    def judge(body: Body) -> Reply:
        text = text_of(body)
        started = time.monotonic()
        format = body.get("response_format", {}).get("json_schema", {}).get("schema", "")
        schema = json.dumps(format, separators=(",", ":")) if format else ""
        reply, verdicts = answer(text)
        if verdicts:
            subjects.setdefault(text.partition("<claims>")[0], []).append(verdicts)
        log.add(text, reply, verdicts, started, started + 0.3, schema)
        return Reply(reply)

    with (
        tempfile.TemporaryDirectory() as folder,
        serve_in_thread(Options(latency=Latency(seconds=0.3)), judge=judge) as server,
    ):
        asked_model = ce.Judge(
            name="judge", model=f"openai:{model}", endpoint=server.url_for("openai")
        )
        options = ce.RunOptions(cache=folder, concurrency=16)
        run = ce.score(samples, judges=asked_model, metrics=metrics, options=options, **asked)
        assert run.complete, run.notes
    alone = sum(sizes.count(1) for sizes in subjects.values() if len(sizes) > 1)
    return log.count._replace(alone=alone)


def of_decisions(samples: Sequence[dict[str, Any]], **asked: Any) -> Count:
    """Score for real with a decision model, and with the same model as the extractor."""
    import claimeval as ce
    from claimeval.testing import serve

    log = Log()
    bodies: list[str] = []
    questions = 0

    def extract(body: Body) -> Reply:
        started = time.monotonic()
        text = text_of(body)
        reply, _ = answer(text)
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", "")
        written = json.dumps(schema, separators=(",", ":")) if schema else ""
        log.add(text, reply, 0, started, started + 0.3, written)
        return Reply(reply)

    def decide(path: str, headers: Any, content: bytes) -> tuple[int, bytes]:
        nonlocal questions
        body = json.loads(content)
        bodies.append(content.decode())
        questions += len(body["questions"])
        answers = [
            {
                "type": "choice",
                "name": question["name"],
                "choice": label(question["instructions"]),
                "probabilities": [
                    {"value": value, "probability": float(value == label(question["instructions"]))}
                    for value in LABELS
                ],
            }
            for question in body["questions"]
        ]
        return 200, json.dumps({"model": body["model"], "answers": answers}).encode()

    with (
        tempfile.TemporaryDirectory() as folder,
        serve_in_thread(Options(latency=Latency(seconds=0.3)), judge=extract) as server,
        serve(decide) as url,
    ):
        options = ce.RunOptions(cache=folder, concurrency=16)
        model = ce.Judge(name="extractor", model="openai:luna", endpoint=server.url_for("openai"))
        run = ce.score(
            samples,
            judges=f"decisions:gpt-6-luna@{url}",
            extractor=model,
            metrics="faithfulness",
            options=options,
            **asked,
        )
        assert run.complete, run.notes
    return log.count._replace(
        calls=log.count.calls + len(bodies),
        verdicts=questions,
        prices=LUNA,
        decided=sum(len(log.encode(body)) for body in bodies),
    )


def answer(text: str) -> tuple[str, int]:
    """Reply to a prompt of claimeval; also the number of verdicts."""
    spaces = '": ' in text.rpartition("\n")[2]
    if "<sentences>" in text:
        sentences = [
            (int(n), json.loads(s))
            for n, s in LINE.findall(text.partition("<sentences>")[2].partition("</sentences>")[0])
        ]
        quotes = '"quote"' in text
        longest = 5 if "at most five words" in text else 12  # of other prompts
        claims = [
            {
                "claim": c,
                "sentences": [n],
                **({"quote": " ".join(c.strip(".").split()[:longest])} if quotes else {}),
            }
            for n, s in sentences
            for c in clauses(s)
        ]
        return write_json({"claims": claims}, spaces=spaces), 0
    shown = [
        (name, json.loads(claim)) for name, claim in LINE.findall(text.partition("<claims>")[2])
    ]
    if '{"verdicts":{"c1"' in text:
        return write_json(
            {"verdicts": {name: label(claim) for name, claim in shown}}, spaces=spaces
        ), len(shown)
    fewer = "or an empty text if" in text
    verdicts = [
        {
            "id": name,
            "reason": "" if fewer and label(claim) == LABELS[0] else REASON,
            "evidence": ["d1"] if label(claim) != LABELS[1] else [],
            "label": label(claim),
        }
        for name, claim in shown
    ]
    return write_json({"verdicts": verdicts}, spaces=spaces), len(shown)


# the peers


def ragas_judge(note: Callable[[str, str, int], None], cache: Any = None) -> Any:
    """Return a model of ragas in this process, which notes prompt, reply and number of verdicts.

    `cache` is one of ragas' caches of replies.
    """
    from langchain_core.outputs import Generation, LLMResult
    from ragas.llms import BaseRagasLLM

    class Judge(BaseRagasLLM):  # type: ignore[misc]  # not installed where types are checked
        def generate_text(self, prompt: Any, *_: Any, **__: Any) -> LLMResult:
            text = prompt.to_string()
            given = json.loads(text.rpartition("input: ")[2].rpartition("Output:")[0])
            verdicts = 0
            if "statements" in given:
                verdicts = len(given["statements"])
                judged = [
                    {"statement": s, "reason": REASON, "verdict": int(label(s) == LABELS[0])}
                    for s in given["statements"]
                ]
                reply = write_json({"statements": judged})
            else:
                reply = write_json(
                    {
                        "statements" if "answer" in given else "claims": clauses(
                            given.get("answer") or given["response"]
                        )
                    }
                )
            note(text, reply, verdicts)
            return LLMResult(generations=[[Generation(text=reply)]])

        async def agenerate_text(self, prompt: Any, *_: Any, **__: Any) -> LLMResult:
            return self.generate_text(prompt)

        def is_finished(self, response: LLMResult) -> bool:
            return True

    return Judge(cache=cache)


def of_ragas(samples: Sequence[dict[str, Any]], metrics: Sequence[str]) -> Count:
    """Evaluate for real, with a judge in this process."""
    from ragas import EvaluationDataset, evaluate
    from ragas import metrics as of_peer

    log = Log()

    def note(text: str, reply: str, verdicts: int) -> None:
        log.add(text, reply, verdicts, time.monotonic(), time.monotonic())

    data = [
        {
            "user_input": s["question"],
            "response": s["answer"],
            "retrieved_contexts": s["contexts"],
            "reference": s["reference_answers"][0],
        }
        for s in samples
    ]
    evaluate(
        EvaluationDataset.from_list(data),
        metrics=[getattr(of_peer, name)(llm=ragas_judge(note)) for name in metrics],
        show_progress=False,
    )
    return log.count


def of_deepeval(samples: Sequence[dict[str, Any]]) -> Count:
    """Measure for real, with a judge in this process; the schema that OpenAI's models get too is
    not counted."""
    from deepeval.metrics import FaithfulnessMetric
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase

    log = Log()

    class Judge(DeepEvalBaseLLM):  # type: ignore[misc]  # as above
        def load_model(self) -> Any:
            return self

        def get_model_name(self) -> str:
            return "judge"

        def generate(self, prompt: str, *_: Any, **__: Any) -> str:
            verdicts = 0
            if '"verdicts"' in prompt:
                claims = ast.literal_eval(
                    prompt.rpartition("Claims:\n")[2].rpartition("\n\nJSON")[0]
                )
                verdicts = len(claims)
                words = {LABELS[0]: "yes", LABELS[1]: "borderline", LABELS[2]: "no"}
                judged = [
                    {
                        "verdict": words[label(c)],
                        **({"reason": REASON} if label(c) != LABELS[0] else {}),
                    }
                    for c in claims
                ]
                reply = write_json({"verdicts": judged})
            elif '"truths"' in prompt:
                reply = write_json(
                    {"truths": clauses(prompt.rpartition("Text:\n")[2].rpartition("\n\nJSON")[0])}
                )
            elif '"claims"' in prompt:
                reply = write_json(
                    {
                        "claims": clauses(
                            prompt.rpartition("AI Output:\n")[2].rpartition("\n\nJSON")[0]
                        )
                    }
                )
            else:
                reply = write_json({"reason": REASON})
            log.add(prompt, reply, verdicts, time.monotonic(), time.monotonic())
            return reply

        async def a_generate(self, prompt: str, *_: Any, **__: Any) -> str:
            return self.generate(prompt)

    metric = FaithfulnessMetric(model=Judge(), async_mode=False)
    for s in samples:
        case = LLMTestCase(
            input=s["question"], actual_output=s["answer"], retrieval_context=s["contexts"]
        )
        metric.measure(case, _show_indicator=False)
    return log.count


def of_ragchecker(samples: Sequence[dict[str, Any]], package: Path) -> Count:
    """Fill the prompts of RAGChecker's matrix of claims and documents: five claims jointly, its
    default."""
    texts = {
        name: constants(package / "refchecker" / name)
        for name in ("extractor/extractor_prompts.py", "checker/checker_prompts.py")
    }
    extract = texts["extractor/extractor_prompts.py"]["LLM_CLAIM_EXTRACTION_PROMPT_Q"]
    check = texts["checker/checker_prompts.py"]["JOINT_CHECKING_PROMPT_Q"]
    words = {LABELS[0]: "Entailment", LABELS[1]: "Neutral", LABELS[2]: "Contradiction"}
    log = Log()

    def fill(prompt: str, **values: str) -> str:
        for name, value in values.items():
            prompt = prompt.replace(f"[{name.upper()}]", value)
        return prompt

    for s in samples:
        claims = clauses(s["answer"])
        asked = fill(extract, question=s["question"], response=s["answer"])
        log.add(
            asked,
            "\n".join(f"{i}. {c}" for i, c in enumerate(claims, 1)),
            0,
            time.monotonic(),
            time.monotonic(),
        )
        for document in s["contexts"]:
            for first in range(0, len(claims), 5):
                chunk = claims[first : first + 5]
                asked = fill(
                    check, question=s["question"], reference=document, claims="\n".join(chunk)
                )
                log.add(
                    asked,
                    "\n".join(words[label(c)] for c in chunk),
                    len(chunk),
                    time.monotonic(),
                    time.monotonic(),
                )
    return log.count


def constants(file: Path) -> dict[str, str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def main() -> None:
    """Print a table for each question."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--shape", default="middle", choices=SHAPES)
    parser.add_argument("--claims", type=int, default=9, choices=SPLITS)
    parser.add_argument("--tight", action="store_true")
    parser.add_argument("--refchecker", type=Path)
    arguments = parser.parse_args()
    global split, tight
    split = SPLITS[arguments.claims]
    tight = arguments.tight
    warnings.simplefilter("ignore")
    os.environ |= {
        "RAGAS_DO_NOT_TRACK": "true",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "OPENAI_API_KEY": "none",
    }
    samples = rows(arguments.samples, SHAPES[arguments.shape])
    three = "faithfulness,correctness,coverage"
    tables: dict[str, dict[str, Callable[[], Count]]] = {
        "faithfulness": {
            "ragas 0.4.3": lambda: of_ragas(samples, ["Faithfulness"]),
            "DeepEval 4.3.1": lambda: of_deepeval(samples),
            "a known model, at any address": lambda: of_claimeval(samples, "faithfulness"),
            "any other name: five claims": lambda: of_claimeval(samples, "faithfulness", "judge"),
            "any other name, if doctor finds that it bears 20": lambda: of_claimeval(
                samples, "faithfulness", "judge", claims_per_call=20
            ),
            "any other name, if doctor finds that it bears 40": lambda: of_claimeval(
                samples, "faithfulness", "judge", claims_per_call=40
            ),
            "five claims, all reasons, quotes": lambda: of_claimeval(
                samples, "faithfulness", "judge", reasons="all"
            ),
            "all reasons, no quotes": lambda: of_claimeval(
                samples, "faithfulness", reasons="all", quotes="no"
            ),
            "no quotes": lambda: of_claimeval(samples, "faithfulness", quotes="no"),
            "labels alone, no quotes": lambda: of_claimeval(
                samples, "faithfulness", quotes="no", reasons="none"
            ),
        },
        "faithfulness, correctness and coverage beside Faithfulness and FactualCorrectness": {
            "ragas 0.4.3": lambda: of_ragas(samples, ["Faithfulness", "FactualCorrectness"]),
            "a known model, at any address": lambda: of_claimeval(samples, three),
            "no quotes": lambda: of_claimeval(samples, three, quotes="no"),
        },
    }
    tables["faithfulness with claims and verdicts by gpt-6-luna"] = {
        "a decision model, claims extracted in chat": lambda: of_decisions(samples),
        "chat for both": lambda: of_claimeval(samples, "faithfulness")._replace(prices=LUNA),
    }
    if arguments.refchecker:
        tables["faithfulness per document beside RAGChecker's matrix"] = {
            "refchecker 0.2.17": lambda: of_ragchecker(samples, arguments.refchecker),
            "a known model, at any address": lambda: of_claimeval(
                samples, "faithfulness", per_document=True
            ),
            "labels alone": lambda: of_claimeval(
                samples, "faithfulness", per_document=True, reasons="none"
            ),
            "labels alone, no quotes": lambda: of_claimeval(
                samples, "faithfulness", per_document=True, reasons="none", quotes="no"
            ),
        }
    for title, table in tables.items():
        kind = "" if arguments.shape == "middle" else f"{arguments.shape} "
        claims = f"about {arguments.claims} claims an answer of 120 words"
        print(f"\n{title}, {len(samples)} {kind}samples, {claims}\n")
        columns = (
            "calls",
            "tokens in",
            "cached",
            "tokens out",
            "verdicts",
            "schemas",
            "about one claim",
            "evidence",
        )
        prices = (
            "$ per 1,000 verdicts",
            "to the first",
            "cached from 64",
            "$ then",
            "nothing cached, $",
        )
        print("| |", " | ".join((*columns, *prices)), "|")
        print("|---" * 14 + "|")
        first = 0.0
        for name, count in table.items():
            n = len(samples)
            c = count()
            dollars = 1000 * c.dollars / c.verdicts
            first = first or dollars
            cells = (
                f"{c.calls / n:.1f}",
                f"{c.sent / n:,.0f}",
                f"{c.cached / c.sent:.0%}",
                f"{c.received / n:,.0f}",
                f"{c.verdicts / n:.1f}",
                c.schemas or "",
                c.alone,
                f"{c.evidence_paid / c.evidence:.2f}" if c.evidence else "",
                f"{dollars:.3f}",
                f"{dollars / first:.2f}",
                f"{c.cached_short / c.sent:.0%}",
                f"{1000 * c.dollars_with(c.cached_short) / c.verdicts:.3f}",
                f"{1000 * c.dollars_with(0) / c.verdicts:.3f}",
            )
            print(f"| {name} |", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    asyncio.set_event_loop(asyncio.new_event_loop())
    main()
