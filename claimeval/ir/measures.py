"""The table of measures, and the parser of their names as papers, ir_measures and trec_eval write
them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, NamedTuple

from claimeval.ir import formulas
from claimeval.ir.ranked import MeasureSettings, RankedQuery
from claimeval.types.errors import UsageError, unknown_name

Cutoff = Literal["none", "optional", "required"]
Relevance = Literal["binary", "graded", "either", "none"]
Summary = Literal["mean", "geometric", "sum"]


@dataclass(frozen=True)
class MeasureDefinition:
    """One measure of the table."""

    name: str
    """Name as in papers. Look-up ignores case, ``_`` and ``-``."""
    formula: formulas.Formula
    aliases: tuple[str, ...] = ()
    """Other names that are accepted."""
    cutoff: Cutoff = "none"
    relevance: Relevance = "binary"
    """``binary``: whether grades reach the relevance level; ``graded``: the grades; ``either``: the
    grades, or with ``(rel=2)`` a level; ``none``: only whether documents are judged."""
    trec: str = ""
    """Name in trec_eval 10.0 without a cutoff, if any."""
    trec_cut: str = ""
    """Name in trec_eval with cutoffs, if any."""
    trec_cutoffs: tuple[float, ...] = ()
    """Default cutoffs of trec_eval."""
    options: Mapping[str, float] = field(default_factory=dict)
    """Further options and their defaults."""
    nonrelevant: bool = False
    """Whether the measure needs judged documents that are not relevant."""
    one_by_one: bool = False
    """Whether the measure needs more of a ranking than ``Ranked`` has, so that queries are
    evaluated one by one."""
    gains: bool = False
    """Whether options are gains by grade."""
    summary: Summary = "mean"


_RANKS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_RECALLS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


MEASURES: tuple[MeasureDefinition, ...] = (
    # counts
    MeasureDefinition("num_q", formulas.queries, relevance="none", trec="num_q", summary="sum"),
    MeasureDefinition(
        "num_ret",
        formulas.retrieved,
        relevance="none",
        trec="num_ret",
        summary="sum",
    ),
    MeasureDefinition("num_rel", formulas.relevant, trec="num_rel", summary="sum"),
    MeasureDefinition("num_rel_ret", formulas.relevant_at, trec="num_rel_ret", summary="sum"),
    MeasureDefinition(
        "num_nonrel_judged_ret",
        formulas.nonrelevant_judged_retrieved,
        trec="num_nonrel_judged_ret",
        nonrelevant=True,
        summary="sum",
    ),
    MeasureDefinition(
        "judged",
        formulas.judged,
        cutoff="optional",
        relevance="none",
        nonrelevant=True,
    ),
    MeasureDefinition(
        "unj",
        formulas.unjudged,
        ("unjudged",),
        "required",
        "none",
        trec_cut="unj",
        nonrelevant=True,
        trec_cutoffs=(5, 10, 20),
    ),
    # precision and recall at a rank
    MeasureDefinition(
        "P",
        formulas.precision,
        ("precision",),
        "required",
        trec_cut="P",
        trec_cutoffs=_RANKS,
    ),
    MeasureDefinition(
        "recall",
        formulas.recall,
        ("R",),
        "required",
        trec_cut="recall",
        trec_cutoffs=_RANKS,
    ),
    MeasureDefinition("capped_recall", formulas.capped_recall, ("recall_cap", "r_cap"), "required"),
    MeasureDefinition(
        "hit",
        formulas.hit,
        ("success", "hit_rate"),
        "required",
        trec_cut="success",
        trec_cutoffs=(1, 5, 10),
    ),
    MeasureDefinition("f1", formulas.f1, ("f",), "required"),
    # of the whole list, without regard to order
    MeasureDefinition("set_P", formulas.set_precision, ("set_precision",), trec="set_P"),
    MeasureDefinition("set_recall", formulas.recall, ("set_r",), trec="set_recall"),
    MeasureDefinition("set_F", formulas.set_f, ("set_f1",), trec="set_F", options={"x": 1}),
    MeasureDefinition(
        "utility",
        formulas.utility,
        trec="utility",
        options={"a": 1, "b": -1, "c": 0, "d": 0},
    ),
    # of the order
    MeasureDefinition(
        "recip_rank",
        formulas.reciprocal_rank,
        ("mrr", "rr", "reciprocal_rank", "mean_reciprocal_rank"),
        "optional",
        trec="recip_rank",
    ),
    MeasureDefinition(
        "map",
        formulas.average_precision,
        ("ap", "average_precision", "mean_average_precision"),
        "optional",
        trec="map",
        trec_cut="map_cut",
        trec_cutoffs=_RANKS,
    ),
    MeasureDefinition(
        "gm_map",
        formulas.average_precision,
        ("gmap",),
        trec="gm_map",
        summary="geometric",
    ),
    MeasureDefinition("ap_retrieved", formulas.ap_retrieved, (), "optional"),
    MeasureDefinition(
        "infAP",
        formulas.inferred_ap,
        ("inferred_ap",),
        trec="infAP",
        nonrelevant=True,
        one_by_one=True,
    ),
    MeasureDefinition("Rprec", formulas.r_precision, ("r_precision",), trec="Rprec"),
    MeasureDefinition("bpref", formulas.bpref, trec="bpref", nonrelevant=True),
    MeasureDefinition(
        "iprec",
        formulas.interpolated_precision,
        ("interpolated_precision",),
        "required",
        trec_cut="iprec_at_recall",
        trec_cutoffs=_RECALLS,
    ),
    # of grades
    MeasureDefinition(
        "cg",
        formulas.total_gain(formulas.linear, discounted=False),
        ("cumulated_gain",),
        "optional",
        "graded",
    ),
    MeasureDefinition(
        "cg_exp",
        formulas.total_gain(formulas.exponential, discounted=False),
        (),
        "optional",
        "graded",
    ),
    MeasureDefinition(
        "dcg",
        formulas.total_gain(formulas.linear, discounted=True),
        (),
        "optional",
        "graded",
        trec="dcg",
    ),
    MeasureDefinition(
        "dcg_exp",
        formulas.total_gain(formulas.exponential, discounted=True),
        (),
        "optional",
        "graded",
    ),
    MeasureDefinition(
        "ndcg",
        formulas.ndcg(formulas.linear),
        (),
        "optional",
        "graded",
        trec="ndcg",
        trec_cut="ndcg_cut",
        trec_cutoffs=_RANKS,
        gains=True,
    ),
    MeasureDefinition(
        "ndcg_exp",
        formulas.ndcg(formulas.exponential),
        ("ndcg_burges",),
        "optional",
        "graded",
        gains=True,
    ),
    MeasureDefinition(
        "rbp",
        formulas.rank_biased_precision,
        (),
        "optional",
        "either",
        trec="rbp",
        options={"p": 0.9},
    ),
    MeasureDefinition(
        "rbp_resid",
        formulas.rank_biased_residual,
        relevance="none",
        trec="rbp_resid",
        nonrelevant=True,
        options={"p": 0.9},
    ),
    MeasureDefinition(
        "ERR",
        formulas.expected_reciprocal_rank,
        ("expected_reciprocal_rank",),
        "optional",
        "graded",
        options={"max": 4},
    ),
    MeasureDefinition(
        "nERR",
        formulas.normalized_err,
        (),
        "optional",
        "graded",
        options={"max": 4},
    ),
    MeasureDefinition(
        "alpha_ndcg",
        formulas.alpha_ndcg,
        (),
        "optional",
        "graded",
        options={"alpha": 0.5},
        one_by_one=True,
    ),
)


GROUPS = {
    "official": (
        "runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank"
        " iprec_at_recall P"
    ),
    "all_trec": (
        "runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall"
        " P recall ndcg ndcg_cut map_cut success set_P set_recall set_F num_nonrel_judged_ret rbp"
        " rbp_resid unj relstring infAP gm_bpref Rprec_mult utility 11pt_avg binG G ndcg_rel Rndcg"
        " relative_P set_relative_P set_map"
    ),
    "set": (
        "runid num_q num_ret num_rel num_rel_ret set_P set_recall set_F utility set_relative_P"
        " set_map"
    ),
}
"""trec_eval's groups of measures."""

