"""What people label: disputed claims, rated answers, claims shown again, and labels that several
processes write."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.judging.panel import Panel
from claimeval.runs.annotation import ClaimAnnotation, ClaimItem, DocumentAnnotation
from claimeval.testing import ScriptedJudge
from claimeval.types.errors import UsageError
from claimeval.types.records import SampleResult
from tests.command_line import call
from tests.report.runs import TOWER, make

CLAIMS = [f"Room {i} is open." for i in range(30)]
SAMPLES = tuple(
    TOWER.model_copy(update={"id": f"t{i}", "question": f"{i}?", "answer": claim})
    for i, claim in enumerate(CLAIMS)
)


def claims(drawn: Iterable[object]) -> list[ClaimItem]:
    found = list(drawn)
    assert all(isinstance(item, ClaimItem) for item in found)
    return found  # type: ignore[return-value]  # all of them are


def annotated(run: Path, n: int, *, name: str = "", disputed: bool = False) -> ClaimAnnotation:
    drawn = ce.annotate(run, n=n, annotator=name, disputed=disputed)
    assert isinstance(drawn, ClaimAnnotation)
    return drawn


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three judges: one refuses rooms 0 to 3, another rooms 0 and 1, the third none."""
    says = {
        "strict": dict.fromkeys(CLAIMS[:4], "not_found"),
        "middle": dict.fromkeys(CLAIMS[:2], "contradicted"),
        "kind": {},
    }
    return make(tmp_path / "run", SAMPLES, says, metrics=("faithfulness",))


def test_disputed_claims_are_those_on_which_judges_differ_the_most_divided_first(run: Path) -> None:
    # rooms 0 and 1 have three different labels, rooms 2 and 3 two
    found = annotated(run, 100, disputed=True)
    assert [item.sample.id for item in found.items] == ["t0", "t1", "t2", "t3"]
    assert len(annotated(run, 3, disputed=True)) == 3


def test_a_claim_that_a_judge_labels_otherwise_when_asked_again_is_disputed(tmp_path: Path) -> None:
    def second_look(result: SampleResult) -> SampleResult:
        if result.sample.id != "t2":
            return result
        (one,) = result.assessments
        verdicts = [
            verdict.model_copy(update={"label": "not_found"} if verdict.replicate else {})
            for verdict in one.verdicts
        ]
        return result.model_copy(
            update={"assessments": (one.model_copy(update={"verdicts": tuple(verdicts)}),)}
        )

    panel = Panel(replicates=3)
    run = make(
        tmp_path,
        SAMPLES[:5],
        {"kind": {}},
        metrics=("faithfulness",),
        panel=panel,
        revise=second_look,
    )
    assert [item.sample.id for item in annotated(run, 100, disputed=True).items] == ["t2"]


def test_claims_that_people_see_otherwise_are_disputed_before_all_others(run: Path) -> None:
    for item in claims(annotated(run, 30, name="ada")):
        item.label("contradicted" if item.sample.id == "t9" else "unsure")
    assert [item.sample.id for item in annotated(run, 2, name="ben", disputed=True).items] == [
        "t9",
        "t0",
    ]


def test_labels_of_disputed_claims_are_left_out_of_a_correction_and_kept_for_agreement(
    run: Path,
) -> None:
    for item in claims(annotated(run, 100, disputed=True)):
        item.label("not_found")
    with pytest.raises(
        UsageError, match="left out: 4 of the disputed queue, which is no random sample"
    ):
        ce.correct(run)
    assert ce.agreement(run).items == 4
    drawn = annotated(run, 20)
    assert drawn.labeled == 0, "they are asked again in a draw"
    for item in claims(drawn):
        item.label("supported")
    found = ce.correct(run)
    again = sum(item.sample.id in {"t0", "t1", "t2", "t3"} for item in drawn.items)
    assert (found.labeled, found.labels.disputed) == (20, 4 - again)


def test_a_label_of_a_draw_stays_one_if_it_is_changed_among_the_disputed(run: Path) -> None:
    for item in claims(annotated(run, 30)):
        item.label("supported")
    annotated(run, 100, disputed=True).items[0].label("not_found")
    assert ce.correct(run).labeled == 30


def test_where_nobody_differs_nothing_is_disputed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing of faithfulness is disputed"):
        ce.annotate(
            make(tmp_path / "run", SAMPLES[:3], {"kind": {}}, metrics=("faithfulness",)),
            disputed=True,
        )


