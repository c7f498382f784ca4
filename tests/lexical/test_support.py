"""The lexical support score. Claims and evidence are by hand; what each must come to follows from
how it was made."""

from __future__ import annotations

import json
import math
import re
from itertools import cycle

import pytest

from claimeval.lexical.content_words import model, names, read, tokens
from claimeval.lexical.support import (
    ENGINE,
    NOTICE,
    SupportScore,
    Weights,
    coefficients_digest,
    label,
    prepare,
    score_claim,
    shipped_weights,
)
from claimeval.lexical.support.features import FEATURES, is_copied
from tests.shared_data import shared_data

TOWER = (
    "The Eiffel Tower was built by Gustave Eiffel's company in Paris between 1887 and 1889. "
    "It was 312 metres tall and was not popular with artists at first. "
    "Prices increased sharply in 1925. About 7,000,000 people visit the tower every year."
)
RAIN = (
    "Rainfall in the upper valley feeds two lakes. Farmers there grow barley and keep goats on the"
    " slopes."
)


def judged(claim: str, *documents: str) -> SupportScore:
    return score_claim(claim, prepare(documents or (TOWER,)))


@pytest.mark.parametrize(
    "claim",
    [
        "The Eiffel Tower was built by Gustave Eiffel's company in Paris between 1887 and 1889.",
        "It was 312 metres tall and was not popular with artists at first.",
        "the eiffel tower was built in paris",
        "Prices increased sharply in 1925.",
    ],
)
def test_a_copied_claim_is_supported(claim: str) -> None:
    assert label(judged(claim).score) == "supported"
    assert judged(claim).possible_conflict == ()


@pytest.mark.parametrize(
    "claim", ["Rainfall feeds the lakes of the valley.", "Barley is grown by farmers on slopes."]
)
def test_an_unrelated_claim_is_not_found(claim: str) -> None:
    assert label(judged(claim).score) == "not_found"


def test_inflection_case_and_accents_do_not_matter() -> None:
    assert judged("BUILDING companies visited the towers") == judged(
        "Builds company visits the tower"
    )
    assert label(judged("Beyonce sang in cafes.", "Beyoncé sang in cafés.").score) == "supported"


def test_words_scattered_over_a_text_support_less_than_words_together() -> None:
    scattered = (
        "Marie lived there. A prize is money. Radium was found. People discovered gold. Nobel was"
        " rich."
    )
    together = "Marie discovered radium and won the Nobel prize. Money is gold."
    claim = "Marie discovered radium and won a Nobel prize."
    assert judged(claim, scattered).score < 0.5 < judged(claim, together).score


def test_a_number_that_is_nowhere_caps_the_score() -> None:
    result = judged(
        "The Eiffel Tower was built by Gustave Eiffel's company in Paris between 1887 and 1899."
    )
    assert result.score == 0.25
    assert label(result.score) == "not_found"
    assert "number_nowhere" in result.flags
    assert result.possible_conflict[0] == "1899"


def test_a_number_that_stands_where_another_does_caps_the_score() -> None:
    result = judged("Prices increased sharply in 1889.")
    assert result.score == 0.45
    assert result.flags == ("other_number",)
    assert result.possible_conflict == ("1889", "1925")


@pytest.mark.parametrize(
    ("claim", "document"),
    [
        ("Twelve men came.", "12 men came."),
        ("12 men came.", "Twelve men came."),
        ("The town has 235, 000 people.", "The town has 235000 people."),
        ("The town has 235,000 people.", "The town has 235 thousand people."),
        ("It cost $1.5 million.", "It cost $1,500,000."),
        ("It cost $1.5bn.", "It cost 1.5 billion dollars."),
        ("She is twenty-five years old.", "She is 25 years old."),
        ("Two hundred and fifty men came.", "250 men came."),
        ("It rose by 3.50 %.", "It rose by 3.5 %."),
        ("He came 3rd.", "He came third."),
        ("It ended in Sept. 2001.", "It ended in September 2001."),
        ("Sales were $81.8 billion.", "Sales (in millions): sales were $81,797."),
        ("Sales were $81,797 million.", "Sales (in millions): sales were $81,797."),
        ("About 263,000 men came.", "About 262,817 men came."),
    ],
)
def test_one_number_written_in_two_ways_is_one_number(claim: str, document: str) -> None:
    result = judged(claim, document)
    assert "number_nowhere" not in result.flags
    assert label(result.score) != "not_found"


