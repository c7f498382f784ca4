"""What a data set can feed, found before anything is paid."""

from __future__ import annotations

import pytest

import claimeval as ce
from claimeval.data.survey import survey
from claimeval.metrics.rows import ABOUT_ANSWERS, METRICS, metric
from claimeval.types.errors import DataError
from claimeval.types.records import Document, Sample

ROWS = tuple(METRICS[name] for name in ABOUT_ANSWERS)
FULL = Sample(
    id="a",
    question="Q",
    answer="A",
    contexts=(Document(id="1", text="T"),),
    reference_answers=("R",),
    generator="x:y",
)


def test_a_full_sample_feeds_every_built_in_metric() -> None:
    found = survey([FULL], ROWS)
    assert all(found.has_inputs_for(name) for name in ABOUT_ANSWERS)
    assert found.missing_fields == dict.fromkeys(ABOUT_ANSWERS, ())


def test_lacks_are_counted_with_the_first_sample() -> None:
    without = FULL.model_copy(update={"id": "b", "reference_answers": ()})
    found = survey([FULL, without, without.model_copy(update={"id": "c"})], ROWS)
    (lack,) = found.missing_fields["coverage"]
    assert (lack.field, lack.count, lack.first) == ("reference_answers", 2, "b")
    assert found.has_inputs_for("coverage")
    assert not found.missing_fields["faithfulness"]


def test_metrics_about_the_question_are_not_fed_by_rows_without_one() -> None:
    """Exports such as those of Vertex AI check grounding have no question."""
    without = FULL.model_copy(update={"question": " "})
    found = survey([without], [METRICS["on_topic"], METRICS["vital"], METRICS["coverage"]])
    assert [found.has_inputs_for(name) for name in ("on_topic", "vital", "coverage")] == [
        False,
        False,
        True,
    ]
    (lack,) = found.missing_fields["on_topic"]
    assert (lack.field, lack.count) == ("question", 1)
    assert not survey([FULL], [METRICS["on_topic"]]).missing_fields["on_topic"]


def test_a_metric_that_nobody_can_feed_is_not_fed() -> None:
    found = survey([FULL.model_copy(update={"contexts": None})], ROWS)
    assert not found.has_inputs_for("faithfulness")
    assert found.has_inputs_for("correctness")
    assert found.missing_fields["faithfulness"][0].field == "contexts"


def test_contexts_that_are_given_and_empty_are_no_lack() -> None:
    found = survey([FULL, FULL.model_copy(update={"id": "b", "contexts": ()})], ROWS)
    assert not found.missing_fields["faithfulness"]
    assert found.empty_contexts == 1


def test_a_named_evidence_set_is_a_field() -> None:
    row = metric("on_policy=answer:policy")
    found = survey([FULL], (row,))
    assert found.missing_fields["on_policy"][0].field == "evidence.policy"


def test_doubled_ids_empty_and_missing_answers_are_counted() -> None:
    found = survey([FULL, FULL, FULL.model_copy(update={"id": "b", "answer": " "})], ROWS)
    assert (found.duplicate_ids, found.duplicate_numbers) == (("a",), (1, 2))
    assert (found.no_answer, found.empty_answers) == (0, 1)
    assert survey([FULL.model_copy(update={"answer": None})], ROWS).no_answer == 1


@pytest.mark.parametrize("text", ["the Companyâ€™s sales", "cafÃ© au lait", "a \ufffd b"])
def test_wrongly_decoded_text_is_noticed(text: str) -> None:
    assert list(survey([FULL.model_copy(update={"answer": text})], ROWS).invalid_text) == ["a"]


@pytest.mark.parametrize("text", ["São Paulo", "Ãgua", "naïve café €5", "Âge d'or"])
def test_letters_with_accents_are_not_damage(text: str) -> None:
    assert not survey([FULL.model_copy(update={"answer": text})], ROWS).invalid_text


@pytest.mark.parametrize("text", ["nan", "NaN", "<NA>", "None"])
def test_a_text_that_programs_write_for_nothing_is_remarked_and_stays_a_text(text: str) -> None:
    found = survey([FULL, FULL.model_copy(update={"id": "b", "answer": text})], ROWS)
    assert found.written_nothing == {"b": text}
    assert f"1 sample with a text {text!r} (first: 'b')" in "; ".join(found.remarks)
    assert not found.missing_fields["faithfulness"]


def test_no_samples_is_an_error() -> None:
    with pytest.raises(DataError, match="no samples"):
        survey([], ROWS)


def test_a_notebook_shows_what_the_command_prints_with_texts_escaped() -> None:
    shown = ce.doctor(
        [{"id": "1", "question": "<b>?", "answer": "a", "topic": "x"}], metrics="faithfulness"
    )
    page = shown._repr_html_()
    for text in (
        "<b>1 readable sample</b>",
        "no: 1 lack contexts (first: 1)",
        "kept as metadata: topic",
        "question: &lt;b&gt;?",
    ):
        assert text in page