def test_a_tenth_of_the_claims_is_shown_again_and_compared_but_never_counted(run: Path) -> None:
    drawn = annotated(run, 30, name="ada")
    again = [item for item in drawn.turns if item.again]
    assert [drawn.turns.index(item) for item in again] == [20, 31]
    assert {item.key for item in again} <= {item.key for item in drawn.items[:20]}
    for item in drawn.turns:
        item.label("supported" if not item.again or item is again[0] else "not_found")
    progress = annotated(run, 30, name="ada").progress
    assert (progress.labeled, progress.drawn, progress.same, progress.repeated) == (30, 30, 1, 2)
    assert ce.agreement(run).labels.conflicting == 0


def test_a_label_can_be_taken_back_and_has_a_note_and_documents(run: Path) -> None:
    drawn = annotated(run, 5, name="ada")
    first, second = drawn.items[:2]
    first.label("supported", note="see the plan", cites=["guide"])
    second.label("supported")
    second.label(None)
    (row,) = [json.loads(line) for line in drawn.path.read_text().splitlines()]
    assert (row["label"], row["note"], row["cites"]) == ("supported", "see the plan", ["guide"])
    assert list(annotated(run, 5, name="ada").labels) == [first.key]


def test_enough_labels_are_said_from_ten_on(run: Path) -> None:
    drawn = annotated(run, 30)
    for number, item in enumerate(drawn.items[:10], 1):
        assert drawn.progress.needed is None, number
        item.label("supported")
    # 10 of 10 like the panel: Wilson's interval of 10 ends at .74 or above, so several times as
    # many labels are needed
    assert drawn.progress.needed is not None
    assert drawn.progress.needed > 30


WRITER = """
import sys
import claimeval as ce
drawn = ce.annotate(sys.argv[1], n=30, annotator=sys.argv[2])
for word in ("supported", "not_found"):
    for item in drawn.items:
        item.label(word)
"""


def test_two_processes_that_label_at_once_lose_nothing(run: Path) -> None:
    """Each gives every claim a label and changes it, which rewrites the file while the other adds
    to it."""
    annotated(run, 30)
    names = ("ada", "ben")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(run), name]) for name in names]
    assert [writer.wait() for writer in writers] == [0, 0]
    for name in names:
        assert list(annotated(run, 30, name=name).labels.values()) == ["not_found"] * 30


def test_a_line_that_a_full_disk_cut_off_is_no_label_and_hinders_nothing(run: Path) -> None:
    drawn = annotated(run, 5)
    drawn.items[0].label("supported")
    with drawn.path.open("a") as file:
        file.write('{"id": "t1", "clai')
    drawn.items[1].label("supported")
    assert len(annotated(run, 5).labels) == 2


def test_rated_answers_are_labeled_in_the_words_of_the_rating(tmp_path: Path) -> None:
    """Ten answers that the judge finds fully relevant; a person finds two of them not relevant at
    all."""
    judge = ScriptedJudge(
        reply=lambda text: '{"reason": "so", "rating": "fully", "noncommittal": false}'
    )
    samples = [sample.model_dump(mode="json", exclude_defaults=True) for sample in SAMPLES[:10]]
    run = ce.rate(samples, judges=judge, ask="relevance", out=tmp_path / "run").path
    assert run is not None
    drawn = annotated(run, 10)
    best = list(drawn.keys.values())[-2]
    worst = next(iter(drawn.keys.values()))
    assert [*drawn.keys][-1] == "?"
    for place, item in enumerate(drawn.items):
        assert (item.claim.text, item.documents) == (item.sample.answer, ())
        item.label(worst if place < 2 else best)
    found = ce.correct(run)
    assert (found.unit, found.labeled) == ("answer", 10)
    assert found.micro.people.value == pytest.approx(0.8)
    assert ce.agreement(run).raters[0].same.value == pytest.approx(0.8)
    assert len(annotated(run, 10, disputed=True)) == 2


def test_answers_drawn_by_their_rating_keep_their_probabilities(tmp_path: Path) -> None:
    """The judge finds 26 of 30 answers fully relevant; of 20 drawn, four are not, and people agree
    with the judge."""
    judge = ScriptedJudge(
        reply=lambda text: json.dumps(
            {
                "reason": "so",
                "rating": "no" if any(c in text for c in CLAIMS[:4]) else "fully",
                "noncommittal": False,
            }
        )
    )
    samples = [sample.model_dump(mode="json", exclude_defaults=True) for sample in SAMPLES]
    run = ce.rate(samples, judges=judge, ask="relevance", out=tmp_path / "run").path
    assert run is not None
    drawn = ce.annotate(run, n=20, design="label")
    assert isinstance(drawn, ClaimAnnotation)
    words = list(drawn.keys.values())
    for item in drawn.items:
        item.label(words[0] if item.claim.text in CLAIMS[:4] else words[-2])
    found = ce.correct(run)
    assert (found.equal, found.labeled) == (False, 20)
    assert found.micro.people.value == pytest.approx(26 / 30)