@pytest.mark.parametrize(
    ("claim", "document"),
    [
        ("It began in 1990.", "It began in 1991."),
        ("It has 12 rooms.", "It has 120 rooms."),
        ("It rose by 7.1 %.", "It rose by 71 %."),
        ("It cost 20,000 euros.", "It cost 26,000 euros."),
        ("Fifteen men came.", "Fifty men came."),
    ],
)
def test_another_number_is_another_number(claim: str, document: str) -> None:
    assert "number_nowhere" in judged(claim, document).flags


def test_the_missing_number_is_told_as_the_claim_writes_it() -> None:
    assert judged("The tower has 4.5 million visitors.").possible_conflict == ("4.5 million",)


@pytest.mark.parametrize(
    ("claim", "negation"),
    [
        ("It was 312 metres tall and was popular with artists at first.", "not"),
        ("Prices never increased sharply in 1925.", "never"),
        ("The Eiffel Tower wasn't built by Gustave Eiffel's company in Paris.", "wasn't"),
    ],
)
def test_a_negation_on_one_side_caps_the_score(claim: str, negation: str) -> None:
    result = judged(claim)
    assert result.score == 0.3
    assert result.flags == ("negation",)
    assert result.possible_conflict == (negation,)


@pytest.mark.parametrize(
    ("claim", "document"),
    [
        ("Prices did not rise.", "Prices didn't rise."),
        ("He is not only rich but kind.", "He is rich and kind."),
        ("Prices are unlikely to rise.", "Prices will not rise."),
        ("She left and never came back.", "She left. She never came back."),
        ("No, rye dough is not kneaded.", "Rye dough is not kneaded: it has little gluten."),
    ],
)
def test_a_negation_on_both_sides_or_none_is_no_conflict(claim: str, document: str) -> None:
    assert "negation" not in judged(claim, document).flags


@pytest.mark.parametrize(
    ("claim", "document", "negation"),
    [
        (
            "The drops make you tired.",
            "The drops do not make you tired and do not slow your reactions.",
            "not",
        ),
        (
            "The dough has to be kneaded.",
            "Rye dough is not kneaded: it has little gluten and would be sticky.",
            "not",
        ),
        (
            "Operators pay grid fees for power.",
            "Operators pay no grid fees for power that they feed to the grid.",
            "no",
        ),
    ],
)
def test_what_else_a_long_sentence_negates_does_not_lift_the_cap(
    claim: str, document: str, negation: str
) -> None:
    """Each sentence has a second negation, of a word that the claim lacks, or its negation stands
    before two words."""
    result = judged(claim, document)
    assert (result.score, result.flags, result.possible_conflict) == (
        0.3,
        ("negation",),
        (negation,),
    )


def test_the_words_of_a_claim_far_apart_in_another_document_do_not_lift_the_cap() -> None:
    """The first document has all four words in one sentence, the second has three of them in one
    and all in two."""
    claim = "Prices rose sharply in 1925."
    negated = "Prices never rose sharply in 1925."
    far_apart = "Wages and prices were watched in 1925 and rose. Rents rose sharply in 1925."
    assert judged(claim, negated).score == 0.3
    assert judged(claim, far_apart).score > 0.3
    result = score_claim(claim, prepare([far_apart, negated]))
    assert (result.score, result.flags, result.best_document) == (0.3, ("negation",), 1)


def test_a_document_with_all_the_words_and_no_conflict_lifts_the_cap_of_another() -> None:
    result = score_claim(
        "Prices rose sharply.", prepare(["Prices never rose sharply.", "Prices rose sharply."])
    )
    assert (result.flags, result.best_document) == ((), 1)
    assert result.score > 0.75


def test_an_opposite_in_the_same_place_caps_the_score() -> None:
    result = judged("Prices decreased sharply in 1925.")
    assert result.score == 0.2
    assert result.flags == ("antonym",)
    assert result.possible_conflict == ("decreased", "increased")


def test_an_opposite_elsewhere_in_the_sentence_is_no_conflict() -> None:
    result = judged(
        "Large firms hired staff last year.",
        "Large firms hired staff last year, small shops closed.",
    )
    assert result.flags == ()


def test_another_name_in_the_same_place_caps_the_score() -> None:
    result = judged("The Eiffel Tower was built by Gustave Eiffel's company in London.")
    assert result.score == 0.45
    assert result.flags == ("other_name",)
    assert result.possible_conflict == ("London", "Paris")


def test_names_in_another_order_are_flagged_for_review_only() -> None:
    result = judged("Spain defeated Italy in the final.", "Italy defeated Spain in the final.")
    assert result.flags == ("role_swap",)
    assert label(result.score) == "supported"
    assert judged("Spain was defeated by Italy.", "Italy defeated Spain.").flags == ()
    assert judged("Spain and Italy won.", "Italy and Spain won.").flags == ()


