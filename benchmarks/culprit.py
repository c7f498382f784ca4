"""Whether the first line of `compare` names the cause that was planted, and how often it names one where there is none.

    python -m benchmarks.culprit [--seeds N] [--nulls N] [--only WORLD ...]

Each world is 120 questions in five topics, whose facts, documents and answers are drawn by a seed, and two runs. Run b
has one planted change, and harmless ones: a fifth of the answers in another order, a tenth a little better or worse,
documents reordered. The judge knows the truth and errs on 3 % of the claims, anew wherever its evidence differs.
Nothing is asked: results are written as a run has them. `tests/runs/test_culprit.py` runs a sample of it.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import NamedTuple

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import SummaryBuilder
from claimeval.judging.prompts import PromptRecord
from claimeval.lexical.words import words_of
from claimeval.metrics.rows import rows
from claimeval.metrics.scoring import scores
from claimeval.runs.compare import differences
from claimeval.runs.culprit import Culprit
from claimeval.runs.directory import RunWriter
from claimeval.types.records import Assessment, Claim, Document, Part, Sample, SampleResult, Turn, Verdict
from claimeval.types.requests import Judge

METRICS = ("faithfulness", "correctness", "context_recall")
TOPICS = ("travel", "leave", "pay", "safety", "equipment")
QUESTIONS, NOISE = 120, 0.03
REFUSAL = "I am sorry, I cannot answer this question."


@dataclass
class Question:
    """One question of a world, before it becomes a sample."""

    id: str
    question: str
    facts: list[str]
    wrong: list[str]
    answer: list[str] | None
    gold: list[str]
    contexts: list[str]
    metadata: dict[str, str]
    generator: str = "gen-1"
    ids: list[str] | None = None
    history: list[str] = field(default_factory=list)
    unscored: bool = False
    shared: str = ""
    """The fact that only the policy of the topic has."""

    def sample(self) -> Sample:
        """Return the sample."""
        ids = self.ids or [str(i) for i in range(1, len(self.contexts) + 1)]
        return Sample(
            id=self.id,
            question=self.question,
            answer=None if self.answer is None else " ".join(self.answer),
            contexts=tuple(Document(id=i, text=text) for i, text in zip(ids, self.contexts, strict=False)),
            reference_answers=(" ".join(self.gold),),
            generator=self.generator,
            history=tuple(Turn(role="user", content=text) for text in self.history),
            metadata=dict(self.metadata),
        )


@dataclass
class Side:
    """One run: its questions, and how they are judged."""

    rows: list[Question]
    judge: str = "m1"
    strict: float = 0.0
    """Share of supported claims that the judge does not accept."""
    lenient: float = 0.0
    prompt: str = "three_way"
    extractor: str = "x1"
    splits: float = 0.0
    """Share of the sentences of which the extractor makes a second claim that nothing supports."""
    salt: str = ""
    noise: float = NOISE
    finished: int | None = None
    """Number of samples after which the run was stopped."""


class World(NamedTuple):
    """A planted change, and words that the first line must have."""

    plant: Callable[[Random, Side, Side], None]
    words: tuple[str, ...]


WORLDS: dict[str, World] = {}
NULL = ("No difference",)
NOTHING = ("same_system_again", "sampled_answers", "other_replies", "shuffled")
"""Worlds without a cause."""


def world(*words: str) -> Callable[[Callable[[Random, Side, Side], None]], Callable[[Random, Side, Side], None]]:
    """Add a function that plants a change to the worlds."""

    def add(plant: Callable[[Random, Side, Side], None]) -> Callable[[Random, Side, Side], None]:
        WORLDS[plant.__name__] = World(plant, words)
        return plant

    return add


def chance(*what: object) -> float:
    """Return a number from 0 to 1 that is always the same for the same arguments."""
    return int.from_bytes(blake2b(repr(what).encode(), digest_size=6).digest()) / (1 << 48)


PLACES = words_of("Alder Birch Cedar Dorn Elm Fern Gorse Hazel Iris Juniper Larch Maple Nettle Oak Pine Quince Rowan")
THINGS = words_of("bridge mill library tower harbour school museum station market theatre garden chapel")
VERBS = ("opened in", "was rebuilt in", "closed in", "was sold in", "burnt down in", "moved house in", "grew in")


def base(draw: Random) -> list[Question]:
    """Return the questions of a world without a change."""
    facts, asked = [], []
    for place in sorted(PLACES):
        for thing in sorted(THINGS):
            asked.append(f"the {thing} of {place}")
            years = draw.sample(range(1700, 2000), 12)
            facts.append(
                [
                    f"The {thing} of {place} {VERBS[i % 7]} {years[i]} and {draw.randrange(9, 999)} people came."
                    for i in range(8)
                ]
            )
    order = draw.sample(range(len(facts)), QUESTIONS)
    questions = []
    policies: dict[str, list[str]] = {topic: [] for topic in TOPICS}
    for i, at in enumerate(order):
        if i // 5 < 14:
            policies[TOPICS[i % 5]].append(facts[at][3])
    for i, at in enumerate(order):
        topic, s = TOPICS[i % 5], facts[at]
        other, third = facts[order[(i + 60) % QUESTIONS]], facts[order[(i + 30) % QUESTIONS]]
        uses = i // 5 < 14
        name = asked[at]
        contexts = [f"{topic.title()} policy\n{' '.join(policies[topic])}"] if uses else []
        contexts += [f"{name}, part 1\n{s[0]} {s[4]}", f"{name}, part 2\n{s[1]} {s[2]} {s[5]}"]
        contexts += [f"{asked[order[(i + 30) % QUESTIONS]]}, part 3\n{third[6]} {third[7]}"]
        if i % 2:
            contexts = contexts[1:] + contexts[:1]
        own = [s[3]] if uses else []
        questions.append(
            Question(
                id=f"{topic}-{i // 5:02}",
                question=f"What is known about {name}?",
                facts=s,
                wrong=[other[5], other[6], other[7]],
                answer=[s[0], s[1], *own, *([other[4]] if i % 3 == 0 else [])],
                gold=[s[0], s[1], s[2], *own],
                contexts=contexts,
                metadata={
                    "topic": topic,
                    "language": "de" if i % 4 == 1 else "en",
                    "source": "web" if i % 7 == 0 else "handbook",
                },
                shared=s[3] if uses else "",
            )
        )
    return questions


def disturb(name: str, rows: Sequence[Question]) -> None:
    """Change run b harmlessly."""
    for row in rows:
        u = chance("disturbed", name, row.id)
        if not row.answer or row.answer == [REFUSAL]:
            continue
        if u < 0.2:
            row.answer = row.answer[::-1]
        if 0.1 < u < 0.5:
            row.contexts = row.contexts[::-1]
            row.ids = row.ids and row.ids[::-1]
        if 0.9 < u < 0.95:
            row.answer = [*row.answer, row.gold[-1]]
        if u > 0.95 and len(row.answer) > 2:
            row.answer = row.answer[:-1]


# the 27 worlds of the design


def drop_policy(rows: Sequence[Question], topic: str, share: float, follow: float) -> None:
    """Take the policy of a topic out of the contexts, and change a share of the answers that need it."""
    for row in rows:
        if row.metadata["topic"] == topic and row.shared and chance("lost", row.id) < share:
            row.contexts = [text for text in row.contexts if " policy\n" not in text[:40]]
            if chance("follows", row.id) < follow and row.answer:
                row.answer = [row.wrong[0] if one == row.shared else one for one in row.answer]


@world("no longer brings", "Travel policy")
def lost_document(draw: Random, a: Side, b: Side) -> None:
    drop_policy(b.rows, "travel", 0.86, 0.5)


@world("no longer brings", "Leave policy")
def lost_document_and_answers(draw: Random, a: Side, b: Side) -> None:
    drop_policy(b.rows, "leave", 0.9, 1.0)


@world("No difference")
def shuffled(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        draw.shuffle(row.contexts)


@world("fewer documents")
def fewer_documents(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        row.contexts = row.contexts[:2]
        kept = " ".join(row.contexts)
        row.answer = [one if one in kept or draw.random() < 0.6 else row.wrong[0] for one in row.answer or ()]


@world("cut or written otherwise")
def other_chunks(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        cut = []
        for text in row.contexts:
            head, _, body = text.partition("\n")
            words = body.split()
            if " policy" in head or draw.random() < 0.35:
                half = len(words) // 2
                cut += [" ".join(words[: half + 2]), " ".join(words[half - 1 :])]
            else:
                cut.append(f"{head} | {body}")
        row.contexts = cut


@world("answers changed", "gen-2")
def other_generator(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        row.generator = "gen-2"
        row.answer = [one if draw.random() > 0.2 else row.wrong[0] for one in (row.answer or [])[::-1]]


@world("does not answer")
def refusals(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        u = draw.random()
        if u < 0.3:
            row.answer = [REFUSAL]
        elif u < 0.5:
            row.answer = [*(row.answer or ())[:1], row.wrong[0]]


@world("longer")
def longer_answers(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        row.answer = [*(row.answer or ()), *row.wrong[1 : 2 + (draw.random() < 0.6)]]


@world("judging changed", "m2")
def other_judge(draw: Random, a: Side, b: Side) -> None:
    b.judge, b.strict = "m2", 0.2


@world("judging", "rules")
def other_prompt(draw: Random, a: Side, b: Side) -> None:
    b.prompt, b.strict = "rules", 0.2


@world("other claims", "x2")
def other_extractor(draw: Random, a: Side, b: Side) -> None:
    b.extractor, b.splits = "x2", 0.25


@world("answers", "language = de")
def worse_in_a_language(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        if row.metadata["language"] == "de" and draw.random() < 0.8:
            row.answer = [*(row.answer or ())[:1], *row.wrong[1:]]


@world("gold answers changed")
def other_gold(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        if draw.random() < 0.4:
            row.gold = [*row.gold[1:], row.wrong[0]]


@world("20 samples", "repeat a question")
def duplicates(draw: Random, a: Side, b: Side) -> None:
    for row in [row for row in b.rows if len(row.answer or ()) > 2][:20]:
        twin = copy.deepcopy(row)
        twin.id, twin.answer = f"{row.id}-again", list(row.wrong)
        b.rows.append(twin)


@world("themselves")
def other_replies(draw: Random, a: Side, b: Side) -> None:
    a.noise = b.noise = 0.04
    b.salt = "again"


@world("answers", "topic = safety")
def worse_topic(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        if row.metadata["topic"] == "safety":
            row.answer = [*(row.answer or ())[:1], *row.wrong[1:]]


@world("not finished")
def stopped(draw: Random, a: Side, b: Side) -> None:
    b.finished = 43


@world("lacks 30")
def missing_answers(draw: Random, a: Side, b: Side) -> None:
    for row in [row for row in b.rows if len(row.answer or ()) <= 3][:30]:
        row.answer = None


@world("other documents")
def other_retriever(draw: Random, a: Side, b: Side) -> None:
    every = [text for row in b.rows for text in row.contexts]
    for row in b.rows:
        row.contexts = [text if draw.random() > 0.4 else draw.choice(every) for text in row.contexts]


@world("now brings", "Pay policy")
def gained_document(draw: Random, a: Side, b: Side) -> None:
    drop_policy(a.rows, "pay", 0.95, 0.5)


@world("no longer brings", "Travel policy")
def lost_document_and_few_answers(draw: Random, a: Side, b: Side) -> None:
    drop_policy(b.rows, "travel", 1.0, 0.7)
    for row in b.rows:
        if draw.random() < 0.02:
            row.answer = [*(row.answer or ())[:1], row.wrong[0]]


@world("answers", "safety")
def worse_topic_and_shuffled(draw: Random, a: Side, b: Side) -> None:
    shuffled(draw, a, b)
    worse_topic(draw, a, b)


@world("longer")
def longer_answers_and_lost_document(draw: Random, a: Side, b: Side) -> None:
    drop_policy(b.rows, "pay", 0.5, 0.0)
    for row in b.rows:
        row.answer = [*(row.answer or ()), row.wrong[1]]


@world("fewer documents")
def fewer_documents_and_other_form(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        row.contexts = [text.replace("\n", " | ") for text in row.contexts[:2]]


@world("gold answers changed")
def other_gold_and_reworded(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        row.generator = "gen-2"
        if draw.random() < 0.5:
            row.answer = (row.answer or [])[::-1]
    other_gold(draw, a, b)


@world(*NULL)
def same_system_again(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        if draw.random() < 0.5:
            row.answer = (row.answer or [])[::-1]
        if draw.random() < 0.5:
            row.contexts = row.contexts[::-1]


@world(*NULL)
def sampled_answers(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        u, answer = draw.random(), row.answer or []
        if u < 0.1:
            row.answer = [*answer, row.wrong[0]]
        elif u < 0.2:
            row.answer = [*answer, row.gold[2]]
        elif u < 0.3 and len(answer) > 2:
            row.answer = answer[:-1]


DESIGNED = tuple(WORLDS)
"""The worlds that the rules were written with; the following were made afterwards."""


@world("“Safety policy” with another text")
def edited_document(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        if row.metadata["topic"] == "safety":
            row.contexts = [
                text.replace(row.shared, row.shared.replace("people", "dogs")) if row.shared else text
                for text in row.contexts
            ]


@world("brings nothing")
def nothing_retrieved(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        if draw.random() < 0.25:
            row.contexts = []


@world("shorter")
def cut_answers(draw: Random, a: Side, b: Side) -> None:
    for row in a.rows + b.rows:
        row.answer = [*row.wrong[:1], *(row.answer or ())]
    for row in b.rows:
        row.answer = (row.answer or [])[:2]


@world("lacks 24")
def empty_answers(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows[:24]:
        row.answer = []


@world("more documents")
def more_documents(draw: Random, a: Side, b: Side) -> None:
    for row in a.rows:
        row.contexts = row.contexts[:2]


@world("questions or their history")
def other_questions(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        row.question = f"{row.question} Answer for people over {draw.randrange(20, 90)}."
    b.strict = 0.2


@world("questions or their history")
def lost_history(draw: Random, a: Side, b: Side) -> None:
    for row in a.rows:
        row.history = [f"I am number {row.id}."]
    b.strict = 0.2


@world("no longer brings", "kb-7")
def lost_document_with_id(draw: Random, a: Side, b: Side) -> None:
    for row in a.rows + b.rows:
        row.ids = ["kb-7" if " policy\n" in text[:40] else f"p-{text[:25]}" for text in row.contexts]
        row.contexts = [" ".join(text.split("\n")[-1:]) for text in row.contexts]
    for row in b.rows:
        if row.metadata["topic"] == "travel" and row.shared:
            place = (row.ids or []).index("kb-7")
            del row.contexts[place], (row.ids or [])[place]


@world("answers changed", "prompt_version")
def other_prompt_of_the_system(draw: Random, a: Side, b: Side) -> None:
    for row in a.rows:
        row.metadata["prompt_version"] = "v1"
    for row in b.rows:
        row.metadata["prompt_version"] = "v2"
        row.answer = [one if draw.random() > 0.25 else row.wrong[0] for one in row.answer or ()]


@world("answers changed", "120 of 120")
def swapped_answers(draw: Random, a: Side, b: Side) -> None:
    answers = [row.answer for row in b.rows]
    for row, answer in zip(b.rows, answers[1:] + answers[:1], strict=True):
        row.answer = answer


@world("has no", "24")
def failed_calls(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows[::5]:
        row.unscored = True


@world("“Leave policy”", "“Pay policy”")
def two_documents_with_opposite_effects(draw: Random, a: Side, b: Side) -> None:
    drop_policy(b.rows, "leave", 1.0, 0.0)
    drop_policy(a.rows, "pay", 1.0, 0.0)


@world("does not answer")
def one_text_for_many(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        if draw.random() < 0.3:
            row.answer = ["Please ask the service desk of the town about this matter."]


@world("source = web")
def source_not_indexed(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        if row.metadata["source"] == "web":
            row.contexts = [text for text in row.contexts if "part 2" not in text and "part 1" not in text]


@world("rose", "answers changed")
def better_answers(draw: Random, a: Side, b: Side) -> None:
    for row in b.rows:
        row.answer = [one for one in row.answer or () if one in row.facts]
        row.generator = "gen-2"


@world("lacks 30")
def missing_before(draw: Random, a: Side, b: Side) -> None:
    for row in a.rows[:30]:
        row.answer = None


@world("judging", "m2", "answers")
def other_judge_and_other_answers(draw: Random, a: Side, b: Side) -> None:
    b.judge, b.strict = "m2", 0.2
    other_generator(draw, a, b)


# how a world becomes two runs


def judged(side: Side, sample: Sample, part: Part, claim: Claim) -> Assessment:
    """Return what the judge of a run says."""
    documents = sample.documents(part) or ()
    evidence = [document.text for document in documents]
    cites = [document.id for document in documents if claim.text in document.text][:1]
    u = chance(side.judge, side.salt, claim.text, evidence, sample.full_question if side.strict else "")
    ok = bool(cites)
    if ok and u < side.noise + side.strict:
        ok = False
    elif not ok and u < side.noise + side.lenient:
        ok, cites = True, [document.id for document in documents[:1]]
    label = "supported" if ok else "not_found"
    verdict = Verdict(judge=side.judge, label=label, cites=tuple(cites if ok else ()))
    return Assessment(subject=claim.id, question="support", against=part, label=label, verdicts=(verdict,))


def result(side: Side, row: Question) -> SampleResult:
    """Return the result of a question."""
    sample = row.sample()
    texts: dict[Part, list[str]] = {"answer": list(row.answer or ()), "reference": list(row.gold)}
    for said in texts.values():
        said += [f"{one[: len(one) // 2]} is so." for one in said if chance("splits", one) < side.splits]
    claims = tuple(
        Claim(id=f"{part}-{i}", of=part, text=text, grounding="exact")
        for part, said in texts.items()
        for i, text in enumerate(dict.fromkeys(said), 1)
        if text != REFUSAL
    )
    found = [
        judged(side, sample, row.against, claim)
        for row in rows(METRICS)
        if sample.has(row.against)
        for claim in claims
        if claim.of == row.claims_of
    ]
    if row.unscored:
        found = [
            one.model_copy(update={"label": None, "unassessed": "provider_error", "verdicts": ()}) for one in found
        ]
    parts: list[Part] = [part for part in texts if sample.has(part) and not any(claim.of == part for claim in claims)]
    done = SampleResult(
        sample=sample, claims=claims, assessments=tuple(found), unextracted=dict.fromkeys(parts, "no_claims")
    )
    return done.model_copy(update={"scores": scores(rows(METRICS), done)})


def write(folder: Path, side: Side) -> None:
    """Write a run directory."""
    judge, extractor = (Judge(name=name, model=f"scripted:{name}") for name in (side.judge, side.extractor))
    prompt = PromptRecord(name=side.prompt, step="assess", source=side.prompt, digest=side.prompt)
    manifest = Manifest(metrics=METRICS, judges=(judge,), extractor=extractor, prompts=(prompt,))
    manifest = manifest.finished(len(side.rows))
    tallies, writer = SummaryBuilder(manifest), RunWriter(folder, manifest)
    for row in side.rows[: side.finished]:
        done = result(side, row)
        tallies.add(done)
        writer.add(done)
    stopped = "a limit was reached" if side.finished else None
    writer.finish(tallies.summary(complete=side.finished is None, stopped=stopped))


def make(name: str, seed: int, folder: Path) -> tuple[Path, Path]:
    """Write both runs of a world, and return their directories."""
    draw = Random(f"{seed} {name}")
    start = base(Random(seed))
    a, b = Side(copy.deepcopy(start)), Side(copy.deepcopy(start))
    WORLDS[name].plant(draw, a, b)
    if name != "other_replies":
        disturb(f"{name} {seed}", b.rows)
    for letter, side in (("a", a), ("b", b)):
        write(folder / letter, side)
    return folder / "a", folder / "b"


def culprit(name: str, seed: int) -> Culprit:
    """Return the culprit that `compare` names in a world."""
    with tempfile.TemporaryDirectory() as folder:
        return differences(*make(name, seed, Path(folder))).culprit


def right(name: str, found: Culprit) -> bool:
    """Return whether the sentence has the words of the planted change."""
    return all(word in found.sentence for word in WORLDS[name].words)


def main() -> None:
    """Print a table of the worlds, and the number of causes that were named without one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--nulls", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=None)
    args = parser.parse_args()
    hits: dict[str, list[bool]] = {}
    for name in args.only or WORLDS:
        found = [culprit(name, seed) for seed in range(args.seeds)]
        hits[name] = [right(name, one) for one in found]
        sentence = next((one.sentence for one, ok in zip(found, hits[name], strict=True) if not ok), found[0].sentence)
        print(f"{sum(hits[name])}/{args.seeds}  {name:38}  {sentence}", flush=True)
    for title, names in (("designed", DESIGNED), ("made afterwards", tuple(set(WORLDS) - set(DESIGNED)))):
        counted = [hits[name] for name in names if name in hits]
        whole, runs = sum(map(all, counted)), sum(map(sum, counted))
        print(f"{title}: {whole} of {len(counted)} worlds with every seed, {runs} of {args.seeds * len(counted)} runs")
    named = Counter(bool(culprit(NOTHING[i % len(NOTHING)], 1000 + i).cause) for i in range(args.nulls))
    print(f"named causes in {args.nulls} comparisons without one: {named[True]}")


if __name__ == "__main__":
    main()
