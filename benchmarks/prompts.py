"""How far a judge who reads a prompt agrees with people, for the shipped prompts and those of other
tools.

    python -m benchmarks.prompts draw FOLDER [--data FOLDER] [--claims 150]
    python -m benchmarks.prompts read FOLDER --name NAME --judge openai:MODEL \
        [--prompt three_way] [--half report] [--together 1]
    python -m benchmarks.prompts tables FOLDER [--half report] [--first NAME]

`draw` takes claims with human labels from three sources, half of them supported: sentences of
Wikipedia with the article that they cite (WiCE), sentences of generated answers with the passage
that they cite (ExpertQA), and edited summaries of calls (SummEdits). Claims about one article,
question or call are all in one half: prompts are written while looking at `choose`, and compared on
`report`. A name is one reading: read a prompt twice under two names to see how far a judge agrees
with itself. A prompt is a shipped one, a `.j2` file, `ragas` (its package must be installed), or a
`.txt` file with the prompt of another tool, in which {evidence}, {claim} and {question} stand for
the texts. Replies are kept, and a reading goes on where it stopped. With `--together 40`, up to
forty claims of a source stand in one question, with the evidence of all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import importlib.metadata
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import claimeval as ce
from benchmarks.fit_local_lexical import data_folder
from claimeval import statistics

SOURCES = ("wice", "expertqa", "summedits")
CLAIMS_FROM_A_GROUP = {"wice": 1, "expertqa": 2, "summedits": 9}
RESAMPLES = 4_000
SEED = 1
OTHER_LABELS = {
    "supported": "supported",
    "partially_supported": "not_found",
    "not_supported": "not_found",
    "neutral": "not_found",
    "entailment": "supported",
    "contradiction": "contradicted",
    "yes": "supported",
    "no": "not_found",
}
"""What the words in replies to the prompts of other tools mean."""


class Item(NamedTuple):
    """A claim, its evidence, and whether people say that all of it is supported."""

    id: str
    source: str
    half: str
    group: str
    question: str
    evidence: str
    claim: str
    supported: bool
    kind: str
    """The label of the source."""


# draw


def of_wice(folder: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield group, question, evidence, claim and label; the evidence is what the chunks have of the
    article."""
    shown: dict[str, set[int]] = defaultdict(set)
    for row in rows(folder / "wice" / "dev_oracle_chunks.jsonl"):
        shown[row["id"]] |= set(row["sentence_idx"])
    for row in rows(folder / "wice" / "dev_claims.jsonl"):
        evidence = " ".join(row["evidence"][place] for place in sorted(shown[row["id"]]))
        question = (
            f"What is said of {row['title']} under the heading {row['section'].rstrip('.')!r}?"
        )
        yield row["title"], question, evidence, row["claim"], row["label"]


