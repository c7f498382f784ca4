"""`claimeval doctor`, `draw`, `write-queries` and `import-replies`: checking, drawing, writing and
importing data."""

from __future__ import annotations

import itertools
import json
import shlex
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import claimeval as ce
from claimeval.cli.command import Heading, command
from claimeval.cli.shared import (
    QUESTIONS,
    Asking,
    Fields,
    Front,
    GateOptions,
    Metrics,
    Out,
    OutputOptions,
    RowOptions,
    Shown,
    arguments,
)
from claimeval.cli.terminal import say, write_data
from claimeval.data.reasoning import AnswerReasoning
from claimeval.runs.views import Column, Data, Table, columns, heading, table
from claimeval.statistics.formatting import tally
from claimeval.types.errors import UsageError, clash, visible
from claimeval.types.options import PanelOptions, RunOptions

if TYPE_CHECKING:
    from claimeval.data.sampling import DrawnRows
    from claimeval.data.survey import Survey
    from claimeval.types.probes import Probe

SHOWN = 10
"""Unread replies that are printed; the file lists all."""
WIDTH = 110
CLOSING = 4
"""Lines below the first screen of an import: how replies were read, and where to go on."""


def _write_yaml(path: Path, content: Mapping[str, object]) -> None:
    import yaml

    text = yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True)
    path.write_text(text, encoding="utf-8")


def _write_mapping(path: Path, found: Survey) -> None:
    """Write the fields as they were read into a mapping file."""
    content = {
        name: value if isinstance(value, str) else list(value)
        for name, value in found.mapping.content.items()
    }
    _write_yaml(path, content)


@command("doctor")
class DoctorCommand(OutputOptions):
    """Check a data file: the metrics that it has the fields for, missing fields, and malformed
    rows.

    Reads the whole file. Exits with 1 if rows cannot be read, ids are not unique, or no row has a
    path of --field or of the mapping. With --judge, tests a judge with a few short calls, and
    exits with 1 if it cannot be used with these settings. With both, also counts the samples that
    exceed the judge's context window. A model of which claimeval knows no number of claims in one
    question is asked about five; --write-judge writes a file with the number that it can handle.

    Fields of a sample: `id`, `question` (which most prompts need), `answer`, `contexts` (texts, or
    objects with `id`, `text`, `title`), `reference_answers`, `reference_contexts`,
    `reference_context_ids`, `is_answerable`, `generator`, `evidence` (named lists of texts),
    `metadata`. Exports of thirty tools are recognized; `--field` maps any other name.

    Example: claimeval doctor drafts.jsonl --field answer=draft
    """

    data: Annotated[Path | None, "DATA"] = None
    """The samples: .jsonl, .json, .csv, .xlsx or .parquet."""
    judges: Annotated[tuple[str, ...], "-j", "--judge"] = ()
    """Test PROVIDER:MODEL[@URL] or a judge file. Repeatable."""
    metrics: Metrics = None
    """Comma-separated; `claimeval metrics` lists them."""
    rows: RowOptions = RowOptions()
    write_mapping: Path | None = None
    """YAML file to write with the fields as they were read."""
    write_judge: Path | None = None
    """Judge file (YAML) to write with what --judge can handle: settings, claims in one question."""

    def __post_init__(self) -> None:
        if self.write_judge and len(self.judges) != 1:
            raise UsageError(
                f"--write-judge writes one judge file, and {len(self.judges)} judges are tried;"
                " name one with --judge"
            )

    def do(self) -> int:
        output = self.output
        if note := clash():
            say(note)
        if self.data is None and not self.judges:
            raise UsageError("nothing to check: give a data file, or a judge to try with --judge")
        probes = self._probes()
        tried: dict[str, object] = {}
        if probes:
            tried["probes"] = [one.model_dump(mode="json") for one in probes]
        failed = int(not all(probed.ok for probed in probes))
        if self.write_judge and not failed:
            _write_yaml(self.write_judge, probes[0].judge_file)
            output.line(f"  written: {self.write_judge}; use it with --judge {self.write_judge}")
        if self.data is None:
            return output.result("doctor", tried, exit_code=failed)
        found = ce.doctor(self.data, metrics=self.metrics, **arguments(self.rows))
        if self.write_mapping:
            _write_mapping(self.write_mapping, found)
        output.draw([heading(str(self.data), f": {found.readable}")])
        self._show_problems(found)
        if found.samples:
            self._show_samples(found)
            if self.judges:
                tried["long"] = self._long(self.data)
        record = found.model_dump(mode="json") | tried
        return output.result("doctor", record, exit_code=failed if found.ok else 1)

    def _show_samples(self, found: Survey) -> None:
        """Print which metrics the samples can feed, and the first one."""
        output = self.output
        parts = (Column(name, "text", 1) for name in ("claims of", "against"))
        head = (Column("metric"), *parts, Column("available"))
        output.draw([table("metrics", head, found.availability)])
        output.lines(*(f"- {line}" for line in found.remarks))
        output.draw([heading("The first sample", " as read:")])
        output.lines(*(f"  {name}: {text}" for name, text in found.example_in_words))
        if any(found.has_inputs_for(metric.name) for metric in found.metrics):
            output.line()
            output.line(
                f"Next: claimeval plan {shlex.quote(str(self.data))} --judge PROVIDER:MODEL, with"
                " the same options, shows calls and likely cost"
            )

    def _probes(self) -> list[Probe]:
        """Try each judge, and print what was found as soon as it is."""
        probes: list[Probe] = []
        for judge in self.judges:
            probes.append(ce.probe(judge))
            self.output.draw([heading(probes[-1].judge)])
            self.output.pairs(probes[-1].lines.items(), indent=2)
        return probes

    def _show_problems(self, found: Survey) -> None:
        output = self.output
        for problem in found.nowhere:
            output.line(problem, style="red")
        if found.malformed:
            output.line(f"{found.malformed_rows} malformed:", style="red")
            more = found.malformed_rows - len(found.malformed)
            output.lines(
                *(f"  {problem}" for problem in found.malformed), more and f"  ... and {more} more"
            )

    def _long(self, data: Path) -> list[dict[str, object]]:
        """Print how many samples exceed the context windows of the judges, and return the
        counts."""
        try:
            ahead = ce.plan(
                ce.score, data, judges=self.judges, metrics=self.metrics, **arguments(self.rows)
            )
        except UsageError as error:
            self.output.note(f"cannot check the judges' context windows: {error}")
            return []
        self.output.lines(*(f"- {long.in_words(ahead.samples, long.judge)}" for long in ahead.long))
        return [long.model_dump() for long in ahead.long]


