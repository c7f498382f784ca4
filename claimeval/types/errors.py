"""The error tree, and functions for error messages.

::

    ClaimevalError
    ├── UsageError            invalid input or options; raised before any call; exit code 2
    │   ├── DataError         invalid input file or record; names file, line and field
    │   └── PromptError       a prompt is missing, has unknown variables or does not render
    ├── CallError             a failed call to a provider; becomes a Failure record in the results
    ├── StoreError            the reply cache cannot be read or written, as on full disks; exit 3
    └── StoppedEarly          the run stopped before the last sample and can be resumed; exit code 3
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


class ClaimevalError(Exception):
    """Base class of all errors that claimeval raises.

    Examples:
        >>> try:
        ...     ce.score("answers.jsonl", judges="openai:")
        ... except ce.ClaimevalError as error:
        ...     print(error.exit_code)
        2
    """

    exit_code = 3
    """The exit code of a command that ends with this error."""


class UsageError(ClaimevalError):
    """Invalid input or options. The message has the problem, the given value, the allowed values
    and the fix.

    Examples:
        >>> try:
        ...     ce.score("answers.jsonl", judges="local:lexical", metrics="faithfullness")
        ... except ce.UsageError as error:
        ...     print(error)
        unknown metric 'faithfullness'. Did you mean 'faithfulness'? `claimeval metrics` lists all
    """

    exit_code = 2


class DataError(UsageError):
    """Invalid input file or record. The message names file, line and field.

    Examples:
        >>> try:
        ...     ce.score("anwsers.jsonl", judges="local:lexical")
        ... except ce.DataError as error:
        ...     print(error)
        anwsers.jsonl does not exist. Did you mean 'answers.jsonl'?
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "",
        readings: tuple[Mapping[str, Any], ...] = (),
    ) -> None:
        super().__init__(message)
        self.kind = kind or message
        """The problem without line and value, the same for all rows that have it."""
        self.readings = readings
        """If the data can be read in more than one way: all readings, the likeliest first. Each can
        be given as `mapping`."""


class PromptError(UsageError):
    """Invalid prompt: it is missing, has variables that its step does not provide, or does not
    render."""


class StoreError(ClaimevalError):
    """Unusable reply cache. The message names the directory and the fix.

    Examples:
        >>> options = ce.RunOptions(cache="runs/a")
        >>> try:
        ...     ce.score("answers.jsonl", judges="openai:gpt-5-mini", options=options)
        ... except ce.StoreError as error:
        ...     print(error)
        runs/a is not a claimeval reply cache (it holds 'annotation'); give another folder
    """


