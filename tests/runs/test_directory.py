"""A run directory that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

import claimeval as ce
from claimeval.runs.compare import compare, track
from claimeval.runs.directory import beside, load_manifest
from claimeval.testing import samples
from claimeval.types.errors import DataError, UsageError


def test_a_run_of_another_format_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": 1}')
    with pytest.raises(DataError, match="is a run of format 1, and this version reads format 2"):
        load_manifest(tmp_path)


@pytest.mark.parametrize("name", ["results.jsonl.part", "manifest.json.part", "summary.json.part", "report.html.part"])
def test_nothing_is_written_through_a_link_in_the_run_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / "victim").write_text("precious")
    run = tmp_path / "run"
    ce.score(samples()[:1], judges="local:lexical", metrics="faithfulness", out=run)
    (run / name).symlink_to(tmp_path / "victim")
    with pytest.raises(UsageError, match=f"{name} is a link"):
        ce.score(samples()[:1], judges="local:lexical", metrics="faithfulness", out=run)
    assert (tmp_path / "victim").read_text() == "precious"


def test_metrics_of_several_sources_share_no_name(tmp_path: Path) -> None:
    own = {"words": lambda sample: float(len(sample.answer or "")), "faithfulness": lambda sample: 1.0}
    for name, limit in (("a", 3), ("b", 2)):
        run = ce.score(samples()[:3], judges="local:lexical", metrics="faithfulness", out=tmp_path / name)
        ce.measure(run, own, out=tmp_path / name / "measure")
        ce.measure(run, {"words": own["words"]}, limit=limit, out=tmp_path / name / "other")
    run = ce.Run.load(tmp_path / "a")
    assert [name for side in beside(tmp_path / "a", run.summary) for name in side.metrics] == [
        "measure/words",
        "measure/faithfulness",
        "other/words",
    ]
    page = run.report(tmp_path / "run.md", format="md")
    assert all(f"`{name}`" in page for name in ("faithfulness", "measure/faithfulness", "measure/words", "other/words"))
    compared = track([tmp_path / "a", tmp_path / "b"])
    assert [one.metric for one in compared.tracks] == [
        "faithfulness",
        "measure/words",
        "measure/faithfulness",
        "other/words",
    ]
    assert [one.metric for one in track([tmp_path / "a", tmp_path / "b"], ["other/words"]).tracks] == ["words"]
    names = [one.metric for one in compare(tmp_path / "a", tmp_path / "b").comparison.metrics]
    assert names == ["faithfulness", "measure/words", "measure/faithfulness", "other/words"]
