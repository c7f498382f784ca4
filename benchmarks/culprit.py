"""Whether the first line of `compare` names the cause that was planted, and how often it names one
where there is none.

    python -m benchmarks.culprit [--seeds N] [--nulls N] [--only WORLD ...] [--long]

Each world is 120 questions in five topics, whose facts, documents and answers are drawn by a seed,
and two runs. Run b has one planted change, and harmless ones: a fifth of the answers in another
order, a tenth a little better or worse, documents reordered. The judge knows the truth and errs on
3% of the claims, anew wherever its evidence differs. Nothing is asked: results are written as a
run has them. With --long, documents have some 1,500 words. `tests/runs/test_culprit.py` runs a
sample of it; changes that are none are in `benchmarks.non_events`.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from random import Random

from claimeval.evaluation.manifest import Manifest
from claimeval.evaluation.summary import SummaryBuilder
from claimeval.judging.prompts import PromptRecord
from claimeval.lexical.words import words_of
from claimeval.metrics.rows import rows
from claimeval.metrics.scoring import scores
from claimeval.runs.causes import Culprit
from claimeval.runs.compare import differences
from claimeval.runs.directory import RunWriter
from claimeval.types.records import (
    Assessment,
    Call,
    Claim,
    Document,
    Part,
    Sample,
    SampleResult,
    Turn,
    Verdict,
)
from claimeval.types.requests import Judge

METRICS = ("faithfulness", "correctness", "context_recall")
TOPICS = ("travel", "leave", "pay", "safety", "equipment")
QUESTIONS = 120
NOISE = 0.03
REFUSAL = "I am sorry, I cannot answer this question."
SERVICE_DESK = "Please ask the service desk of the town about this matter."


@dataclass
class Question:
    """One question of a world, before it becomes a sample."""

    id: str
    question: str
    facts: list[str]
    wrong: list[str]
    answer: list[str]
    gold: list[str]
    contexts: list[str]
    metadata: dict[str, str]
    generator: str = "gen-1"
    ids: list[str] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    unscored: bool = False
    missing: bool = False
    shared: str = ""
    """The fact that only the policy of the topic has."""

    def sample(self) -> Sample:
        """Return the sample."""
        ids = self.ids or [str(i) for i in range(1, len(self.contexts) + 1)]
        return Sample(
            id=self.id,
            question=self.question,
            answer=None if self.missing else " ".join(self.answer),
            contexts=tuple(
                Document(id=i, text=text) for i, text in zip(ids, self.contexts, strict=False)
            ),
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
    prompt: str = "three_way"
    extractor: str = "x1"
    splits: float = 0.0
    """Share of the sentences of which the extractor makes a second claim that nothing supports."""
    salt: str = ""
    noise: float = NOISE
    finished: int | None = None
    """Number of samples after which the run was stopped."""
    served: tuple[str, ...] = ()
    """The models that the server named, in turn."""
    cites: bool = True
    """Whether the judge names the documents that it relied on."""
    without_claims: tuple[str, ...] = (REFUSAL,)
    """Answers of which the extractor makes no claim."""
    ids: str | None = None
    """Whether ids were given or made."""


Plant = Callable[[Random, Side, Side], object]
Value = Callable[[Random, Question], object]
Rows = Callable[[Side, Side], Sequence[Question]]
World = tuple[str, *tuple[Plant, ...]]
"""Words that the first line must have, or, after `!`, must not have, and changes that are planted
one after the other."""


def chance(*what: object) -> float:
    """Return a number from 0 to 1 that is always the same for the same arguments."""
    return int.from_bytes(blake2b(repr(what).encode(), digest_size=6).digest()) / (1 << 48)


PLACES = words_of(
    "Alder Birch Cedar Dorn Elm Fern Gorse Hazel Iris Juniper Larch Maple Nettle Oak Pine Quince"
    " Rowan"
)
THINGS = words_of(
    "bridge mill library tower harbour school museum station market theatre garden chapel"
)
VERBS = (
    "opened in",
    "was rebuilt in",
    "closed in",
    "was sold in",
    "burnt down in",
    "moved house in",
    "grew in",
)


def base(draw: Random) -> list[Question]:
    """Return the questions of a world without a change."""
    asked = [f"{thing} of {place}" for place in sorted(PLACES) for thing in sorted(THINGS)]
    facts = []
    for name in asked:
        years = draw.sample(range(1700, 2000), 12)
        said = [
            f"{VERBS[i % 7]} {years[i]} and {draw.randrange(9, 999)} people came." for i in range(8)
        ]
        facts.append([f"The {name} {one}" for one in said])
    order = draw.sample(range(len(facts)), QUESTIONS)
    policies = {
        topic: " ".join(facts[at][3] for at in order[k:70:5]) for k, topic in enumerate(TOPICS)
    }
    questions = []
    for i, at in enumerate(order):
        topic = TOPICS[i % 5]
        s = facts[at]
        uses = i < 70
        other = facts[order[(i + 60) % QUESTIONS]]
        beside = order[(i + 30) % QUESTIONS]
        contexts = [f"{topic.title()} policy\n{policies[topic]}"] if uses else []
        contexts += [
            f"the {asked[at]}, part 1\n{s[0]} {s[4]}",
            f"the {asked[at]}, part 2\n{s[1]} {s[2]} {s[5]}",
        ]
        contexts += [f"the {asked[beside]}, part 3\n{facts[beside][6]} {facts[beside][7]}"]
        own = [s[3]] if uses else []
        questions.append(
            Question(
                id=f"{topic}-{i // 5:02}",
                question=f"What is known about the {asked[at]}?",
                facts=s,
                wrong=[other[5], other[6], other[7]],
                answer=[s[0], s[1], *own, *([other[4]] if i % 3 == 0 else [])],
                gold=[s[0], s[1], s[2], *own],
                contexts=contexts[1:] + contexts[:1] if i % 2 else contexts,
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
            row.ids = row.ids[::-1]
        if 0.9 < u < 0.95:
            row.answer = [*row.answer, row.gold[-1]]
        if u > 0.95 and len(row.answer) > 2:
            row.answer = row.answer[:-1]


# changes


def each(of: Rows = lambda a, b: b.rows, share: float = 1.0, **fields: Value) -> Plant:
    """Give a share of the questions, by default of all of run b, new values of these fields, one
    after the other."""

    def plant(draw: Random, a: Side, b: Side) -> None:
        for row in of(a, b):
            for name, value in fields.items():
                if share == 1 or draw.random() < share:
                    setattr(row, name, value(draw, row))

    return plant


def of_a(a: Side, b: Side) -> list[Question]:
    return a.rows


def having(key: str, value: str) -> Rows:
    """Choose the questions of run b with this value in their metadata."""
    return lambda a, b: [row for row in b.rows if row.metadata[key] == value]


def settings(**fields: object) -> Plant:
    """Judge run b otherwise."""
    return lambda draw, a, b: b.__dict__.update(fields)


def lost(topic: str, share: float, follow: float, run: int = 1) -> Plant:
    """Take the policy of a topic out of the contexts of a run, and change a share of the answers
    that need it."""

    def plant(draw: Random, *sides: Side) -> None:
        for row in sides[run].rows:
            if row.metadata["topic"] == topic and row.shared and chance("lost", row.id) < share:
                row.contexts = [text for text in row.contexts if " policy\n" not in text[:40]]
                if chance("follows", row.id) < follow:
                    row.answer = [row.wrong[0] if one == row.shared else one for one in row.answer]

    return plant


def wrong(share: float) -> Value:
    """Make this share of the facts of an answer wrong."""
    return lambda draw, row: [one if draw.random() > share else row.wrong[0] for one in row.answer]


def followed(draw: Random, row: Question) -> list[str]:
    kept = " ".join(row.contexts)
    return [one if one in kept or draw.random() < 0.6 else row.wrong[0] for one in row.answer]


def begun(draw: Random, row: Question) -> list[str]:
    """Return an answer that begins well."""
    return [*row.answer[:1], *row.wrong[1:]]


def shuffled(draw: Random, row: Question) -> list[str]:
    draw.shuffle(row.contexts)
    return row.contexts


def backwards(draw: Random, row: Question) -> list[str]:
    return row.answer[::-1]


def edited(draw: Random, row: Question) -> list[str]:
    return [text.replace(row.shared, row.shared.replace("people", "dogs")) for text in row.contexts]


def without_its_own(draw: Random, row: Question) -> list[str]:
    return [text for text in row.contexts if "part 2" not in text and "part 1" not in text]


def refused(draw: Random, row: Question) -> list[str]:
    u = draw.random()
    return [REFUSAL] if u < 0.3 else [*row.answer[:1], row.wrong[0]] if u < 0.5 else row.answer


def sampled(draw: Random, row: Question) -> list[str]:
    u = draw.random()
    more = [row.wrong[0]] if u < 0.1 else [row.gold[2]] if u < 0.2 else []
    return row.answer[:-1] if 0.2 <= u < 0.3 and len(row.answer) > 2 else [*row.answer, *more]


def cut_otherwise(draw: Random, row: Question) -> list[str]:
    cut = []
    for text in row.contexts:
        head, _, body = text.partition("\n")
        words = body.split()
        if " policy" in head or draw.random() < 0.35:
            half = len(words) // 2
            cut += [" ".join(words[: half + 2]), " ".join(words[half - 1 :])]
        else:
            cut.append(f"{head} | {body}")
    return cut


def duplicates(draw: Random, a: Side, b: Side) -> None:
    twins = copy.deepcopy([row for row in b.rows if len(row.answer) > 2][:20])
    b.rows += [replace(twin, id=f"{twin.id}-again", answer=list(twin.wrong)) for twin in twins]


def other_retriever(draw: Random, a: Side, b: Side) -> None:
    every = [text for row in b.rows for text in row.contexts]
    for row in b.rows:
        row.contexts = [
            text if draw.random() > 0.4 else draw.choice(every) for text in row.contexts
        ]


def lost_document_with_id(draw: Random, a: Side, b: Side) -> None:
    for row in a.rows + b.rows:
        row.ids = [
            "kb-7" if " policy\n" in text[:40] else f"p-{text[:25]}" for text in row.contexts
        ]
        row.contexts = [text.split("\n")[-1] for text in row.contexts]
    for row in b.rows:
        if row.metadata["topic"] == "travel" and row.shared:
            del row.contexts[row.ids.index("kb-7")]
            row.ids.remove("kb-7")


def swapped_answers(draw: Random, a: Side, b: Side) -> None:
    answers = [row.answer for row in b.rows]
    for i, row in enumerate(b.rows):
        row.answer = answers[(i + 1) % QUESTIONS]


def two_lost(draw: Random, a: Side, b: Side) -> None:
    """Take two documents from each of half of the questions, for a judge that cites none."""
    a.cites = b.cites = False
    for row in b.rows[:60]:
        row.contexts = without_its_own(draw, row)


def cut_in_two(draw: Random, a: Side, b: Side) -> None:
    """Cut every document in two halves, which are all retrieved."""
    for row in b.rows:
        halves = []
        for text in row.contexts:
            words = text.split(" ")
            half = len(words) // 2
            halves += [" ".join(words[:half]), " ".join(words[half:])]
        row.contexts = halves


def without_a_page(draw: Random, row: Question) -> list[str]:
    return [text for text in row.contexts if "part 2" not in text]


def with_a_page_of_nothing(draw: Random, row: Question) -> list[str]:
    return [*row.contexts, f"A page about {row.id}\nNothing of this is asked."]


def of_four(draw: Random, a: Side, b: Side) -> None:
    """Retrieve two documents where there were four."""
    for row, other in zip(b.rows, a.rows, strict=True):
        more = [f"A page about {row.id}-{i}\nNothing of this is asked." for i in range(4)]
        other.contexts = [*other.contexts, *more][:4]
        row.contexts = other.contexts[:2]


def booleans(of_b: Callable[[Random, str], str]) -> Plant:
    """Make all questions such with yes or no, of which run a answers 92% right."""

    def plant(draw: Random, a: Side, b: Side) -> None:
        for i, (row, other) in enumerate(zip(b.rows, a.rows, strict=True)):
            gold = f"{'Yes' if i % 2 else 'No'}."
            wrong_one = f"{'No' if i % 2 else 'Yes'}."
            for one in (row, other):
                one.gold = [gold]
                one.contexts = [f"The right answer is: {gold}"]
            other.answer = [gold if draw.random() < 0.92 else wrong_one]
            row.answer = [of_b(draw, gold)]

    return plant


def stock(share: float, text: str) -> Plant:
    """Give one wrong answer to a share of the questions."""
    return each(share=share, answer=lambda draw, row: [text])


def rows_of(name: str, part: slice) -> Plant:
    """Keep some rows of one run."""
    return lambda draw, a, b: {"a": a, "b": b}[name].__dict__.update(
        rows={"a": a, "b": b}[name].rows[part]
    )


def shuffled_without_ids(draw: Random, a: Side, b: Side) -> None:
    """Write the rows of run b in another order; both runs number their rows."""
    draw.shuffle(b.rows)
    for side in (a, b):
        side.ids = "made"
        for number, row in enumerate(side.rows, 1):
            row.id = str(number)


def unanswered(of: Rows) -> Plant:
    """Take the answers of questions away."""
    return each(of, answer=lambda draw, row: [], missing=lambda draw, row: True)


worse_topic = each(having("topic", "safety"), answer=begun)
other_judge = settings(judge="m2", strict=0.2)
new_generator = each(generator=lambda draw, row: "gen-2")
other_generator = (new_generator, each(answer=backwards), each(answer=wrong(0.2)))
other_gold = each(share=0.4, gold=lambda draw, row: [*row.gold[1:], row.wrong[0]])
NULL = "No difference"
NOTHING = ("same_system_again", "sampled_answers", "other_replies", "shuffled")
"""Worlds without a cause."""
DESIGNED: dict[str, World] = {
    "lost_document": ("retrieval lost | Travel policy", lost("travel", 0.86, 0.5)),
    "lost_document_and_answers": ("retrieval lost | Leave policy", lost("leave", 0.9, 1.0)),
    "shuffled": (NULL, each(contexts=shuffled)),
    "fewer_documents": (
        "retrieval lost",
        each(contexts=lambda draw, row: row.contexts[:2], answer=followed),
    ),
    "other_chunks": ("cut or written otherwise", each(contexts=cut_otherwise)),
    "other_generator": ("answers changed | gen-2", *other_generator),
    "refusals": ("does not answer", each(answer=refused)),
    "longer_answers": (
        "longer",
        each(answer=lambda draw, row: [*row.answer, *row.wrong[1 : 2 + (draw.random() < 0.6)]]),
    ),
    "other_judge": ("judging changed | m2", other_judge),
    "other_prompt": ("judging | rules", settings(prompt="rules", strict=0.2)),
    "other_extractor": ("other claims | x2", settings(extractor="x2", splits=0.25)),
    "worse_in_a_language": (
        "answers | language = de",
        each(having("language", "de"), 0.8, answer=begun),
    ),
    "other_gold": ("gold answers changed", other_gold),
    "duplicates": ("20 samples | repeat a question", duplicates),
    "other_replies": (
        "themselves",
        lambda draw, a, b: a.__dict__.update(noise=0.04),
        settings(noise=0.04, salt="again"),
    ),
    "worse_topic": ("answers | topic = safety", worse_topic),
    "stopped": ("not finished", settings(finished=43)),
    "missing_answers": (
        "lacks 30",
        unanswered(lambda a, b: [row for row in b.rows if len(row.answer) <= 3][:30]),
    ),
    "other_retriever": ("other documents", other_retriever),
    "gained_document": ("retrieval gained | Pay policy", lost("pay", 0.95, 0.5, run=0)),
    "lost_document_and_few_answers": (
        "retrieval lost | Travel policy",
        lost("travel", 1.0, 0.7),
        each(share=0.02, answer=lambda draw, row: [*row.answer[:1], row.wrong[0]]),
    ),
    "worse_topic_and_shuffled": ("answers | safety", each(contexts=shuffled), worse_topic),
    "longer_answers_and_lost_document": (
        "longer",
        lost("pay", 0.5, 0.0),
        each(answer=lambda draw, row: [*row.answer, row.wrong[1]]),
    ),
    "fewer_documents_and_other_form": (
        "retrieval lost",
        each(contexts=lambda draw, row: [text.replace("\n", " | ") for text in row.contexts[:2]]),
    ),
    "other_gold_and_reworded": (
        "gold answers changed",
        new_generator,
        each(share=0.5, answer=backwards),
        other_gold,
    ),
    "same_system_again": (
        NULL,
        each(share=0.5, answer=backwards, contexts=lambda draw, row: row.contexts[::-1]),
    ),
    "sampled_answers": (NULL, each(answer=sampled)),
}
"""The worlds that the rules were written with."""
WORLDS: dict[str, World] = DESIGNED | {
    "edited_document": (
        "“Safety policy” rewritten",
        each(having("topic", "safety"), contexts=edited),
    ),
    "nothing_retrieved": (
        "brings nothing",
        each(share=0.25, contexts=lambda draw, row: []),
    ),
    "cut_answers": (
        "shorter",
        each(of_a, answer=lambda draw, row: [*row.wrong[:1], *row.answer]),
        each(answer=lambda draw, row: [*row.wrong[:1], *row.answer][:2]),
    ),
    "empty_answers": ("lacks 24", each(lambda a, b: b.rows[:24], answer=lambda draw, row: [])),
    "more_documents": ("retrieval gained", each(of_a, contexts=lambda draw, row: row.contexts[:2])),
    "other_questions": (
        "questions or their history",
        each(
            question=lambda draw, row: (
                f"{row.question} Answer for people over {draw.randrange(20, 90)}."
            )
        ),
        settings(strict=0.2),
    ),
    "lost_history": (
        "questions or their history",
        each(of_a, history=lambda draw, row: [f"I am number {row.id}."]),
        settings(strict=0.2),
    ),
    "lost_document_with_id": ("retrieval lost | kb-7", lost_document_with_id),
    "other_prompt_of_the_system": (
        "answers changed | prompt_version",
        each(of_a, metadata=lambda draw, row: row.metadata | {"prompt_version": "v1"}),
        each(
            metadata=lambda draw, row: row.metadata | {"prompt_version": "v2"},
            answer=wrong(0.25),
        ),
    ),
    "swapped_answers": ("answers changed | 120 of 120", swapped_answers),
    "failed_calls": (
        "has no | 24",
        each(lambda a, b: b.rows[::5], unscored=lambda draw, row: True),
    ),
    "two_documents_with_opposite_effects": (
        "“Leave policy” | “Pay policy”",
        lost("leave", 1.0, 0.0),
        lost("pay", 1.0, 0.0, run=0),
    ),
    "one_text_for_many": (
        "answers changed | service desk | !does not answer",
        each(share=0.3, answer=lambda draw, row: [SERVICE_DESK]),
    ),
    "source_not_indexed": (
        "source = web",
        each(having("source", "web"), contexts=without_its_own),
    ),
    "better_answers": (
        "rose | answers changed",
        new_generator,
        each(answer=lambda draw, row: [one for one in row.answer if one in row.facts]),
    ),
    "missing_before": ("lacks 30", unanswered(lambda a, b: a.rows[:30])),
    "other_judge_and_other_answers": ("judging | m2 | answers", other_judge, *other_generator),
}
SERVED = (
    lambda draw, a, b: a.__dict__.update(served=("m1-2026-01-10",)),
    settings(served=("m1-2026-07-01",)),
)
BETTER = each(share=0.33, answer=lambda draw, row: [one for one in row.answer if one in row.facts])
lost_pages = each(share=0.35, contexts=without_a_page)
OWNER = "The owner of this place is ACME Ltd of Bern."
NOT_SAME = "!inputs and settings are the same"
UNDISTURBED = (
    "other_replies",
    "served_model_alike",
    "judge_behind_its_name",
    "served_model",
    "always_yes",
    "more_wrong_booleans",
    "questions_missing",
    "questions_new",
)
"""Worlds in which nothing but the planted change differs."""
WORLDS |= {
    "noise_and_answers": (
        f"answers | {NOT_SAME}",
        lambda draw, a, b: a.__dict__.update(noise=0.06),
        settings(noise=0.06, salt="again"),
        BETTER,
    ),
    "two_documents_of_a_question": ("lost 120 documents | 60 questions", two_lost),
    "served_model": (
        f"judge changed | m1-2026-01-10 in a | m1-2026-07-01 in b | {NOT_SAME}",
        *SERVED,
        settings(strict=0.2),
    ),
    "served_model_and_answers": (
        f"judge changed | m1-2026-07-01 in b | answers | {NOT_SAME}",
        *SERVED,
        settings(strict=0.2),
        *other_generator,
    ),
    "served_model_and_prompt": (
        "judging | rules | judge changed | m1-2026-07-01 in b",
        *SERVED,
        settings(prompt="rules", strict=0.2),
    ),
    "served_model_alike": ("judge changed | m1-2026-07-01 in b | !because", *SERVED),
    "judge_behind_its_name": (
        f"judge changed | questions moved up | {NOT_SAME} | !disagree with",
        settings(strict=0.2),
    ),
    "judge_behind_its_name_and_answers": (
        f"judge changed | answers | {NOT_SAME}",
        settings(strict=0.3),
        each(share=0.3, answer=wrong(0.3)),
    ),
    "questions_missing": (
        "Run b lacks 24 of the 120 questions | Over the 96 in both | !themselves | !because",
        rows_of("b", slice(24, None)),
    ),
    "questions_new": (
        "Run a lacks 30 of the 120 questions | Over the 90 in both | !themselves | !because",
        rows_of("a", slice(0, 90)),
    ),
    "questions_missing_and_answers": (
        "Run b lacks 24 of the 120 questions | Over the 96 in both | answers changed | gen-2",
        *other_generator,
        rows_of("b", slice(24, None)),
    ),
    "always_yes": (
        "fell | answers changed | “Yes.” | in b | !does not answer | !chance",
        booleans(lambda draw, gold: "Yes."),
    ),
    "more_wrong_booleans": (
        "answers | !does not answer",
        booleans(lambda draw, gold: gold if draw.random() < 0.67 else "Maybe."),
    ),
    "labels_without_claims": (
        "of run b make no claim | “Yes.” | !does not answer",
        each(share=0.4, answer=lambda draw, row: ["Yes."]),
        settings(without_claims=("Yes.",)),
    ),
    "wrong_stock_answer": (
        "fell | answers changed | ACME | in b | !does not answer | !no metric",
        stock(0.5, OWNER),
    ),
    "refusals_before": (
        "Run a does not answer | run b answers | cannot answer",
        each(of_a, answer=refused),
    ),
    "declined_without_the_documents": (
        "Run a does not answer | run b answers | without a document that run b has",
        each(
            lambda a, b: a.rows[:50],
            answer=lambda draw, row: [REFUSAL],
            contexts=without_its_own,
        ),
    ),
    "claims_of_refusals": (
        "Run b does not answer",
        settings(without_claims=()),
        each(share=0.4, answer=lambda draw, row: ["The context does not mention this."]),
    ),
    "two_in_place_of_four": ("2 documents in place of 4 | !“", of_four),
    "a_document_for_all": (
        "“System” | 120 | !no longer",
        each(contexts=lambda draw, row: ["System\nAnswer from the documents.", *row.contexts]),
    ),
    "cut_short": (
        "cut or written otherwise | !other documents | !gone",
        each(contexts=lambda draw, row: [text[: len(text) // 2] for text in row.contexts]),
    ),
    "halves": ("cut or written otherwise | !other documents | !gone", cut_in_two),
    "shuffled_without_ids": (
        "answers changed | gen-2",
        *other_generator,
        shuffled_without_ids,
    ),
    "other_judge_and_lost_pages": (
        f"because the judging changed (judges: m1 → m2) | with 2. | !not the system | {NOT_SAME}",
        other_judge,
        lost_pages,
    ),
    "other_judge_and_pages_of_nothing": (
        f"the judging changed | !about | !because retrieval | {NOT_SAME}",
        other_judge,
        each(share=0.35, contexts=with_a_page_of_nothing),
    ),
    "judge_of_another_name_and_lost_pages": (
        "documents in place of | judges: m1 → m2 | moves nothing | !because | !about",
        settings(judge="m2"),
        lost_pages,
    ),
    "served_model_and_lost_pages": (
        f"because the judge changed | m1-2026-07-01 in b | documents in place of | {NOT_SAME}",
        *SERVED,
        settings(strict=0.2),
        lost_pages,
    ),
    "served_model_and_pages_of_nothing": (
        f"the judge changed | m1-2026-07-01 in b | !about | !because retrieval | {NOT_SAME}",
        *SERVED,
        settings(strict=0.2),
        each(share=0.35, contexts=with_a_page_of_nothing),
    ),
    "judge_behind_its_name_and_lost_pages": (
        f"because the judge changed behind its name | documents in place of | {NOT_SAME}",
        settings(strict=0.2),
        lost_pages,
    ),
    "judge_behind_its_name_and_pages_of_nothing": (
        f"the judge changed behind its name | !about | !because retrieval | {NOT_SAME}",
        settings(strict=0.2),
        each(share=0.35, contexts=with_a_page_of_nothing),
    ),
    "other_judge_and_all_other_answers": (
        f"while the judging changed | together with other answers | {NOT_SAME} | !because",
        settings(judge="m2", strict=0.15),
        *other_generator,
    ),
    "other_extractor_and_lost_pages": (
        "because the extraction changed | x2 | documents in place of",
        settings(extractor="x2", splits=0.25),
        lost_pages,
    ),
    "lost_pages_and_questions_missing": (
        "Run b lacks 24 of the 120 questions | Over the 96 in both | because retrieval lost",
        lost_pages,
        rows_of("b", slice(24, None)),
    ),
    "ids_with_a_prefix": (
        "answers changed | gen-2",
        *other_generator,
        lambda draw, a, b: b.__dict__.update(
            rows=[replace(row, id=f"run2-{row.id}") for row in b.rows]
        ),
    ),
}
"""The last ones are causes that were once named wrongly."""


# how a world becomes two runs


def judged(side: Side, sample: Sample, part: Part, claim: Claim) -> Assessment:
    """Return what the judge of a run says."""
    documents = sample.documents(part) or ()
    evidence = [document.text for document in documents]
    called = 0 if side.served else None
    cites = [document.id for document in documents if claim.text in document.text][:1]
    u = chance(
        side.judge, side.salt, claim.text, evidence, sample.full_question if side.strict else ""
    )
    errs = u < side.noise + (side.strict if cites else 0)
    label = "supported" if bool(cites) != errs else "not_found"
    cited = cites if not errs else [document.id for document in documents[:1] if not cites]
    named = tuple(cited) if side.cites else ()
    verdict = Verdict(judge=side.judge, label=label, cites=named, call=called)
    return Assessment(
        subject=claim.id, question="support", against=part, label=label, verdicts=(verdict,)
    )


def result(side: Side, row: Question) -> SampleResult:
    """Return the result of a question."""
    sample = row.sample()
    texts: dict[Part, list[str]] = {"answer": list(row.answer), "reference": list(row.gold)}
    for said in texts.values():
        said += [
            f"{one[: len(one) // 2]} is so." for one in said if chance("splits", one) < side.splits
        ]
    claims = tuple(
        Claim(id=f"{part}-{i}", of=part, text=text.strip(), grounding="exact")
        for part, said in texts.items()
        for i, text in enumerate(dict.fromkeys(said), 1)
        if text not in side.without_claims
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
            one.model_copy(update={"label": None, "unassessed": "provider_error", "verdicts": ()})
            for one in found
        ]
    parts: list[Part] = [
        part for part in texts if sample.has(part) and not any(claim.of == part for claim in claims)
    ]
    done = SampleResult(
        sample=sample,
        claims=claims,
        assessments=tuple(found),
        unextracted=dict.fromkeys(parts, "no_claims"),
        calls=_calls(side, row, found),
    )
    return done.model_copy(update={"scores": scores(rows(METRICS), done)})


def _calls(side: Side, row: Question, found: Sequence[Assessment]) -> tuple[Call, ...]:
    """Return the call that all verdicts on a question come from, if the server names a model."""
    if not side.served:
        return ()
    number = [one.id for one in side.rows].index(row.id)
    return (
        Call(
            key=row.id,
            step="assess",
            judge=side.judge,
            part="answer",
            subjects=tuple(one.subject for one in found),
            reply="{}",
            served_model=side.served[number % len(side.served)],
        ),
    )


def write(folder: Path, side: Side) -> None:
    """Write a run directory."""
    judge, extractor = (
        Judge(name=name, model=f"openai:{name}") for name in (side.judge, side.extractor)
    )
    prompt = PromptRecord(name=side.prompt, step="assess", source=side.prompt, digest=side.prompt)
    manifest = Manifest(metrics=METRICS, judges=(judge,), extractor=extractor, prompts=(prompt,))
    manifest = manifest.of_samples(len(side.rows))
    data = manifest.data.model_copy(update={"ids": side.ids})
    manifest = manifest.model_copy(update={"data": data})
    tallies = SummaryBuilder(manifest)
    writer = RunWriter(folder, manifest)
    for row in side.rows[: side.finished]:
        done = result(side, row)
        tallies.add(done)
        writer.add(done)
    stopped = "a limit was reached" if side.finished else None
    writer.finish(tallies.summary(complete=side.finished is None, stopped=stopped))


def lengthened(text: str) -> str:
    """Return a document with so much more text that a reader would not find a change by eye."""
    draw = Random(text)
    named = draw.choice(sorted(PLACES))
    more = [
        f"In {draw.randrange(1700, 2000)} the {draw.choice(sorted(THINGS))} of {named} had"
        f" {draw.randrange(9, 999)} visitors, as its keeper number {draw.randrange(9999)} wrote."
        for _ in range(100)
    ]
    return f"{text} {' '.join(more)}"


def make(name: str, seed: int, folder: Path, *, long: bool = False) -> tuple[Path, Path]:
    """Write both runs of a world, and return their directories."""
    draw = Random(f"{seed} {name}")
    start = base(Random(seed))
    for row in start if long else ():
        row.contexts = list(map(lengthened, row.contexts))
    a = Side(copy.deepcopy(start))
    b = Side(copy.deepcopy(start))
    for plant in WORLDS[name][1:]:
        plant(draw, a, b)
    if name not in UNDISTURBED:
        disturb(f"{name} {seed}", b.rows)
    for letter, side in (("a", a), ("b", b)):
        write(folder / letter, side)
    return folder / "a", folder / "b"


def culprit(name: str, seed: int, *, long: bool = False) -> Culprit:
    """Return the culprit that `compare` names in a world."""
    with tempfile.TemporaryDirectory() as folder:
        return differences(*make(name, seed, Path(folder), long=long)).culprit


def right(name: str, found: Culprit) -> bool:
    """Return whether the sentence has the words of the planted change, and none that are wrong."""
    for word in WORLDS[name][0].split(" | "):
        if (word.removeprefix("!") in found.sentence) == word.startswith("!"):
            return False
    return True


def main() -> None:
    """Print a table of the worlds, and the number of causes that were named without one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--nulls", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--long", action="store_true", help="documents of some 1,500 words")
    args = parser.parse_args()
    hits: dict[str, list[bool]] = {}
    for name in args.only or WORLDS:
        found = [culprit(name, seed, long=args.long) for seed in range(args.seeds)]
        hits[name] = [right(name, one) for one in found]
        sentence = next(
            (one.sentence for one, ok in zip(found, hits[name], strict=True) if not ok),
            found[0].sentence,
        )
        print(f"{sum(hits[name])}/{args.seeds}  {name:38}  {sentence}", flush=True)
    for title, names in (
        ("designed", DESIGNED),
        ("made afterwards", WORLDS.keys() - DESIGNED.keys()),
    ):
        counted = [hits[name] for name in names if name in hits]
        whole = sum(map(all, counted))
        runs = sum(map(sum, counted))
        print(
            f"{title}: {whole} of {len(counted)} worlds with every seed, {runs} of"
            f" {args.seeds * len(counted)} runs"
        )
    named = Counter(
        bool(culprit(NOTHING[i % len(NOTHING)], 1000 + i).cause) for i in range(args.nulls)
    )
    print(f"named causes in {args.nulls} comparisons without one: {named[True]}")


if __name__ == "__main__":
    main()
