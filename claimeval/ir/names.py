"""Names of measures, as papers, ir_measures and trec_eval write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from claimeval.ir.measures import MEASURES, MeasureDefinition
from claimeval.ir.ranked import MeasureSettings
from claimeval.types.errors import UsageError, unknown_name

GROUPS = {
    "official": "runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P",
    "all_trec": "runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P recall "
    "ndcg ndcg_cut map_cut success set_P set_recall set_F num_nonrel_judged_ret rbp rbp_resid unj "
    "relstring infAP gm_bpref Rprec_mult utility 11pt_avg binG G ndcg_rel Rndcg relative_P set_relative_P set_map",
    "set": "runid num_q num_ret num_rel num_rel_ret set_P set_recall set_F utility set_relative_P set_map",
}
"""trec_eval's names for several measures at once."""

_TREC_EVAL_ONLY = (
    "relstring infAP gm_bpref Rprec_mult utility 11pt_avg binG G ideal_dcg ndcg_rel Rndcg relative_P set_relative_P "
    "set_map yaap map_avgjg P_avgjg Rprec_mult_avgjg qrels_jg prefs all_prefs prefs_num_prefs_poss "
    "prefs_num_prefs_ful prefs_num_prefs_ful_ret prefs_simp prefs_pair prefs_avgjg prefs_avgjg_Rnonrel "
    "prefs_simp_ret prefs_pair_ret prefs_avgjg_ret prefs_avgjg_Rnonrel_ret prefs_simp_imp prefs_pair_imp "
    "prefs_avgjg_imp"
)
_ONLY_TREC = frozenset(_TREC_EVAL_ONLY.split())


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure with its settings, such as ``ndcg@10``."""

    name: str
    """As requested: the key of its values."""
    row: MeasureDefinition
    cutoff: float | None = None
    level: int | None = None
    """A relevance level for this measure, ``P(rel=2)@5``; otherwise that of the whole evaluation."""
    options: tuple[tuple[str, float], ...] = ()
    written: str = ""
    """The options as they were written, which trec_eval repeats in its output."""

    def setting(self, level: int) -> MeasureSettings:
        """Return the settings of the formula for an evaluation with relevance level ``level``."""
        return MeasureSettings(
            level=level if self.level is None else self.level,
            cutoff=self.cutoff,
            options={**self.row.options, **dict(self.options)},
            binary=self.level is not None,
        )

    def needs_nonrelevant(self, level: int) -> bool:
        """Return whether the formula looks at judged documents graded 0."""
        return self.row.nonrelevant or self.setting(level).level < 1 or (self.row.gains and bool(self.options))

    @property
    def trec_name(self) -> str:
        """Return the name that trec_eval prints; measures that trec_eval lacks get ``_`` for ``@``."""
        name = self.row.trec if self.cutoff is None else self.row.trec_cut
        if self.level is not None or not name:
            return self.name.replace("@", "_")
        if self.cutoff is None:
            return f"{name}_{self.written}" if self.written else name
        return f"{name}_{self.cutoff:.2f}" if self.row.name == "iprec" else f"{name}_{self.cutoff:.0f}"


class MeasureList(NamedTuple):
    """Measures read from a list of names."""

    measures: tuple[Measure, ...]
    left_out: tuple[str, ...]
    """Measures that only trec_eval has."""
    run_id: bool
    """trec_eval would print the tag of the run."""


def parse(measures: str | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Read names such as ``"ndcg@10,map"`` or ``["P(rel=2)@5", "ndcg_cut.10,20"]``.

    The forms are those of ``read``. Raises UsageError for a name that is unknown, that only trec_eval has, or whose
    cutoff or option does not fit.
    """
    asked = read(measures)
    if asked.left_out:
        raise UsageError(unknown_measure_message(asked.left_out))
    return asked.measures


def read(measures: str | Iterable[str | Measure]) -> MeasureList:
    """Read names and list those that only trec_eval has apart.

    Accepted are ``name``, ``name@cutoff`` and ``name(option=value)@cutoff``, trec_eval's ``name.5,10`` and
    ``name.option=value``, its groups ``official``, ``all_trec`` and ``set``, and the names it prints (``P_5``). A
    trec_eval name without the cutoffs it needs means all of trec_eval's default cutoffs. Measures of a group come last,
    and explicit cutoffs replace the group's.
    """
    given = [measures] if isinstance(measures, str) else list(measures)
    texts = [part for text in given if isinstance(text, str) for part in split_names(text)]
    explicit = [text for text in texts if text not in GROUPS]
    grouped = [name for text in texts for name in GROUPS.get(text, "").split()]
    left_out = tuple(dict.fromkeys(name for name in (*explicit, *grouped) if name.split(".")[0] in _ONLY_TREC))
    no_values = {"runid", *left_out}

    selected = {measure.name: measure for measure in given if isinstance(measure, Measure)}
    selected |= {measure.name: measure for text in explicit if text not in no_values for measure in _read_one(text)}
    settled = {(measure.row.name, measure.cutoff is None) for measure in selected.values()}
    for measure in (measure for name in grouped if name not in no_values for measure in _read_one(name)):
        if (measure.row.name, measure.cutoff is None) not in settled:
            selected.setdefault(measure.name, measure)
    if not selected and not left_out:
        raise UsageError("no measure was requested; give names such as 'ndcg@10,map'")
    return MeasureList(tuple(selected.values()), left_out, "runid" in (*explicit, *grouped))