def test_a_document_is_labeled_in_two_processes_and_taken_back(run: Path) -> None:
    first, second = (ce.annotate(run, documents=True, n=4) for _ in range(2))
    assert isinstance(first, DocumentAnnotation)
    assert isinstance(second, DocumentAnnotation)
    first.items[0].label("good")
    second.items[1].label("bad", note="about soup")
    first.items[2].label("good")
    first.items[2].label(None)
    again = ce.annotate(run, documents=True, n=4)
    assert sorted(again.labels.values()) == ["bad", "good"]
    assert len(again.path.read_text().splitlines()) == 2


def test_labels_of_an_exported_disputed_queue_are_no_random_sample(
    run: Path, tmp_path: Path
) -> None:
    """Filled in elsewhere, they corrected the score as if drawn at random."""
    file = tmp_path / "todo.csv"
    assert annotated(run, 4, disputed=True).export(file) == 4
    with file.open(encoding="utf-8", newline="") as exported:
        rows = [{**row, "label": "supported"} for row in csv.DictReader(exported)]
    assert {row["design"] for row in rows} == {"disputed"}
    with file.open("w", encoding="utf-8", newline="") as filled:
        writer = csv.DictWriter(filled, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(UsageError, match="4 of the disputed queue, which is no random sample"):
        ce.correct(run, file)
    report = ce.agreement(run, file)
    assert report.disputed == 4
    assert any("no random sample: how often judges agree" in note for note in report.notes)
    annotated(run, 4).export(file)
    assert "design" not in file.read_text(encoding="utf-8").splitlines()[0]


def test_labels_of_disputed_claims_do_not_say_how_many_more_are_needed(tmp_path: Path) -> None:
    """Judges err on them more often than on others, and `correct` leaves them out."""
    says = {"strict": dict.fromkeys(CLAIMS[:20], "not_found"), "kind": {}, "mild": {}}
    run = make(tmp_path / "run", SAMPLES, says, metrics=("faithfulness",))
    needed = []
    for name, disputed in (("ada", False), ("ben", True)):
        drawn = annotated(run, 30, name=name, disputed=disputed)
        for number, item in enumerate(claims(drawn)):
            item.label("supported" if number % 3 else "not_found")
        assert drawn.progress.labeled >= 20
        needed.append(drawn.progress.needed)
    assert needed[0] is not None
    assert needed[1] is None


def test_needed_labels_take_the_claims_of_an_answer_together(tmp_path: Path) -> None:
    """Twelve answers of three claims, which a person refuses as a whole or not at all."""
    texts = [[f"Door {i}-{part} is open." for part in range(3)] for i in range(12)]
    samples = tuple(
        TOWER.model_copy(update={"id": f"t{i}", "question": f"{i}?", "answer": " ".join(of_one)})
        for i, of_one in enumerate(texts)
    )
    run = make(tmp_path / "run", samples, {"kind": {}}, metrics=("faithfulness",))
    drawn = annotated(run, 36)
    for item in claims(drawn):
        item.label("not_found" if int(item.sample.id[1:]) % 3 == 0 else "supported")
    # By hand, independent claims would need about (1.96 / 0.05)^2 * 2/9 - 36 = 305 more.
    assert drawn.progress.needed is not None
    assert drawn.progress.needed > 600


def test_a_sheet_of_disputed_claims_leads_to_agreement_and_not_to_a_correction(
    run: Path, tmp_path: Path
) -> None:
    sheet = tmp_path / "todo.csv"
    done = call("annotate", run, "--disputed", "--export", sheet)
    assert f"then: claimeval agreement {run} --labels {sheet}" in " ".join(done.stdout.split())
    with sheet.open(encoding="utf-8", newline="") as exported:
        rows = [{**row, "label": "supported"} for row in csv.DictReader(exported)]
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = call("agreement", run, "--labels", labels)
    assert "4 labels of the disputed queue, which is no random sample" in " ".join(
        done.stdout.split()
    )
    assert "claimeval correct" not in done.stdout
    assert "more labels would give" not in done.stdout
