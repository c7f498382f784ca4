"""Judgments and runs in tables, also with ranks instead of scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval import ir
from tests.command_line import call

TABLE = """search_group_id,item_id,Ranks,Gains
x,a,1,0
x,b,2,0
x,c,3,1
y,f,1,1
y,g,2,0
y,h,3,1
"""
"""First relevant items at ranks 3 and 1."""


def test_rank_reads_a_table_of_items_ranks_and_gains(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    printed = call("rank", "t.csv", "t.csv", "-m", "mrr,P@1", folder=tmp_path).stdout
    # (1/3 + 1) / 2, and one of two queries
    assert "0.6667" in printed
    assert "0.5000" in printed


def test_a_frame_with_ranks_alone_is_a_run() -> None:
    import pandas

    rows = [line.split(",") for line in TABLE.splitlines()]
    frame = pandas.DataFrame(rows[1:], columns=rows[0])
    values = ir.evaluate(frame, frame, "recip_rank").per_query
    assert values == {"x": {"recip_rank": pytest.approx(1 / 3)}, "y": {"recip_rank": 1.0}}


def test_all_measures_of_trec_eval(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "r").write_text("1 Q0 a 1 1 x\n")
    a, b = (
        call("rank", "q", "r", "--trec", *options, folder=tmp_path).stdout
        for options in (["-a"], ["-m", "all_trec"])
    )
    assert a == b
    assert "bpref" in a
