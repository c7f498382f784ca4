"""`claimeval rank` and `claimeval fuse` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.terminal import Terminal
from tests.command_line import call


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    """Qrels and two runs; the second run lacks a query."""
    (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 n 0\nq2 0 a 1\n")
    (tmp_path / "one.run").write_text(
        "q1 Q0 n 1 2 one\nq1 Q0 a 2 1 one\nq2 Q0 x 1 2 one\nq2 Q0 a 2 1 one\n"
    )
    (tmp_path / "two.run").write_text("q1 Q0 a 1 2 two\nq9 Q0 z 1 1 two\n")
    return str(tmp_path / "qrels"), str(tmp_path / "one.run"), str(tmp_path / "two.run")


def test_table_has_a_row_a_measure_and_a_column_a_run_and_says_what_is_missing(
    files: tuple[str, str, str],
) -> None:
    result = call("rank", *files, "-m", "mrr,P@1", "-m", "num_ret")

    assert (
        result.stdout == "measure  one.run  two.run\n"
        "mrr       0.5000   1.0000\n"
        "P@1       0.0000   1.0000\n"
        "num_ret        4        1\n"
        "\n"
        "one.run: 2 queries, 4 documents retrieved, 1 of them without judgment\n"
        "two.run: 1 query, 1 document retrieved, 0 of them without judgment; "
        "1 query (q2) of the qrels not in the run, left out (-c counts them as 0); "
        "1 query (q9) of the run not in the qrels, ignored\n"
    )


def test_formats_of_judgments_that_only_trec_eval_reads_are_refused(
    files: tuple[str, str, str],
) -> None:
    command = ("rank", *files[:2], "--trec", "-m", "map")
    assert call(*command, "-R", "qrels").stdout == call(*command).stdout
    refused = call(*command, "-R", "prefs", exits=2)
    assert "-R prefs: judgments of preferences" in refused.stderr


def test_per_query_values_come_first(files: tuple[str, str, str]) -> None:
    result = call("rank", *files[:2], "-m", "mrr", "-q")

    assert result.stdout.startswith(
        "one.run\nquery     mrr\nq1     0.5000\nq2     0.5000\n\nmeasure"
    )


def test_complete_counts_missing_queries_as_zero(files: tuple[str, str, str]) -> None:
    result = call("rank", files[0], files[2], "-m", "mrr", "-c")

    assert "mrr       0.5000" in result.stdout
    assert "1 query (q2) of the qrels not in the run, counted as 0" in result.stdout


def test_json_holds_means_counts_and_where_asked_each_query(files: tuple[str, str, str]) -> None:
    short = json.loads(call("rank", *files, "-m", "mrr", "--json").stdout)
    long = json.loads(call("rank", *files, "-m", "mrr", "--json", "-q").stdout)

    assert [run["mean"] for run in short["runs"]] == [{"mrr": 0.5}, {"mrr": 1.0}]
    assert short["runs"][1]["counts"]["missing"] == ["q2"]
    assert "per_query" not in short["runs"][0]
    assert long["runs"][0]["per_query"] == {"q1": {"mrr": 0.5}, "q2": {"mrr": 0.5}}
    assert long["runs"][0]["run_id"] == "one"


def test_letters_of_trec_eval_may_be_written_as_trec_eval_takes_them(
    files: tuple[str, str, str],
) -> None:
    joined = call("rank", files[0], files[1], "--trec", "-qn", "-mP.1,2", "-l1", "-M1", "-J")
    apart = call(
        "rank", files[0], files[1], "--trec", "-q", "-n", "-m", "P.1,2", "-l", "1", "-M", "1", "-J"
    )

    assert joined.stdout == apart.stdout
    assert joined.stdout.splitlines()[0] == "P_1                   \tq1\t0.0000"


def test_trec_output_goes_with_a_note_of_what_is_missing_on_standard_error(
    files: tuple[str, str, str],
) -> None:
    result = call("rank", files[0], files[2], "--trec", "-m", "map", "-m", "gm_bpref")

    assert result.stdout == "map                   \tall\t1.0000\n"
    assert "two.run: 1 query (q2) of the qrels not in the run, left out" in result.stderr
    assert "not computed here: gm_bpref" in result.stderr


def test_a_measure_only_trec_eval_has_is_refused_outside_trec_output(
    files: tuple[str, str, str],
) -> None:
    for options in (("-m", "map,gm_bpref"), ("--trec", "-m", "gm_bpref")):
        result = call("rank", *files, *options, exits=2)

        assert "not computed here: gm_bpref" in result.stderr


def test_missing_error_refuses(files: tuple[str, str, str]) -> None:
    result = call("rank", files[0], files[2], "--missing", "error", exits=2)

    assert "the run lacks 1 of the 2 queries" in result.stderr


def test_qrels_may_be_a_beir_folder(files: tuple[str, str, str], tmp_path: Path) -> None:
    (tmp_path / "set" / "qrels").mkdir(parents=True)
    (tmp_path / "set" / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\n")

    result = call("rank", str(tmp_path / "set"), files[1], "-m", "mrr", "--split", "dev")

    assert "mrr       0.5000" in result.stdout


def test_runs_of_the_same_name_are_told_apart_by_their_paths(
    files: tuple[str, str, str], tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "one.run").write_text(Path(files[1]).read_text())

    result = call("rank", *files[:2], str(tmp_path / "other" / "one.run"), "-m", "mrr")

    assert str(tmp_path / "other" / "one.run") in result.stdout


def test_plot_draws_an_svg_of_both_runs(files: tuple[str, str, str], tmp_path: Path) -> None:
    target = tmp_path / "out.svg"

    result = call("rank", *files, "-m", "num_ret,mrr", "--plot", str(target))

    texts = [
        element.text
        for element in ElementTree.parse(target).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert {
        "one.run",
        "two.run",
        "nDCG over k",
        "Precision over recall",
        "mrr: two.run minus one.run",
    } <= set(texts)
    assert "queries; higher: 1, lower: 0, of 1" in texts
    assert "iprec" not in result.stdout
    assert "ndcg" not in result.stdout


def test_a_picture_of_another_kind_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    result = call("rank", "nowhere", "nowhere.run", "--plot", str(tmp_path / "runs.png"), exits=2)

    assert "a picture is a .svg file, not 'runs.png'" in result.stderr


def test_fuse_writes_a_run_that_rank_reads(files: tuple[str, str, str], tmp_path: Path) -> None:
    out = tmp_path / "fused.run"

    printed = call(
        "fuse", files[1], files[2], "-k", "60", "--tag", "both", "--out", "-", folder=tmp_path
    )
    written = call("fuse", files[1], files[2], "--out", str(out), "--tag", "both")

    assert printed.stdout == out.read_text() != ""
    assert [file.name for file in tmp_path.iterdir() if file.name == "-"] == []
    assert written.stdout == ""
    assert out.read_text().startswith(
        f"q1 Q0 a 1 {1 / 62 + 1 / 61!r} both\nq1 Q0 n 2 {1 / 61!r} both\n"
    )
    assert "mrr         0.7500" in call("rank", files[0], str(out), "-m", "mrr").stdout


def test_fuse_adds_weighted_scores(files: tuple[str, str, str]) -> None:
    """By rank: n has 1 and a has .5 in the first run, a has 1 in the second."""
    printed = call(
        "fuse",
        files[1],
        files[2],
        "--method",
        "sum",
        "--normalization",
        "rank",
        "--weights",
        "0.25,1",
    )
    wrong = call("fuse", files[1], files[2], "--weights", "many", exits=2)

    assert printed.stdout.startswith("q1 Q0 a 1 1.125 sum\nq1 Q0 n 2 0.25 sum\n")
    assert "--weights 'many': give numbers separated by commas" in wrong.stderr


@pytest.fixture
def eight(tmp_path: Path) -> tuple[str, str, str]:
    """Eight queries with one relevant document: the first run ranks it second, the other first in
    all but one."""
    (tmp_path / "qrels").write_text("".join(f"q{i} 0 a 1\n" for i in range(8)))
    for name, best in (("first.run", []), ("other.run", range(7))):
        lines = [
            f"q{i} Q0 {d} 1 {s} t\n"
            for i in range(8)
            for d, s in (("a", 3 if i in best else 1), ("b", 2))
        ]
        (tmp_path / name).write_text("".join(lines))
    return str(tmp_path / "qrels"), str(tmp_path / "first.run"), str(tmp_path / "other.run")


def test_paired_compares_every_later_run_with_the_first(eight: tuple[str, str, str]) -> None:
    result = call("rank", *eight, "-m", "mrr", "--paired", "--json")
    (pair,) = json.loads(result.stdout)["pairs"]

    assert (pair["run"], pair["minus"], pair["measure"], pair["n"]) == (
        "other.run",
        "first.run",
        "mrr",
        8,
    )
    assert pair["value"] == 0.5 * 7 / 8
    # Signs alone have 2 / 2^7; but a query in eight may lose its whole value, so the interval
    # has a 0.
    assert pair["low"] < 0 < pair["high"]
    assert pair["p"] == pytest.approx(0.109, abs=1e-3)
    assert pair["p_adjusted"] == pair["p"]
    printed = call("rank", *eight, "-m", "mrr", "--paired").stdout
    assert "other.run     +0.4375" in printed
    assert printed.endswith(
        "difference: the 95% interval covered as little as 90% in simulations\n"
    )
    assert json.loads(result.stdout)["interval_coverage"] == {"pairs": 90}


def test_pairs_without_an_interval_have_no_note_on_it(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\n")
    for name in ("a.run", "b.run"):
        (tmp_path / name).write_text("q1 Q0 a 1 1.0 t\n")
    files = [str(tmp_path / name) for name in ("qrels", "a.run", "b.run")]
    assert "in simulations" not in call("rank", *files, "--paired").stdout
    assert "interval_coverage" not in json.loads(call("rank", *files, "--paired", "--json").stdout)


def test_paired_needs_two_runs(eight: tuple[str, str, str]) -> None:
    result = call("rank", *eight[:2], "--paired", exits=2)

    assert "give two or more" in result.stderr


def test_terminal_opens_with_a_sentence_and_ends_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 a 1\n")
    (tmp_path / "one.run").write_text("q1 Q0 a 1 2 r\nq2 Q0 x 1 2 r\nq2 Q0 a 2 1 r\n")
    (tmp_path / "two.run").write_text("q1 Q0 a 1 2 r\nq2 Q0 a 1 2 r\n")
    arguments = ("rank", "qrels", "one.run", "two.run", "-m", "mrr")

    with Terminal(tmp_path, *arguments, columns=80) as terminal:
        shown = terminal.until("Next: ")

    assert "two.run has the highest mrr, 1.0000 over 2 queries." in shown
    assert "mrr       0.7500   1.0000" in shown


def test_terminal_does_not_order_runs_with_values_for_other_queries(
    files: tuple[str, str, str], tmp_path: Path
) -> None:
    with Terminal(tmp_path, "rank", *files, "-m", "mrr", columns=100) as terminal:
        shown = terminal.until("Next: ")

    assert "The runs have mrr for different queries: their means do not compare." in shown
    assert "highest" not in shown


def test_grades_below_the_level_of_relevance_are_the_reason_why_nothing_is_relevant(
    files: tuple[str, str, str],
) -> None:
    Path(files[0]).write_text("q1 0 a 0.9\nq1 0 n 0\nq2 0 a 0.5\n")
    said = call("rank", *files[:2], "-m", "map").stdout
    assert (
        "no grade reaches 1, from which on documents are relevant (-l); the highest is 0.9" in said
    )
