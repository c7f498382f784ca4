"""Ask a checker whether documents support one claim, in its own form, and read its reply.

The prompt of a checker is in the judge's settings: one Jinja2 text, or one for each role of the
model's chat template. It sees `document`, `claim` and `question` as they are, because such models
were trained on plain texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from claimeval.judging import probabilities
from claimeval.judging.reply_values import Unparsable, find, object_with
from claimeval.judging.requests import document_plain
from claimeval.types.chat_format import TEMPLATE_ARGUMENTS
from claimeval.types.checkers import SUPPORTED, ReplyRule
from claimeval.types.errors import UsageError
from claimeval.types.records import Document
from claimeval.types.requests import Completion, Judge, Message
from claimeval.types.scales import Scale

if TYPE_CHECKING:
    import jinja2

VARIABLES = frozenset({"document", "claim", "question"})
NEEDED = ("document", "claim")
"""Variables that the prompt or `chat_template` of a checker uses at least."""
ROLES = frozenset(
    {
        *("system", "developer", "user", "assistant", "tool", "tools", "context", "control"),
        *("document", "documents", "claim", "question", "contexts"),
    }
)
"""Roles of the chat templates of models, and of the messages to a function. A template may have
others, so that only a misspelt one of these is refused."""
_NUMBER = re.compile(r"[\s\"'*]*(-?\d+(?:\.\d+)?)\s*$")
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


class CheckerQuestion(NamedTuple):
    """What a checker is sent."""

    messages: tuple[Message, ...]
    chat_template: str | None
    """The arguments of the model's chat template, as JSON; None without."""


def question(
    judge: Judge,
    claim: str,
    documents: Sequence[Document],
    asked: str,
) -> CheckerQuestion:
    """Return the question about a claim.

    Args:
        judge: The checker.
        claim: The claim.
        documents: The documents: one, or all of a set.
        asked: The question of the sample.
    """
    document = "\n\n".join(map(document_plain, documents))
    variables = {"document": document, "claim": claim, "question": asked}
    messages = [
        Message(role, text)
        for role, template in roles(judge).items()
        if (text := _template(template).render(variables).strip("\n"))
    ]
    arguments = _filled(judge.chat_template, variables) if judge.chat_template else None
    return CheckerQuestion(
        tuple(messages),
        None if arguments is None else json.dumps(arguments, ensure_ascii=False),
    )


def roles(judge: Judge) -> Mapping[str, str]:
    """Return the template of each message of a checker, by its role."""
    prompt = judge.prompt or ""
    return {"user": prompt} if isinstance(prompt, str) else prompt


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _template(value).render(variables)
    if isinstance(value, Mapping):
        return {name: _filled(part, variables) for name, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, variables) for part in value]
    return value


@lru_cache(maxsize=64)
def _template(source: str) -> jinja2.Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True
    )
    return environment.from_string(source)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _texts(part)


def check(judge: Judge) -> None:
    """Raise UsageError for settings with which a checker cannot be asked."""
    from difflib import get_close_matches

    from jinja2 import TemplateSyntaxError

    wrong = f"the checker {judge.name!r}"
    if judge.prompt is None or judge.reply is None:
        lacking = "prompt" if judge.prompt is None else "reply"
        raise UsageError(
            f"{wrong} has no `{lacking}:`. `asks:` needs `prompt:`, a text with document and"
            " claim, and `reply:`, what its replies mean; or name a preset, as in"
            " check:minicheck@URL"
        )
    if judge.chat_template and TEMPLATE_ARGUMENTS in judge.extra:
        raise UsageError(
            f"{wrong}: `extra` and `chat_template` both have arguments of the chat template; put"
            " them into `chat_template`"
        )
    for role in roles(judge):
        if role not in ROLES and (near := get_close_matches(role.casefold(), ROLES, 1, 0.8)):
            raise UsageError(
                f"{wrong}: unknown role {role!r} in `prompt:`. Did you mean {near[0]!r}?"
            )
    try:
        used = _variables(judge)
    except TemplateSyntaxError as error:
        raise UsageError(f"{wrong}: the prompt is no template: {error}") from error
    if unknown := sorted(used - VARIABLES):
        raise UsageError(
            f"{wrong}: the prompt uses {unknown[0]!r}; it can use document, claim and question"
        )
    if missing := [name for name in NEEDED if name not in used]:
        raise UsageError(f"{wrong}: the prompt does not use {{{{ {missing[0]} }}}}")