@command("draw")
class DrawCommand(OutputOptions):
    """Draw a test set from logs, in one pass over a log of any size, seeded.

    Each row keeps its fields and gets `drawn`: its file and row, its stratum, and the probability
    of drawing a question like it, for estimates about the whole log.

    Example: claimeval draw log.jsonl --n 200 --stratify metadata.topic -o test.jsonl

    Example: claimeval draw traces.jsonl --every 1000 --seed 7 -o test.jsonl

    Example: zcat logs/*.jsonl.gz | claimeval draw - --n 200 -o test.jsonl
    """

    log: Annotated[Path, "LOG"]
    """Questions as they were asked, or traces: .jsonl, .json, .csv or .parquet; `-` is JSON Lines
    on standard input."""
    n: Annotated[int | None, "-n", "--n"] = None
    """Rows to draw.  [default: 200]"""
    every: int | None = None
    """Draw one in N different questions instead of --n rows."""
    stratify: str | None = None
    """Field whose values each get their share of rows, such as generator or metadata.topic;
    several are separated by commas."""
    min_per_stratum: int = 15
    """With --stratify: minimum rows of each value, if it has that many."""
    seed: int = 0
    """Another seed draws other rows."""
    keep_duplicates: bool = False
    """Draw from all rows. By default, equal questions count once and one of near duplicates is
    kept."""
    duplicate_threshold: float = 90.0
    """Similarity of words, 1 to 100, from which two questions are near duplicates."""
    fields: Fields = field(default_factory=dict)
    """question=COLUMN, if the question has none of the default names."""
    sheet: str | None = None
    """The sheet of a spreadsheet that has several."""
    out: Out = None
    """File to write, .jsonl.  [default: standard output]"""

    def do(self) -> int:
        from claimeval.api.data import as_lines
        from claimeval.data.sampling import COUNT

        out = self.out
        output = self.output
        if output.json and out is None:
            raise UsageError("--json prints what was drawn: say with --out where the rows go")
        drawn = ce.draw(**arguments(self))
        if not out:
            write_data(as_lines(drawn))
            # The rows are on standard output, so that the table goes to standard error.
            output = replace(output, json=True)
        output.draw([self._table(drawn)])
        wanted = 0 if self.every else self.n or COUNT
        output.lines(
            drawn.empty_questions
            and f" {drawn.empty_questions} rows with an empty question left out",
            len(drawn) < wanted
            and f" {len(drawn)} of {wanted} wanted: the log has no more that are different",
            style="dim",
        )
        if not out:
            return 0
        output.line(f"Test set: {out}")
        strata = {name: counts._asdict() for name, counts in drawn.strata.items()}
        record = {
            "out": str(out),
            "drawn": len(drawn),
            "empty": drawn.empty_questions,
            "strata": strata,
        }
        return output.result("draw", record)

    def _table(self, drawn: DrawnRows) -> Table:
        """Return how many rows were drawn of each stratum."""
        rows: list[tuple[object, ...]] = []
        for name, of in drawn.strata.items():
            questions = f"{'' if of.exact else 'about '}{of.questions}"
            rows.append((name or "all", of.rows, questions, of.drawn, of.near_duplicates))
        head = columns(
            self.stratify or "log",
            numbers=("rows", "different", "drawn", "near duplicates left out"),
        )
        return table("drawn", head, rows)


