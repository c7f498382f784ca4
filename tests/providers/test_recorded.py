"""`recorded:FILE`: what the file has is answered however it is asked for, and what it lacks is
missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.runs.overview import gather
from claimeval.testing import samples
from tests.command_line import call

FAULTY = {
    "city-tram-tickets": [
        "day ticket for the trams in Harrowmere costs 8.60",
        "three children under twelve",
    ],
    "leaflet-veltoril-dose": ["only four hours apart", "daily maximum of Veltoril is 80 mg"],
    "leaflet-orsiban-driving": ["eye drops make you tired", "lenses do not have to be taken out"],
    "cooking-rye-bread": ["has to be kneaded", "cut the rye loaf on the same day"],
    "museum-ferry-at-dusk": ["painted by José Ibarrondo", "given to the gallery by Renée Dufault"],
    "history-skerrin-lighthouse": ["designed by Edwin Pell", "first keeper", "3 October 1871"],
    "energy-battery-storage": [
        "home batteries",
        "grants were the main",
        "until 2029",
        "pay grid fees",
    ],
    "law-rental-deposit": [
        "whole rental deposit at the beginning",
        "together with other money",
        "ordinary wear",
    ],
    "manual-export-formats": [
        "protected with a password",
        "every Friday evening",
        "export menu is missing",
    ],
    "cooking-quince-jelly": ["brandy", "upside down", "beeswax"],
}
"""The ten samples with planted faults of five kinds, and words of each claim that states one."""
GOOD = {
    "handbook-remote-days",
    "museum-clocks-opening",
    "history-apollo-11",
    "lamp-warranty",
    "stadtfuehrer-rathausturm",
    "manual-restore-notebook",
}
"""Good answers, two of them paraphrases."""


@pytest.fixture(scope="module")
def demo() -> ce.Run:
    return ce.score(samples(), judges="recorded:demo")


def unsupported(result: ce.types.SampleResult) -> list[str]:
    """The claims of the answer that the contexts do not support."""
    texts = {claim.id: claim.text for claim in result.claims if claim.of == "answer"}
    return [
        texts[assessment.subject]
        for assessment in result.assessments
        if assessment.subject in texts
        and assessment.evidence.part == "contexts"
        and assessment.label != "supported"
    ]


def test_the_demo_finds_every_planted_fault_and_no_other(demo: ce.Run) -> None:
    found = {result.sample.id: unsupported(result) for result in demo}
    for sample, faults in FAULTY.items():
        assert len(found[sample]) == len(faults), found[sample]
        for claim, words in zip(found[sample], faults, strict=True):
            assert words in claim
    others = {sample for sample, claims in found.items() if claims} - FAULTY.keys()
    assert others == {"law-leaf-blower-fine"}  # the contexts do not say what its answer states


def test_good_answers_and_paraphrases_pass(demo: ce.Run) -> None:
    assert {
        result.sample.id: result.faithfulness for result in demo if result.sample.id in GOOD
    } == dict.fromkeys(GOOD, 1.0)


def test_the_claims_to_look_at_first_are_planted_faults(demo: ce.Run, tmp_path: Path) -> None:
    demo.save(tmp_path / "run")
    worst = json.loads(
        call("report", tmp_path / "run", "--format", "json", folder=tmp_path).stdout
    )["front"]["read"]
    assert {claim["sample_id"] for claim in worst[:5]} <= {*FAULTY, "law-leaf-blower-fine"}
    assert not GOOD & {claim["sample_id"] for claim in worst}


def test_the_demo_has_the_means_of_the_recorded_replies(demo: ce.Run) -> None:
    """The means that the 167 recorded replies gave when their requests were answered one by one."""
    means = {name: round(metric.mean or 0, 3) for name, metric in demo.summary.items()}
    assert means == {
        "faithfulness": 0.803,
        "correctness": 0.396,
        "coverage": 0.585,
        "context_recall": 0.984,
    }


@pytest.mark.parametrize(
    "settings", [{"claims_per_call": 1}, {"claims_per_call": 50}, {"shuffle_contexts": 1}]
)
def test_other_requests_about_the_same_claims_give_the_same_labels(
    demo: ce.Run, settings: dict[str, int]
) -> None:
    # a door has many types
    other = ce.score(samples(), judges="recorded:demo", **settings)  # type: ignore[arg-type]

    def labels(run: ce.Run) -> list[tuple[str, str, str | None]]:
        return [
            (a.subject, a.evidence.part, a.label)
            for result in run
            for a in result.assessments
            if a.evidence.is_whole
        ]

    assert labels(other) == labels(demo)


TOWER = {
    "id": "tower",
    "question": "How high is the tower?",
    "answer": "The tower is 63 m high. It was built in 1871.",
    "contexts": ["The tower is 58 m high.", "It can be climbed."],
}
CLAIMS = {
    "text": TOWER["answer"],
    "claims": [{"claim": "The tower is 63 m high."}, {"claim": "It dates from 1871."}],
}
VERDICT = {
    "claim": "The tower is 63 m high.",
    "label": "contradicted",
    "reason": "58, not 63.",
    "documents": [2],
}
VERDICTS = {"evidence": ["It can be climbed.", "The tower is 58 m high."], "verdicts": [VERDICT]}


def recorded(folder: Path, *lines: object) -> str:
    path = folder / "replies.jsonl"
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )
    return f"recorded:{path}"


def test_a_file_answers_by_text_claim_and_evidence_and_the_rest_is_not_in_cache(
    tmp_path: Path,
) -> None:
    """Its evidence is in another order than the contexts: document 2 of the file is `1` of the
    sample."""
    run = ce.score(TOWER, judges=recorded(tmp_path, CLAIMS, VERDICTS), metrics="faithfulness")
    (result,) = run
    first, second = result.assessments
    assert (first.label, first.verdicts[0].explanation) == ("contradicted", "58, not 63.")
    assert [d.text for d in result.sample.contexts or () if d.id in first.verdicts[0].cites] == [
        "The tower is 58 m high."
    ]
    assert (second.label, second.unassessed) == (None, "not_in_cache")
    assert run["faithfulness"].unassessed == {"not_in_cache": 1}


def test_a_text_without_recorded_claims_has_no_score(tmp_path: Path) -> None:
    run = ce.score(
        {**TOWER, "answer": "Another answer."},
        judges=recorded(tmp_path, CLAIMS),
        metrics="faithfulness",
    )
    assert (run["faithfulness"].mean, run["faithfulness"].missing) == (None, {"not_in_cache": 1})


def test_a_prompt_with_other_labels_gets_no_answer(tmp_path: Path) -> None:
    """`binary` has no word for "contradicted": answers to the other claims alone would give a wrong
    score."""
    more = {
        **VERDICTS,
        "verdicts": [VERDICT, {"claim": "It dates from 1871.", "label": "supported"}],
    }
    run = ce.score(
        TOWER,
        judges=recorded(tmp_path, CLAIMS, more),
        metrics="faithfulness",
        assess_prompt="binary",
    )
    assert run["faithfulness"].unassessed == {"not_in_cache": 2}


def test_the_note_says_whose_replies_they_are(tmp_path: Path) -> None:
    judge = recorded(tmp_path, {"source": "a committee of two"}, CLAIMS, VERDICTS)
    run = ce.score(TOWER, judges=judge, metrics="faithfulness")
    assert run.manifest.notes == ("replay of recorded replies: a committee of two",)
    assert run.cost is not None
    assert run.cost.dollars == 0


def test_the_file_that_the_docs_show_answers(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "docs" / "reference" / "hosts.md"
    page = path.read_text(encoding="utf-8")
    lines = page.partition("<!-- recorded -->\n```json\n")[2].partition("```")[0].splitlines()
    sample = {**TOWER, "answer": "It is 63 m high."}
    run = ce.score(sample, judges=recorded(tmp_path, *lines), metrics="faithfulness")
    assert run.manifest.notes == ("replay of recorded replies: two people, May 2026",)
    assert [assessment.label for result in run for assessment in result.assessments] == [
        "contradicted"
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": ', "line 2: Invalid JSON: EOF while parsing a value at line 1 column 9"),
        (
            {"text": "x"},
            "line 2: a line has `text` and `claims`, or `evidence` and `verdicts`, or `source`",
        ),
        (
            {"evidence": "x", "verdicts": []},
            "line 2, evidence: needs a list, got 'x'",
        ),
        (
            {**VERDICTS, "verdicts": [{**VERDICT, "label": "contradict"}]},
            "Did you mean 'contradicted'?",
        ),
        (
            {**VERDICTS, "verdicts": [{**VERDICT, "documents": [3]}]},
            "`documents` are numbers of the 2 texts",
        ),
        ({**CLAIMS, "claims": []}, "line 2: other claims of this text were given before"),
        (
            {**VERDICTS, "verdicts": [VERDICT, {**VERDICT, "label": "supported"}]},
            "another verdict on the claim",
        ),
    ],
)
def test_a_malformed_line_is_one_clear_line_and_ends_with_2(
    tmp_path: Path, line: object, problem: str
) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps(TOWER))
    judge = recorded(tmp_path, CLAIMS, line)
    done = call("score", "data.jsonl", "-j", judge, "-m", "faithfulness", folder=tmp_path, exits=2)
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "judge", ["recorded:none.jsonl", "recorded:none", "recorded:demo@http://127.0.0.1:1/v1"]
)
def test_a_judge_without_a_file_is_refused(tmp_path: Path, judge: str) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps(TOWER))
    done = call("score", "data.jsonl", "-j", judge, "-m", "faithfulness", folder=tmp_path, exits=2)
    assert len(done.stderr.splitlines()) == 1


def test_a_run_whose_file_has_changed_is_not_resumed_with_other_replies(tmp_path: Path) -> None:
    judge = recorded(tmp_path, CLAIMS, VERDICTS)
    run = ce.score(TOWER, judges=judge, metrics="faithfulness", out=tmp_path / "run")
    recorded(tmp_path, CLAIMS)
    with pytest.raises(ce.UsageError, match="its file has changed since the run"):
        ce.rejudge(run, assess_prompt="binary")


def test_a_file_on_record_answers_again_in_rejudge(tmp_path: Path) -> None:
    run = ce.score(
        TOWER,
        judges=recorded(tmp_path, CLAIMS, VERDICTS),
        metrics="faithfulness",
        out=tmp_path / "run",
    )
    recorded(tmp_path, CLAIMS, VERDICTS)
    again = ce.rejudge(run, claims_per_call=1)
    assert [a.label for result in again for a in result.assessments] == ["contradicted", None]


@pytest.mark.parametrize(
    ("in_contexts", "worst"),
    [("supported", []), ("not_found", [("It dates from 1871.", "contexts", "not_found")])],
)
def test_what_only_a_short_gold_answer_lacks_is_not_among_the_claims_to_look_at_first(
    tmp_path: Path, in_contexts: str, worst: list[tuple[str, str, str]]
) -> None:
    """The gold answer has the second claim alone, which the contexts have or lack."""
    claims = [entry["claim"] for entry in CLAIMS["claims"]]  # type: ignore[index]  # a line of JSON
    gold = "It was built in 1871."

    def verdicts(evidence: list[str], *labels: str) -> dict[str, object]:
        pairs = zip(claims, labels, strict=True)
        return {
            "evidence": evidence,
            "verdicts": [{"claim": claim, "label": label} for claim, label in pairs],
        }

    judge = recorded(
        tmp_path,
        CLAIMS,
        verdicts(["The tower is 58 m high.", "It can be climbed."], "supported", in_contexts),
        verdicts([gold], "not_found", "supported"),
    )
    run = tmp_path / "run"
    ce.score(
        {**TOWER, "reference_answers": [gold]},
        judges=judge,
        metrics="faithfulness,correctness",
        out=run,
    )
    assert [
        (claim.claim, claim.evidence.part, claim.label) for claim in gather(run).front.read
    ] == worst
