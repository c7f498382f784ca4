"""Runs as people have them, made by the commands' own functions before a server on loopback with
three judges.

A panel that is divided, labels per document, texts of all directions and lengths; the same data
with other contexts and other answers; an experiment in which an arm failed. They are made once a
session, and tests only read them.
"""

from __future__ import annotations

import contextlib
import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import claimeval as ce
from benchmarks.loopback import Body, Reply, serve_in_thread, text_of
from benchmarks.loopback.claim_judge import answer as ruled
from claimeval.report import forms

JUDGES = ("strict", "lenient", "noisy")
FIELDS = ("Law", "Medicine", "History", "Physics")
GENERATORS = {"a": "openai:gpt-4.1", "b": "anthropic:claude-sonnet-4"}
_WORD = re.compile(r"\w+")
_LINE = re.compile(r'^(\w+): (".*")$', re.MULTILINE)


class Realistic(NamedTuple):
    """Folders of the runs, and their pages."""

    a: Path
    b: Path
    """The samples of `a`: every third with half its contexts, every fifth with another answer, one
    with another reference; the last sample is new, and the first is gone."""
    documents: Path
    """Two judges, who also see every document alone."""
    experiment: Path
    """Two arms that worked and one whose judge wrote prose."""
    pages: dict[str, Path]
    """The page of each, and `ab` of both."""

    @classmethod
    def of(cls, folder: Path) -> Realistic:
        """What a folder holds."""
        a, b, documents, experiment = (
            folder / "runs" / name for name in ("a", "b", "documents", "experiment")
        )
        pages = {run.name: run / "report.html" for run in (a, b, documents, experiment)}
        return cls(a, b, documents, experiment, {**pages, "ab": folder / "ab.html"})


def make_all(folder: Path) -> None:
    """Make the runs and pages in a folder."""
    samples = [*(sample(i) for i in range(24)), *odd_texts()]
    with serve_in_thread(judge=answer) as server:
        panel = [f"openai:{name}@{server.url}" for name in JUDGES]
        options = ce.RunOptions(cache=folder / "store", concurrency=8)
        metrics = ["faithfulness", "context_recall", "correctness", "contradiction_rate", "f1"]
        made = Realistic.of(folder)
        for run, data in (
            ("a", samples),
            ("b", [*(changed(i, s) for i, s in enumerate(samples) if i), sample(99)]),
        ):
            rows = [{**one, "generator": GENERATORS[run]} for one in data]
            ce.score(
                rows, judges=panel, metrics=metrics, out=folder / "runs" / run, options=options
            )
        ce.score(
            samples[:8], judges=panel[:2], per_document=True, out=made.documents, options=options
        )
        (folder / "data.jsonl").write_text(
            "".join(json.dumps(one) + "\n" for one in samples[:4]), encoding="utf-8"
        )
        arms = [
            {"name": name, "judges": f"openai:{name}@{server.url}"}
            for name in ("strict", "lenient", "prose")
        ]
        design = {
            "data": str(folder / "data.jsonl"),
            "metrics": ["faithfulness"],
            "baseline": "strict",
            "arms": arms,
        }
        with contextlib.suppress(ce.StoppedEarly):  # an arm failed
            ce.experiment(design, out=made.experiment, options=options)
    forms.write(made.a, "html", made.pages["ab"], compared=made.b)
    forms.write(made.experiment, "html", made.pages["experiment"])


def sample(i: int) -> dict[str, Any]:
    """A question about a place, with contexts, an answer of which some claims are wrong, and a
    reference."""
    name = f"Tavel{'abcdefghijklmnopqrstuvwxyz'[i % 26]}und {i}"
    field = FIELDS[i % 4]
    year = 1800 + i
    facts = [
        f"The harbour of {name} was opened in {year}.",
        f"The council of {name} has {20 + i} members.",
        f"A stone bridge crosses the river at {name}.",
        f"The mill of {name} burnt down in {year + 40}.",
        f"Every autumn {name} holds a market for horses.",
    ]
    wrong = f"The harbour of {name} was opened in {year + 7}."
    made_up = f"A famous poet wrote his last verses in the castle near {name}."
    said = [
        wrong if i % 3 == 0 else facts[0],
        facts[1],
        *(facts[2:4] if i % 2 else ()),
        *((made_up,) * (i % 4 == 1)),
    ]
    return {
        "id": f"q{i:02}",
        "question": f"What is known about the harbour and the council of {name}?",
        "answer": " ".join(said),
        "contexts": [
            {
                "id": f"{name.split()[0].lower()}-{n}",
                "text": f"{fact} The chronicle of {name} says so on page {n + i}.",
            }
            for n, fact in enumerate(facts[: 3 + i % 3])
        ],
        "reference_answers": [f"{facts[0]} {facts[1]} {facts[4]}"],
        "metadata": {"field": field, "level": "hard" if i % 5 == 0 else "easy"},
    }


