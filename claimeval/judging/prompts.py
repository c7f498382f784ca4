"""Load, check and render prompts.

A prompt is one Jinja2 file with a header comment (YAML) and the blocks `system` and `user`. It can
use only the variables of its step. Judged texts are passed as values, escaped by `quoted`, so they
cannot close a fence, start a line or read like an instruction. Templates come only from files, run
in Jinja's immutable sandbox, and see only strings, integers, and lists and mappings of these.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, get_args

from pydantic import Field, computed_field, model_validator

from claimeval.judging.replies import UNCLEAR
from claimeval.lexical.languages import NAMES
from claimeval.lexical.words import beyond_ascii
from claimeval.types.errors import (
    PromptError,
    UsageError,
    missing_file,
    parse_yaml,
    unknown_name,
)
from claimeval.types.records import Record
from claimeval.types.requests import Message, ReplyFormat
from claimeval.types.scales import SCALES

if TYPE_CHECKING:
    import jinja2
    from jinja2 import nodes

Value = str | int | Sequence["Value"] | Mapping[str, "Value"]


class Step(NamedTuple):
    """A step of a job that asks with a prompt of its own."""

    variables: frozenset[str]
    """The variables; a prompt that uses any other name fails to load."""
    subject: str
    """The variable that holds what is asked about; a custom prompt that does not use it fails to
    load."""
    json_only: bool = True
    """Whether replies are JSON."""


_WHOLE_ANSWER = Step(frozenset({"question", "answer", "contexts", "references"}), "answer")
STEPS = {
    "extract": Step(frozenset({"question", "part", "sentences"}), "sentences", json_only=False),
    "assess": Step(
        frozenset({"question", "documents", "claims", "scale", "alternatives"}),
        "claims",
        json_only=False,
    ),
    "weigh": Step(frozenset({"question", "claims", "scale"}), "claims"),
    "rate": Step(frozenset({"question", "documents", "scale"}), "documents"),
    "queries": Step(frozenset({"document", "number"}), "document"),
    "screen": Step(frozenset({"document", "question", "answer"}), "question"),
    "answering": _WHOLE_ANSWER,
    "answers": _WHOLE_ANSWER._replace(variables=_WHOLE_ANSWER.variables | {"criterion"}),
}
"""The steps by name. The module of a job in another package adds its own."""

_ITEM_FIELDS = {
    **dict.fromkeys(("documents", "contexts", "references", "sentences"), ("id", "text")),
    "claims": ("id", "text", "line"),
    "scale": ("word", "meaning"),
}
"""Fields of the items of list variables."""

_HEADER = re.compile(r"\A\s*\{#-?(.*?)-?#\}", re.DOTALL)
_SPECIAL = re.compile(
    "[<>\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U0010ffff]"
)
"""Characters that JSON does not escape but that are invisible, change text direction, are
unassigned, or could form a tag."""
_LITERAL = json.JSONEncoder(ensure_ascii=False).encode


def _escape(match: re.Match[str]) -> str:
    return (
        json.dumps(match.group()).strip('"')
        if match.group() not in "<>\x7f"
        else f"\\u{ord(match.group()):04x}"
    )


@lru_cache(maxsize=1024)
def quoted(text: str) -> str:
    """Return the text as a one-line JSON string that also escapes `<`, `>` and invisible
    characters.

    `json.loads` reverses it for every string, including lone surrogates. Letters of all languages
    are unchanged.
    """
    literal = _LITERAL(text)
    if "<" in literal or ">" in literal or "\x7f" in literal:
        return _SPECIAL.sub(_escape, literal)
    if not _SPECIAL.search(beyond_ascii(literal)):
        return literal
    return _SPECIAL.sub(_escape, literal)


class PromptRecord(Record):
    """A prompt as a run used it."""

    name: str
    step: str
    digest: str
    source: str
    parameters: dict[str, str] = Field(default_factory=dict)
    """Values of the prompt's parameters."""

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated properties
    @property
    def id(self) -> str:
        """The first eight characters of the digest, which identify the prompt in verdicts, claims
        and calls."""
        return self.digest[:8]

    @model_validator(mode="before")
    @classmethod
    def _without_id(cls, fields: Any) -> Any:
        return (
            {name: value for name, value in fields.items() if name != "id"}
            if isinstance(fields, dict)
            else fields
        )


