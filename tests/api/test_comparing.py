"""Two reports compared in Python."""

from __future__ import annotations

from pathlib import Path

import claimeval as ce
from benchmarks.loopback import claim_judge
from tests.api.test_claims import SAMPLES, spec
from tests.conftest import StartServer
from tests.report.runs import TOWER_SAYS, make


def test_reports_and_run_directories_compare_alike(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(judge=claim_judge.answer)
    better = [SAMPLES[0], {**SAMPLES[1], "answer": SAMPLES[1]["answer"].replace("A MISSING priest", "A priest")}]
    a = ce.score(SAMPLES[:2], judges=[spec(server)], metrics=["faithfulness"])
    b = ce.score(better, judges=[spec(server)], metrics=["faithfulness"])
    found = ce.compare(a, b)
    (metric,) = found.metrics
    assert (found.shared, metric.a, metric.b, metric.difference.value) == (2, 0.75, 0.875, 0.125)
    a.save(tmp_path / "a")
    b.save(tmp_path / "b")
    assert ce.compare(tmp_path / "a", str(tmp_path / "b")).metrics == found.metrics


def test_a_difference_over_what_judges_were_sure_of_is_warned_of(tmp_path: Path) -> None:
    """Of three claims the two judges of A are divided on two."""
    divided = make(tmp_path / "a", says={"one": TOWER_SAYS, "two": {}}, metrics=["faithfulness"])
    whole = make(tmp_path / "b", says={"one": {}}, metrics=["faithfulness"])
    assert ce.compare(divided, whole).abstained == (
        "A: Judges abstained on claims or are divided (2 of 3 in faithfulness), and a mean is over the others. "
        "The difference says little.",
    )