def test_the_best_document_decides_and_all_are_told() -> None:
    result = judged("Prices increased sharply in 1925.", RAIN, TOWER, "")
    assert result.best_document == 1
    assert len(result.per_document) == 3
    assert result.score == result.per_document[1] == max(result.per_document)
    assert result.per_document[2] == 0.0


def test_a_conflict_in_one_document_does_not_count_where_another_supports() -> None:
    result = judged("Prices rose in May.", "Prices did not rise in May.", "Prices rose in May.")
    assert result.best_document == 1
    assert (label(result.score), result.flags) == ("supported", ())


def test_a_number_in_any_document_is_somewhere() -> None:
    result = judged("Prices increased sharply in 1925 and 1926.", TOWER, "The year 1926 was wet.")
    assert "number_nowhere" not in result.flags


@pytest.mark.parametrize("documents", [[], [""], ["  \n", "..."]])
def test_without_evidence_nothing_is_found(documents: list[str]) -> None:
    result = score_claim("Prices increased.", prepare(documents))
    assert result == SupportScore(0.0, (), (), None, (0.0,) * len(documents))


@pytest.mark.parametrize("claim", ["", "  ", "...", "It was, and so did they."])
@pytest.mark.parametrize("documents", [[], [TOWER]])
def test_a_claim_without_content_is_unsure_and_says_so(claim: str, documents: list[str]) -> None:
    result = score_claim(claim, prepare(documents))
    assert label(result.score) == "unsure"
    assert result.flags == ("nothing_to_find",)
    assert result.best_document is None


@pytest.mark.parametrize(
    "text",
    ["埃菲尔铁塔在巴黎。", "Эйфелева башня стоит в Париже.", "برج إيفل في باريس", "x² + y² = ½"],
)
def test_a_copy_in_any_script_is_supported(text: str) -> None:
    assert label(judged(text, f"{RAIN} {text}").score) == "supported"


def test_thresholds_belong_to_the_sure_side() -> None:
    assert [label(score) for score in (0.0, 0.25, 0.2501, 0.7499, 0.75, 1.0)] == [
        "not_found",
        "not_found",
        "unsure",
        "unsure",
        "supported",
        "supported",
    ]


def test_finding_more_never_lowers_the_score() -> None:
    weights = shipped_weights()
    signs = dict(zip(FEATURES, weights.coefficients, strict=True))
    lowering = {name for name, value in signs.items() if value < 0}
    assert lowering <= {
        "longest_gap",
        "number_missing",
        "name_missing",
        "names_missing_in_two_neighbours",
    }
    assert set(model()["coefficients"]) == set(FEATURES)


def test_the_score_is_the_logistic_function_of_the_features() -> None:
    weights = Weights(-1.0, (2.0, *(0.0,) * (len(FEATURES) - 1)))
    result = score_claim("Farmers grow wheat.", prepare([RAIN]), weights=weights)
    assert result.score == pytest.approx(
        1 / (1 + math.exp(-(2 * 2 / 3 - 1)))
    )  # farmers, grow; not wheat


def test_other_weights_do_not_lift_the_caps() -> None:
    generous = Weights(9.0, (0.0,) * len(FEATURES))
    assert (
        score_claim("Prices decreased sharply in 1925.", prepare([TOWER]), weights=generous).score
        == 0.2
    )


def test_names_are_capitalised_words_that_need_no_capital() -> None:
    def found(text: str) -> frozenset[str]:
        return names(tokens(text))

    assert found("Yesterday Ann Lee met him in May.") == {"ann", "lee", "yesterdai"}
    assert found("Prices rose in Rome.") == {"rom"}
    assert found("NATO met. The Company spoke, and a company left.") == {"nato"}
    assert found("How To Find A Good Name") == set()


def test_keys_are_plain_numbers_and_stems() -> None:
    keys, function_words = read("The twelve cities' 3rd, 21st and 1990s maps of Q3 weren't made.")
    assert keys == ["#12", "citi", "third", "#21", "#1990s", "map", "q3", "mak"]
    assert function_words == ["The", "and", "of", "weren't"]


def test_the_engine_names_itself() -> None:
    assert ENGINE == model()["engine"] == "lexical-v5"
    assert NOTICE == "lexical support score, not an LLM judgment"
    assert re.fullmatch(r"[0-9a-f]{64}", coefficients_digest())