def unknown_measure_message(names: Iterable[str]) -> str:
    """Format the message about measures that only trec_eval has."""
    return (
        f"not computed here: {', '.join(names)} (measures of trec_eval that claimeval does not have; "
        f"it has {', '.join(row.name for row in MEASURES)})"
    )


_PARAMETER = re.compile(r"(\w+=)?[+-]?(\d+\.?\d*|\.\d+)")
_PAPER = re.compile(r"(?P<name>[A-Za-z][\w-]*)\s*(\((?P<options>[^()]*)\))?\s*(@\s*(?P<cutoff>.+))?")
_TREC = re.compile(r"(?P<name>\w+)\.(?P<parameters>.+)")
_PRINTED = re.compile(r"(?P<name>\w+?)_(?P<cutoff>\d+(\.\d+)?)")


def split_names(text: str) -> Iterator[str]:
    """Split at commas, but not within brackets nor between the parameters of a trec_eval name."""
    pending = ""
    for part in re.split(r",(?![^()]*\))", text):
        stripped = part.strip()
        if pending and _PARAMETER.fullmatch(stripped) and _TREC.fullmatch(pending):
            pending += f",{stripped}"
            continue
        if pending:
            yield pending
        pending = stripped
    if pending:
        yield pending


def _key(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


_ROWS = {_key(name): row for row in MEASURES for name in (row.name, *row.aliases, row.trec_cut) if name}


def _read_one(text: str) -> list[Measure]:
    if (printed := _PRINTED.fullmatch(text)) and _key(printed["name"]) in _ROWS:
        row = _row(printed["name"])
        return [Measure(text, row, _cutoff(row, printed["cutoff"], text))]
    if as_trec := _TREC.fullmatch(text):
        return _read_trec(_row(as_trec["name"]), as_trec["parameters"], text)
    paper = _PAPER.fullmatch(text)
    if paper is None:
        raise UsageError(f"measure {text!r} cannot be read; write name, name@10, name(option=value)@10 or name.5,10")
    name, cutoff, options = paper["name"], paper["cutoff"], paper["options"]
    row = _row(name)
    if options:
        row, level, values = _read_options(row, options, text)
    else:
        level, values = None, ()
    if cutoff is not None:
        return [Measure(text, row, _cutoff(row, cutoff, text), level, values, options or "")]
    if _key(name) == _key(row.trec_cut) and _key(name) != _key(row.trec):
        return [Measure(f"{row.name}@{cut:g}", row, cut, level, values, options or "") for cut in row.trec_cutoffs]
    if row.cutoff == "required":
        example = "0.1" if row.name == "iprec" else "10"
        raise UsageError(f"measure {text!r} needs a cutoff, for example {name}@{example}")
    return [Measure(text, row, None, level, values, options or "")]


def _read_trec(row: MeasureDefinition, parameters: str, text: str) -> list[Measure]:
    """``P.5,10``, ``ndcg.1=3,2=9``, ``set_F.0.5``: one measure for each cutoff, or one with options."""
    parts = parameters.split(",")
    if not all(_PARAMETER.fullmatch(part) for part in parts):
        raise UsageError(f"measure {text!r}: parameters are numbers or option=number, joined by commas")
    if "=" in parameters:
        _, level, options = _read_options(row, parameters, text)
        return [Measure(f"{row.name}({parameters})", row, None, level, options, parameters)]
    if row.name == "set_F":
        return [Measure(f"set_F(x={parameters})", row, None, None, (("x", float(parts[0])),), parameters)]
    cutoffs = sorted({_cutoff(row, part if row.name == "iprec" else part.split(".")[0], text) for part in parts})
    return [Measure(f"{row.name}@{cutoff:g}", row, cutoff) for cutoff in cutoffs]


def _row(name: str) -> MeasureDefinition:
    row = _ROWS.get(_key(name))
    if row is None:
        raise unknown_name("measure", name, {name for row in MEASURES for name in (row.name, *row.aliases[:1])})
    return row


def _cutoff(row: MeasureDefinition, text: str, measure: str) -> float:
    try:
        cutoff = float(text)
    except ValueError:
        cutoff = float("nan")
    if row.cutoff == "none":
        raise UsageError(f"measure {measure!r}: {row.name} takes no cutoff")
    if row.name == "iprec":
        if not 0 <= cutoff <= 1:
            raise UsageError(f"measure {measure!r}: the recall {text!r} must be between 0 and 1")
        return cutoff
    if not (cutoff >= 1 and cutoff.is_integer()):
        raise UsageError(f"measure {measure!r}: the cutoff {text!r} must be a whole number, at least 1")
    return cutoff


def _read_options(
    row: MeasureDefinition, text: str, measure: str
) -> tuple[MeasureDefinition, int | None, tuple[tuple[str, float], ...]]:
    level: int | None = None
    values: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = (side.strip() for side in part.partition("="))
        if row.name == "ndcg" and name == "dcg" and value.strip("'\"") == "exp-log2":
            row = _ROWS["ndcgexp"]
            continue
        try:
            number = float(value)
        except ValueError:
            raise UsageError(f"measure {measure!r}: option {part.strip()!r} is not name=number") from None
        if name == "rel" and row.relevance in ("binary", "either"):
            level = int(number)
        elif name == "beta" and row.name == "set_F":
            values["x"] = number * number
        elif name in row.options or (row.gains and name.lstrip("-").isdigit()):
            values[name] = number
        else:
            allowed = [*row.options, *(["rel"] if row.relevance in ("binary", "either") else [])]
            raise unknown_name(f"option of {row.name}", name, [*allowed, *(["1", "2"] if row.gains else [])])
    return row, level, tuple(values.items())