class Prompt:
    """A loaded and checked prompt; later changes to its file do not affect it."""

    @classmethod
    def of(cls, record: PromptRecord, parameters: Mapping[str, str] = MappingProxyType({})) -> Self:
        """Return the prompt that a run recorded, with some parameters changed."""
        return cls(
            record.name.partition("[")[0],
            record.step,
            record.source,
            {**record.parameters, **parameters},
        )

    def asking(self, **parameters: str) -> Prompt:
        """Return the prompt with other values of its parameters; the same if it does not have
        them."""
        return (
            Prompt.of(self.record, parameters)
            if parameters.keys() <= self.parameters.keys()
            else self
        )

    def __init__(
        self,
        name: str,
        step: str,
        source: str,
        parameters: Mapping[str, str] = MappingProxyType({}),
        *,
        shipped: bool = False,
    ) -> None:
        """Compile and check the template, unless it is a shipped prompt, which is compiled when
        first rendered."""
        self.step = step
        self.source = source
        header = _header(name, source)
        self.purpose: str = header.purpose
        self.reply: ReplyFormat = header.reply
        self.scale = SCALES[header.scale] if header.scale else None
        self.lists_unclear = header.adds == UNCLEAR
        """Whether replies also list references that could not be resolved."""
        self.parameters = _parameter_values(name, header.parameters, parameters)
        self.digest = _digest(source, self.parameters)
        """SHA-256 of the source, followed by the parameter values if there are any."""
        usual = {key: offered[0] for key, offered in header.parameters.items()}
        values = ", ".join(
            f"{key}={value}" for key, value in self.parameters.items() if value != usual[key]
        )
        self.name = f"{name}[{values}]" if values else name
        """The name, with the parameters that are not the default."""
        _check_header(name, step, header)
        self._arguments = name, step, source, self.parameters
        if not shipped:
            _ = self._compiled

    def __reduce__(self) -> tuple[type[Prompt], tuple[object, ...]]:
        """Pickle the source, because the compiled template cannot be pickled."""
        return Prompt, self._arguments

    @cached_property
    def _compiled(self) -> tuple[jinja2.Template, frozenset[str]]:
        name, step, source, parameters = self._arguments
        return _compile(name, step, source, frozenset(parameters))

    @property
    def reads(self) -> frozenset[str]:
        """The variables of the step that the prompt uses."""
        return self._compiled[1]

    @property
    def id(self) -> str:
        """The first eight characters of the digest."""
        return self.digest[:8]

    @property
    def record(self) -> PromptRecord:
        """The record of this prompt in a manifest."""
        return PromptRecord(
            name=self.name,
            step=self.step,
            digest=self.digest,
            source=self.source,
            parameters=self.parameters,
        )

    def render(self, variables: Mapping[str, Value]) -> tuple[Message, ...]:
        """Return the messages for values of the step's variables; an empty block gives no
        message."""
        from jinja2 import TemplateError

        template, _ = self._compiled
        environment = template.environment
        values = {**variables, **self.parameters}
        context = environment.context_class(environment, values, template.name, template.blocks)
        messages = []
        for role in ("system", "user"):
            try:
                text = "".join(template.blocks[role](context)).strip()
            except (TemplateError, TypeError, ArithmeticError) as error:
                raise PromptError(
                    f"prompt {self.name}, block {role}, does not render: {error}"
                ) from error
            if text:
                messages.append(Message(role=role, content=text))
        return tuple(messages)


def _digest(source: str, parameters: Mapping[str, str]) -> str:
    content = source + (f"\0{json.dumps(parameters, sort_keys=True)}" if parameters else "")
    return hashlib.sha256(content.encode()).hexdigest()