def of_expertqa(folder: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the same of claims that cite passages, without the marks of citations."""
    for row in rows(folder / "expertqa" / "visible.jsonl"):
        for claim in row["claims"]:
            if row["system"] in ("bing_chat", "gpt4") or claim["support"] not in (
                "Complete",
                "Partial",
                "Incomplete",
            ):
                continue
            if not claim["evidence"] or len(claim["claim_string"].split()) < 6:
                continue
            text = re.sub(r"\s*\[\d+\]", "", claim["claim_string"]).strip()
            evidence = "\n".join(
                re.sub(r"^\[\d+\] \S+\s+", "", passage) for passage in claim["evidence"]
            )
            yield row["question"], row["question"].strip(), evidence, text, claim["support"]


def of_summedits(folder: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the same of summaries; the label names the edits."""
    for row in rows(folder / "summedits" / "sales_call.jsonl"):
        label = "supported" if row["label"] else "+".join(row["edit_types"])
        yield (
            row["document"],
            "What was said in this call?",
            row["document"].strip(),
            row["summary"],
            label,
        )


def of_refchecker(folder: Path) -> Iterator[Item]:
    """Yield claims of language models whose reference says otherwise, and as many others about the
    same questions.

    The references are not published. In their place stands what people found entailed in the
    answers of other systems, so a contradiction is taken where one of these claims has its subject
    and predicate and another object.
    """
    claims: dict[str, list[tuple[str, tuple[str, ...], str]]] = defaultdict(list)
    for row in rows(folder / "refchecker" / "visible.jsonl"):
        for claim in row["claims"]:
            claims[row["question_id"]].append(
                (row["system"], tuple(map(str, claim["triplet"])), claim["label"])
            )
    for question, found in claims.items():
        drawn: dict[str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
        for system, triplet, label in found:
            others = [t for s, t, said in found if s != system and said == "Entailment"]
            same = [
                t
                for t in others
                if plain(t[:2]) == plain(triplet[:2]) and plain(t[2:]) != plain(triplet[2:])
            ]
            if (label != "Contradiction" and others) or same:
                drawn[label].append((system, triplet))
        size = min(2, len(drawn["Contradiction"]))
        for label, of_label in sorted(drawn.items()):
            for system, triplet in random.Random(f"{SEED} {question} {label}").sample(
                of_label, min(size, len(of_label))
            ):
                facts = {
                    plain(t): " ".join(t) + "."
                    for s, t, said in found
                    if s != system and said == "Entailment"
                }
                evidence = "\n".join(sorted(facts.values())[:60])
                claim = " ".join(triplet) + "."
                id = f"refchecker-{digest(claim + question)[:8]}"
                yield Item(
                    id,
                    "refchecker",
                    "contradictions",
                    question,
                    f"What is true of {triplet[0]}?",
                    evidence,
                    claim,
                    label == "Entailment",
                    label,
                )


def plain(texts: Sequence[str]) -> str:
    """The words of texts, in lower case."""
    return " ".join(re.findall(r"\w+", " ".join(texts).lower()))


def draw(folder: Path, data: Path, number: int) -> None:
    """Write items.jsonl: `number` claims for each half, alike from each source, half of them
    supported."""
    readers = {"wice": of_wice, "expertqa": of_expertqa, "summedits": of_summedits}
    chosen: list[Item] = []
    for source, read in readers.items():
        found: dict[tuple[str, bool], list[Item]] = defaultdict(list)
        for group, question, evidence, claim, label in read(data):
            half = "choose" if int(digest(f"{source} {group}"), 16) % 3 == 0 else "report"
            supported = label in ("supported", "Complete")
            id = f"{source}-{digest(claim + evidence)[:8]}"
            item = Item(
                id, source, half, digest(group)[:8], question, evidence, claim, supported, label
            )
            found[half, supported].append(item)
        for (half, supported), items in sorted(found.items()):
            random.Random(f"{SEED} {half} {supported}").shuffle(items)
            seen: Counter[str] = Counter()
            kept = []
            for item in items:
                seen[item.group] += 1
                if seen[item.group] <= CLAIMS_FROM_A_GROUP[source]:
                    kept.append(item)
            chosen += kept[: number * (1 if half == "choose" else 2) // 6]
    chosen += {item.id: item for item in of_refchecker(data)}.values()
    folder.mkdir(parents=True, exist_ok=True)
    random.Random(SEED).shuffle(chosen)
    lines = (json.dumps(item._asdict(), ensure_ascii=False) + "\n" for item in chosen)
    (folder / "items.jsonl").write_text("".join(lines), encoding="utf-8")
    print(Counter((item.half, item.source, item.supported) for item in chosen))


# read


def read_ours(
    folder: Path, items: Sequence[Item], name: str, judge: str, prompt: str, **asked: Any
) -> None:
    """Ask with a prompt of claimeval: the claims are those of a gold answer, so that none is
    extracted."""
    samples = [
        {
            "id": item.id,
            "question": item.question,
            "contexts": [item.evidence],
            "reference_claims": [{"text": item.claim}],
        }
        for item in items
    ]
    options = ce.RunOptions(cache=folder / "cache", concurrency=900, timeout=3_000)
    run = ce.score(
        samples,
        judges=judge,
        metrics="context_recall",
        assess_prompt=prompt,
        out=folder / "runs" / f"{name}-{items[0].half}",
        options=options,
        **asked,
    )
    labels = {
        sample.sample.id: sample.assessments[0].label or sample.assessments[0].unassessed
        for sample in run.results
    }
    save(folder, name, labels)


def read_together(
    folder: Path, items: Sequence[Item], name: str, judge: str, prompt: str, together: int
) -> None:
    """Ask with a prompt of claimeval about several claims of a source at once, each against the
    evidence of all: a harder question than that of an answer, whose claims have few documents."""
    ordered = sorted(items, key=lambda item: (item.source, item.group, item.id))
    parts = []
    for source in SOURCES:
        of_source = [item for item in ordered if item.source == source]
        parts += [of_source[at : at + together] for at in range(0, len(of_source), together)]
    samples = [
        {
            "id": str(number),
            "question": "Which of these claims does the evidence support?",
            "contexts": list(dict.fromkeys(item.evidence for item in part)),
            "reference_claims": [{"text": item.claim} for item in part],
        }
        for number, part in enumerate(parts)
    ]
    run = ce.score(
        samples,
        judges=judge,
        metrics="context_recall",
        assess_prompt=prompt,
        claims_per_call=together,
        out=folder / "runs" / f"{name}-{items[0].half}",
        options=ce.RunOptions(cache=folder / "cache", concurrency=100, timeout=3_000),
    )
    labels = {}
    for part, sample in zip(parts, run.results, strict=True):
        for item, assessment in zip(part, sample.assessments, strict=True):
            labels[item.id] = assessment.label or assessment.unassessed
    save(folder, name, labels)


def read_others(folder: Path, items: Sequence[Item], name: str, judge: str, prompt: str) -> None:
    """Ask with a prompt of another tool, one claim in each question."""
    make, find = ragas() if prompt == "ragas" else of_file(Path(prompt))
    model, _, endpoint = judge.removeprefix("openai:").partition("@")
    path = folder / "replies" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {row["id"]: row["reply"] for row in rows(path)} if path.exists() else {}

    async def ask() -> None:
        import openai

        client = openai.AsyncOpenAI(base_url=endpoint or None, timeout=3_000, max_retries=5)

        async def one(item: Item) -> None:
            reply = await client.chat.completions.create(
                model=model, messages=[{"role": "user", "content": make(item)}]
            )
            kept[item.id] = reply.choices[0].message.content or ""
            with path.open("a", encoding="utf-8") as file:
                file.write(
                    json.dumps({"id": item.id, "reply": kept[item.id]}, ensure_ascii=False) + "\n"
                )

        await asyncio.gather(*(one(item) for item in items if item.id not in kept))

    asyncio.run(ask())
    save(folder, name, {item.id: find(kept[item.id]) for item in items})


Prompting = tuple[Callable[[Item], str], Callable[[str], str]]


def ragas() -> Prompting:
    """The prompt of ragas' Faithfulness, and what its replies say."""
    from ragas.metrics._faithfulness import NLIStatementInput, NLIStatementPrompt

    print("ragas", importlib.metadata.version("ragas"))
    prompt = NLIStatementPrompt()

    def find(reply: str) -> str:
        verdict = re.search(r'"verdict":\s*([01])', reply)
        return "unread" if verdict is None else "supported" if verdict[1] == "1" else "not_found"

    return (
        lambda item: str(
            prompt.to_string(NLIStatementInput(context=item.evidence, statements=[item.claim]))
        ),
        find,
    )


def of_file(path: Path) -> Prompting:
    """The prompt in a file, and the last label among the words of its replies."""
    text = path.read_text(encoding="utf-8")

    def make(item: Item) -> str:
        return re.sub(
            r"\{(evidence|claim|question)\}", lambda name: str(getattr(item, name[1])), text
        )

    def find(reply: str) -> str:
        words = re.findall(rf"\b({'|'.join(OTHER_LABELS)})\b", reply.lower())
        return OTHER_LABELS[words[-1]] if words else "unread"

    return make, find


# tables


def balanced(
    supported: NDArray[np.bool_], said: NDArray[np.bool_], weights: NDArray[np.float64]
) -> float:
    """The mean of the shares of supported and of other claims that are called so."""
    shares = [
        float((weights * (said == supported))[part].sum() / weights[part].sum())
        for part in (supported, ~supported)
    ]
    return sum(shares) / 2


def resampled(items: Sequence[Item]) -> Iterator[NDArray[np.float64]]:
    """Yield how often each claim is drawn, in resamples of the groups of every source."""
    groups = {(item.source, item.group) for item in items}
    rng = np.random.default_rng(SEED)
    of_source = {
        source: sorted(group for name, group in groups if name == source) for source in SOURCES
    }
    for _ in range(RESAMPLES):
        times: Counter[tuple[str, str]] = Counter()
        for source, names in of_source.items():
            for place in rng.integers(0, len(names), len(names)) if names else ():
                times[source, names[place]] += 1
        yield np.array([times[item.source, item.group] for item in items], dtype=float)


def ends(values: Iterable[float]) -> str:
    """The middle 95% of values."""
    low, high = np.nanquantile(list(values), [0.025, 0.975])
    return f"[{low:.3f}, {high:.3f}]"


def tables(folder: Path, half: str, first: str | None) -> None:
    """Print a table of all readings of a half, and one of every reading beside the first."""
    items = [item for item in load(folder) if item.half == half]
    readings = {
        path.stem: json.loads(path.read_text())
        for path in sorted((folder / "labels").glob("*.json"))
    }
    readings = {
        name: labels
        for name, labels in readings.items()
        if all(item.id in labels for item in items)
    }
    truth = np.array([item.supported for item in items])
    one = np.ones(len(items))
    said = {
        name: np.array([labels[item.id] in ("supported", "yes") for item in items])
        for name, labels in readings.items()
    }
    draws = list(resampled(items))
    parts = {
        source: np.array([item.source == source for item in items], dtype=float)
        for source in SOURCES
    }
    print(f"\n{half}: {len(items)} claims, {truth.sum()} supported\n")
    print(
        "| reading | balanced accuracy | 95% |",
        " | ".join(SOURCES),
        "| kappa | supported | contradicted | not found | unread |",
    )
    print("|---" * (8 + len(SOURCES)) + "|")
    for name, labels in readings.items():
        of_source = (f"{balanced(truth, said[name], part):.3f}" for part in parts.values())
        kappa = statistics.cohen_kappa(list(map(bool, truth)), list(map(bool, said[name]))).value
        given = Counter(labels[item.id] for item in items)
        shares = [
            given["supported"] + given["yes"],
            given["contradicted"],
            given["not_found"] + given["no"],
        ]
        interval = ends(balanced(truth, said[name], w) for w in draws)
        cells = (
            name,
            f"{balanced(truth, said[name], one):.3f}",
            interval,
            *of_source,
            f"{kappa:.3f}",
            *(f"{share / len(items):.3f}" for share in shares),
            str(len(items) - sum(shares)),
        )
        print("|", " | ".join(cells), "|")
    first = first or next(iter(readings), None)
    print(
        f"\n| beside {first} | difference of balanced accuracy | 95% | same label | same of two |"
    )
    print("|---|---|---|---|---|")
    for name, labels in readings.items():
        if first is not None and name != first:
            gain = balanced(truth, said[name], one) - balanced(truth, said[first], one)
            gains = (
                balanced(truth, said[name], w) - balanced(truth, said[first], w) for w in draws
            )
            same = np.mean([labels[item.id] == readings[first][item.id] for item in items])
            print(
                f"| {name} | {gain:+.3f} | {ends(gains)} | {same:.3f} |"
                f" {np.mean(said[name] == said[first]):.3f} |"
            )


# files


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file, one a line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def load(folder: Path) -> list[Item]:
    """Return the claims that `draw` wrote."""
    return [Item(**row) for row in rows(folder / "items.jsonl")]


def save(folder: Path, name: str, labels: dict[str, Any]) -> None:
    """Write the labels of a reading, and keep those of the other half."""
    path = folder / "labels" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(before | labels, indent=0, sort_keys=True) + "\n")
    print(name, Counter(labels.values()))


def digest(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def main() -> None:
    """Draw, read or print tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("step", choices=("draw", "read", "tables"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--claims", type=int, default=150)
    parser.add_argument("--name")
    parser.add_argument("--judge")
    parser.add_argument("--prompt", default="three_way")
    parser.add_argument("--half", choices=("choose", "report", "contradictions"), default="report")
    parser.add_argument("--first")
    parser.add_argument("--together", type=int, default=1)
    given = parser.parse_args()
    if given.step == "draw":
        draw(given.folder, given.data or data_folder(), given.claims)
    elif given.step == "tables":
        tables(given.folder, given.half, given.first)
    else:
        items = [item for item in load(given.folder) if item.half == given.half]
        what = (given.folder, items, given.name or given.prompt, given.judge, given.prompt)
        if given.together > 1:
            read_together(*what, given.together)
        elif given.prompt.endswith(("ragas", ".txt")):
            read_others(*what)
        else:
            read_ours(*what)


if __name__ == "__main__":
    main()
