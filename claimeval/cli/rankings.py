"""`claimeval rank` and `fuse`: evaluating rankings against qrels, and fusing several into one."""

from __future__ import annotations

import io
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from claimeval.cli.command import command
from claimeval.cli.printer import Output
from claimeval.cli.shared import Out, OutputOptions
from claimeval.cli.terminal import encodes, on_terminal, say, write_data, write_plain
from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claimeval.ir.evaluation import Evaluation
    from claimeval.ir.measures import Measure, MeasureList


@command("rank")
class RankCommand:
    """Evaluate rankings against qrels, as trec_eval does.

    The numbers are those of trec_eval 10.0, and -q -n -c -M -N -R -Z -l -J -m mean what they mean
    there.

    Example: claimeval rank qrels.txt bm25.run dense.run -m ndcg@10,map --plot runs.svg

    Example: claimeval rank qrels_docs.txt pages.run --collapse-ids '#.*'
    """

    qrels: Annotated[Path, "QRELS"]
    """A TREC file (query, iteration, document, grade), JSON (query to document to grade), a table
    (.csv, .parquet: query, item, gain), or a BEIR folder."""
    trec_runs: Annotated[tuple[Path, ...], "TREC_RUN"]
    """TREC runs (query, Q0, document, rank, score, tag), MS MARCO's (query, document, rank) or JSON
    objects of query to document to score, or tables (.csv, .parquet: query, item, rank or score);
    `-` is standard input."""
    measures: Annotated[tuple[str, ...], "-m", "--measures"] = ()
    """ndcg@10, P@5, recall@100, map, mrr, hit@5, ERR@20, rbp(p=0.8), P(rel=2)@5, ...;
    comma-separated or repeated. Names of trec_eval work too: ndcg_cut.10,20, official, set,
    all_trec."""
    all: Annotated[bool, "-a", "--all"] = False
    """All measures of trec_eval that are computed here, as -m all_trec."""
    per_query: Annotated[bool, "-q", "--per-query"] = False
    """Also show the values of each query."""
    no_summary: Annotated[bool, "-n", "--no-summary"] = False
    """Do not show the means."""
    complete: Annotated[bool, "-c", "--complete"] = False
    """Count queries missing from the run as 0, as --missing zero does."""
    missing: Literal["skip", "zero", "error"] = "skip"
    """Queries missing from the run: skip, zero (count as 0) or error."""
    max_retrieved: Annotated[int | None, "-M", "--max-retrieved"] = None
    """Evaluate only the top N documents of each query."""
    level: Annotated[float | None, "-l", "--level"] = None
    """Lowest grade that counts as relevant.  [default: 1, or as in the scale of `claimeval
    grade`]"""
    judged_only: Annotated[bool, "-J", "--judged-only"] = False
    """Drop documents without a judgment first."""
    collection: Annotated[int, "-N", "--collection"] = 0
    """Documents in the collection, for utility."""
    rel_info: Annotated[
        Literal["qrels", "qrels_jg", "prefs", "qrels_prefs"], "-R", "--rel-info-format"
    ] = "qrels"
    """Format of the judgments; only qrels is supported."""
    z_scores: Annotated[Path | None, "-Z", "--z-scores"] = None
    """File of query, measure, mean and standard deviation: show Z scores instead of values."""
    ties: Literal["trec", "stable", "error"] = "trec"
    """Equal scores: trec (by document id), stable (as given) or error."""
    no_relevant: Literal["zero", "undefined"] = "zero"
    """Value of queries without a relevant document: zero or undefined."""
    collapse_ids: str | None = None
    """Regular expression to remove from document ids; the best of equal ids stays. '#.*' turns
    report#p12 into report."""
    split: str = "test"
    """Qrels of a BEIR folder: qrels/SPLIT.tsv."""
    paired: bool = False
    """Compare every other run with the first, query by query."""
    trec: bool = False
    """Print what trec_eval 10.0 prints."""
    plot: Path | None = None
    """SVG file for a picture: nDCG over k, precision over recall and, for two runs, differences per
    query."""
    json: bool = False
    """Print JSON on standard output."""

    def __post_init__(self) -> None:
        if self.paired and (len(self.trec_runs) < 2 or self.trec):
            raise UsageError(
                "--paired compares runs with the first: give two or more of them, without --trec"
            )
        if self.rel_info != "qrels":
            raise UsageError(
                f"-R {self.rel_info}: judgments of preferences and of several groups of judges are"
                " for measures that only trec_eval has; give plain qrels"
            )

    def do(self) -> int:
        from claimeval import ir
        from claimeval.ir import evaluation, output
        from claimeval.report import charts, rankings

        if self.plot:
            charts.check_name(self.plot)
        requested = self._requested()
        evaluations = self._evaluations(
            [*requested.measures, *(rankings.CURVES if self.plot else ())]
        )
        labels = output.labels(self.trec_runs)
        if self.plot:
            comparable = rankings.comparable(requested.measures)
            rankings.draw(evaluations, labels, comparable).save(self.plot)
        shown = [evaluated.only(requested.measures) for evaluated in evaluations]
        if self.z_scores:
            norms = ir.read_z_scores(self.z_scores)
            shown = [evaluated.z_scores(norms) for evaluated in shown]
        pairings = evaluation.against_first(shown, labels) if self.paired else []
        if self.json:
            record = output.as_record(shown, labels, per_query=self.per_query, pairings=pairings)
            return Output(json=True).result("rank", record)
        if self.trec:
            self._write_as_trec_eval(shown, labels, run_id=requested.run_id)
            return 0
        text = self._text(shown, labels)
        write_plain(f"{text}\n{output.pairings_text(pairings, labels[0])}" if self.paired else text)
        return 0

    def _text(self, shown: Sequence[Evaluation], labels: Sequence[str]) -> str:
        """Return the table for people; what scripts read is the same with and without a
        terminal."""
        from claimeval.ir import output

        plain = self.per_query or self.no_summary or self.z_scores
        if on_terminal() and not plain:
            return output.first_screen(shown, labels, paired=self.paired, shown=_marked)
        return output.text(shown, labels, per_query=self.per_query, summary=not self.no_summary)

    def _evaluations(self, measures: Iterable[str | Measure]) -> list[Evaluation]:
        from claimeval import ir
        from claimeval.runs.jobs import relevant_from

        usual = (None if self.trec else relevant_from(self.qrels)) or 1
        is_folder = self.qrels.is_dir()
        judgments = ir.find_qrels(self.qrels, self.split) if is_folder else _source(self.qrels)
        evaluator = ir.Evaluator(
            judgments,
            measures,
            level=usual if self.level is None else self.level,
            judged_only=self.judged_only,
            max_retrieved=self.max_retrieved,
            ties=self.ties,
            missing="zero" if self.complete else self.missing,
            no_relevant=self.no_relevant,
            collapse_ids=self.collapse_ids,
            collection=self.collection,
        )
        return [evaluator.evaluate(_source(run)) for run in self.trec_runs]

    def _write_as_trec_eval(
        self, evaluations: Sequence[Evaluation], labels: Sequence[str], *, run_id: bool
    ) -> None:
        from claimeval import ir
        from claimeval.ir import output

        for label, evaluated in zip(labels, evaluations, strict=True):
            for remark in output.warnings(evaluated):
                say(f"{label}: {remark}")
            text = ir.trec_text(
                evaluated,
                per_query=self.per_query,
                summary=not self.no_summary,
                run_id=run_id,
                prefix="Z" if self.z_scores else "",
            )
            write_data(text)

    def _requested(self) -> MeasureList:
        """Return the measures. Raises UsageError for those that only trec_eval has, unless all are
        requested as there."""
        from claimeval import ir
        from claimeval.ir import measures

        usual_measures = "official" if self.trec else ir.DEFAULT_MEASURES
        listed = [*self.measures, *(["all_trec"] if self.all else [])]
        requested = _read(listed or usual_measures)
        if requested.left_out:
            message = measures.unknown_measure_message(requested.left_out)
            if not ((self.trec or self.all) and requested.measures):
                raise UsageError(message)
            say(message)
        return requested


