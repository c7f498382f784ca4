"""Scores of whole answers beside ratings by people, and recorded verdicts per chunk and per
system."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import scipy

import claimeval as ce
from claimeval.evaluation.validity import GraderReport
from claimeval.runs.agreement import Agreement
from claimeval.runs.ratings import PeopleCorrelation, RatingAgreement, RatingCorrelation
from claimeval.runs.views import Line
from claimeval.runs.views import agreement as views
from claimeval.types.estimates import Estimate
from tests.command_line import call
from tests.shared_data import shared_data


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def ratings(*arguments: Any, **options: Any) -> RatingAgreement:
    found = ce.agreement(*arguments, **options).ratings
    assert found
    return found


def test_a_table_of_pairs_compares_the_difference_of_scores_with_the_preference(
    tmp_path: Path,
) -> None:
    scores = [(0.1, 0.9), (0.8, 0.3), (0.5, 0.5), (0.2, 0.4), (0.9, 0.6), (0.3, 0.7)]
    people: list[list[float | None]] = [[2, 1], [-1, -2], [0, 0], [1, None], [1, -1], [1, 2]]
    table = lines(
        tmp_path / "pairs.jsonl",
        [
            {
                "question": f"q{i}",
                "responses": [{"f1": a}, {"f1": b}],
                "human": [{"overall": value} for value in said],
            }
            for i, ((a, b), said) in enumerate(zip(scores, people, strict=True))
        ],
    )
    found = ratings(table, scores=["responses.f1"], ratings=["human.overall"], pairs=True)
    (one,) = found.correlations
    differences = [b - a for a, b in scores]
    means = [1.5, -1.5, 0.0, 1.0, 0.0, 1.5]
    assert one.pearson.value == pytest.approx(scipy.stats.pearsonr(differences, means).statistic)
    assert one.spearman.value == pytest.approx(scipy.stats.spearmanr(differences, means).statistic)
    assert one.agreeing
    assert (one.agreeing.value, one.agreeing.n) == (1.0, 4)  # two pairs are equal to people
    assert found.people[0].items == 5


def test_ratings_of_the_samples_of_a_run_are_compared_with_every_metric(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"q{i}",
            "question": f"{i}?",
            "answer": "word " * (i + 1),
            "reference_answers": ["word"],
        }
        for i in range(8)
    ]
    ce.measure(rows, "token_recall", out=tmp_path / "run")
    file = lines(tmp_path / "r.jsonl", [{"id": f"q{i}", "rating": 10 - i} for i in range(9)])
    done = call("agreement", tmp_path / "run", "--labels", file, "--json", folder=tmp_path)
    found = json.loads(done.stdout)["ratings"]
    by_score = {one["score"]: one for one in found["correlations"]}
    assert by_score["answer_length"]["spearman"]["value"] == pytest.approx(-1)
    assert by_score["token_recall"]["spearman"]["because"] == "one of the scores is constant"
    assert (found["items"], found["unmatched"]) == (8, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"scores": ["f1"], "ratings": ["humna"]},
            "no row has the field 'humna'. Did you mean 'human'",
        ),
        ({"ratings": ["human"]}, "a table needs --score and --rating"),
        ({"scores": ["f1"], "ratings": ["human"], "pairs": True}, "--pairs needs two"),
    ],
)
def test_a_table_without_the_fields_is_refused(
    tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    table = lines(tmp_path / "t.jsonl", [{"f1": 0.5, "human": 1}, {"f1": 0.7, "human": 2}])
    with pytest.raises(ce.UsageError, match=words):
        ce.agreement(table, **options)


def test_one_command_correlates_ragcheckers_scores_with_the_preferences_of_people() -> None:
    file = shared_data("ragchecker/pairs_visible.jsonl")
    done = call(
        "agreement",
        file,
        "--score",
        "responses.ragchecker",
        "--rating",
        "human.overall",
        "--pairs",
        "--json",
    )
    found = json.loads(done.stdout)["ratings"]
    f1 = next(one for one in found["correlations"] if one["score"].endswith("f1"))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    scores = [
        row["responses"][1]["ragchecker"]["f1"] - row["responses"][0]["ragchecker"]["f1"]
        for row in rows
    ]
    people = [sum(one["overall"] for one in row["human"]) / 2 for row in rows]
    assert f1["items"] == 147
    assert f1["pearson"]["value"] == pytest.approx(scipy.stats.pearsonr(scores, people).statistic)
    assert (
        f1["spearman"]["value"]
        == pytest.approx(scipy.stats.spearmanr(scores, people).statistic)
        == pytest.approx(0.585, abs=1e-3)
    )


CHUNKS = {
    "id": "id",
    "claim": "claim",
    "contexts": "text",
    "document": "chunk",
    "against": "contexts",
    "judge": "model",
    "reply": "score",
    "forms": ["probability"],
    "human_label": "label",
}


def test_verdicts_per_chunk_become_verdicts_per_document_and_one_chunk_is_enough(
    tmp_path: Path,
) -> None:
    table = [
        {
            "id": "a",
            "claim": "It rains.",
            "chunk": 0,
            "text": "Sun.",
            "model": "t5",
            "score": 0.2,
            "label": "no",
        },
        {
            "id": "a",
            "claim": "It rains.",
            "chunk": 1,
            "text": "Rain.",
            "model": "t5",
            "score": 0.9,
            "label": "yes",
        },
        {
            "id": "b",
            "claim": "It snows.",
            "chunk": 0,
            "text": "Sun.",
            "model": "t5",
            "score": 0.3,
            "label": "no",
        },
    ]
    run = ce.import_replies(
        lines(tmp_path / "chunks.jsonl", table), mapping=CHUNKS, out=tmp_path / "run"
    )
    first, second = run.results
    assert [(one.evidence.document, one.label) for one in first.per_document] == [
        (1, "not_found"),
        (2, "supported"),
    ]
    assert [one.label for one in (*first.whole, *second.whole)] == ["supported", "not_found"]
    (verdict,) = first.assessments[0].verdicts
    assert (verdict.cites, verdict.probability) == (("1",), 0.9)
    assert [document.text for document in first.sample.contexts or ()] == ["Sun.", "Rain."]
    found = ce.agreement(tmp_path / "run")
    assert (found.items, found.raters[0].accuracy.value) == (2, 1.0)


def test_several_systems_in_a_row_are_a_sample_each(tmp_path: Path) -> None:
    mapping = {
        "id": "id",
        "question": "q",
        "reference_answers": "gold",
        "systems": "answers",
        "answer": "answer",
        "claim": "answer",
        "against": "reference",
        "judges": {"gpt": "verdict"},
        "forms": ["word"],
    }
    answers = {"x": {"answer": "Rome", "verdict": "yes"}, "y": {"answer": "Bern", "verdict": "no"}}
    table: list[dict[str, Any]] = [{"id": 1, "q": "Where?", "gold": ["Rome"], "answers": answers}]
    table.append({**table[0], "id": 2, "answers": [{"system": "x", **answers["x"]}]})
    run = ce.import_replies(lines(tmp_path / "rows.jsonl", table), mapping=mapping)
    assert [(one.id, one.generator, one.answer) for one in run.samples] == [
        ("1 x", "x", "Rome"),
        ("1 y", "y", "Bern"),
        ("2 x", "x", "Rome"),
    ]
    assert [result.correctness for result in run.results] == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("file", "rows", "mapping", "samples"),
    [
        (
            "evouna/nq_visible.jsonl",
            400,
            {
                "id": "id",
                "question": "question",
                "reference_answers": "gold_answers",
                "systems": "answers",
                "answer": "answer",
                "claim": "answer",
                "against": "reference",
                "judges": {"people": "human"},
                "forms": ["word"],
            },
            1999,
        ),
        (
            "wice/dev_oracle_chunks.jsonl",
            1043,
            {
                "id": "id",
                "claim": "claim",
                "contexts": "evidence",
                "document": "chunk",
                "against": "contexts",
                "judges": {"people": "label"},
                "forms": ["word"],
                "words": {"partially_supported": "not_found", "not_supported": "not_found"},
            },
            349,
        ),
    ],
)
def test_published_files_are_imported_by_mapping_alone(
    file: str, rows: int, mapping: dict[str, Any], samples: int, tmp_path: Path
) -> None:
    """Their last rows; one of EVOUNA's has four systems in place of five, and three have an empty
    answer."""
    published = shared_data(file).read_text(encoding="utf-8").splitlines(keepends=True)
    part = tmp_path / "part.jsonl"
    part.write_text("".join(published[-rows:]), encoding="utf-8")
    run = ce.import_replies(part, mapping=mapping, out=tmp_path / "run")
    (metric,) = run.summary.values()
    assert (len(run), metric.judged) == (samples, samples)


def correlated(score: str, rating: str, value: float, half: float) -> RatingCorrelation:
    spearman = Estimate(
        value=value, low=value - half, high=value + half, n=50, clusters=50, ends="interval"
    )
    return RatingCorrelation(
        score=score, rating=rating, items=50, spearman=spearman, pearson=Estimate()
    )


def first_sentence(*pairs: RatingCorrelation, **people: float) -> str:
    found = RatingAgreement(
        items=50,
        unmatched=0,
        pairs=False,
        correlations=pairs,
        people=tuple(
            PeopleCorrelation(rating=rating, items=50, spearman=Estimate(value=value))
            for rating, value in people.items()
        ),
    )
    _, sentence, *_ = views.ratings(found, "runs/a")
    assert isinstance(sentence, Line)
    return "".join(sentence.parts)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([("b", 0.2, 0.1)], ", the closest of 2 scores."),
        (
            [("b", 0.5, 0.1)],
            ", the closest of 2 scores, but the 0.50 of b may be lower by chance alone.",
        ),
        (
            [("b", 0.5, 0.1), ("c", 0.1, 0.4), ("d", 0.1, 0.1)],
            ", the closest of 4 scores, but 2 others may be lower by chance alone.",
        ),
    ],
)
def test_the_score_closest_to_ratings_may_be_so_by_chance_alone(
    others: list[tuple[str, float, float]], said: str
) -> None:
    pairs = [correlated(name, "overall", value, half) for name, value, half in others]
    sentence = first_sentence(correlated("a", "overall", 0.6, 0.1), *pairs)
    assert sentence == f"a goes with the ratings by people: Spearman 0.60 (0.50 to 0.70){said}"


def test_the_score_closest_to_one_rating_is_not_measured_by_another() -> None:
    """Scores and annotators of another rating say nothing of this one."""
    sentence = first_sentence(
        correlated("a", "fluency", 0.6, 0.1),
        correlated("a", "truth", 0.5, 0.1),
        fluency=0.7,
        truth=0.9,
    )
    assert sentence == (
        "a goes with the ratings by people of fluency: Spearman 0.60 (0.50 to 0.70). Two annotators"
        " reach 0.70 with each other."
    )


@pytest.mark.parametrize(
    ("kappa", "said"),
    [
        (0.3, ", the closest of 2 assessors. "),
        (
            0.55,
            ", the closest of 2 assessors, but the 0.55 of b may be lower by chance alone. ",
        ),
    ],
)
def test_the_assessor_closest_to_people_may_be_so_by_chance_alone(kappa: float, said: str) -> None:
    def report(value: float) -> GraderReport:
        estimate = Estimate(
            value=value, low=value - 0.1, high=value + 0.1, n=50, clusters=50, ends="interval"
        )
        return GraderReport(
            pairs=50,
            unassessed=0,
            further=0,
            relevant_from=1,
            exact=Estimate(value=0.8, n=50, clusters=50),
            kappa=estimate,
            kappa_quadratic=None,
            kappa_binary=estimate,
            labels=(0, 1),
            confusion=((20, 5), (5, 20)),
            orders=(),
        )

    blocks = views.first(Agreement.of_grades({"a": report(0.6), "b": report(kappa)}))
    sentence = "".join(list(blocks)[1].parts)  # type: ignore[union-attr]  # it is a line
    assert sentence.startswith(
        "a gives the grade of people to 80.0% of 50 pairs (kappa 0.60 (0.50 to 0.70))" + said
    )
