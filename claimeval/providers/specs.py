"""Parse judges as users write them: `provider:model`, `provider:model@URL`, a judge file (YAML), or
a panel file.

A panel file is YAML with `judges` (specs, judge files in the same directory, or settings of a
judge), optionally `extractor`, and the settings of `Panel`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from glob import escape
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import JsonValue, ValidationError

from claimeval import providers
from claimeval.judging import checkers, panel
from claimeval.judging.panel import Panel
from claimeval.providers.keys import masked
from claimeval.providers.prices import known_claims
from claimeval.types.errors import (
    UsageError,
    first_problem,
    misspelt_key,
    read_yaml,
    unknown_name,
)
from claimeval.types.requests import CLAIMS_PER_CALL, ClaimsPerCall, Judge
from claimeval.types.scales import THREE_WAY, Scale

_YAML = (".yaml", ".yml")
NO_SETTINGS: Mapping[str, JsonValue] = MappingProxyType({})

CLAIMS_BY_RULE = "claims split by rules: 1.14 per biography sentence; people write 4.05"
"""Remark on claims of the local splitter, measured on FActScore: their scores are not comparable
with scores of claims of single facts."""


def parse_judge(spec: str | Judge, settings: Mapping[str, JsonValue] = NO_SETTINGS) -> Judge:
    """Return the judge with all settings that can change its answers, without a call.

    `settings` take precedence over those in a judge file. Raises UsageError for an unknown
    provider, an unreadable file or a wrong setting. Keys are checked later, when a run starts.
    """
    if isinstance(spec, str) and spec.endswith(_YAML):
        spec = from_fields(read_file(Path(spec)), f"the judge file {spec!r}", Path(spec).stem)
    elif isinstance(spec, str):
        spec = _from_text(spec)
    if settings:
        spec = _valid(
            {**spec.model_dump(exclude_unset=True, exclude={"learned"}), **settings},
            f"the settings of judge {spec.name!r}",
        )
    row = providers.provider(spec.model)
    judge = row.resolve(spec)
    _check_form(judge)
    if judge.claims_per_call is not None:
        return judge
    known = row.reads_prompts and known_claims(judge.model) is not None
    return judge.model_copy(update={"claims_per_call": "auto" if known else CLAIMS_PER_CALL})


def _check_form(judge: Judge) -> None:
    """Raise UsageError for settings of checkers or decision models that a judge cannot have."""
    row = providers.row_of(judge)
    of_checkers = [name for name in ("prompt", "reply", "chat_template") if getattr(judge, name)]
    if judge.asks and not row.reads_prompts:
        raise UsageError(
            f"judge {judge.name!r}: {judge.provider} reads no prompts, so that `asks:` has no"
            " meaning for it; leave it out"
        )
    if judge.asks:
        checkers.check(judge)
    elif of_checkers:
        raise UsageError(
            f"judge {judge.name!r}: `{of_checkers[0]}:` is a setting of checkers; add `asks: pair`"
            " to ask about one claim and one document at a time, or leave it out"
        )
    if judge.matrix and not row.answers_jointly:
        raise UsageError(
            f"judge {judge.name!r}: `matrix: joint` is for decision models, as in"
            " decisions:gpt-6-luna; leave it out"
        )


def _from_text(text: str) -> Judge:
    model, at, endpoint = text.strip().partition("@")
    if masked(endpoint) != endpoint:
        raise UsageError(
            f"the address of judge {masked(text)!r} carries credentials; put keys in the"
            " environment, and a parameter that holds a secret under `query` in a judge file, as"
            " in `key: $VARIABLE`"
        )
    providers.provider(model)
    if at and not endpoint:
        raise UsageError(f"judge {text!r} has an @ without an address after it")
    return Judge(name=text.strip(), model=model, endpoint=endpoint or None)


def read_file(path: Path) -> dict[str, Any]:
    """Read the settings in a judge or panel file without checking them. Raises UsageError if it is
    neither."""
    fields = read_yaml(path, "judge file")
    if not isinstance(fields, dict) or not (
        isinstance(fields.get("model"), str) or "judges" in fields
    ):
        given = misspelt_key(fields, ("model", "judges")) if isinstance(fields, dict) else None
        hint = f". Did you mean {given[1]!r} by {given[0]!r}?" if given else ""
        raise UsageError(
            f"the judge file {str(path)!r} needs at least the line `model: provider:name`, or"
            f" `judges:` for a panel{hint}"
        )
    return fields


def from_fields(fields: Mapping[str, Any], location: str, name: str) -> Judge:
    """Return the judge with these settings; `name` is its default name, `location` their source in
    messages."""
    if not isinstance(fields.get("model"), str):
        given = misspelt_key(fields, ("model",))
        hint = f". Did you mean 'model' by {given[0]!r}?" if given else ""
        raise UsageError(f"{location} names no model: give `model: provider:name`{hint}")
    from_text = _from_text(fields["model"])
    settings = {"name": name, **fields, "model": from_text.model}
    if from_text.endpoint:
        settings["endpoint"] = from_text.endpoint
    return _valid(settings, location)


def _valid(settings: Mapping[str, Any], location: str) -> Judge:
    allowed = set(Judge.model_fields) - {"learned"}
    if extra := set(settings) - allowed:
        raise unknown_name(f"setting in {location}:", str(min(extra, key=str)), allowed)
    try:
        return Judge.model_validate(settings)
    except ValidationError as error:
        field, problem, _ = first_problem(error, Judge)
        raise UsageError(f"{location}, {field}: {problem}") from error


def parse_judges(
    specs: Sequence[str | Judge], settings: Mapping[str, JsonValue] = NO_SETTINGS
) -> tuple[Judge, ...]:
    """Parse several judges, whose names must differ; `settings` take precedence over those of
    each."""
    if not specs:
        raise UsageError(
            "no judge named; claimeval never chooses a paid service by itself. Examples:"
            f" {providers.examples()}"
        )
    judges = tuple(parse_judge(spec, settings) for spec in specs)
    names = [j.name for j in judges]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise UsageError(
            f"judge {repeated!r} is named twice; give one of them another `name` in a YAML file"
        )
    return judges


def notes(judges: Sequence[Judge], extractor: Judge | None) -> tuple[str, ...]:
    """Return the notes to print with the numbers: about all judges, single judges, and claims
    extracted by rules. `extractor` is None if nothing was extracted."""
    uncounted = [judge.name for judge in judges if judge.uncounted]
    capless = (
        (f"caps are no promise: {', '.join(uncounted)} may cost more than they count",)
        if uncounted
        else ()
    )
    remarks = _remarks(judges)
    if not remarks and extractor and providers.row_of(extractor).note(extractor):
        remarks = [f"claims extracted by {extractor.name}, by rules and not by a language model"]
    by_rule = (CLAIMS_BY_RULE,) if extractor and extractor.is_engine else ()
    return (*capless, *remarks, *by_rule)


def _remarks(judges: Sequence[Judge]) -> list[str]:
    """Return what is to be known of judges: once for all, or of each by its name."""
    notes = {judge.name: providers.row_of(judge).note(judge) for judge in judges}
    if len(set(notes.values())) == 1:
        return [note for note in set(notes.values()) if note]
    return [f"{name} gives a {note}" for name, note in notes.items() if note]


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return the short name of each judge for tables: without address and provider if that is
    unique.

    `openai:gpt-5-mini@http://127.0.0.1:8000/v1` becomes `gpt-5-mini` next to `mistral:large`, but
    keeps its address next to `openai:gpt-5-mini`. `names` are all judges of the run and its
    extractor.
    """
    forms = {name: _forms(name) for name in names}
    uses = Counter(chain.from_iterable(set(shorter) for shorter in forms.values()))
    return {
        name: next((form for form in shorter if uses[form] == 1), name)
        for name, shorter in forms.items()
    }