_TREC_EVAL_ONLY = (
    "relstring gm_bpref Rprec_mult 11pt_avg binG G ideal_dcg ndcg_rel Rndcg relative_P"
    " set_relative_P set_map yaap map_avgjg P_avgjg Rprec_mult_avgjg qrels_jg prefs all_prefs"
    " prefs_num_prefs_poss prefs_num_prefs_ful prefs_num_prefs_ful_ret prefs_simp prefs_pair"
    " prefs_avgjg prefs_avgjg_Rnonrel prefs_simp_ret prefs_pair_ret prefs_avgjg_ret"
    " prefs_avgjg_Rnonrel_ret prefs_simp_imp prefs_pair_imp prefs_avgjg_imp"
)
_ONLY_TREC = frozenset(_TREC_EVAL_ONLY.split())


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure with its settings, such as ``ndcg@10``."""

    name: str
    """Name as requested, the key of its values."""
    row: MeasureDefinition
    cutoff: float | None = None
    level: float | None = None
    """Relevance level of this measure, as in ``P(rel=2)@5``; None for that of the evaluation."""
    options: tuple[tuple[str, float], ...] = ()
    written: str = ""
    """The text of the options, which trec_eval prints again."""

    def setting(self, level: float, collection: int = 0) -> MeasureSettings:
        """Return the settings of the formula in an evaluation with this relevance level and
        collection size."""
        return MeasureSettings(
            level=level if self.level is None else self.level,
            cutoff=self.cutoff,
            options={**self.row.options, **dict(self.options)},
            binary=self.level is not None,
            collection=collection,
        )

    def of_query(self, ranked: RankedQuery, setting: MeasureSettings) -> float:
        """Return the value of one query. Counts are integers."""
        value = self.row.formula(ranked, setting)
        return int(value) if self.row.summary == "sum" else value

    def needs_nonrelevant(self, level: float) -> bool:
        """Return whether the formula needs judged documents with grade 0."""
        return (
            self.row.nonrelevant
            or self.setting(level).level <= 0
            or (self.row.gains and bool(self.options))
        )

    def defined_from(self, setting: MeasureSettings) -> float | None:
        """Return the minimum grade that a query's best document needs for a value; None if there is
        always a value."""
        if self.row.relevance == "none" or self.row.summary == "sum":
            return None
        graded = self.row.relevance != "binary" and not setting.binary
        return 1 if graded else setting.level

    @property
    def trec_name(self) -> str:
        """The name in trec_eval's output. For measures that trec_eval does not have, ``_`` replaces
        ``@``."""
        name = self.row.trec if self.cutoff is None else self.row.trec_cut
        if self.level is not None or not name:
            return self.name.replace("@", "_")
        if self.cutoff is None:
            return f"{name}_{self.written}" if self.written else name
        return (
            f"{name}_{self.cutoff:.2f}" if self.row.name == "iprec" else f"{name}_{self.cutoff:.0f}"
        )

    def __repr__(self) -> str:
        return f"<Measure {self.name}>"


class MeasureList(NamedTuple):
    """The measures in a list of names."""

    measures: tuple[Measure, ...]
    left_out: tuple[str, ...]
    """Measures that only trec_eval has."""
    run_id: bool
    """Whether trec_eval would print the tag of the run."""


def parse(measures: str | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Read names such as ``"ndcg@10,map"`` or ``["P(rel=2)@5", "ndcg_cut.10,20"]``.

    See ``read`` for the syntax. Raises UsageError for unknown names, measures that only trec_eval
    has, and invalid cutoffs or options.
    """
    measure_list = read(measures)
    if measure_list.left_out:
        raise UsageError(unknown_measure_message(measure_list.left_out))
    return measure_list.measures


