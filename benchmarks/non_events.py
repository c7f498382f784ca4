"""Whether the first line of `compare` says something false where nothing happened.

    python -m benchmarks.non_events [--seeds N] [--only NAME ...] [--long]

Each row is a change of a file or a run that changes no answer, no document and no judge, or none
that matters, in the worlds of `benchmarks.culprit`. The sentences that are true of it are worked
out by hand, as patterns: any other one is false. `tests/runs/test_culprit.py` runs a sample.
"""

from __future__ import annotations

import argparse
import copy
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

from benchmarks.culprit import (
    REFUSAL,
    Plant,
    Question,
    Side,
    backwards,
    base,
    booleans,
    each,
    lengthened,
    of_a,
    rows_of,
    settings,
    shuffled,
    shuffled_without_ids,
    write,
)
from claimeval.runs.compare import differences

Event = tuple[str, *tuple[Plant, ...]]
"""A pattern of the true sentences, and changes that are planted one after the other."""
SAME = r"No difference: inputs, settings and scores are the same\."
BOTH = r"No difference: inputs, settings and scores of the \d+ samples in both are the same\."
NOISE = (
    r"No difference beyond chance: inputs and settings are the same(, and the judges disagree with"
    r" themselves on \d+ questions?)?\."
)
ORDER = (
    r"No difference beyond chance: the same documents in another order \(\d+ of 120 questions\)\."
)


def other(*inputs: str) -> str:
    """Return the pattern of what is said of inputs that differ and move nothing."""
    words = " and ".join(rf"{one} \(\d+ of 120\)" for one in inputs)
    return rf"No difference beyond chance, with {words}\."


def of_both(**fields: Callable[[Question], object]) -> Plant:
    """Give the questions of both runs new values of these fields."""

    def plant(draw: Random, a: Side, b: Side) -> None:
        for row in (*a.rows, *b.rows):
            for name, value in fields.items():
                setattr(row, name, value(row))

    return plant


def renamed(name: Callable[[Question], str]) -> Plant:
    """Give the questions of run b other ids."""
    return each(id=lambda draw, row: name(row))


def reordered(draw: Random, a: Side, b: Side) -> None:
    draw.shuffle(b.rows)


def numbered_without(row: int) -> tuple[Plant, Plant]:
    """Number the rows of both runs, of which run b lacks one."""

    def number(side: Side, rows: list[Question]) -> None:
        side.rows = [replace(row, id=str(i)) for i, row in enumerate(rows)]

    return (
        lambda draw, a, b: number(a, a.rows),
        lambda draw, a, b: number(b, [*b.rows[:row], *b.rows[row + 1 :]]),
    )


def copied(draw: Random, a: Side, b: Side) -> None:
    """Have every sample twice in both runs."""
    for side in (a, b):
        side.rows = [*side.rows, *(replace(row, id=f"{row.id}-copy") for row in side.rows)]


def copied_once(draw: Random, a: Side, b: Side) -> None:
    """Have some samples twice in run b, with the same answers."""
    b.rows = [*b.rows, *(replace(row, id=f"{row.id}-copy") for row in b.rows[:20])]


def document_ids(prefix: str) -> Callable[[Random, Question], list[str]]:
    return lambda draw, row: [f"{prefix}{i}-{row.id}" for i, _ in enumerate(row.contexts)]


def labels(draw: Random, a: Side, b: Side) -> None:
    """Answer with one of two labels, the same in both runs."""
    for row, again in zip(a.rows, b.rows, strict=True):
        label = draw.choice(("SUPPORTS", "REFUTES"))
        for one in (row, again):
            one.answer = [label]
            one.gold = [draw.choice(("SUPPORTS", "REFUTES")) if one is row else row.gold[0]]