class _Header(Record):
    purpose: str
    reply: ReplyFormat
    source: str = ""
    scale: str | None = None
    adds: str = ""
    """`unclear` if extraction replies also list references that could not be resolved."""
    variables: str = ""
    parameters: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Allowed values of each prompt parameter, the default first; an experiment can sweep them."""


def header_fields(
    name: str,
    source: str,
    required: Sequence[str],
    known: Collection[str],
) -> dict[str, Any]:
    """Return the fields of a prompt's header comment.

    Args:
        name: Name of the prompt, for messages.
        source: Text of the prompt, which starts with the comment.
        required: Fields that must be there.
        known: All fields that may be there.

    Raises:
        PromptError: If a field is missing or unknown, or the comment is missing or not YAML.
    """
    match = _HEADER.match(source)
    if not match:
        wanted = " ".join(f"{field}: ..." for field in required)
        raise PromptError(
            f"prompt {name} has no header comment {{# {wanted} #}} at its start;"
            " `claimeval prompts show assess/three_way` prints one that has"
        )
    from yaml import YAMLError

    try:
        # Headers are indented like comments, which YAML would take for nesting.
        fields = parse_yaml("\n".join(line.strip() for line in match.group(1).splitlines()))
    except YAMLError as error:
        raise PromptError(
            f"prompt {name}: the header is not YAML: {str(error).splitlines()[0]}"
        ) from error
    # An unknown field comes before a missing one, which it is in another form: `Purpose`.
    if isinstance(fields, dict) and (extra := set(fields) - set(known)):
        raise unknown_name(
            f"field in the header of prompt {name}:",
            str(min(extra, key=str)),
            known,
            PromptError,
        )
    if not isinstance(fields, dict) or not set(required) <= set(fields):
        noun = "field" if len(required) == 1 else "fields"
        raise PromptError(
            f"prompt {name}: the header must have the {noun} {' and '.join(required)}"
        )
    return fields


_REMARK = re.compile(r"\([^()]*\)")
_VARIABLE = re.compile(r"[\w.]+")


def check_listed_variables(name: str, listed: object, known: Collection[str]) -> None:
    """Raise PromptError if the header field `variables` lists a variable that there is not.

    Remarks in parentheses and phrases are notes for readers. A single word is one too, unless it is
    like a variable or in a list with one.

    Args:
        name: Name of the prompt, for messages.
        listed: The value of the field: a text with commas, or a list.
        known: The variables that the prompt can use, with its parameters.
    """
    items = listed if isinstance(listed, list) else _REMARK.sub("", str(listed)).split(",")
    words = [str(item).strip(" `{}\n") for item in items]
    # `claims.text` is a field of the items of `claims`.
    variables = [word.partition(".")[0] for word in words if _VARIABLE.fullmatch(word)]
    has_known = any(variable in known for variable in variables)
    for variable in variables:
        error = unknown_name(f"variable in the header of prompt {name}:", variable, known)
        if variable not in known and (has_known or "Did you mean" in str(error)):
            raise PromptError(str(error))


@lru_cache(maxsize=64)
def _header(name: str, source: str) -> _Header:
    fields = header_fields(name, source, ("purpose", "reply"), _Header.model_fields)
    if fields["reply"] not in get_args(ReplyFormat):
        raise unknown_name(
            f"reply format in prompt {name}:",
            str(fields["reply"]),
            get_args(ReplyFormat),
            PromptError,
        )
    if fields.get("scale") and fields["scale"] not in SCALES:
        raise unknown_name(f"scale in prompt {name}:", str(fields["scale"]), SCALES, PromptError)
    parameters = fields.pop("parameters", None) or {}
    if not isinstance(parameters, dict) or not all(
        isinstance(v, list) and v for v in parameters.values()
    ):
        raise PromptError(f"prompt {name}: parameters are written as {{name: [default, other]}}")
    if isinstance(fields.get("variables"), list):
        fields["variables"] = ", ".join(map(str, fields["variables"]))
    texts = {field: str(value) for field, value in fields.items() if value is not None}
    lists = {str(key): tuple(map(str, values)) for key, values in parameters.items()}
    return _Header.model_validate({**texts, "parameters": lists})


def _check_header(name: str, step: str, header: _Header) -> None:
    """Raise PromptError for a header that prompts of the step cannot have."""
    if step in ("assess", "weigh") and not header.scale:
        raise PromptError(
            f"prompt {name}: a prompt of the step {step} names its scale in the header:"
            f" {', '.join(SCALES)}"
        )
    if header.adds not in ("", UNCLEAR) or (
        header.adds and (step, header.reply) != ("extract", "json")
    ):
        raise PromptError(
            f"prompt {name}: `adds` can only be {UNCLEAR}, in extract prompts with JSON replies"
        )
    if STEPS[step].json_only and header.reply != "json":
        raise PromptError(
            f"prompt {name}: a {step} prompt asks for replies of the form json, not {header.reply}"
        )


def _parameter_values(
    name: str,
    offered: Mapping[str, tuple[str, ...]],
    selected: Mapping[str, str],
) -> dict[str, str]:
    """Return a value for every parameter of a prompt. Raises PromptError for unknown names and
    values."""
    for key, value in selected.items():
        if key not in offered:
            raise unknown_name(f"parameter of prompt {name}:", key, offered, PromptError)
        if value not in offered[key]:
            raise unknown_name(
                f"value of {key} in prompt {name}:", value, offered[key], PromptError
            )
    return {key: selected.get(key, values[0]) for key, values in offered.items()}


_LOOP_ATTRIBUTES = frozenset({"first", "last", "index", "index0", "length"})


def _finalize(value: object) -> object:
    if type(value) is str or type(value) is int:
        return value
    raise TypeError(f"only text and whole numbers can be printed, not {type(value).__name__}")


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    from jinja2 import StrictUndefined
    from jinja2.runtime import LoopContext
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Environment(ImmutableSandboxedEnvironment):
        def getattr(self, obj: Any, attribute: str) -> Any:
            """Read mapping entries and loop attributes without the sandbox's checks, which they do
            not need."""
            if type(obj) is dict and attribute in obj:
                return obj[attribute]
            if type(obj) is LoopContext and attribute in _LOOP_ATTRIBUTES:
                return getattr(obj, attribute)
            return super().getattr(obj, attribute)

    environment = Environment(
        undefined=StrictUndefined,
        autoescape=False,  # plain text, not HTML; `quoted` does the escaping
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.clear()  # prompts see the variables of their step and nothing else
    return environment


@lru_cache(maxsize=64)
def _compile(
    name: str,
    step: str,
    source: str,
    declared: frozenset[str],
) -> tuple[jinja2.Template, frozenset[str]]:
    from jinja2 import TemplateError, meta

    environment = _environment()
    try:
        tree = environment.parse(source)
        names = frozenset(meta.find_undeclared_variables(tree))
        template = environment.from_string(source)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise PromptError(
            f"prompt {name}{f', line {line}' if line else ''}: {error.message}"
        ) from error
    if clash := declared & STEPS[step].variables:
        raise PromptError(
            f"prompt {name}: the parameter {min(clash)!r} has the name of a variable of the step"
        )
    if extra := names - STEPS[step].variables - declared:
        raise unknown_name(
            f"variable in prompt {name}:",
            min(extra),
            STEPS[step].variables | declared,
            PromptError,
        )
    for line, problem in _invalid_reads(tree, {}):
        raise PromptError(f"{name}, line {line}: {problem}")
    if missing := {"system", "user"} - set(template.blocks):
        raise PromptError(
            f"prompt {name} has no block {min(missing)!r}; it needs the blocks system and user"
        )
    return template, names - declared


def _invalid_reads(node: nodes.Node, items: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the line and a description of each access to an unknown field, and of each print of a
    non-text value.

    `items` maps loop variables to the list variable they iterate over.
    """
    from jinja2 import nodes

    if isinstance(node, nodes.For) and isinstance(node.target, nodes.Name):
        yield from _invalid_reads(node.iter, items)
        inside = _items_inside(node, node.target.name, items)
        for child in (*node.body, *node.else_):
            yield from _invalid_reads(child, inside)
        return
    if isinstance(node, nodes.Output):
        yield from _printed_items(node, items)
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        name = node.node.name
        field = node.attr
        if name in _ITEM_FIELDS or (name in items and field not in _ITEM_FIELDS[items[name]]):
            yield (
                node.lineno,
                f"unknown variable '{name}.{field}'. {_available_fields(items.get(name, name))}",
            )
    for child in node.iter_child_nodes():
        yield from _invalid_reads(child, items)