def _marked(name: str) -> str:
    """Return the name of a measure, with an arrow if a low value is good and the terminal has
    one."""
    from claimeval.metrics.derived import DOWN, directed

    shown = directed(name)
    return shown if encodes(DOWN) else shown.replace(DOWN, "v")


class TableFile:
    """The columns of a table in a file."""

    def __init__(self, path: Path) -> None:
        from claimeval.data.rows import read_rows

        self._rows = [row.fields for row in read_rows(path)]

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._rows[0]) if self._rows else []

    def __getitem__(self, name: str, /) -> list[object]:
        """Return a column."""
        return [row.get(name) for row in self._rows]


def _source(path: Path) -> Path | TableFile:
    """Return a file of judgments or of a run, as its table if it is one."""
    return TableFile(path) if path.suffix.lower() in (".csv", ".parquet") else path


def _read(names: str | list[str]) -> MeasureList:
    """Return the measures with these names. Raises UsageError for an unknown one, with what
    computes it."""
    from claimeval.ir import measures
    from claimeval.metrics.names import elsewhere

    try:
        return measures.read(names)
    except UsageError as error:
        listed = [names] if isinstance(names, str) else names
        for name in chain.from_iterable(map(measures.split_names, listed)):
            known = elsewhere(name)
            if known and not measures.is_known(name):
                raise UsageError(f"unknown measure {name!r}: {known}") from error
        raise


