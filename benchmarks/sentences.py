"""Sentence splitting by language: correctly split texts, for claimeval's rules and for the library
sentencex.

    python -m benchmarks.sentences            # one row per language
    python -m benchmarks.sentences --wrong    # also prints texts that are split incorrectly

The texts in `sentences.yaml` were written and split by hand, with difficult cases. claimeval's
abbreviations were chosen with these texts in view, so the table shows which scripts and signs are
supported, but is too favorable where abbreviations matter.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import sentencex
import yaml

from claimeval.lexical.sentences import sentences

Spans = list[tuple[int, int]]


class Case(NamedTuple):
    """A text and its sentences."""

    language: str
    text: str
    spans: Spans


@cache
def cases() -> tuple[Case, ...]:
    """Return all labeled texts."""
    content = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return tuple(_case(language, marked) for language, texts in content.items() for marked in texts)


def _case(language: str, marked: str) -> Case:
    pieces = re.split(r"\| ?", marked)
    ends = [sum(map(len, pieces[: number + 1])) for number in range(len(pieces))]
    text = "".join(pieces)
    return Case(language, text, list(_bare(text, zip([0, *ends], ends, strict=False))))


def _bare(text: str, spans: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for start, end in spans:
        piece = text[start:end]
        if piece.strip():
            yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def ours(case: Case) -> Spans:
    """Return the sentences that claimeval finds; it is not told the language."""
    return [(span.start, span.end) for span in sentences(case.text)]


def of_library(case: Case) -> Spans:
    """Return the sentences that sentencex finds, which is told the language."""
    found = sentencex.get_sentence_boundaries(case.language, case.text)
    return list(_bare(case.text, ((one["start_index"], one["end_index"]) for one in found)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wrong", action="store_true", help="also print what our rule cuts wrong")
    wrong = parser.parse_args().wrong
    print(f"{'language':10} {'texts':>5} {'claimeval':>9} {'sentencex':>9}")
    languages = dict.fromkeys(case.language for case in cases())
    for name in (*languages, "all"):
        of_it = [case for case in cases() if name in (case.language, "all")]
        right = [sum(found(case) == case.spans for case in of_it) for found in (ours, of_library)]
        print(f"{name:10} {len(of_it):5} {right[0]:9} {right[1]:9}")
    for case in cases() if wrong else ():
        if (found := ours(case)) != case.spans:
            print(case.language, " | ".join(case.text[start:end] for start, end in found))


if __name__ == "__main__":
    main()