class StoppedEarly(ClaimevalError):
    """End of a run before its last sample. The same command or call resumes it.

    Examples:
        >>> options = ce.RunOptions(max_calls=3)
        >>> try:
        ...     ce.score("data.jsonl", judges="openai:gpt-5", out="runs/stopped", options=options)
        ... except ce.StoppedEarly as error:
        ...     print(error.run.complete)
        False
    """

    def __init__(self, reason: str, run: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        """The reason and the fix."""
        self.run = run
        """The incomplete `Run`; None if it has no results."""


INTERRUPTED = "Interrupted. All replies received so far are stored; run the same command to resume."


class Interrupted(KeyboardInterrupt):
    """Interruption of a run by Ctrl-C or a signal. The same command or call resumes it."""

    exit_code = 130

    def __init__(self, run: Any) -> None:
        super().__init__(INTERRUPTED)
        self.run = run
        """The incomplete `Run`."""


class NoteWarning(UserWarning):
    """Warning of a note on a run, which `Run.notes` lists too.

    Examples:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", ce.NoteWarning)
        ...     run = ce.score("answers.jsonl", judges="local:lexical")
        >>> len(run.notes) > 0
        True
    """


LISTED = 12
"""Maximum number of metrics that a message lists."""


def unknown_name(
    kind: str,
    name: str,
    allowed: Iterable[str],
    error: type[UsageError] = UsageError,
) -> UsageError:
    """Return the error for an unknown name, with the closest match and all allowed names.

    Instead of more than `LISTED` metrics or measures, the message names `claimeval metrics`.

    Args:
        kind: Noun for the message, such as `metric`.
        name: The unknown name.
        allowed: The allowed names.
        error: Class of the error.
    """
    names = sorted(allowed)
    of_numbers = "metric" in kind or "measure" in kind
    close = _misspelled(name, names) if of_numbers else _nearest(name, names)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    if len(names) > LISTED and of_numbers:
        return error(f"unknown {kind} {name!r}.{hint} `claimeval metrics` lists all")
    return error(f"unknown {kind} {name!r}.{hint} Known: {_listed(names, close) or 'none'}")


def _listed(names: Sequence[str], close: Sequence[str]) -> str:
    """Return allowed names for a message. Of many, those nearest to the given name are enough: a
    screen of names hides the one that was meant."""
    if len(names) <= LISTED or not close:
        return ", ".join(names)
    from difflib import get_close_matches

    nearest = get_close_matches(close[0], names, n=LISTED, cutoff=0)
    others = len(names) - len(nearest)
    return f"{', '.join(nearest)} and {others} others"


SIBLINGS = 2_000
"""Maximum number of files of a folder among which a message looks for a near name."""


def missing_file(path: Path) -> DataError:
    """Return the error for a file or folder that does not exist.

    The message has the path that was meant, if one near it exists: the same name elsewhere in
    its folder, with another ending, or a folder of the path that is misspelled.
    """
    folder = path.parent
    if _ADDRESS.match(str(path)):
        return DataError(_of_address(str(path)))
    if not folder.is_dir():
        return DataError(_of_missing_folder(path))
    elsewhere = Path(path.name)
    near = _near_entry(path) or (elsewhere if elsewhere.exists() else None)
    if near:
        return DataError(f"{path} does not exist. Did you mean {str(near)!r}?")
    where = "the current folder" if folder == Path() else f"the folder {str(folder)!r}"
    alike = [entry.name for entry in _entries(folder) if entry.suffix == path.suffix]
    if not alike:
        return DataError(f"{path} does not exist, and {where} has nothing like it")
    return DataError(f"{path} does not exist; {where} has {', '.join(alike[:3])}")


_ADDRESS = re.compile(r"(https?|s3|gs|az|abfss?|hf):/+")
"""The beginning of an address. A path has one of its slashes only."""


def _of_address(text: str) -> str:
    """Return the message for an address that is given as a path."""
    address = _ADDRESS.sub(r"\1://", text, count=1)
    return (
        f"{address} is an address, and data is read from files on this machine. Download it"
        " first, then give the path of the file"
    )


def _of_missing_folder(path: Path) -> str:
    """Return the message for a path in a folder that does not exist, which may be misspelled."""
    missing = path.parent
    while not missing.parent.is_dir():
        missing = missing.parent
    message = f"{path} does not exist: there is no folder {str(missing)!r}"
    near = _near_entry(missing)
    if near is None or not near.is_dir():
        return message
    return f"{message}. Did you mean {str(near)!r}?"


def _near_entry(path: Path) -> Path | None:
    """Return the existing path whose name is nearest to the name of this one."""
    from difflib import get_close_matches

    by_stem: dict[str, Path] = {}
    for entry in _entries(path.parent):
        # equal endings make all names of a folder alike: `nope.jsonl` is not near `one.jsonl`
        if entry.stem not in by_stem or entry.suffix == path.suffix:
            by_stem[entry.stem] = entry
    for stem in get_close_matches(path.stem, by_stem, n=1, cutoff=0.66):
        return by_stem[stem]
    return None


def _entries(folder: Path) -> list[Path]:
    """Return the paths in a folder without hidden ones; empty if it cannot be read."""
    try:
        entries = islice(folder.iterdir(), SIBLINGS)
        paths = sorted(entries)
    except OSError:
        return []
    return [path for path in paths if not path.name.startswith(".")]


def misspelt_key(fields: Iterable[object], allowed: Iterable[str]) -> tuple[str, str] | None:
    """Return the first of some keys that is a misspelling of an allowed one, with this one; None
    if none is. A key that is allowed, or like none of them, is no misspelling."""
    known = sorted(allowed)
    for key in map(str, fields):
        if key in known:
            continue
        for name in known:
            if is_misspelt(key, name):
                return key, name
    return None


def _nearest(name: str, names: Sequence[str]) -> list[str]:
    """Return the names that differ in their form alone, else those that contain this one, else the
    most similar one.

    A common beginning makes no names alike: `metadata.topic` is not near `metadata.kind`.
    """
    from difflib import get_close_matches

    same = _in_other_forms(name, names)
    if same:
        return same
    containing = [known for known in names if len(name) > 3 and name in known]
    if containing:
        return sorted(containing, key=len)
    beginning, dot, end = name.rpartition(".")
    beside = [known for known in names if beginning and known.startswith(beginning + dot)]
    typed = end if beside else name
    alike = {known.removeprefix(beginning + dot): known for known in beside or names}
    if "/" not in name:  # `binray` is near `assess/binary`
        alike |= {known.rpartition("/")[2]: known for known in names if "/" in known}
    # 0.6 finds `faithfullnes`, and nothing for a word that shares some letters.
    return [alike[near] for near in get_close_matches(typed, alike, n=1, cutoff=0.6)]


def _in_other_forms(name: str, names: Sequence[str]) -> list[str]:
    """Return the names that differ from this one in their form alone, first those of its number:
    `JUDGES` is `judges`, and `judge` too."""
    form = _in_one_form(name)
    if not form:
        return []
    typed = name.strip().casefold()
    exact: list[str] = []
    others: list[str] = []
    for known in names:
        if known.casefold() == typed:
            exact.append(known)
        elif form in _forms(known):
            others.append(known)
    return exact + others


def _forms(known: str) -> set[str]:
    """Return a name, and what follows its last dot, as `_in_one_form` writes them: `kinds` is
    `metadata.kind`."""
    return {_in_one_form(known), _in_one_form(known.rpartition(".")[2])}


def _in_one_form(name: str) -> str:
    """Return a name without case, blanks around it, separators and the ending of a plural."""
    folded = name.strip().casefold()
    joined = re.sub(r"[\s_-]+", "_", folded)
    return joined.removesuffix("s")


def _misspelled(name: str, names: Sequence[str]) -> list[str]:
    """Return the names of which this one is a misspelling or a beginning.

    `precision` is part of `alce_precision`, `f2` is near `f1` and `rouge_3` near `rouge_2`: all are
    other numbers.
    """
    typed = _plain(name)
    longer = sorted((known for known in names if _plain(known).startswith(typed)), key=len)
    if longer and len(typed) >= 4:
        # `con` begins both `context_recall` and `conciseness`: none is meant more than others.
        return longer if all(known.startswith(longer[0]) for known in longer) else []
    near: list[tuple[int, str]] = []
    for known in names:
        distance = _misspelled_by(typed, _plain(known))
        if distance is None or _digits(name) != _digits(known):
            continue
        if distance <= 1 or _initials(name) == _initials(known):
            near.append((distance, known))
    return [known for _, known in sorted(near)]


def _initials(name: str) -> list[str]:
    """Return the first letters of the words of a name. Several wrong letters are a misspelling only
    if they are those of the name: `citation_prec` is no citation_recall, `unfaithfulness` no
    faithfulness."""
    return re.findall("(?<![a-z0-9])[a-z0-9]", name.casefold())


def _plain(name: str) -> str:
    """Return a name without case and separators."""
    return re.sub("[^a-z0-9@]", "", name.casefold())


def is_misspelt(name: str, known: str) -> bool:
    """Return whether a name is a known one in another form, or with one wrong letter."""
    from rapidfuzz.distance import OSA

    form = _in_one_form(name)
    if form == _in_one_form(known):
        return True
    return len(known) > 4 and OSA.distance(form, known) <= 1


def _digits(name: str) -> list[str]:
    return re.findall("[0-9]+", name)


def _misspelled_by(typed: str, known: str) -> int | None:
    """Return how many letters are wrong in what was typed for a known name; None if it is another
    name."""
    from rapidfuzz.distance import OSA

    # One letter of a name of four, one in five of a longer one.
    allowed = max(len(typed) // 5, int(len(typed) >= 4))
    distance: int = OSA.distance(typed, known)
    if distance <= allowed:
        return distance
    long_enough = len(typed) >= 0.7 * len(known)
    begins = long_enough and OSA.distance(typed, known[: len(typed)]) <= allowed
    return distance if begins else None


def repeated_id(name: str, first: int, second: int) -> DataError:
    """Return the error of two samples, by their numbers, with the same id."""
    return DataError(
        f"Duplicate sample id {name!r} (samples {first} and {second}); ids must be unique."
        " --skip-malformed keeps the first sample of each id"
    )


def first_problem(
    error: ValidationError,
    record: type[BaseModel] | None = None,
) -> tuple[str, str, str]:
    """Return the first invalid field of a record, such as `judges.0.name`, the problem, and the
    start of the value.

    An unknown name comes before a missing one, which it was often meant to be: of `{Input: 1}`,
    `Input` is wrong and not the missing `input`.

    Args:
        error: The error.
        record: The record that could not be made. Its fields are the known names of the message.
    """
    problems = error.errors(include_url=False)
    unknown = [each for each in problems if each["type"] == _UNKNOWN]
    first, *_ = unknown or problems
    keys, names = _keys_and_names(first["loc"], record)
    field = ".".join(keys)
    given = str(first["input"])
    value = repr(given[:60])
    if first["type"] == _UNKNOWN and names:
        close = _nearest(keys[-1], names)
        known = _listed(names, close)
        problem = f"{_PROBLEMS[_UNKNOWN]}."
        if close:
            problem += f" Did you mean {close[0]!r}?"
        return field, f"{problem} Known: {known}", value
    plain = first["msg"]
    if first["type"] in _PROBLEMS:
        bounds = first.get("ctx", {})
        plain = _PROBLEMS[first["type"]].format(**bounds)
    plain = plain.replace(".0 ", " ")  # 1.0 or more
    return field, plain, value


_UNKNOWN = "extra_forbidden"
"""The type of pydantic's error for a name that a record does not have."""


def _keys_and_names(
    location: Sequence[str | int],
    record: type[BaseModel] | None,
) -> tuple[list[str], list[str]]:
    """Return the keys that lead to a value in a file, and the names that the last one could be.

    The location of an error in a union has the alternative that failed, which is no key.
    """
    if record is None:
        return [str(step) for step in location], []
    keys: list[str] = []
    names: list[str] = []
    kinds: list[Any] = [record]
    steps = map(str, location)
    for step in steps:
        if len(kinds) > 1:
            alternative = step.partition("[")[0]
            kinds = [kind for kind in kinds if _class_name(kind) == alternative]
            continue
        values = _values_by_key(kinds)
        any_value = values.pop(_ANY_KEY, None)
        keys.append(step)
        names = list(values)
        kinds = _alternatives(values.get(step, any_value))
    return keys, names


_ANY_KEY = "*"
"""Stands for the keys of a mapping, and the numbers of a list."""


def _values_by_key(kinds: Sequence[Any]) -> dict[str, Any]:
    """Return the type of the value at each key of a record, mapping or list; empty for others."""
    values: dict[str, Any] = {}
    for kind in kinds:
        fields = getattr(kind, "model_fields", {})
        for name, field in fields.items():
            key = field.alias or name
            values[key] = field.annotation
        arguments = get_args(kind)
        match _class_name(kind):
            case "dict":
                values[_ANY_KEY] = arguments[1]
            case "list" | "tuple":
                values[_ANY_KEY] = arguments[0]
    return values


def _class_name(kind: Any) -> str:
    """Return the name of a class, also with types of its content: `dict` of `dict[str, int]`."""
    origin = get_origin(kind) or kind
    name: str = getattr(origin, "__name__", "")
    return name


def _alternatives(annotation: Any) -> list[Any]:
    """Return the types of a union without None; of another type, the type itself."""
    members = [annotation]
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        members = list(get_args(annotation))
    return [kind for kind in members if kind not in (None, NoneType)]


_MAPPING_NEEDED = "needs a mapping of names to values"
_PROBLEMS = {
    "missing": "is missing",
    "greater_than_equal": "needs {ge} or more",
    "greater_than": "needs more than {gt}",
    "less_than_equal": "needs {le} or less",
    "less_than": "needs less than {lt}",
    "finite_number": "needs a finite number",
    "float_type": "needs a number",
    "float_parsing": "needs a number",
    "int_type": "needs a whole number",
    "int_parsing": "needs a whole number",
    "int_from_float": "needs a whole number",
    "bool_type": "needs true or false",
    "bool_parsing": "needs true or false",
    "string_type": "needs a text",
    "list_type": "needs a list",
    "tuple_type": "needs a list",
    "dict_type": _MAPPING_NEEDED,
    "mapping_type": _MAPPING_NEEDED,
    "model_type": _MAPPING_NEEDED,
    "literal_error": "needs {expected}",
    _UNKNOWN: "is not a known name",
}
"""What pydantic's errors say, in plain words, by their type."""


def parse_yaml(text: str) -> Any:
    """Return the content of a YAML text. Raises yaml.YAMLError if it is invalid."""
    import yaml

    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def read_yaml(path: Path, kind: str) -> Any:
    """Return the content of a YAML file. Raises UsageError, which names the `kind` of file, if it
    cannot be read."""
    import yaml

    try:
        return parse_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"no {kind}: {missing_file(path)}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the {kind} {str(path)!r} is not UTF-8 text") from error
    except OSError as error:
        raise UsageError(
            f"cannot read the {kind} {str(path)!r}: {error.strerror or error}"
        ) from error
    except yaml.YAMLError as error:
        raise UsageError(f"the {kind} {str(path)!r} is not YAML: {_yaml_problem(error)}") from error


def _yaml_problem(error: Exception) -> str:
    """Return the line, column and problem of a YAML error, without the parser's name of the
    text."""
    import yaml

    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark
    if mark is None:
        return str(error.problem)
    return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"


DISTRIBUTION = "claimeval-judge"
"""The name under which this package is installed; the distribution `claimeval` is another
project's."""


def not_installed(need: str, extra: str) -> UsageError:
    """Return the error for a missing third-party package, with the requirements that our metadata
    has for an extra.

    Args:
        need: Start of the message, such as `--engine needs ray`.
        extra: The extra, such as `ray`.
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = [line.partition(";") for line in requires(DISTRIBUTION) or []]
    except PackageNotFoundError:  # a checkout on PYTHONPATH
        return UsageError(f"{need}, which is not installed")
    wanted = [
        requirement.strip() for requirement, _, marker in lines if f"extra == '{extra}'" in marker
    ]
    return UsageError(f"{need}: pip install {' '.join(map(repr, wanted))}")


def is_installed(module: str) -> bool:
    """Return whether an installation has a module of claimeval that the others do without."""
    from importlib.util import find_spec

    return find_spec(module) is not None


def missing_part(error: ImportError) -> UsageError | None:
    """Return the error for a module of claimeval that an installation lacks; None if another
    module is missing."""
    module = error.name or ""
    submodule = re.match(r"cannot import name '(\w+)'", str(error))  # `from claimeval import ir`
    if submodule:
        module = f"{module}.{submodule[1]}"
    if not module.startswith("claimeval."):
        return None
    return UsageError(
        f"this needs {module}, which this installation does not have; install claimeval again"
    )


def clash() -> str:
    """Return what to do if another project's distribution `claimeval` is installed over or under
    this one, else ''.

    It has the same folder and command, so the one installed last replaces files of the other.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        other = distribution("claimeval")
    except PackageNotFoundError:
        return ""
    if any(entry.value.endswith("integrations.pytest_plugin") for entry in other.entry_points):
        return ""  # this project, installed before its distribution was renamed
    return (
        f"another project's package `claimeval` {other.version} is installed in the same folder,"
        f" and each replaces files of the other: `pip uninstall claimeval {DISTRIBUTION}`, then"
        " install this one again"
    )


HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Lone surrogates, and control and format characters that no script needs. Joiners, which Persian
needs, are kept."""


_ENDS_AND_TABS = str.maketrans("\t\r\n", "   ")


def escaped(text: str) -> str:
    """Return the text on one line, with hidden characters as `⟨U+202E⟩`, and tabs and line ends as
    spaces."""
    return HIDDEN.sub(lambda match: f"⟨U+{ord(match.group()):04X}⟩", text.translate(_ENDS_AND_TABS))


def visible(text: str, width: int | None = None) -> str:
    """Return the text `escaped`, with single spaces, at most `width` characters long."""
    line = " ".join(escaped(text).split())
    return line if width is None or len(line) <= width else line[: width - 1] + "…"