@pytest.mark.parametrize(
    "text",
    [
        "x" * 50_000,
        "9" * 50_000,
        "1,234," * 8_000,
        "million " * 6_000,
        "alpha beta " * 4_500,
        "not good " * 5_500,
        " ".join(str(number) for number in range(7_500)),
        " ".join(f"Name{number}x" for number in range(4_000)),
        "a\n" * 25_000,
        "(" * 50_000,
        "\N{COMBINING ACUTE ACCENT}" * 50_000,
        "\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 25_000,
    ],
)
def test_long_odd_texts_are_read_and_judged(text: str) -> None:
    evidence = prepare([text])
    assert 0 <= score_claim(text, evidence).score <= 1
    assert 0 <= score_claim("Prices rose by 12.5 million in 1925.", evidence).score <= 1


BRANDI = "Brandi was an Italian art historian and restorer who developed a theory of restoration."
CITED = (
    "{} [1].",
    "{}【1†source】.",
    "{} [^1^].",
    "{} [^1].",
    "{} [doc_2].",
    "{} [d1].",
    "{} (Document 2).",
    "{} (Doc. 2).",
    "{} [1, 2][3].",
    "{} [1-3].",
    "{} [source: 3].",
    "{}¹².",
    "According to document 3, {}.",
    "{}, as stated in Document 3.",
)


@pytest.mark.parametrize("form", CITED)
def test_the_number_of_a_citation_is_no_number_of_the_claim(form: str) -> None:
    claim = "Brandi was an Italian art historian and restorer"
    result = judged(form.format(claim), BRANDI)
    assert result == judged(f"{claim}.", BRANDI)
    assert (label(result.score), result.flags) == ("supported", ())


def test_the_number_of_a_citation_in_a_document_supports_no_claim() -> None:
    document = "Brandi wrote books on restoration [3], as is well known."
    assert "number_nowhere" in judged("Brandi wrote 3 books on restoration.", document).flags


MARKS = (r"[\1]", r"【\1†source】", r"[^\1^]", r"[doc_\1]", r" (Document \1)", r"[source: \1]")


def test_experts_claims_have_the_same_score_with_and_without_marks_of_each_form_in_turn() -> None:
    lines = shared_data("expertqa/visible.jsonl").read_text(encoding="utf-8").splitlines()
    claims = [claim for line in lines for claim in json.loads(line)["claims"]]
    marked = [
        claim
        for claim in claims
        if re.search(r"\[\d+\]", claim["claim_string"]) and claim["evidence"]
    ]
    assert len(marked) > 826
    for claim, form in zip(marked, cycle(MARKS), strict=False):
        evidence = prepare(
            [re.sub(r"^\[\d+\]\s*\S*\s*", "", passage) for passage in claim["evidence"]]
        )
        text = claim["claim_string"]
        plain = score_claim(re.sub(r"\s?\[\d+\]", "", text), evidence)
        cited = score_claim(re.sub(r"\[(\d+)\]", form, text), evidence)
        assert (cited.score, cited.flags) == (plain.score, plain.flags), text


THAI = (
    "หอคอยแห่งเบิร์นสร้างขึ้นในปี 1902 โดยสถาปนิกชื่ออานา ลินด์ มีความสูง 63.5 เมตร และเปิดทุกวัน"
    " ภายในมีพิพิธภัณฑ์ (AFC) ที่จัดแสดงประวัติศาสตร์ของเมือง ระฆังมีน้ำหนักเก้าตัน"
    ' จากจุดชมวิวสามารถมองเห็นเทือกเขาแอลป์ เกมนี้เป็นที่รู้จักในชื่อ "ซูเปอร์โบวล์ L" มาตลอด'
)


@pytest.mark.parametrize("copies", [1, 3])
def test_thai_that_is_copied_word_for_word_is_supported(copies: int) -> None:
    """Any run of its phrases, also one longer than the pieces in which words are compared."""
    text = " ".join([THAI] * copies)
    phrases = text.split(" ")
    evidence = prepare(["อย่างอื่น", text])
    for first in range(0, len(phrases), 3):
        for last in range(first + 1, len(phrases) + 1, 4):
            result = score_claim(" ".join(phrases[first:last]), evidence)
            assert label(result.score) == "supported"
            assert result.best_document == 1


@pytest.mark.parametrize(
    ("claim", "document"),
    [
        ("มีความสูง 63", "หอคอยมีความสูง 63.5 เมตร"),
        ("เปิดวันจันทร์", "หอคอยไม่เปิดวันจันทร์ ในฤดูหนาว"),
        ("塔高63", "伯尔尼塔高63.5米"),
    ],
)
def test_a_part_of_a_number_or_of_a_negation_is_not_copied(claim: str, document: str) -> None:
    (index,) = prepare([document]).documents
    assert not is_copied(claim, index)