def read(measures: str | Iterable[str | Measure]) -> MeasureList:
    """Read names, with a separate list of those that only trec_eval has.

    The syntax is ``name``, ``name@cutoff`` or ``name(option=value)@cutoff``, trec_eval's
    ``name.5,10`` or ``name.option=value``, its groups ``official``, ``all_trec`` and ``set``, and
    its printed names (``P_5``). A trec_eval name without required cutoffs means all of trec_eval's
    default cutoffs. Measures of a group come last, and explicit cutoffs replace the group's.
    """
    # ir_measures has objects, whose text is their name
    listed = [measures] if isinstance(measures, str) else measures
    specs = [spec if isinstance(spec, Measure) else str(spec) for spec in listed]
    texts = list(chain.from_iterable(split_names(text) for text in specs if isinstance(text, str)))
    explicit = [text for text in texts if text not in GROUPS]
    grouped = list(chain.from_iterable(GROUPS.get(text, "").split() for text in texts))
    names = (*explicit, *grouped)
    left_out = dict.fromkeys(name for name in names if name.split(".")[0] in _ONLY_TREC)
    no_values = {"runid", *left_out}
    selected = {spec.name: spec for spec in specs if isinstance(spec, Measure)}
    for measure in _read_all(explicit, no_values):
        selected[measure.name] = measure
    _add_group(selected, _read_all(grouped, no_values))
    if not selected and not left_out:
        raise UsageError("no measure was requested; give names such as 'ndcg@10,map'")
    return MeasureList(tuple(selected.values()), tuple(left_out), "runid" in names)


