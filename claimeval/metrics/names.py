"""Every number that a command prints, with its meaning, and its names elsewhere.

The only place that answers what a name of the field means here: `claimeval metrics`, the errors of
all doors and the docs read the two tables beside this file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import field_validator

from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.records import Record

CUTOFF = re.compile(r"@.*|\(.*")
_TOP = re.compile(r"^top\d+")
UNNAMED = (
    *("locate", "grade", "perplexity", "reward", "extraction"),
    *("agreement", "correct", "compare", "experiment", "plan", "annotate", "report"),
)
"""Commands that compute all their numbers at once, without `-m`."""
_AT_END = re.compile(r"at(k|\d+)$")
_CUT_AT = re.compile(r"(?:@|[ ._-]at[ ._-])(?:k|\d+)$", re.IGNORECASE)
REST = "1 - "
"""Before a number of which a name has the rest to 1."""


class Number(Record):
    """A number that a command prints."""

    name: str
    """Its name; `@K`, `@N` or `@R` stand for a number."""
    command: str
    """The commands that compute it, separated by commas, with the options that it needs."""
    also: tuple[str, ...] = ()
    """Other names that the commands accept."""
    fields: tuple[str, ...] = ()
    """Fields of records of the Python API that have it, as in `RaterReport.kappa`."""
    needs: str
    """What the data must have."""
    question: str
    """The question that it answers, in at most 49 characters."""
    formula: str
    source: str
    """The paper, or the program whose numbers it has."""
    better: Literal["higher", "lower", "neither"] = "higher"
    """Which values are better."""
    example: tuple[str, str, str]
    """What is given, the calculation, and the value."""
    variant: bool = False
    """Whether it is a variant of another number, or a mere count."""

    @field_validator("example", mode="before")
    @classmethod
    def _are_texts(cls, lines: Any) -> Any:
        return tuple(map(str, lines))

    @property
    def base(self) -> str:
        """The name without what stands for a number."""
        return CUTOFF.sub("", self.name)

    @property
    def is_of_ranking(self) -> bool:
        """Whether it is computed from a ranking, with which `needs` begins then."""
        return self.needs.startswith("a ranking")

    @property
    def fields_needed(self) -> str:
        """The fields of a sample that it needs."""
        ranked = "contexts, and reference_context_ids or reference_contexts"
        return ranked if self.is_of_ranking else self.needs

    @property
    def takes_number(self) -> bool:
        """Whether a number may follow the name, such as a cutoff: `bleu_1` is not `bleu`."""
        return "@" in self.name or self.is_of_ranking

    @property
    def calls(self) -> tuple[str, ...]:
        """Command lines that compute it."""
        concrete = re.sub("@[KN]$", "@10", self.name).replace("@R", "@0.5")
        calls = []
        for command in self.command.split(", "):
            by_name = " " not in command and command not in UNNAMED
            named = by_name or command.startswith(("score --per-document", "score --assess"))
            calls.append(f"claimeval {command}{f' -m {concrete}' if named else ''}")
        return tuple(calls)

    @property
    def commands(self) -> tuple[str, ...]:
        """The names of the commands that compute it."""
        return tuple(command.split()[0] for command in self.command.split(", "))


class Meaning(NamedTuple):
    """What a name means in a source."""

    source: str
    name: str
    numbers: tuple[Number, ...]
    complements: frozenset[str]
    """Names of those numbers of which it is the rest to 1, as a refusal rate is 1 - answered."""

    def expression(self, number: Number) -> str:
        """Return a number of the name in Markdown, as the table of the docs has it."""
        return f"{REST if number.name in self.complements else ''}`{number.name}`"


class Sense(NamedTuple):
    """A number that a name means elsewhere, with the sources that mean it so."""

    number: Number
    rest: bool
    """Whether the name means the rest of the number to 1."""
    sources: tuple[str, ...]

    @property
    def expression(self) -> str:
        """The number as the name has it, such as `1 - answered`."""
        return f"{REST if self.rest else ''}{self.number.name}"


def key(name: str) -> str:
    """Return a name without case, signs and white space, by which names are looked up."""
    return re.sub(r"[^a-z0-9]", "", name.casefold().replace("++", "plusplus"))


@cache
def numbers() -> Mapping[str, Number]:
    """Return every number by name, in the order of the table."""
    content = _content("explanations.yaml")
    rows = {}
    for name, row in content["numbers"].items():
        given = content["inputs"].get(row.get("input"))
        first, *rest = row["example"]
        fields = {field: value for field, value in row.items() if field != "input"}
        fields["example"] = [f"{given}; {first}" if given else first, *rest]
        rows[name] = Number(name=name, **fields)
    return rows


@cache
def table() -> tuple[Meaning, ...]:
    """Return the names elsewhere, in the order of the table."""
    known = numbers()
    rows = []
    for source, names in _content("names.yaml").items():
        if source == "commands":
            continue
        for name, meant in names.items():
            listed = [meant] if isinstance(meant, str) else meant
            plain = [number.removeprefix(REST) for number in listed]
            rests = frozenset(number for number in plain if f"{REST}{number}" in listed)
            rows.append(Meaning(source, name, tuple(map(known.__getitem__, plain)), rests))
    return tuple(rows)


@cache
def _content(name: str) -> dict[str, Any]:
    import yaml

    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content


@cache
def _own() -> Mapping[str, Number]:
    """Return the numbers by the keys of all names that commands accept."""
    plain_last = sorted(numbers().values(), key=lambda number: "@" not in number.name)
    known = {key(alias): number for number in plain_last for alias in number.also}
    return known | {key(number.base): number for number in plain_last}


def number_of(name: str) -> Number | None:
    """Return the number that a name, also with a cutoff, has here; None if there is none."""
    known = numbers()
    if name in known:
        return known[name]
    name = re.sub(r"_at_recall_(?=[01]\.\d+$)", "@", name)  # as trec_eval prints it
    own = _own()
    if number := own.get(key(name)):
        return number
    cut = re.sub(r"@\d+$", "@k", name.casefold())
    for number in known.values():
        if number.name.casefold() == cut:  # F1@64 is f1@K, not f1
            return number
    base = own.get(key(CUTOFF.sub("", name)))
    printed = own.get(key(re.sub(r"[ ._-]\d+$", "", name)))  # P_10, as trec_eval prints it, or P.10
    number = base or printed
    return number if number and number.takes_number else None


def meanings(name: str) -> tuple[Meaning, ...]:
    """Return what a name means elsewhere, in any spelling and with any cutoff."""
    name = name.rpartition("/")[2]  # response/llm_judged/groundedness, as MLflow prints it
    cut = _CUT_AT.sub("_at_k", re.sub(r"\(.*\)(?=@)", "", name))
    whole = {key(name), key(cut)} if cut != name or "(" in name else set()
    # `recall@5` is a recall_at_k, whatever recall without a cutoff means to others.
    if exact := tuple(meaning for meaning in table() if key(meaning.name) in whole):
        return exact
    looked_up = _spellings(name)
    return tuple(
        meaning for meaning in table() if not looked_up.isdisjoint(_spellings(meaning.name))
    )


@cache
def _spellings(name: str) -> frozenset[str]:
    plain = key(CUTOFF.sub("", name))
    without = _AT_END.sub("", plain) if len(plain) > 4 else plain
    topped = _TOP.sub("topk", plain)
    # Functions of TruLens, and classes of DeepEval and Azure, as in `ContextualPrecisionMetric`.
    bare = plain
    for suffix in ("withcotreasons", "metric", "evaluator"):
        bare = bare.removesuffix(suffix) if len(bare) > len(suffix) + 1 else bare
    bare = bare.removesuffix("score") if len(bare) > 8 else bare
    bare = bare.removeprefix("builtin")  # of Bedrock, as in `Builtin.ContextCoverage`
    return frozenset({plain, without, topped, bare} - {""})


def names_of(number: Number) -> tuple[tuple[str, str], ...]:
    """Return the sources and the names that a number has elsewhere."""
    elsewhere = []
    for meaning in table():
        if number in meaning.numbers and key(meaning.name) != key(number.base):
            rest = REST if number.name in meaning.complements else ""
            elsewhere.append((meaning.source, f"{rest}{meaning.name}"))
    return tuple(elsewhere)


def described(sense: Sense) -> str:
    """Return a number with the commands that compute it, as a part of a message."""
    calls = " or ".join(f"`{call}`" for call in sense.number.calls[:2])
    return f"{sense.expression} ({calls})"


def in_the_field(name: str) -> tuple[Sense, ...]:
    """Return the numbers that a name means elsewhere, with the sources."""
    sources: dict[tuple[Number, bool], dict[str, None]] = {}
    for meaning in meanings(name):
        for number in meaning.numbers:
            sense = number, number.name in meaning.complements
            sources.setdefault(sense, {})[meaning.source] = None
    return tuple(Sense(number, rest, tuple(named)) for (number, rest), named in sources.items())


def other_command(name: str) -> str | None:
    """Return what another command does under a name that is no metric here; None if it is no such
    name."""
    sentences: dict[str, str] = _content("names.yaml")["commands"]
    looked_up = _spellings(name)
    return next((text for known, text in sentences.items() if key(known) in looked_up), None)


def elsewhere(name: str) -> str | None:
    """Return what computes a name that a command does not have, and what it means elsewhere; None
    if nothing is known of it."""
    number = number_of(name)
    sentences = []
    if number:
        commands = [f"`{command}`" for command in dict.fromkeys(number.commands)]
        verb = "computes" if len(commands) == 1 else "compute"
        calls = " or ".join(f"`{call}`" for call in number.calls)
        sentences.append(f"{' and '.join(commands)} {verb} {number.name}: {calls}")
    for sense in in_the_field(name):
        if sense.number != number or sense.rest:
            sentences.append(f"{', '.join(sense.sources)}: {described(sense)}")
    if len(sentences) > 1:
        return f"{'; '.join(sentences)}; choose the one you mean"
    return sentences[0] if sentences else other_command(name)


def unknown(kind: str, name: str, allowed: Iterable[str]) -> UsageError:
    """Return the error for a name that a command does not have: what computes it, or what it means
    elsewhere, else the name that it may be a misspelling of.

    Args:
        kind: Noun for the message, such as `metric`.
        name: The name as it was typed.
        allowed: The names that the command has.
    """
    allowed = list(allowed)
    # Case aside it is a name of this command, whatever the name means elsewhere.
    alike = [one for one in allowed if one.casefold() == name.casefold()]
    if len(alike) == 1:
        return UsageError(f"unknown {kind} {name!r}. Did you mean {alike[0]!r}?")
    if known := elsewhere(name):
        return UsageError(f"unknown {kind} {name!r}: {known}")
    return unknown_name(kind, name, allowed)
