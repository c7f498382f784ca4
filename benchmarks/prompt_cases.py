"""Measures of prompts on planted cases, for scripted judges with known faults or for a real judge.

Sixty cases are English or German, and two more are in each language that has prompts.

    python -m benchmarks.prompt_cases                               # eight scripted judges, no call
    python -m benchmarks.prompt_cases --judge openai:gpt-5-mini     # a model of yours: 60 short questions a prompt

A scripted judge knows the cases and ignores the prompt. Its table shows what the measures detect, and that replies to
every prompt can be read. Only `--judge` shows whether a prompt makes a model better.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from claimeval import providers
from claimeval.judging import assess, extract, prompts
from claimeval.judging.assess import ShownDocuments
from claimeval.judging.prompts import Prompt
from claimeval.judging.replies import unclear_json
from claimeval.providers.specs import parse_judge
from claimeval.types.chat_format import read_chat, write_chat
from claimeval.types.errors import parse_yaml
from claimeval.types.records import Claim, Document
from claimeval.types.requests import CallError, Completion, Failure, Judge, Request

CASES = Path(__file__).with_name("prompt_cases.yaml")
FAULTS = (
    "perfect", "copies the format line", "drops the last claim", "swaps ids", "ignores conditions",
    "guesses references", "answers from knowledge", "supports everything",
)  # fmt: skip
LANGUAGES = "languages"
"""The point of the cases that there are in each language of the prompts; the other cases are English and German."""
EXTRACT = ("found", "right", "places", "unclear")
"""Measures of an extraction: gold claims that were found, claims that are gold ones, claims with the right sentences,
and texts of which just the unclear sentences were listed."""
ASSESS = ("read", "answered", "accuracy", "contradicted")
"""Measures of verdicts: questions whose reply could be read, claims with a verdict, claims with the right one, and
contradicted claims that were called so (on a scale without such a label: that were not called supported)."""

Ask = Callable[["Case", Prompt, Request], Awaitable[Completion | Failure]]


class Case(NamedTuple):
    """A question with what is right, and what is wrong in known ways."""

    step: str
    point: str
    language: str
    fields: Mapping[str, Any]

    @property
    def claims(self) -> list[Claim]:
        """The claims that are assessed."""
        return [Claim(id=f"answer-{i}", text=text, of="answer") for i, text in enumerate(self.fields["claims"], 1)]


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    content = parse_yaml(CASES.read_text(encoding="utf-8"))
    return tuple(Case(step, one["point"], one["language"], one) for step, all_ in content.items() for one in all_)


def request(case: Case, prompt: Prompt, judge: Judge) -> Request:
    """Return what a judge is asked about a case."""
    fields = case.fields
    if case.step == "extract":
        return extract.ask(prompt, judge, "answer", fields["text"], fields["question"])
    documents = [Document(id=f"doc-{i}", text=text) for i, text in enumerate(fields["documents"], 1)]
    shown = ShownDocuments(documents, bool(fields.get("alternatives")))
    return assess.ask(prompt, judge, case.claims, shown, fields.get("question", "Is it so?"))


def scripted(case: Case, prompt: Prompt, fault: str) -> str:
    """Return what a judge with a fault writes."""
    if fault == "copies the format line":
        return _format_line(prompt)
    return _claims(case, prompt, fault) if case.step == "extract" else _verdicts(case, prompt, fault)


def _format_line(prompt: Prompt) -> str:
    """Return the first line of JSON in a prompt, or its first line."""
    blocks = prompt.render(_EMPTY[prompt.step])
    lines = [line.strip() for message in blocks for line in message.content.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith('{"')), lines[0])


_EMPTY: Mapping[str, Mapping[str, Any]] = {
    "extract": {"question": '""', "part": "answer", "sentences": []},
    "assess": {"question": '""', "documents": [], "claims": [], "scale": [], "alternatives": 0},
}


def _claims(case: Case, prompt: Prompt, fault: str) -> str:
    fields = case.fields
    gold: dict[str, list[int]] = dict(fields["claims"])
    listed = list(fields.get("unclear", ()))
    if fault == "ignores conditions" and "bare" in fields:
        gold = dict(zip(fields["bare"], gold.values(), strict=False))
    if fault == "guesses references" and "guessed" in fields:
        kept = {} if case.point == "fragment" else gold
        gold, listed = {**kept, **{text: [2] if listed else [1] for text in fields["guessed"]}}, []
    if fault == "answers from knowledge":
        gold |= {text: [1] for text in fields.get("known", ())}
    if fault == "supports everything":
        gold |= {text: [1] for text in fields.get("sayings", ())}
    if fault == "drops the last claim":
        gold = dict(list(gold.items())[:-1])
    if fault == "swaps ids":
        gold = {text: [number + 1 for number in numbers] for text, numbers in gold.items()}
    if prompt.reply == "bullets":
        return "\n".join(f"- {text}" for text in gold) or "NONE"
    found: dict[str, object] = {
        "claims": [{"claim": text, "sentences": numbers, "quote": ""} for text, numbers in gold.items()]
    }
    if prompt.lists_unclear:
        found["unclear"] = [{"sentence": number, "phrase": "it"} for number in listed]
    return json.dumps(found)


def _verdicts(case: Case, prompt: Prompt, fault: str) -> str:
    assert prompt.scale, "loading checks it"
    labels: dict[str, str] = dict(case.fields["claims"])
    if fault == "answers from knowledge":
        labels |= case.fields.get("known", {})
    if fault == "supports everything":
        labels = dict.fromkeys(labels, "supported")
    words = dict(zip(prompt.scale.words, prompt.scale.offered, strict=True))
    said = [words.get(label, words["not_found"]) for label in labels.values()]
    if fault == "swaps ids":
        said = said[1:] + said[:1]
    if fault == "drops the last claim":
        said = said[:-1]
    if prompt.reply == "tags":
        return "\n".join(f"{text} SUPPORTED={word}" for text, word in zip(labels, said, strict=False))
    listed = [{"id": f"c{i}", "reason": "", "evidence": [], "label": word} for i, word in enumerate(said, 1)]
    return json.dumps({"verdicts": listed})


def measure(case: Case, prompt: Prompt, asked: Request, outcome: Completion | Failure) -> dict[str, tuple[int, int]]:
    """Return for each measure how many things are right, and of how many."""
    if case.step == "extract":
        return _measure_claims(case, prompt, asked, outcome)
    labels: Mapping[str, str] = case.fields["claims"]
    scale = prompt.scale
    assert scale, "loading checks it"
    gold = [label if label in scale.words else "not_found" for label in labels.values()]
    right = dict(zip([claim.id for claim in case.claims], gold, strict=True))
    reading = None if isinstance(outcome, Failure) else assess.read(outcome, asked)
    said = {name: verdict.label for name, verdict in reading.values.items()} if reading else {}
    wrong = [c.id for c, label in zip(case.claims, labels.values(), strict=True) if label == "contradicted"]
    return {
        "read": (int(bool(said)), 1),
        "answered": (len(said), len(right)),
        "accuracy": (sum(said.get(name) == label for name, label in right.items()), len(right)),
        "contradicted": (sum(said.get(name) == right[name] for name in wrong), len(wrong)),
    }


def _measure_claims(
    case: Case, prompt: Prompt, asked: Request, outcome: Completion | Failure
) -> dict[str, tuple[int, int]]:
    gold: Mapping[str, list[int]] = case.fields["claims"]
    read = outcome if isinstance(outcome, Failure) else extract.read(outcome, asked, "answer", case.fields["question"])
    if isinstance(read, Failure):
        return {"found": (0, len(gold)), "right": (0, 1), "places": (0, len(gold)), "unclear": (0, 1)}
    found = {claim.text: list(claim.sentence_ids) for claim in read}
    places = [text for text in found if text in gold]
    counts = {
        "found": (sum(text in found for text in gold), len(gold)),
        "right": (len(places), len(found)),
    }
    if prompt.reply == "json":
        counts["places"] = (sum(found[text] == gold[text] for text in places), len(places))
    if prompt.lists_unclear and isinstance(outcome, Completion):
        listed = sorted(one.sentence for one in unclear_json(outcome.text or ""))
        counts["unclear"] = (int(listed == sorted(case.fields.get("unclear", ()))), 1)
    return counts


Shares = dict[str, tuple[int, int]]


async def run(prompt: Prompt, judge: Judge, ask: Ask) -> dict[str, Shares]:
    """Return the measures of a prompt by point and language, and under the empty name over the sixty cases."""
    totals: dict[str, Shares] = {}
    for case in cases():
        if case.step != prompt.step:
            continue
        asked = request(case, prompt, judge)
        for name, (hits, of) in measure(case, prompt, asked, await ask(case, prompt, asked)).items():
            for point in (case.point, "" if case.point != LANGUAGES else case.language):
                shares = totals.setdefault(point, {})
                before = shares.get(name, (0, 0))
                shares[name] = before[0] + hits, before[1] + of
    return totals


def of_script(fault: str) -> Ask:
    """Return how a scripted judge answers."""

    async def ask(case: Case, prompt: Prompt, asked: Request) -> Completion:
        return read_chat(write_chat(scripted(case, prompt, fault), fault))

    return ask


def of_model(backend: providers.Backend) -> Ask:
    """Return how a model answers; nothing is stored."""

    async def ask(case: Case, prompt: Prompt, asked: Request) -> Completion | Failure:
        try:
            return await backend.complete(asked, lambda _: None)
        except CallError as error:
            return error.failure

    return ask


def shipped() -> Iterator[Prompt]:
    """Yield all prompts that take claims from texts or assess them."""
    for step in ("extract", "assess"):
        yield from (prompts.load(step, name) for name in prompts.shipped(step))


def _share(shares: Shares, name: str) -> str:
    hits, of = shares.get(name, (0, 0))
    return f"{hits / of:.2f}" if of else "-"


def _table(rows: Iterable[tuple[str, Shares]], names: Iterable[str]) -> None:
    names = tuple(names)
    print(f"{'':24}", *(f"{name:>12}" for name in names))
    for title, shares in rows:
        print(f"{title:24}", *(f"{_share(shares, name):>12}" for name in names))


async def _main(spec: str | None, only: list[str]) -> None:
    chosen = [prompt for prompt in shipped() if not only or prompt.name in only]
    if spec is None:
        judge = Judge(name="scripted", model="scripted:scripted")
        for prompt in chosen:
            print(f"\n{prompt.name}")
            rows = [(fault, (await run(prompt, judge, of_script(fault)))[""]) for fault in FAULTS]
            _table(rows, EXTRACT if prompt.step == "extract" else ASSESS)
        return
    judge = parse_judge(spec)
    async with providers.provider(judge.model).open(judge) as backend:
        for prompt in chosen:
            print(f"\n{prompt.name}, {judge.name}")
            found = await run(prompt, judge, of_model(backend))
            rows = [(point or "all", shares) for point, shares in found.items()]
            _table(rows, EXTRACT if prompt.step == "extract" else ASSESS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", help="PROVIDER:MODEL[@URL] or judge file; without one, scripted judges")
    parser.add_argument("prompts", nargs="*", help="as in extract/complete; all by default")
    given = parser.parse_args()
    asyncio.run(_main(given.judge, given.prompts))