def _read_all(names: Iterable[str], no_values: Set[str]) -> Iterator[Measure]:
    for name in names:
        if name not in no_values:
            yield from _read_one(name)


def _add_group(selected: dict[str, Measure], grouped: Iterable[Measure]) -> None:
    """Add the measures of a group, except those that were selected with other cutoffs."""
    explicit = {(measure.row.name, measure.cutoff is None) for measure in selected.values()}
    for measure in grouped:
        # `-m official -m P.5` prints P_5 alone in trec_eval, not the group's P_5 to P_1000.
        if (measure.row.name, measure.cutoff is None) not in explicit:
            selected.setdefault(measure.name, measure)


def unknown_measure_message(names: Iterable[str]) -> str:
    """Format the message about measures that only trec_eval has."""
    return (
        f"not computed here: {', '.join(names)} (measures of trec_eval that claimeval does not"
        f" have; it has {', '.join(row.name for row in MEASURES)})"
    )


_PARAMETER = re.compile(r"(\w+=)?[+-]?(\d+\.?\d*|\.\d+)")
_PAPER = re.compile(
    r"(?P<name>[A-Za-z][\w-]*)\s*(\((?P<options>[^()]*)\))?\s*(@\s*(?P<cutoff>.+))?"
)
_TREC = re.compile(r"(?P<name>\w+)\.(?P<parameters>.+)")
_PRINTED = re.compile(r"(?P<name>\w+?)_(?P<cutoff>\d+(\.\d+)?)")


def split_names(text: str) -> Iterator[str]:
    """Split at commas, except within brackets and between the parameters of a trec_eval name."""
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


def _rows_by_key() -> dict[str, MeasureDefinition]:
    by_key: dict[str, MeasureDefinition] = {}
    for row in MEASURES:
        names = (row.name, *row.aliases, row.trec_cut)
        by_key.update((_key(name), row) for name in names if name)
    return by_key


_ROWS = _rows_by_key()


def is_known(text: str) -> bool:
    """Return whether a text is the name of a measure, or of a group."""
    if text in GROUPS or text.split(".")[0] in _ONLY_TREC:
        return True
    try:
        return bool(_read_one(text))
    except UsageError as error:
        return not str(error).startswith("unknown measure") and "cannot be read" not in str(error)


def _read_one(text: str) -> list[Measure]:
    if (printed := _PRINTED.fullmatch(text)) and _key(printed["name"]) in _ROWS:
        row = _row(printed["name"])
        return [Measure(text, row, _cutoff(row, printed["cutoff"], text))]
    if as_trec := _TREC.fullmatch(text):
        return _read_trec(_row(as_trec["name"]), as_trec["parameters"], text)
    paper = _PAPER.fullmatch(text)
    if paper is None:
        raise UsageError(
            f"measure {text!r} cannot be read; write name, name@10, name(option=value)@10 or"
            " name.5,10"
        )
    name = paper["name"]
    cutoff = paper["cutoff"]
    options = paper["options"]
    row = _row(name)
    if options:
        row, level, values = _read_options(row, options, text)
    else:
        level = None
        values = ()
    if cutoff is not None:
        return [Measure(text, row, _cutoff(row, cutoff, text), level, values, options or "")]
    if _key(name) == _key(row.trec_cut) and _key(name) != _key(row.trec):
        return [
            Measure(f"{row.name}@{cut:g}", row, cut, level, values, options or "")
            for cut in row.trec_cutoffs
        ]
    if row.cutoff == "required":
        example = "0.1" if row.name == "iprec" else "10"
        raise UsageError(f"measure {text!r} needs a cutoff, for example {name}@{example}")
    return [Measure(text, row, None, level, values, options or "")]