def _variables(judge: Judge) -> set[str]:
    """Return the variables of a checker's templates. Raises TemplateSyntaxError."""
    from jinja2 import Environment, meta

    used: set[str] = set()
    for text in _texts([*roles(judge).values(), judge.chat_template]):
        used |= meta.find_undeclared_variables(Environment().parse(text))
    return used


class Reading(NamedTuple):
    """What a reply says."""

    label: str
    value: str
    place: int | None
    """The position of the value in the text; None if it is unknown."""


def read(text: str, rule: ReplyRule) -> Reading:
    """Return what a reply says. Raises Unparsable if it is not exactly one of what the rule
    knows."""
    found = _values(text, rule)
    # Reversed, so that of equal values the first one's place counts, beside which its probability
    # stands.
    labels = {rule.label(value): place for value, place in reversed(found)}
    if None in labels:
        values = " or ".join(rule.words) or "a number"
        raise Unparsable(f"{_shown(found[0][0])} is not {values}")
    if len(labels) > 1:
        raise Unparsable(f"it says two things: {_shown(found[0][0])} and {_shown(found[-1][0])}")
    ((label, place),) = labels.items()
    assert label is not None, "a value without a label is unreadable"
    return Reading(label, found[0][0], place)


def _values(text: str, rule: ReplyRule) -> list[tuple[str, int | None]]:
    """Return the values in a reply, at least one, each with its position if that is known."""
    if rule.path:
        return [(_at(text, rule.path), None)]
    if not rule.pattern:
        return [(text, len(text) - len(text.lstrip(" \t\r\n\"'*")))]
    found: list[tuple[str, int | None]] = []
    for match in re.finditer(rule.pattern, text):
        found.append((match.group(1) or "", match.start(1)))
    if not found:
        raise Unparsable(f"the pattern finds nothing in {_shown(text)}")
    return found


def _at(text: str, path: str) -> str:
    """Return the value at a path of a JSON reply as a text."""
    steps = _STEP.findall(path)
    value: Any = find(text, object_with(steps[0][0]), ())
    for name, index in steps:
        try:
            value = value[int(index)] if index else value[name]
        except (LookupError, TypeError):
            raise Unparsable(f"the reply has no field {path!r}") from None
    if not isinstance(value, str | int | float):
        raise Unparsable(f"the field {path!r} holds no word or number")
    return str(value)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:56]}...")


def probability(
    completion: Completion,
    text: str,
    reading: Reading,
    rule: ReplyRule,
) -> float | None:
    """Return the probability of support that the reply states, or that of the token of the value;
    None without log-probabilities.

    Args:
        completion: The reply.
        text: The end of it that was read.
        reading: What it says.
        rule: The rule for its replies.
    """
    if rule.probability:
        return float(reading.value)
    if reading.place is None or completion.text is None:
        return None
    words = {word: label == SUPPORTED for word, label in rule.labels.items()}

    def positive(spelling: str) -> bool | None:
        """Return whether a token is a word or number of support."""
        if rule.threshold is None:
            return probabilities.begun(spelling, words)
        number = _NUMBER.match(spelling)
        label = rule.label(number.group(1)) if number else None
        return None if label is None else label == SUPPORTED

    start = len(completion.text) - len(text)
    found = probabilities.of_tokens(completion, [("", start + reading.place)], positive)
    return found.get("")


def word_of(scale: Scale, label: str) -> str:
    """Return the scale's word for a label; without a word for "contradicted", it becomes
    "not_found"."""
    return label if label in scale.words else "not_found"