NO_NOISE = (
    lambda draw, a, b: a.__dict__.update(noise=0.0),
    settings(noise=0.0),
)
AGAIN = (
    lambda draw, a, b: a.__dict__.update(noise=0.04),
    settings(noise=0.04, salt="again"),
)
EVENTS: dict[str, Event] = {
    "the_same_again": (SAME,),
    "rows_in_another_order": (SAME, reordered),
    "rows_in_another_order_without_ids": (SAME, shuffled_without_ids),
    "ids_with_a_prefix": (SAME, renamed(lambda row: f"v2/{row.id}")),
    "ids_from_the_question": (SAME, renamed(lambda row: row.question.lower())),
    "ids_that_number_rows": (
        SAME,
        lambda draw, a, b: a.__dict__.update(
            rows=[replace(row, id=str(i)) for i, row in enumerate(a.rows)]
        ),
        reordered,
        lambda draw, a, b: b.__dict__.update(
            rows=[replace(row, id=str(i)) for i, row in enumerate(b.rows)]
        ),
    ),
    "ids_that_number_rows_one_of_them_missing": (BOTH, *numbered_without(60)),
    "ids_that_number_rows_a_late_one_missing": (BOTH, *numbered_without(110)),
    "every_sample_twice": (SAME, copied),
    "some_samples_twice_in_b": (BOTH, copied_once),
    "three_rows_dropped": (BOTH, rows_of("b", slice(3, None))),
    "five_rows_more": (BOTH, rows_of("a", slice(5, None))),
    "a_third_of_the_rows_dropped": (
        r"Run b lacks 40 of the 120 questions of run a\. Over the 80 in both, no difference:"
        r" inputs, settings and scores are the same\.",
        rows_of("b", slice(0, 80)),
    ),
    "rows_dropped_on_both_sides": (
        r"Run b lacks 30 of the 90 questions of run a and run a lacks 30 of the 90 questions of run"
        r" b\. Over the 60 in both, no difference: inputs, settings and scores are the same\.",
        rows_of("a", slice(0, 90)),
        rows_of("b", slice(30, None)),
    ),
    "documents_with_other_ids": (
        SAME,
        each(of_a, ids=document_ids("old")),
        each(ids=document_ids("page=")),
    ),
    "documents_in_another_order": (ORDER, *NO_NOISE, each(contexts=shuffled)),
    "sentences_in_another_order": (other("other answers"), each(answer=backwards)),
    "judges_asked_again": (NOISE, *AGAIN),
    "judges_asked_again_and_rows_reordered": (NOISE, *AGAIN, reordered),
    "judges_asked_again_and_ids_renamed": (NOISE, *AGAIN, renamed(lambda row: f"n{row.id}")),
    "another_day": (
        SAME,
        each(of_a, metadata=lambda draw, row: row.metadata | {"day": "2026-11-01"}),
        each(metadata=lambda draw, row: row.metadata | {"day": "2026-11-02"}),
    ),
    "another_generator_with_the_same_answers": (
        SAME,
        each(generator=lambda draw, row: "gen-2"),
    ),
    "yes_or_no": (
        SAME,
        booleans(lambda draw, gold: gold),
        lambda draw, a, b: b.__dict__.update(rows=copy.deepcopy(a.rows)),
    ),
    "all_yes_in_both": (SAME, of_both(answer=lambda row: ["Yes."])),
    "labels_as_answers": (SAME, labels),
    "one_stock_answer_in_both": (SAME, of_both(answer=lambda row: ["It is not applicable here."])),
    "all_decline_in_both": (SAME, of_both(answer=lambda row: [REFUSAL])),
    "declined_in_other_words": (
        other("other answers"),
        of_both(answer=lambda row: [REFUSAL] if row.id.endswith("1") else row.answer),
        each(
            lambda a, b: [row for row in b.rows if row.answer == [REFUSAL]],
            answer=lambda draw, row: ["I do not know."],
        ),
        lambda draw, a, b: a.__dict__.update(without_claims=(REFUSAL, "I do not know.")),
        settings(without_claims=(REFUSAL, "I do not know.")),
    ),
    "missing_in_both": (
        SAME,
        of_both(
            answer=lambda row: [] if row.id.endswith("2") else row.answer,
            missing=lambda row: row.id.endswith("2"),
        ),
    ),
    "questions_in_capitals": (
        other("the same questions written otherwise"),
        *NO_NOISE,
        each(question=lambda draw, row: row.question.upper()),
    ),
    "blanks_in_answers": (
        other("other answers"),
        each(answer=lambda draw, row: [*row.answer[:-1], f"{row.answer[-1]} "]),
    ),
    "a_document_that_nobody_needs": (
        other("“Imprint” gained"),
        *NO_NOISE,
        each(contexts=lambda draw, row: [*row.contexts, "Imprint\nCopyright of the town."]),
    ),
    "the_same_words_wrapped": (
        SAME,
        of_both(contexts=lambda row: [text.replace(" ", "\n", 9) for text in row.contexts]),
    ),
}
"""Thirty-two changes that are none, and nothing at all."""


def sentence(name: str, seed: int, *, long: bool = False) -> str:
    """Return the first line of the comparison of a world with itself, changed."""
    draw = Random(f"{seed} {name}")
    start = base(Random(seed))
    for row in start if long else ():
        row.contexts = list(map(lengthened, row.contexts))
    a = Side(copy.deepcopy(start))
    b = Side(copy.deepcopy(start))
    for plant in EVENTS[name][1:]:
        plant(draw, a, b)
    with tempfile.TemporaryDirectory() as folder:
        for letter, side in (("a", a), ("b", b)):
            write(Path(folder) / letter, side)
        return differences(Path(folder) / "a", Path(folder) / "b").culprit.sentence


def is_true(name: str, found: str) -> bool:
    """Return whether a sentence is true of a change that is none."""
    return re.fullmatch(EVENTS[name][0], found) is not None


def main() -> None:
    """Print the false sentences, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--long", action="store_true", help="documents of some 1,500 words")
    args = parser.parse_args()
    names = args.only or list(EVENTS)
    false = 0
    for name in names:
        found = [sentence(name, 500 + seed, long=args.long) for seed in range(args.seeds)]
        wrong = [one for one in found if not is_true(name, one)]
        false += len(wrong)
        print(f"{len(wrong)}/{args.seeds}  {name:40}  {(wrong or found)[0]}", flush=True)
    print(f"false sentences: {false} of {args.seeds * len(names)}")


if __name__ == "__main__":
    main()