def _read_trec(row: MeasureDefinition, parameters: str, text: str) -> list[Measure]:
    """``P.5,10``, ``ndcg.1=3,2=9``, ``set_F.0.5``: one measure for each cutoff, or one with
    options."""
    parts = parameters.split(",")
    if not all(_PARAMETER.fullmatch(part) for part in parts):
        raise UsageError(
            f"measure {text!r}: parameters are numbers or option=number, joined by commas"
        )
    if "=" in parameters:
        _, level, options = _read_options(row, parameters, text)
        return [Measure(f"{row.name}({parameters})", row, None, level, options, parameters)]
    if row.name == "set_F":
        return [
            Measure(
                f"set_F(x={parameters})",
                row,
                None,
                None,
                (("x", float(parts[0])),),
                parameters,
            )
        ]
    if row.name == "utility":
        if len(parts) != len(row.options):
            raise UsageError(
                f"measure {text!r}: utility has four coefficients, as in utility.1,-1,0,0"
            )
        coefficients = tuple(zip(row.options, map(float, parts), strict=True))
        written = ",".join(f"{name}={value:g}" for name, value in coefficients)
        return [Measure(f"utility({written})", row, None, None, coefficients, parameters)]
    cutoffs = sorted(
        {_cutoff(row, part if row.name == "iprec" else part.split(".")[0], text) for part in parts}
    )
    return [Measure(f"{row.name}@{cutoff:g}", row, cutoff) for cutoff in cutoffs]


def _row(name: str) -> MeasureDefinition:
    row = _ROWS.get(_key(name))
    if row is None:
        first_names = chain.from_iterable((row.name, *row.aliases[:1]) for row in MEASURES)
        error = unknown_name("measure", name, set(first_names))
        if "Did you mean" in str(error):
            raise error
        # what other commands compute is known to them, and not to this library
        raise UsageError(f"{error}, and `claimeval metrics {name}` says what computes that")
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
        raise UsageError(
            f"measure {measure!r}: the cutoff {text!r} must be a whole number, at least 1"
        )
    return cutoff


def _known_options(row: MeasureDefinition) -> list[str]:
    known = list(row.options)
    if row.relevance in ("binary", "either"):
        known.append("rel")
    if row.gains:
        known += ["1", "2"]
    return known


def _read_options(
    row: MeasureDefinition, text: str, measure: str
) -> tuple[MeasureDefinition, float | None, tuple[tuple[str, float], ...]]:
    level: float | None = None
    values: dict[str, float] = {}
    takes_level = row.relevance in ("binary", "either")
    for part in text.split(","):
        name, _, value = (side.strip() for side in part.partition("="))
        if row.name == "ndcg" and name == "dcg" and value.strip("'\"") == "exp-log2":
            row = _ROWS["ndcgexp"]
            continue
        try:
            number = float(value)
        except ValueError:
            raise UsageError(
                f"measure {measure!r}: option {part.strip()!r} is not name=number"
            ) from None
        if name == "rel" and takes_level:
            level = number
        elif name == "beta" and row.name == "set_F":
            # trec_eval's x is the square of the beta that everyone else writes.
            values["x"] = number * number
        else:
            _check_option(row, name, number, measure)
            values[name] = number
    return row, level, tuple(values.items())


def _check_option(row: MeasureDefinition, name: str, number: float, measure: str) -> None:
    """Raise UsageError for an option that a measure does not have, or a number that it cannot
    have."""
    is_gain = row.gains and name.lstrip("-").isdigit()
    if name not in row.options and not is_gain:
        raise unknown_name(f"option of {row.name}", name, _known_options(row))
    if name in ("p", "alpha") and not 0 <= number <= 1:
        raise UsageError(f"measure {measure!r}: {name} must be between 0 and 1")
