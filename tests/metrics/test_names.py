"""Every number that a command prints is explained, and names of the field lead to their numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import claimeval as ce
from claimeval import ir, lexical
from claimeval.evaluation import grade, measure, rate
from claimeval.ir.measures import MEASURES
from claimeval.metrics import claim_quality, extraction, names
from claimeval.metrics.derived import DERIVED, DOWN, NUMBERED, directed
from claimeval.metrics.rows import METRICS
from claimeval.providers.local import perplexity, reward, similarity
from claimeval.statistics.formatting import decimal
from claimeval.types.errors import UsageError, unknown_name
from claimeval.types.records import CAUSES
from claimeval.types.scales import ANSWER_QUESTIONS
from tests.command_line import call

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "names-in-other-tools.md"
SAMPLE = {"question": "Q?", "answer": "A.", "contexts": ["A."], "reference_answers": ["A."]}


def printed() -> list[str]:
    """The names of all numbers that commands print, from their own tables."""
    rated = [question.metric for question in ANSWER_QUESTIONS.values()]
    flags = [flag for question in ANSWER_QUESTIONS.values() for flag in question.flags]
    kinds = [grade.RELEVANT, grade.GRADE, grade.PRECISION, rate.ANSWERED, rate.ABSTENTION_ACCURACY]
    claims = [*extraction.COVERAGE, *extraction.UNITS, *claim_quality.GOLD_METRICS]
    models = [*perplexity.METRICS, reward.METRIC, similarity.METRIC]
    words = [*lexical.ALL_METRICS, *measure.ALIASES.values()]
    ranks = [row.name for row in MEASURES]
    asked = [name for name in rated if name != "abstention"]  # prints `answered`
    of_claims = [*METRICS, *DERIVED, *NUMBERED]
    return [*of_claims, *asked, *flags, *kinds, *claims, *models, *words, *ranks, *CAUSES]


@pytest.mark.parametrize("name", sorted(set(printed())))
def test_every_number_that_a_command_prints_is_explained(name: str) -> None:
    number = names.number_of(name)
    assert number
    assert number.base == names.CUTOFF.sub("", name)


def test_every_explained_number_is_one_that_a_command_prints() -> None:
    known = {names.CUTOFF.sub("", name) for name in printed()}
    of_records = {one.base for one in names.numbers().values() if one.fields}
    of_records.add("rogan_gladen")  # a method of `corrected`
    assert {number.base for number in names.numbers().values()} <= known | of_records


SCORING = ("score", "rate", "grade", "measure", "lexical", "perplexity", "reward", "rank")


def test_names_of_metrics_have_the_arrow_of_their_direction() -> None:
    """A column of numbers that a reader cannot tell good from bad is worth nothing."""
    wrong = [
        number.name
        for number in names.numbers().values()
        if number.command.startswith((*SCORING, "extraction"))
        and not number.fields
        and (number.better == "lower") != directed(number.name).endswith(DOWN)
    ]
    assert wrong == []
    assert directed("unj@10") == "unj@10 ↓"


@pytest.mark.parametrize("name", names.numbers())
def test_a_line_of_the_list_fits_80_columns(name: str) -> None:
    assert len(names.numbers()[name].question) <= 49
    printed = call("metrics", name).stdout
    assert printed.startswith(f"{name}: ")
    assert names.numbers()[name].formula[:20] in printed


def test_the_list_has_each_name_whole_in_80_columns() -> None:
    lines = call("metrics", "--all").stdout.splitlines()
    listed = {line.split()[0] for line in lines if line.startswith(" ")}
    assert set(names.numbers()) <= listed
    of_numbers = [line for line in lines if line.split() and line.split()[0] in names.numbers()]
    assert max(map(len, of_numbers)) <= 80


def test_other_names_of_rank_metrics_are_those_that_the_command_accepts() -> None:
    for row in MEASURES:
        number = names.number_of(row.name)
        assert number
        accepted = (*row.aliases, row.trec, row.trec_cut)
        assert set(number.also) == {name for name in accepted if name and name != row.name}


RANKED = ({"q": {"a": 1, "b": 0, "c": 2, "x": 1}}, {"q": {"a": 4, "b": 3, "c": 2, "d": 1}})
"""The input of the examples: a, b, c, d; x is missed."""
AT = {"K": "3", "R": "0.5"}


@pytest.mark.parametrize(
    "number",
    [
        number
        for number in names.numbers().values()
        if "ranking a, b, c, d" in number.example[0] and number.name != "judged@K"
    ],
    ids=lambda number: number.name,
)
def test_the_examples_of_rank_metrics_are_what_is_computed(number: names.Number) -> None:
    base, at, cutoff = number.name.partition("@")
    name = f"{base}@{AT[cutoff]}" if at else base
    (value,) = ir.evaluate(*RANKED, [name]).per_query["q"].values()
    assert decimal(value) == number.example[2]


@pytest.mark.parametrize("name", lexical.METRICS)
def test_the_examples_of_word_metrics_are_what_is_computed(name: str) -> None:
    value = lexical.score_one(
        answer="Jane Austen wrote Emma",
        question="Who wrote Emma?",
        contexts=["Emma was written by Austen", "Jane Austen lived in Bath"],
        references=["Austen wrote it"],
        metrics=[name],
    )[name]
    assert decimal(value) == names.numbers()[name].example[2]


LEADS = {
    # unitxt
    "context_correctness": {"recip_rank"},
    "answer_correctness": {"token_recall", "f1", "correctness", "rated_correctness"},
    "K-Precision": {"k_precision"},
    "perplexity": {"query_likelihood"},
    # guides to RAG evaluation
    "context_precision": {"context_relevance", "context_precision_ap", "context_precision_claims"},
    "answer_relevance": {"rated_relevance"},
    "answer relevancy": {"rated_relevance", "on_topic"},
    "groundedness": {"faithfulness"},
    "hallucination rate": {"hallucination", "contradiction_rate"},
    # TREC and search engines
    "hit ratio": {"hit@K"},
    "top-5 accuracy": {"hit@K"},
    "success@5": {"hit@K"},
    "Precision@10": {"P@K"},
    "Mean Reciprocal Rank": {"recip_rank"},
    "ndcg_cut_10": {"ndcg"},
    "P.10": {"P@K"},
    "normalized discounted cumulative gain": {"ndcg"},
    "recall_cap": {"capped_recall@K"},
    "EM": {"exact_match"},
    "F1@K": {"long_form_f1_on_topic@N", "f1@K"},
    "weighted precision": {"support_precision"},
    "iprec_at_recall_0.10": {"iprec@R"},
    # tools and services
    "context-faithfulness": {"faithfulness"},
    "Builtin.ContextCoverage": {"context_recall"},
    "Builtin.ContextRelevance": {"context_relevance"},
    "RelevanceEvaluator": {"rated_relevance"},
    "F1ScoreEvaluator": {"token_f1"},
    "ground_truth_adherence": {"correctness", "rated_correctness"},
    "HHEM": {"faithfulness"},
    "factual_consistency_score": {"faithfulness"},
    "holes": {"unj@K"},
    "V_strict": {"nugget_recall_vital_strict"},
    "hits": {"num_rel_ret"},
    "rouge-n": {"rouge_1"},
    # classes of DeepEval
    "ContextualPrecisionMetric": {"context_precision_ap"},
    "ContextualRecallMetric": {"context_recall"},
    "FaithfulnessMetric": {"faithfulness", "faithfulness_per_document", "k_precision"},
    # functions, classes and columns of other tools
    "context_relevance_with_cot_reasons": {"context_grade"},
    "DocumentMAPEvaluator": {"ap_retrieved"},
    "SASEvaluator": {"answer_similarity"},
    "LLMContextPrecisionWithoutReference": {"context_precision_ap"},
    "NonLLMContextRecall": {"set_recall"},
    "factual_correctness(mode=precision)": {"correctness"},
    "response/llm_judged/groundedness": {"faithfulness"},
    "RetrievalNormalizedDCG": {"ndcg"},
    "roc_auc_score": {"auroc"},
    "sub_em": {"contains_reference"},
    "citation_prec": {"alce_precision"},
    "BLEU-4": {"bleu"},
}
"""Names of the field, and the numbers of which at least one is named, and none besides."""


@pytest.mark.parametrize("name", LEADS)
def test_a_name_of_the_field_leads_to_its_number(name: str) -> None:
    number = names.number_of(name)
    found = {sense.number.name for sense in names.in_the_field(name)}
    found |= {number.name} if number else set()
    assert LEADS[name] & found
    if len(found) == 1:
        assert found <= LEADS[name]


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("recall@5", {"recall@K"}),
        ("Precision@3", {"P@K"}),
        ("P@1", {"P@K"}),
        ("P(rel=2)@10", {"P@K"}),
        ("MAP@100", {"map"}),
        ("accuracy@1", {"hit@K"}),
        ("F1@64", {"f1@K", "long_form_f1_on_topic@N"}),
    ],
)
def test_with_a_cutoff_a_name_means_numbers_that_take_one(name: str, numbers: set[str]) -> None:
    """RAGChecker's recall, that of people's labels and f1 of claims have no first K."""
    number = names.number_of(name)
    found = {sense.number.name for sense in names.in_the_field(name)}
    assert found | ({number.name} if number else set()) == numbers


@pytest.mark.parametrize("name", ["bleu_1", "bleu@1", "kappa(linear)", "coverage@3", "token_f1_2"])
def test_what_follows_a_name_is_not_ignored_if_the_number_takes_none(name: str) -> None:
    assert names.number_of(name) is None


@pytest.mark.parametrize(
    ("name", "expression"),
    [
        ("refusal_rate", "1 - answered"),
        ("is-refusal", "1 - answered"),
        ("embedding_distance", "1 - answer_similarity"),
        ("FPR", "1 - specificity"),
        ("false negative rate", "1 - judge_recall"),
        ("omission_rate", "1 - coverage"),
        ("unsupported claims", "1 - faithfulness"),
    ],
)
def test_a_share_of_what_fails_is_the_rest_of_its_number(name: str, expression: str) -> None:
    """Without it, a refusal rate of 0.9 would be read as the answered share of 0.9."""
    assert call("metrics", name).stdout.startswith(f"{name} is {expression} here (")
    with pytest.raises(UsageError, match=re.escape(f": {expression} (`claimeval ")):
        ce.score([SAMPLE], judges="local:lexical", metrics=name)
    (sense,) = names.in_the_field(name)
    listed = [elsewhere for _, elsewhere in names.names_of(sense.number)]
    assert any(one.startswith("1 - ") for one in listed)


def test_a_number_and_the_rest_of_another_are_told_apart() -> None:
    printed = " ".join(call("metrics", "hallucination rate").stdout.split())
    assert "hallucination rate is the name of several numbers: 1 - faithfulness guides" in printed
    assert "hallucination guides to RAG evaluation" in printed


@pytest.mark.parametrize(
    "name",
    [
        *("unfaithfulness", "incorrectness", "non_hallucination", "discoverage"),
        *("nv_context_relevances", "effect_sizes", "nonhallucination"),
    ],
)
def test_no_opposite_and_no_other_number_is_offered_for_a_misspelling(name: str) -> None:
    known = [number.base for number in names.numbers().values()]
    assert "Did you mean" not in str(unknown_name("metric", name, known))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("citation_pre", "citation_precision"),
        ("citation_persision", "citation_precision"),
        ("noise_sensitivity_in_irelevant", "noise_sensitivity_in_irrelevant"),
        ("faithful_ness", "faithfulness"),
        ("contextrecal", "context_recall"),
    ],
)
def test_a_beginning_and_a_misspelling_lead_to_the_name(name: str, meant: str) -> None:
    known = [number.base for number in names.numbers().values()]
    assert f"Did you mean {meant!r}" in str(unknown_name("metric", name, known))


def test_f1_of_a_rank_is_not_the_only_one_that_is_offered() -> None:
    with pytest.raises(UsageError, match=re.escape("for example f1@10")) as error:
        ce.measure([SAMPLE], "f1")
    assert "token_f1 (`claimeval lexical -m token_f1`)" in str(error.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("context_relevance", "`grade` computes context_relevance"),
        ("answer_relevance", "rated_relevance (`claimeval rate --ask relevance`)"),
        ("mrr", "`claimeval rank -m recip_rank`"),
        ("K-Precision", "`claimeval lexical -m k_precision`"),
        ("precision", "choose the one you mean"),
        ("rrf", "`claimeval fuse`"),
        ("llm-rubric", "`claimeval rate --criterion`"),
        ("BERTScore", "is not computed"),
        ("XDCG", "are not computed"),
        ("faithfullness", "Did you mean 'faithfulness'"),
        ("ConversationCompletenessMetric", "turn by turn"),
        ("Fleiss' kappa", "Krippendorff's alpha"),
        ("set_map", "is not computed"),
        ("factual_correctness(mode=recall)", "coverage (`claimeval score -m coverage`)"),
    ],
)
def test_a_name_of_another_command_is_answered_with_it(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        ce.score([SAMPLE], judges="local:lexical", metrics=name)


@pytest.mark.parametrize("name", ["Faithfulness", "CORRECTNESS", "Context_Recall", "Hallucination"])
def test_a_name_in_another_case_leads_to_the_one_of_this_command(name: str) -> None:
    """Whatever seven other tools call faithfulness, `score` has one metric of that name."""
    with pytest.raises(UsageError) as error:
        ce.score([SAMPLE], judges="local:lexical", metrics=name)
    assert str(error.value) == f"unknown metric {name!r}. Did you mean {name.casefold()!r}?"


def test_the_library_of_rankings_says_where_other_names_are_answered() -> None:
    with pytest.raises(
        UsageError, match="`claimeval metrics faithfulness` says what computes that"
    ):
        ir.evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, "faithfulness")
    assert "claimeval score -m faithfulness" in call("metrics", "faithfulness").stdout


def test_chrf_plus_plus_is_not_taken_for_chrf() -> None:
    assert "chrF++ adds words to chrF and is not computed" in call("metrics", "chrF++").stdout
    with pytest.raises(UsageError, match="is not computed") as error:
        ce.measure([SAMPLE], "chrF++")
    assert "Did you mean" not in str(error.value)


@pytest.mark.parametrize("name", ["f2", "rouge_3", "chrf2", "relevance_recall", "rrff"])
def test_no_other_number_is_offered_for_a_name(name: str) -> None:
    with pytest.raises(UsageError) as error:
        ce.measure([SAMPLE], name)
    assert "Did you mean" not in str(error.value)


def test_rank_names_the_command_of_a_metric_of_claims(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "r").write_text("1 Q0 a 1 1 x\n")
    refused = call("rank", "q", "r", "-m", "faithfulness", folder=tmp_path, exits=2).stderr
    assert "`score` computes faithfulness" in refused


def test_names_of_whole_lists_say_which_map_they_mean() -> None:
    row = {
        "question": "Q?",
        "contexts": ["a", "b", "c"],
        "context_ids": ["g1", "x", "g2"],
        "reference_context_ids": ["g1", "g2", "g3", "g4"],
    }
    with pytest.warns(ce.NoteWarning, match="Map beside precision and recall"):
        run = ce.measure([row], "precision,recall,map")
    # relevant at ranks 1 and 3 of 3, of 4: (1 + 2/3) / 2
    means = {name: metric.mean for name, metric in run.summary.items()}
    assert means == pytest.approx({"set_P": 2 / 3, "set_recall": 0.5, "ap_retrieved": 5 / 6})
    assert ce.measure([row], "map").summary["map"].mean == pytest.approx(5 / 12)


def test_the_docs_have_the_whole_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for meaning in names.table():
        numbers = ", ".join(map(meaning.expression, meaning.numbers))
        assert f"| {meaning.source} | `{meaning.name}` | {numbers} |" in text


def test_numbers_of_rankings_are_those_of_rank_but_for_a_count() -> None:
    of_ranking = {number.name for number in names.numbers().values() if number.is_of_ranking}
    of_rank = {number.name for number in names.numbers().values() if "rank" in number.commands}
    assert of_rank - of_ranking == {"num_rel"}, "it counts judgments, whatever was ranked"
    assert of_ranking < of_rank
