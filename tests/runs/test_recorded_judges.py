"""Recorded judges of published data, imported and held to people: the numbers are those of other
programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.recorded_panels import OPENQA
from claimeval.api.claims import rejudge
from claimeval.data.labels import LabelFile
from claimeval.data.recorded import field_map
from claimeval.runs.agreement import Agreement, measure
from claimeval.runs.directory import LABELS, RunResults
from claimeval.runs.import_replies import ImportedRun, import_judged, open_file
from claimeval.runs.labels import join
from claimeval.types.options import PanelOptions
from tests.shared_data import shared_data


def imported(name: str, mapping: dict[str, Any], folder: Path) -> ImportedRun:
    path = shared_data(name)
    return import_judged(open_file(path, field_map(mapping)), str(path), folder)


def report(folder: Path, found: ImportedRun, judges: tuple[str, ...] | None = None) -> Agreement:
    names = judges or tuple(judge.name for judge in found.manifest.judges)
    panel = found.manifest.panel
    return measure(join(RunResults.of(folder), names, panel, LabelFile(folder / LABELS)), panel)


@pytest.fixture(scope="module")
def openqa(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ImportedRun]:
    folder = tmp_path_factory.mktemp("openqa") / "run"
    return folder, imported("openqa/nq301_visible.jsonl", OPENQA, folder)


def test_as_many_raw_texts_are_read_as_upstream_reads(openqa: tuple[Path, ImportedRun]) -> None:
    """Upstream recorded 803 verdicts of gpt-4 and 804 of davinci; the one text not read says both
    no and yes."""
    folder, found = openqa
    readings = found.counts.readings
    assert {name: reading.read for name, reading in readings.items()} == {
        "gpt-4": 803,
        "davinci": 804,
        "gpt-4 as recorded": 803,
        "davinci as recorded": 804,
    }
    unread = [
        json.loads(line)
        for line in (folder / "unread.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [u["reply"][:29] for u in unread] == ["No, the candidate is correct."]


def test_what_is_read_is_what_upstream_recorded_but_for_one_partly_correct(
    openqa: tuple[Path, ImportedRun],
) -> None:
    folder, _ = openqa
    differ = []
    for result in RunResults.of(folder):
        said = {v.judge: v.label for v in result.assessments[0].verdicts}
        differ += [
            (result.sample.id, judge)
            for judge in ("gpt-4", "davinci")
            if None not in (said[judge], said[f"{judge} as recorded"])
            and said[judge] != said[f"{judge} as recorded"]
        ]
    assert len(differ) == 1
    assert differ[0][1] == "gpt-4"


# scikit-learn 1.9.1 (cohen_kappa_score, f1_score, balanced_accuracy_score) and krippendorff 0.9.0.
KAPPA = {
    ("gpt-4 as recorded", "human"): 0.6987072347102363,
    ("davinci as recorded", "human"): 0.6691951690343019,
    ("gpt-4 as recorded", "davinci as recorded"): 0.7750924277694098,
}
ALPHA = 0.7752100840336135
AC1 = 0.7766367243812395


def test_agreement_equals_other_programs(openqa: tuple[Path, ImportedRun]) -> None:
    folder, found = openqa
    measured = report(folder, found, ("gpt-4 as recorded", "davinci as recorded"))
    kappa = {(pair.first, pair.second): pair.kappa.value for pair in measured.pairs}
    for pair, value in KAPPA.items():
        assert kappa[pair] == pytest.approx(value, abs=1e-9)
    assert measured.alpha is not None
    assert measured.ac1 is not None
    assert measured.alpha.value == pytest.approx(ALPHA, abs=1e-9)
    assert measured.ac1.value == pytest.approx(AC1, abs=1e-9)
    gpt4 = measured.raters[0]
    assert gpt4.f1.value == pytest.approx(0.8442728442728443, abs=1e-9)
    assert gpt4.balanced_accuracy.value == pytest.approx(0.8494478908188585, abs=1e-9)
    assert (measured.items, measured.questions, measured.unmatched) == (804, 157, 0)


def test_intervals_of_agreement_resample_questions(openqa: tuple[Path, ImportedRun]) -> None:
    folder, found = openqa
    rater, *_ = report(folder, found, ("gpt-4",)).raters
    assert rater.accuracy.reported is not None
    low, high = rater.accuracy.reported
    assert low < rater.accuracy.value < high  # type: ignore[operator]  # known
    assert 0.04 < high - low < 0.08  # 804 single answers would give 0.049


GRADES = {
    "h2oloo-zeroshot1": (0.2881624474722567, 0.5283869655116941),
    "willia-umbrela1": (0.2856428032453844, 0.5361647247311222),
}
"""scikit-learn 1.9.1: cohen_kappa_score with NIST's grades, unweighted and quadratic."""


def test_recorded_assessors_are_a_panel_of_grades(tmp_path: Path) -> None:
    judges = json.loads(shared_data("llmjudge/judges.json").read_text(encoding="utf-8"))["judges"]
    mapping = {
        "id": "query_id",
        "question": "query_id",
        "claim": "doc_id",
        "claim_id": "doc_id",
        "of": "passages",
        "against": "question",
        "judges": {name: f"grades[{judges.index(name)}]" for name in (*GRADES, "TREMA-nuggets")},
        "forms": "number",
        "grades": {"lowest": 0, "highest": 3, "positive_from": 2},
        "human_label": "human",
    }
    found = imported("llmjudge/judgments_visible.jsonl", mapping, tmp_path / "run")
    assert (found.counts.labels, found.summary.samples) == (2623, 13)
    measured = report(tmp_path / "run", found, tuple(GRADES))
    for rater in measured.raters:
        if rater.rater in GRADES:
            assert rater.weighted_kappa is not None
            values = rater.kappa_of_labels.value, rater.weighted_kappa.value
            assert values == pytest.approx(GRADES[rater.rater], abs=1e-9)
    ungraded = [a for r in RunResults.of(tmp_path / "run") for a in r.assessments if a.tied]
    assert ungraded
    assert {a.support for a in ungraded} == {
        "supported",
        "not_found",
    }  # three judges are never divided on support
    panel = rejudge(tmp_path / "run", panel=PanelOptions(vote="median"))
    assert panel.record.panel is not None
    assert (panel.record.panel.ties, panel.record.panel.claims) == (0, 2623)
    assert all(
        a.label is not None and not a.tied for result in panel.results for a in result.assessments
    )