@command("write-queries")
class WriteQueriesCommand(OutputOptions):
    """Have a judge write questions that documents answer, and keep the useful ones as a test set.

    A question is kept if its passage is in the document, if it does not refer to the document, copy
    it or contain its answer, if it is no near duplicate, and if the checker finds it answerable,
    self-contained and realistic. Writes `queries.jsonl` with answers, passages and sources, which
    every command reads, `qrels.txt` with the source of each question, and the rejected questions
    with reasons.

    Example: claimeval write-queries docs.jsonl -j openai:gpt-5-mini --n 200
    """

    corpus: Annotated[Path, "CORPUS"]
    """Documents: .jsonl with id and text, .tsv, or a BEIR folder."""
    judge: Annotated[str, "-j", "--judge"]
    """PROVIDER:MODEL[@URL] or judge file that writes."""
    n: Annotated[int, "-n", "--n"] = 50
    """Documents to draw and write about."""
    per_document: int = 1
    """Questions about each document, 10 at most."""
    seed: int = 0
    """Another seed draws other documents."""
    out: Out = None
    """Run directory; default runs/CORPUS-queries."""
    overwrite: bool = False
    """Replace a run with other settings in --out."""
    sheet: str | None = None
    """The sheet of a spreadsheet of documents that has several."""
    checker: Annotated[str | None, QUESTIONS] = None
    """Judge that checks the questions.  [default: the writer]"""
    write_prompt: Annotated[str, QUESTIONS] = "plain"
    """Prompt for writing: plain, or a .j2 file."""
    check_prompt: Annotated[str, QUESTIONS] = "plain"
    """Prompt for checking: plain, or a .j2 file."""
    options: Asking = RunOptions()
    shown: Front = Shown()

    def door(self, options: RunOptions) -> ce.Run:
        out = self.out or Path("runs") / f"{self.corpus.stem}-queries"
        return ce.write_queries(**arguments(self, out=out, options=options))

    def do(self) -> int:
        from claimeval.cli.running import watch
        from claimeval.evaluation.write_queries import count_queries
        from claimeval.runs.jobs import QRELS, QUERIES

        output = self.output
        finished = watch(
            "write-queries", self.door, self.options, GateOptions(max_missing=1.0), output
        )
        run = finished.run
        counts = count_queries(run.results)
        made = list[str]()
        if run.path and run.complete and counts.kept:
            made = [f"Test set: {run.path / QUERIES}", f"Qrels: {run.path / QRELS}"]
        output.lines(
            f"{counts.documents} documents, {counts.written} questions written, {counts.kept} kept",
            counts.rejected and f"rejected: {tally(counts.rejected)}",
            counts.failures and f"failed: {tally(counts.failures)}",
        )
        record = {"counts": counts.model_dump(mode="json")}
        return finished.show(record, shown=self.shown, next_lines=made)