def odd_texts() -> list[dict[str, Any]]:
    """Texts from right to left, without spaces, very long, and of many documents."""
    texts = {
        "arabic": (
            "متى افتتح الميناء؟",
            "افتتح الميناء عام 1902. يبلغ طول الجسر 80 مترا.",
            "افتتح الميناء عام 1902.",
        ),
        "mixed": (
            "When did נמל תל אביב open?",
            "The נמל תל אביב port opened in 1938. הנמל נסגר ב-1965.",
            "The port opened in 1938.",
        ),
        "chinese": ("港口何时开放？", "港口于1902年开放。桥长80米。", "港口于1902年开放。"),
        "word": (
            "Which word?",
            f"The word is {'Donaudampfschiff' * 20}.",
            f"The word {'Donaudampfschiff' * 20}.",
        ),
    }
    found: list[dict[str, Any]] = [
        {
            "id": name,
            "question": q,
            "answer": a,
            "contexts": [{"id": "d", "text": text}],
            "reference_answers": [text],
        }
        for name, (q, a, text) in texts.items()
    ]
    facts = [f"Stone number {n} of the wall was laid in the year {1500 + n}." for n in range(60)]
    told = [
        fact if n % 7 else f"Stone number {n} of the wall was laid by giants."
        for n, fact in enumerate(facts)
    ]
    found.append(
        {
            "id": "long",
            "question": "How was the wall built?",
            "answer": " ".join(told),
            "contexts": [
                {
                    "id": f"ledger-{n}",
                    "title": f"Ledger {n}",
                    "text": " ".join(facts[6 * n : 6 * n + 6]),
                }
                for n in range(10)
            ],
            "reference_answers": [" ".join(facts[:4])],
        }
    )
    return found


def changed(i: int, one: dict[str, Any]) -> dict[str, Any]:
    """The sample as another system answered it."""
    contexts = one["contexts"]
    if i % 3 == 0:
        kept = contexts[: max(1, len(contexts) // 2)]
        contexts = [
            *kept,
            {"id": f"other-{i}", "text": "The weather of the coast is mild and rainy."},
        ]
    answer = one["answer"]
    if i % 5 == 0:
        answer = f"{answer.split('. ')[0].rstrip('.')}. Nobody knows who paid for it."
    reference = (
        [f"{text} It is old." for text in one["reference_answers"]]
        if i == 7
        else one["reference_answers"]
    )
    return {**one, "contexts": contexts, "answer": answer, "reference_answers": reference}


def answer(body: Body) -> Reply:
    """Claims by rule, verdicts by the words that a claim shares with its evidence, each judge in
    its own way."""
    text = text_of(body)
    judge = str(body["model"])
    if judge == "prose" and "<claims>" in text:
        return Reply("I would say that most of these claims look quite all right to me.")
    if '"verdicts"' not in text.rpartition("Reply with this JSON")[2]:
        return ruled(body)
    luck = sha256(f"{judge} {text}".encode()).digest()[0]
    if judge == "noisy" and luck < 6:
        return Reply("I cannot help with that.")
    documents = _LINE.findall(_within(text, "evidence"))
    verdicts = [
        _verdict(claim, json.loads(said), documents, judge)
        for claim, said in _LINE.findall(_within(text, "claims"))
    ]
    reply = json.dumps({"verdicts": verdicts})
    return Reply(reply[: len(reply) // 2] if judge == "noisy" and luck < 12 else reply)


def _verdict(claim: str, said: str, documents: list[tuple[str, str]], judge: str) -> dict[str, Any]:
    words = set(_WORD.findall(said.lower()))
    shares = {
        name: len(words & set(_WORD.findall(text.lower()))) / max(1, len(words))
        for name, text in documents
    }
    best = max(shares, key=lambda name: shares[name], default=None)
    share = shares[best] if best else 0.0
    if judge == "noisy" and sha256(said.encode()).digest()[1] < 50:
        share = 1 - share
    least = 0.6 if judge == "lenient" else 0.95
    label = "supported" if share >= least else "contradicted" if share >= 0.55 else "not_found"
    reason = f"{judge} finds {share:.0%} of the words of the claim in {best or 'nothing'}."
    return {
        "id": claim,
        "reason": reason,
        "evidence": [best] if best and share >= 0.55 else [],
        "label": label,
    }


def _within(text: str, tag: str) -> str:
    return text.rpartition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0]