def _items_inside(loop: nodes.For, target: str, items: Mapping[str, str]) -> Mapping[str, str]:
    """Return the loop variables inside a loop, of which its own may hide an outer one."""
    from jinja2 import nodes

    variable = loop.iter.name if isinstance(loop.iter, nodes.Name) else ""
    others = {name: of for name, of in items.items() if name != target}
    return {**others, target: variable} if variable in _ITEM_FIELDS else others


def _printed_items(output: nodes.Output, items: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield each print of a list or of an item, which a template would show as Python writes it."""
    from jinja2 import nodes

    for child in output.nodes:
        if isinstance(child, nodes.Name) and (child.name in items or child.name in _ITEM_FIELDS):
            fields = _available_fields(items.get(child.name, child.name))
            yield output.lineno, f"{child.name!r} is no text. {fields}"


def _available_fields(variable: str) -> str:
    singular = "step of the scale" if variable == "scale" else variable.removesuffix("s")
    return f"A {singular} has {', '.join(_ITEM_FIELDS[variable])}"


def folder() -> Path:
    """Return the directory of the shipped prompts: in the installed package, or next to the package
    in a checkout."""
    installed = Path(__file__).parents[1] / "_prompts"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "prompts"


TRANSLATED: dict[str, tuple[str, ...]] = {
    "extract": ("atomic",),
    "assess": ("three_way", "binary", "partial"),
}
"""The shipped prompts that are translated, by step."""


def shipped(step: str) -> dict[str, Path]:
    """Return the shipped prompts of a step by name (`assess/three_way`, and in German
    `assess/three_way.de`)."""
    prompts = {f"{step}/{path.stem}": path for path in sorted((folder() / step).glob("*.j2"))}
    for name in TRANSLATED.get(step, ()):
        for language, path in languages().items():
            prompts[f"{step}/{name}.{language}"] = path
    return prompts


@lru_cache(maxsize=1)
def languages() -> dict[str, Path]:
    """Return the code of each language with translated prompts, and the file of the
    translations."""
    return {path.stem: path for path in sorted((folder() / "languages").glob("*.yaml"))}


def _unknown_language(language: str) -> UsageError:
    """Return the error for a language without prompts, with its code if its name was given."""
    codes = ["en", *languages()]
    by_name = {NAMES[code].casefold(): code for code in codes}
    known = f"Known: {', '.join(f'{code} ({NAMES[code]})' for code in codes)}, auto"
    if code := by_name.get(language.casefold(), ""):
        return UsageError(f"a language is given by its code: write {code!r} for {language!r}")
    base = language.replace("_", "-").partition("-")[0].casefold()
    hint = f" Did you mean {base!r}?" if base in codes else ""
    return UsageError(f"unknown language {language!r}.{hint} {known}")


def named_in(step: str, spec: str, language: str | None) -> str:
    """Return the name of a shipped prompt in a language. Paths and names with a language suffix are
    unchanged.

    Raises:
        UsageError: If the language is unknown, or the prompt is not translated into it.
    """
    if language in (None, "en"):
        return spec
    if language not in languages():
        raise _unknown_language(str(language))
    name = spec.removeprefix(f"{step}/")
    if f"{step}/{name}" not in shipped(step) or name.rpartition(".")[2] in languages():
        return spec
    if name not in TRANSLATED.get(step, ()):
        available = ", ".join(TRANSLATED.get(step, ()))
        raise PromptError(
            f"{step} prompt {name!r} is not translated into {language!r}; available: {available}"
        )
    return f"{name}.{language}"


@lru_cache(maxsize=64)
def _translated(path: Path, step: str, prompt: str) -> str:
    """Return the source of a shipped prompt in a language: the template of the step filled with the
    translations."""
    import jinja2

    texts = parse_yaml(path.read_text(encoding="utf-8"))
    slots = jinja2.Environment(
        block_start_string="[%",
        block_end_string="%]",
        variable_start_string="[[",
        variable_end_string="]]",
        comment_start_string="[#",
        comment_end_string="#]",
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # the source of a prompt, not HTML
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    template = (path.parent / f"{step}.j2").read_text(encoding="utf-8")
    return slots.from_string(template).render(texts, prompt=prompt)


def find(spec: str, step: str | None = None) -> Prompt:
    """Load a prompt by name or path. Without a step, a file is read as an assess prompt, else as an
    extract prompt."""
    if step:
        return load(step, spec)
    if spec.partition("/")[0] in STEPS and not Path(spec).is_file():
        return load(spec.partition("/")[0], spec)
    if steps := [step for step in STEPS if f"{step}/{spec}" in shipped(step)]:
        return load(steps[0], spec)
    if not Path(spec).is_file():
        return load("assess", spec)
    try:
        return load("assess", spec)
    except PromptError as as_assess:
        try:
            return load("extract", spec)
        except PromptError as as_extract:
            # A file that names a scale is meant as an assess prompt, and its fault is there.
            if "names its scale" not in str(as_assess):
                raise as_assess from None
            raise PromptError(f"as assess: {as_assess}; as extract: {as_extract}") from as_extract


def load(step: str, spec: str, parameters: Mapping[str, str] = MappingProxyType({})) -> Prompt:
    """Load the prompt of a step by name (`three_way` or `assess/three_way`) or path.

    `parameters` sets parameters of the prompt; the others keep their defaults. Raises PromptError,
    with the closest name, if there is no such prompt.
    """
    if step not in STEPS:
        raise unknown_name("step", step, STEPS)
    names = shipped(step)
    name = spec if spec.startswith(f"{step}/") else f"{step}/{spec}"
    if name not in names:
        name = spec
        _check_path(step, spec, names)
    is_shipped = name in names
    source = _source(step, name, names.get(name, Path(spec)), is_shipped=is_shipped)
    if parameters:
        prompt = Prompt(name, step, source, parameters, shipped=is_shipped)
    else:
        prompt = _parsed(name, step, source, shipped=is_shipped)
    if not is_shipped:
        # Not when a recorded prompt is made again: the field decides nothing, and old runs stay.
        known = STEPS[step].variables | prompt.parameters.keys()
        check_listed_variables(name, _header(name, source).variables, known)
    if not is_shipped and (variable := STEPS[step].subject) not in prompt.reads:
        raise PromptError(
            f"prompt {name} does not use {variable!r}, so the judge would not see what it is asked"
            " about"
        )
    return prompt


def _check_path(step: str, spec: str, names: Iterable[str]) -> None:
    """Raise PromptError for what is neither a shipped prompt nor the path of a file."""
    if spec.endswith(".j2") or Path(spec).is_file():
        return
    # a translation is chosen by --language, and would hide the others
    original = [known for known in names if known.rpartition(".")[2] not in languages()]
    error = unknown_name(f"{step} prompt", spec, original)
    raise PromptError(f"{error}; or give the path of a .j2 file")


def _source(step: str, name: str, path: Path, *, is_shipped: bool) -> str:
    """Return the source of a prompt. Raises PromptError for a file that cannot be read."""
    try:
        if path.suffix == ".yaml" and is_shipped:
            original = name.removeprefix(f"{step}/").removesuffix(f".{path.stem}")
            return _translated(path, step, original)
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise PromptError(
            f"no prompt file: {missing_file(path)}. `claimeval prompts list` names those that ship"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        problem = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise PromptError(f"cannot read prompt {str(path)!r}: {problem}") from error


@lru_cache(maxsize=64)
def _parsed(name: str, step: str, source: str, *, shipped: bool) -> Prompt:
    return Prompt(name, step, source, shipped=shipped)