def _forms(name: str) -> tuple[str, ...]:
    without_address = name.partition("@")[0]
    return without_address.partition(":")[2] or without_address, without_address, name


SETTINGS = frozenset(Panel.model_fields) - {"scale"}
"""The settings of a panel that users may give."""


class PanelSpec(NamedTuple):
    """The given judges, and the other contents of a panel file."""

    judges: tuple[Judge, ...]
    extractor: str | Judge | None
    settings: dict[str, Any]
    """The panel settings in the file, not checked yet."""

    @property
    def members(self) -> tuple[Judge, ...]:
        """The judges, and the extractor if it is not one of them."""
        if self.extractor is None:
            return self.judges
        extractor = parse_judge(self.extractor)
        return self.judges if extractor in self.judges else (*self.judges, extractor)


def asking(claims_per_call: ClaimsPerCall | None) -> Mapping[str, JsonValue]:
    """Return the settings that take precedence over those of judges; none if `claims_per_call` is
    None."""
    return NO_SETTINGS if claims_per_call is None else {"claims_per_call": claims_per_call}


def parse_panel(
    specs: Sequence[str | Judge], claims_per_call: ClaimsPerCall | None = None
) -> PanelSpec:
    """Parse one spec or several, of which one may be a panel file, whose judges come first.

    `claims_per_call` takes precedence over the setting of each judge.
    """
    settings = asking(claims_per_call)
    specs = [specs] if isinstance(specs, str) else specs
    files = [spec for spec in specs if isinstance(spec, str) and spec.endswith(_YAML)]
    # A file with `judges` is a panel, and any other is a judge: both are YAML.
    panels = {spec: fields for spec in files if "judges" in (fields := read_file(Path(spec)))}
    if len(panels) > 1:
        raise UsageError(
            f"two panel files: {', '.join(panels)}; name one, and further judges by themselves"
        )
    if not panels:
        return PanelSpec(parse_judges(specs, settings), None, {})
    (path, fields), *_ = panels.items()
    return _of_file(path, fields, [spec for spec in specs if spec != path], settings)