@command("fuse")
class FuseCommand(OutputOptions):
    """Fuse rankings: by reciprocal rank, score = sum of 1 / (k + rank), or by normalized scores.

    Example: claimeval fuse bm25.run dense.run -o fused.run && claimeval rank qrels.txt fused.run

    Example: claimeval fuse bm25.run dense.run --method sum --weights 0.3,0.7 -o weighted.run
    """

    trec_runs: Annotated[tuple[Path, ...], "TREC_RUN"]
    """TREC runs (query, Q0, document, rank, score, tag), MS MARCO's (query, document, rank) or JSON
    objects of query to document to score."""
    method: Literal["rrf", "sum", "mnz", "min", "max", "anz", "med"] = "rrf"
    """rrf (reciprocal rank), or combine normalized scores: sum (CombSUM), mnz (sum times the number
    of runs that retrieved the document), min, max, anz (mean) or med (median)."""
    normalization: Literal["min-max", "max", "sum", "zmuv", "rank", "none"] = "min-max"
    """Normalization of each query's scores, to make runs comparable; not used by rrf."""
    weights: str | None = None
    """Weight of each run, as in 0.3,0.7.  [default: 1]"""
    k: Annotated[int, "-k", "--rank-constant"] = 60
    """Constant of rrf; a larger one gives the top ranks less weight."""
    depth: Annotated[int | None, "-d", "--depth"] = None
    """Documents to keep per query.  [default: all]"""
    tag: str | None = None
    """Tag of the new run.  [default: the method]"""
    out: Out = None
    """File to write; `-` is standard output.  [default: -]"""

    def do(self) -> int:
        from claimeval import ir

        try:
            weights = (
                None if self.weights is None else [float(part) for part in self.weights.split(",")]
            )
        except ValueError:
            message = f"--weights {self.weights!r}: give numbers separated by commas, as in 0.3,0.7"
            raise UsageError(message) from None
        if len(self.trec_runs) < 2:
            raise UsageError(
                "fuse needs two runs or more, as in claimeval fuse bm25.run dense.run; given 1"
            )
        fused = ir.fuse(
            self.trec_runs,
            self.method,
            k=self.k,
            normalization=self.normalization,
            weights=weights,
            depth=self.depth,
        )
        lines = io.StringIO()
        out = None if str(self.out) == "-" else self.out
        ir.write_run(fused, lines, self.tag or self.method)
        if out is None:
            self.output.data(lines.getvalue())
        else:
            out.write_text(lines.getvalue(), encoding="utf-8", errors="surrogateescape")
        record = {"queries": len(fused), "documents": sum(map(len, fused.values()))}
        return self.output.result("fuse", record, path=out)