@command("import-replies")
class ImportRepliesCommand(OutputOptions):
    """Convert recorded replies of judges, or results of another tool, into a run that can be voted
    on and rejudged.

    Nothing is guessed: a reply that says both yes and no, or neither, is unassessed and listed in
    `unread.jsonl` of the run. A mapping for rows such as {"row": 1, "question": "...", "answer":
    "...", "human": "Yes", "gpt": "Yes, ..."}:

    \b
        id: row
        question: question
        answer: answer
        claim: answer            # what was judged
        against: reference
        judges: {gpt-4: gpt}     # or: items_field: outputs, judge: model, reply: raw
        forms: [first_word, answer, statement]
        human_label: human

    Forms: `first_word`, `answer` ("Answer: No"), `brackets` ("[[Yes]]"), `statement`, `tag:answer`,
    `json:verdict`, `score` ("##final score: 2"), `word`, `number`. The page
    `docs/reference/rejudging.md` has mappings for several published files.

    Example: claimeval import-replies judged.jsonl --mapping judged.yaml --out runs/judged
    """

    file: Annotated[Path, "FILE"]
    """The recorded replies: .jsonl, .json, .csv or .parquet."""
    out: Annotated[Path, "-o", "--out"]
    """Run directory."""
    mapping: Path | None = None
    """YAML file with the fields of sample, claim, replies and human label, and the forms of
    replies. Or `ragas` or `deepeval` (docs/reference/rejudging.md). Not needed for
    results of RAGChecker."""
    cluster: str | None = None
    """Samples with equal values depend on each other.  [default: question]"""
    answer_reasoning: AnswerReasoning | None = None
    """<think> in answers: drop it, or keep it as a part. Claims stay as they were judged."""
    overwrite: bool = False
    """Replace a run with other settings in --out."""
    panel: Annotated[PanelOptions, Heading("Panel", "vote", "tie", "quorum", "families")] = (
        PanelOptions()
    )

    shown: Front = Shown()

    def do(self) -> int:
        from claimeval.cli.running import front_of, print_front, print_run, report_line
        from claimeval.runs.import_replies import COUNTS, UNREAD, ImportCounts

        run = ce.import_replies(**arguments(self))
        counts = ImportCounts.model_validate_json((self.out / COUNTS).read_bytes())
        output = self.output
        if self.shown.details:
            print_run(output, run, front_of(run))
        else:
            print_front(output, front_of(run, self.shown.top), self.shown, closing=CLOSING)
        rows = []
        for judge, read in counts.readings.items():
            numbers = read.replies, read.read, read.unsure, sum(read.refused.values()), read.missing
            rows.append(
                (Data(judge), *numbers, ", ".join(f"{form} {n}" for form, n in read.forms.items()))
            )
        if rows:
            head = columns(
                "replies of", numbers=("replies", "read", "abstained", "refused", "none")
            )
            output.draw([table("replies", (*head, Column("read as")), rows)])
        if rows and (path := self.out / UNREAD).exists():
            output.draw([heading("Not read", f", and so unassessed; all are in {path}")])
            with path.open(encoding="utf-8") as file:
                for entry in map(json.loads, itertools.islice(file, SHOWN)):
                    output.line(f"{entry['sample']} {entry['judge']}: {entry['because']}", indent=1)
                    output.line(visible(entry["reply"], WIDTH), style="dim", indent=3)
        if counts.labels:
            output.line(
                f"{counts.labels} human labels: `claimeval agreement {self.out}` compares the"
                " judges with them"
            )
        if not self.shown.details:
            look = f"All numbers: --details. Look around: claimeval view {self.out.parent}"
            output.lines(report_line(self.out), look)
        record = {**counts.model_dump(exclude={"repeated"}), "repeated_claims": counts.repeated}
        return output.result(
            "import-replies",
            {**record, **run.record.model_dump()},
            path=self.out,
        )