def _of_file(
    path: str,
    fields: Mapping[str, Any],
    further: Sequence[str | Judge],
    settings: Mapping[str, JsonValue],
) -> PanelSpec:
    """Return the panel in a file.

    Args:
        path: The file.
        fields: Its content.
        further: Judges that are named beside it, and come after its own.
        settings: Settings that take precedence over those of each judge.
    """
    location = f"the panel file {path!r}"
    if extra := set(fields) - SETTINGS - {"judges", "extractor"}:
        raise unknown_name(
            f"setting in {location}:",
            str(min(extra, key=str)),
            SETTINGS | {"judges", "extractor"},
        )
    entries = fields["judges"]
    if not isinstance(entries, list) or not entries:
        raise UsageError(f"{location}: `judges` is a list of judges")
    panel_judges = [
        _member(member, Path(path), f"judge {number}") for number, member in enumerate(entries, 1)
    ]
    extractor = fields.get("extractor")
    return PanelSpec(
        parse_judges([*panel_judges, *further], settings),
        None if extractor is None else _member(extractor, Path(path), "extractor"),
        {name: value for name, value in fields.items() if name in SETTINGS},
    )


def _member(entry: object, path: Path, role: str) -> str | Judge:
    """Parse one entry of a panel file: a spec, a judge file in the same directory, or the settings
    of a judge."""
    if isinstance(entry, str):
        return str(path.parent / entry) if entry.endswith(_YAML) else entry
    if isinstance(entry, dict):
        location = f"the panel file {str(path)!r}, {role}"
        return from_fields(entry, location, str(entry.get("model", "")))
    raise UsageError(
        f"the panel file {str(path)!r}, {role}: {entry!r} is neither a judge nor its settings"
    )


def panel_settings(
    panel_spec: PanelSpec,
    settings: Mapping[str, Any],
    scale: Scale,
    *,
    usual: str = "majority",
) -> Panel:
    """Return the settings of a panel: `settings` take precedence over those in its file, and these
    over the defaults.

    Args:
        panel_spec: The judges, with the settings of their panel file.
        settings: Settings from the call.
        scale: The scale of the question.
        usual: The default vote.

    Raises:
        UsageError: If a setting is wrong, or does not fit the judges.
    """
    chosen = valid_settings({"vote": usual, **panel_spec.settings, **settings}, scale)
    of_judges = {
        # Families are patterns, in which the brackets of a name such as `judge[v2]` would be a
        # choice of letters.
        escape(judge.model.partition(":")[2]): judge.family
        for judge in panel_spec.judges
        if judge.family
    }
    if of_judges:
        chosen = chosen.model_copy(update={"families": of_judges | chosen.families})
    panel.check(chosen, [judge.name for judge in panel_spec.judges])
    return chosen


def require_prompt_readers(judges: tuple[Judge, ...], task: str) -> tuple[Judge, ...]:
    """Return the judges. Raises UsageError if one is not a language model."""
    if local := next((judge for judge in judges if not providers.reads_prompts(judge)), None):
        raise UsageError(f"judge {local.name!r} assesses claims only; {task} by a language model")
    return judges


def require_answers(judges: tuple[Judge, ...], question: str) -> None:
    """Raise UsageError if a judge only says whether documents support a text."""
    if limited := next((judge for judge in judges if not providers.answers_any(judge)), None):
        raise UsageError(
            f"judge {limited.name!r} says only whether documents support a text, and not"
            f" {question}; name a language model, or a decision model such as decisions:gpt-6-luna"
        )


def can_extract(judge: Judge) -> bool:
    """Return whether a judge can extract claims."""
    return judge.asks is None and providers.row_of(judge).extracts


def check_extractor(extractor: Judge) -> None:
    """Raise UsageError if a judge cannot extract claims."""
    if not can_extract(extractor):
        raise UsageError(
            f"{extractor.name!r} answers questions about claims and cannot extract them; name what"
            " does: a language model, as in --extractor openai:gpt-5-mini, or rules, as in"
            " --extractor local:lexical"
        )


def valid_settings(settings: Mapping[str, Any], scale: Scale = THREE_WAY) -> Panel:
    """Validate panel settings for a scale, without checking the judges."""
    try:
        return Panel.model_validate({**settings, "scale": scale})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if isinstance(refused := first.get("ctx", {}).get("error"), UsageError):
            raise refused from error
        setting, problem, _ = first_problem(error, Panel)
        raise UsageError(f"panel setting {setting}: {problem}, got {first['input']!r}") from error
