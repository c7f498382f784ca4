"""Citations: by hand, and equal to a second reading of ALCE's and TREC RAG's definitions.

The second reading knows no claims and no marks: a text is a set of facts, and it entails what it
contains.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from claimeval.metrics.citations import Cited, Unread, cited_contexts, of, sentence_spans
from claimeval.metrics.derived import DERIVED, GROUPS, WITH_DOCUMENTS, scores
from claimeval.metrics.formulas import Matrix
from claimeval.types.records import (
    Assessment,
    Claim,
    Document,
    Evidence,
    Sample,
    SampleResult,
    Score,
    Turn,
)
from tests.metrics.matrices import assessment

SHARES = (
    "citation_recall",
    "citation_missing",
    "citation_misplaced",
    "citation_unfounded",
    "citation_unresolved",
)


class Sentence(NamedTuple):
    """A sentence of a generated answer."""

    facts: tuple[int, ...]
    cited: tuple[int, ...]
    """Numbers of documents, of which some do not exist."""


def result(
    answer: str,
    claims: Sequence[tuple[tuple[int, ...], str, str]],
    *,
    ids: Sequence[str] = (),
    sources: Sequence[str] = (),
    titles: Mapping[str, str] | None = None,
    span: tuple[int, int] | None = None,
) -> SampleResult:
    """Each claim has its sentences, a letter for each context, and one for all of them together."""
    contexts = tuple(Document(id=i, text="d", title=(titles or {}).get(i)) for i in ids)
    listed = tuple(
        Claim(
            id=f"answer-{n}",
            of="answer",
            text="c",
            grounding="ungrounded",
            sentences=sentences,
            span=span,
        )
        for n, (sentences, _, _) in enumerate(claims)
    )
    assessments: list[Assessment] = []
    for claim, (_, single, whole) in zip(listed, claims, strict=True):
        assessments.append(assessment(claim.id, Evidence(part="contexts"), whole))
        if len(ids) > 1:
            assessments += [
                assessment(claim.id, Evidence(part="contexts", document=rank), letter)
                for rank, letter in enumerate(single, 1)
                if letter != " "
            ]
    sample = Sample(id="s", question="?", answer=answer, contexts=contexts, sources=tuple(sources))
    return SampleResult(sample=sample, claims=listed, assessments=tuple(assessments))


def scored(found: SampleResult) -> dict[str, Score]:
    return scores(
        [*GROUPS["citations"], *GROUPS["alce"], *GROUPS["trec_support"]], Matrix.of(found)
    )


# --- A second reading of the definitions ---


def alce(
    sentences: Sequence[Sentence], documents: Sequence[frozenset[int]]
) -> tuple[float, float | None]:
    """Return citation recall and precision as `compute_autoais` of ALCE's `eval.py` counts them."""
    entailed = total_citations = precise = 0

    def entails(numbers: Sequence[int], facts: Sequence[int]) -> bool:
        return set(facts) <= frozenset().union(*(documents[number - 1] for number in numbers))

    for facts, cited in sentences:
        if not cited or any(number > len(documents) for number in cited):
            continue
        total_citations += len(cited)
        if not entails(cited, facts):
            continue
        entailed += 1
        if len(cited) == 1:
            precise += 1
            continue
        for number in cited:
            others = [other for other in cited if other != number]
            precise += entails([number], facts) or not entails(others, facts)
    return entailed / len(sentences), precise / total_citations if total_citations else None


def trec(
    sentences: Sequence[Sentence], documents: Sequence[frozenset[int]]
) -> tuple[float, float | None]:
    """Return weighted recall and precision as the support evaluation of TREC RAG 2024 counts
    them."""
    weights: list[float] = []
    for facts, cited in sentences:
        if not cited:
            continue
        held = documents[cited[0] - 1] if cited[0] <= len(documents) else frozenset()
        share = len(held & set(facts)) / len(set(facts))
        weights.append(1.0 if share == 1 else 0.5 if share else 0.0)
    return sum(weights) / len(sentences), sum(weights) / len(weights) if weights else None


def generated() -> Iterator[tuple[str, list[Sentence], list[frozenset[int]]]]:
    """Yield 400 answers of 1 to 6 sentences with 1 to 3 facts each; marks stand before or after the
    full stop."""
    draw = random.Random(38)
    for _ in range(400):
        documents = [
            frozenset(draw.sample(range(12), draw.randint(1, 8))) for _ in range(draw.randint(1, 5))
        ]
        sentences = []
        texts = []
        for n in range(draw.randint(1, 6)):
            facts = tuple(draw.sample(range(12), draw.randint(1, 3)))
            cited = tuple(
                draw.sample(range(1, len(documents) + 2), draw.randint(0, min(3, len(documents))))
            )
            sentences.append(Sentence(facts, cited))
            marks = (
                draw.choice(["".join(f"[{c}]" for c in cited), f"[{', '.join(map(str, cited))}]"])
                if cited
                else ""
            )
            words = f"The town number {n} grew quickly"
            texts.append(
                draw.choice([f"{words} {marks}.".replace(" .", "."), f"{words}. {marks}".strip()])
            )
        yield " ".join(texts), sentences, documents


def test_400_answers_equal_a_second_reading_of_alce_and_trec() -> None:
    """Also the shares of claims, which are counted over sets of facts."""
    compared = 0
    for answer, sentences, documents in generated():
        numbered = [(n, fact) for n, sentence in enumerate(sentences, 1) for fact in sentence.facts]
        rows = ["".join("s" if fact in held else "n" for held in documents) for _, fact in numbered]
        found = result(
            answer,
            [
                ((n,), row, "s" if "s" in row else "n")
                for (n, _), row in zip(numbered, rows, strict=True)
            ],
            ids=[f"doc-{i}" for i in range(len(documents))],
        )
        got = {name: score.value for name, score in scored(found).items()}
        if not any(sentence.cited for sentence in sentences):
            assert not any(value is not None for value in got.values())
            continue
        compared += 1
        expected: dict[str, float | None] = {}
        expected["alce_recall"], expected["alce_precision"] = alce(sentences, documents)
        expected["support_recall"], expected["support_precision"] = trec(sentences, documents)
        kinds = [
            kind(sentence, fact, documents) for sentence in sentences for fact in sentence.facts
        ]
        expected |= {name: kinds.count(name) / len(kinds) for name in SHARES}
        pairs = [(s, number) for s in sentences for number in s.cited]
        right = [n <= len(documents) and bool(documents[n - 1] & set(s.facts)) for s, n in pairs]
        expected["citation_precision"] = sum(right) / len(right)
        assert got == pytest.approx(expected, abs=1e-9)
    assert compared > 350


def kind(sentence: Sentence, fact: int, documents: Sequence[frozenset[int]]) -> str:
    if any(n <= len(documents) and fact in documents[n - 1] for n in sentence.cited):
        return "citation_recall"
    if any(n > len(documents) for n in sentence.cited):
        return "citation_unresolved"
    anywhere = any(fact in held for held in documents)
    if not sentence.cited:
        return "citation_missing" if anywhere else "neither"
    return "citation_misplaced" if anywhere else "citation_unfounded"


# --- By hand ---

SIX = result(
    "Rain fell [1]. Snow fell [2]. Hail fell. Fog came [2]. Sun came. Wind came [9].",
    [
        ((1,), "sn", "s"),
        ((2,), "sn", "s"),
        ((3,), "ns", "s"),
        ((4,), "nn", "n"),
        ((5,), "nn", "n"),
        ((6,), "sn", "s"),
    ],
    ids=["a", "b"],
)
"""One claim of each kind: supported, misplaced, missing, unfounded, neither cited nor supported,
and with a mark that names nothing."""


def test_the_five_shares_and_the_rest_are_one() -> None:
    got = scored(SIX)
    assert [got[name].value for name in SHARES] == [1 / 6] * 5
    assert (got["citation_recall"].hits, got["citation_recall"].total) == (1, 6)
    assert got["citation_precision"].value == pytest.approx(1 / 4)


def test_a_document_that_does_not_exist_counts_against_precision() -> None:
    got = scored(result("Rain fell [1][9] (Source: old.pdf).", [((1,), "sn", "s")], ids=["a", "b"]))
    assert (got["citation_precision"].hits, got["citation_precision"].total) == (1, 3)
    assert got["citation_recall"].value == 1
    assert got["alce_recall"].value == 0
    assert got["alce_precision"].because == "no_evidence"


def test_without_contexts_every_citation_names_nothing() -> None:
    got = scored(result("Rain fell [1].", [((1,), "", "n")]))
    assert (got["citation_precision"].value, got["citation_unfounded"].value) == (0, 0)
    assert got["citation_unresolved"].value == 1


def test_a_mark_that_names_nothing_makes_no_claim_unfounded_or_misplaced() -> None:
    """The second claim is supported by its other citation."""
    answer = "Rain fell [9]. Snow fell [1][9]. Hail fell [2][kb_99]."
    claims = [((1,), "nn", "n"), ((2,), "sn", "s"), ((3,), "sn", "s")]
    got = scored(result(answer, claims, ids=["kb_1", "kb_2"]))
    assert [got[name].hits for name in SHARES] == [1, 0, 0, 0, 2]
    assert {got[name].judged for name in SHARES} == {3}


@pytest.mark.parametrize(
    ("answer", "sources"),
    [
        ("Rain fell [2].", ["a", "gone"]),
        ("Rain fell [2].\n\nSources:\n[1] a\n[2] gone.pdf", ()),
        ("Rain fell [here](https://gone.org/1).", ()),
        ("Rain fell [3].", ()),
    ],
)
def test_a_source_that_nobody_could_read_leaves_its_claim_open(
    answer: str, sources: Sequence[str]
) -> None:
    """It is not among the contexts, or has no words (the third one)."""
    claims = [((1,), "nn", "n")]
    found = result(answer, claims, ids=["a", "b"], sources=sources)
    empty = Document(id="c", text=" ")
    contexts = (*(found.sample.contexts or ()), empty)
    sample = found.sample.model_copy(update={"contexts": contexts})
    got = scored(found.model_copy(update={"sample": sample}))
    open_ = ("citation_recall", "citation_unfounded", "citation_precision", "alce_recall")
    assert {got[name].because for name in open_} == {"source_unread"}
    assert {got[name].bounds for name in open_} == {(0.0, 1.0)}
    assert got["support_recall"].because == "source_unread"
    for name in ("citation_missing", "citation_misplaced", "citation_unresolved"):
        assert got[name].value == 0


def test_another_citation_that_supports_a_claim_settles_it() -> None:
    answer = "Rain fell [1](https://gone.org/1)[2]."
    got = scored(result(answer, [((1,), "ns", "s")], ids=["a", "b"]))
    assert got["citation_recall"].value == 1
    assert got["citation_unfounded"].value == 0


def test_a_claim_that_others_support_is_perhaps_misplaced_if_its_source_was_not_read() -> None:
    answer = "Rain fell [here](https://gone.org/1)."
    got = scored(result(answer, [((1,), "sn", "s")], ids=["a", "b"]))
    assert got["citation_misplaced"].because == "source_unread"
    assert got["citation_unfounded"].value == 0


def test_an_answer_without_citations_has_no_value() -> None:
    got = scored(result("Rain fell in 1994.", [((1,), "sn", "s")], ids=["a", "b"]))
    assert {score.because for score in got.values()} == {"no_citations"}


def test_a_claim_without_a_place_is_unknown_and_not_uncited() -> None:
    claims = [((1,), "sn", "s"), ((), "sn", "s"), ((), "nn", "n")]
    got = scored(result("Rain fell [1]. Snow fell.", claims, ids=["a", "b"]))
    recall = got["citation_recall"]
    assert (recall.hits, recall.judged, recall.total) == (1, 2, 3)
    assert recall.bounds == (1 / 3, 2 / 3)
    assert (got["citation_missing"].hits, got["citation_missing"].judged) == (0, 2)
    only = scored(result("Rain fell [1].", [((), "sn", "s")], ids=["a", "b"]))
    assert only["citation_recall"].because == "undecided"
    assert only["citation_precision"].because == "undecided"


def test_a_claim_without_sentences_is_placed_by_its_span() -> None:
    got = scored(
        result("Rain fell. Snow fell [2].", [((), "ns", "s")], ids=["a", "b"], span=(11, 20))
    )
    assert got["citation_recall"].value == 1


def test_several_citations_that_may_support_a_claim_together_leave_it_open() -> None:
    got = scored(result("Rain fell [1][2].", [((1,), "nnn", "s")], ids=["a", "b", "c"]))
    assert got["citation_recall"].because == "undecided"
    assert got["citation_recall"].bounds == (0.0, 1.0)
    other = scored(result("Rain fell [1][2].", [((1,), "nns", "s")], ids=["a", "b", "c"]))
    assert (other["citation_recall"].value, other["citation_misplaced"].value) == (0, 1)


def test_verdicts_on_the_cited_documents_alone_are_enough() -> None:
    got = scored(
        result(
            "Rain fell [1]. Snow fell [1].",
            [((1,), "s  ", "s"), ((2,), "n  ", "s")],
            ids=["a", "b", "c"],
        )
    )
    assert (got["citation_recall"].value, got["citation_misplaced"].value) == (0.5, 0.5)
    assert got["citation_precision"].value == 0.5


def test_a_claim_of_two_sentences_has_the_citations_of_both() -> None:
    got = scored(result("Rain fell [1]. It snowed [2].", [((1, 2), "ns", "s")], ids=["a", "b"]))
    assert (got["citation_recall"].value, got["citation_precision"].value) == (1, 0.5)


def test_partial_support_by_the_first_citation_counts_half() -> None:
    got = scored(result("Rain fell [1].", [((1,), "pn", "p")], ids=["a", "b"]))
    assert (got["support_precision"].value, got["citation_recall"].value) == (0.5, 0)


def test_an_unassessed_first_citation_leaves_the_sentence_out_with_bounds() -> None:
    got = scored(
        result(
            "Rain fell [1]. Snow fell [2].", [((1,), "?n", "?"), ((2,), "ns", "s")], ids=["a", "b"]
        )
    )
    assert (got["support_recall"].value, got["support_recall"].bounds) == (1, (0.5, 1))


def test_the_citations_are_only_computed_on_request() -> None:
    names = [name for name, row in DERIVED.items() if row.cites]
    assert names == [*GROUPS["citations"], *GROUPS["alce"], *GROUPS["trec_support"]]
    assert len(names) == 10
    assert not set(names) & set(WITH_DOCUMENTS)


# --- What a mark means ---


def cited(
    answer: str, ids: Sequence[str], sources: Sequence[str] = (), **titles: str
) -> list[object]:
    sample = result(answer, [], ids=ids, sources=sources, titles=titles).sample
    return [name for citation in of(sample) for name in citation.cited]


def test_an_id_comes_before_a_number_and_a_number_is_a_rank() -> None:
    assert cited("Rain [2].", ["2", "1"]) == [(1,)]
    assert cited("Rain [doc_0].", ["doc_0", "doc_1"]) == [(1,)]
    assert cited("Rain [doc_2].", ["a", "b"]) == [(2,)]
    assert cited("Rain [3].", ["a", "b"]) == ["3"]


def test_numbers_are_places_in_the_sources_of_the_system() -> None:
    assert cited("Rain [1][2][3].", ["a", "b"], ["b", "gone"]) == [(2,), Unread("gone"), "3"]


def test_a_title_means_all_contexts_with_it() -> None:
    assert cited("Rain (Source: Manual).", ["a", "b", "c"], a="Manual", c="manual") == [(1, 3)]


def test_a_made_up_id_of_the_same_form_is_a_citation() -> None:
    assert cited("Rain [kb_7]. Snow [kb_99]. He [sic] said.", ["kb_7", "kb_8"]) == [(1,), "kb_99"]


def test_a_list_of_sources_says_what_numbers_mean_and_cites_nothing() -> None:
    answer = "Rain fell [1].\n\nSources:\n[1] b.pdf, p. 3\n[2] a.pdf"
    assert cited(answer, ["a.pdf", "b.pdf"]) == [(2,)]
    assert cited("Rain fell [^x].\n\n[^x]: See <https://b.org/1>.", ["b.org/1"]) == [(1,)]


def test_the_characters_of_a_name_that_no_context_has_are_no_ranks() -> None:
    answer = "Rain [kb_7]. Snow [kb_99]. Hail [4]."
    sample = result(answer, [], ids=["kb_7", "kb_8"]).sample
    assert cited_contexts(sample) == {1}


def test_a_mark_after_the_full_stop_or_on_its_own_line_belongs_to_the_sentence_before() -> None:
    sample = result("Rain fell. [1] Snow fell.\n[2]\nHail (Source: a).", [], ids=["a", "b"]).sample
    assert [(citation.sentence, citation.cited) for citation in of(sample)] == [
        (1, ((1,),)),
        (2, ((2,),)),
        (4, ((1,),)),
    ]
    assert sorted(cited_contexts(sample)) == [1, 2]


@pytest.mark.parametrize(
    "line",
    [
        "Source: [1]",
        "*Sources: [1]*",
        "(Source: [1])",
        "Source: Meyer, *The weather*, 1902 [1]",
        "> — Ann Meyer [1]",
        "\n> – Meyer, 1902 [1]",
        ">\n> -- Meyer (1902) [1]",
    ],
)
def test_a_line_that_says_where_a_sentence_is_from_cites_for_it(line: str) -> None:
    answer = f"Snow fell.\n\n> Rain fell.\n{line}\n\nHail fell [2]."
    sample = result(answer, [], ids=["a", "b"]).sample
    found = [(one.sentence, one.cited) for one in of(sample)]
    assert found[0] == (2, ((1,),))
    texts = [answer[slice(*span)] for span in sentence_spans(sample)]
    assert texts[found[1][0] - 1] == "Hail fell [2]."


@pytest.mark.parametrize(
    "line", ["— Snow fell [1].", "- Source code is open [1].", "He said: snow [1]."]
)
def test_other_lines_cite_for_themselves(line: str) -> None:
    sample = result(f"Rain fell.\n\n{line}", [], ids=["a", "b"]).sample
    assert [one.sentence for one in of(sample)] == [2]


def test_a_line_below_words_in_quotes_says_whose_they_are() -> None:
    sample = result("“Rain fell.”\n— Ann Meyer [1]", [], ids=["a", "b"]).sample
    assert [one.sentence for one in of(sample)] == [1]


def test_marks_of_cohere_and_chatgpt_count_from_0() -> None:
    contexts = [Document(id=f"kb_{n}", text="d") for n in (7, 8, 9)]
    answers = {
        "<co: 0>Rain fell</co: 0>. <co: 2>Snow fell</co: 2>.": [((1,),), ((3,),)],
        "Rain fell citeturn0search0. Snow fell citeturn0search2.": [((1,),), ((3,),)],
        "Rain fell <co: 3>then</co: 3>.": [("co:3",)],
    }
    for answer, cited in answers.items():
        sample = Sample(question="?", answer=answer, contexts=contexts)
        assert [citation.cited for citation in of(sample)] == cited


BRACKETS = Path(__file__).with_name("brackets.txt").read_text(encoding="utf-8").splitlines()
"""Answers, the numbers that they cite, and what one of their contexts says, parted by ‖. A row with
a question has ten contexts, other rows have five."""
ABOUT = (
    "rivers",
    "towns",
    "ships",
    "trade",
    "kings",
    "farms",
    "schools",
    "roads",
    "bread",
    "hills",
)


@pytest.mark.parametrize("row", BRACKETS)
def test_brackets_that_quote_index_or_count_are_no_citations(row: str) -> None:
    answer, names, shown, *asked = (part.strip().replace("⏎", "\n") for part in row.split("‖"))
    texts = [f"About {subject}." for subject in ABOUT[: 10 if asked else 5]]
    sample = bracketed(answer, [*texts[:4], shown or texts[4], *texts[5:]], *asked)
    cited = [(int(name),) if int(name) <= len(texts) else name for name in names.split()]
    assert numbers_cited(sample) == cited, answer


@pytest.mark.parametrize("row", BRACKETS)
def test_no_number_in_plain_brackets_cites_if_none_does(row: str) -> None:
    """What is left of the same answers are footnotes `[^1]` and links `[1](https://...)`."""
    answer = row.split("‖")[0].strip().replace("⏎", "\n")
    texts = [f"About {subject}." for subject in ABOUT]
    sample = bracketed(answer, texts).model_copy(update={"numbering": "none"})
    for citation in of(sample):
        mark = answer[citation.start : citation.end]
        assert mark.startswith("[^") or "](http" in mark, mark


def bracketed(answer: str, texts: Sequence[str], question: str = "What is known?") -> Sample:
    contexts = tuple(Document(id=f"page-{text}", text=text) for text in texts)
    return Sample(id="1", question=question, answer=answer, contexts=contexts)


def numbers_cited(sample: Sample) -> list[Cited]:
    return [name for citation in of(sample) for name in citation.cited]


def test_values_among_marks_are_told_by_the_sources_that_there_are() -> None:
    """In 500 answers, the marks at the ends of clauses are read, and no interval, index from 0,
    score or list in another order is."""
    draw = random.Random(51)
    for _ in range(500):
        count = draw.randint(3, 12)
        texts, expected = [], []
        for n in range(draw.randint(2, 5)):
            cited = draw.sample(range(1, count + 1), draw.randint(1, 3))
            low = draw.randint(1, 400)
            value = draw.choice(
                [
                    f"The groups [{count + low}, {count + low + 30}] of town {n} grew",
                    f"The rest of town {n} lay at {low + 2} [{low}, {low + 5}] and fell",
                    f"The town {n} won [{low + 4}-{low}] at home",
                    f"The order [{count}, 1, 2] of town {n} became [1, 2, {count}] then",
                    f"The town {n} reads dp[0] and dp[{low}] first",
                    f"The town {n} grew",
                ]
            )
            # two intervals, since one bracket after a number may be a mark
            if " lay at " in value:
                value += f" by {low + 7} [{low + 6}, {low + 9}] points"
            texts.append(f"{value} [{', '.join(map(str, cited))}].")
            expected += [(number,) for number in cited]
        sample = bracketed(" ".join(texts), [f"About {n}." for n in range(count)])
        assert numbers_cited(sample) == expected, sample.answer


def test_an_earlier_answer_may_have_the_same_marks() -> None:
    """Of an earlier turn, a question is quoted from, but no answer."""
    turns = [
        Turn(role="user", content="Where is [7, 8] on the plan?"),
        Turn(role="assistant", content="The mill is old [1, 2]."),
    ]
    sample = bracketed(
        "The mill is old [1, 2]. The cell [7, 8] is there.",
        [f"About {n}." for n in range(9)],
    ).model_copy(update={"history": tuple(turns)})
    assert numbers_cited(sample) == [(1,), (2,)]


def test_numbers_that_no_context_has_are_values_within_a_clause_alone() -> None:
    """At the end of a clause, they are a citation that names nothing."""
    texts = [f"About {n}." for n in range(5)]
    assert numbers_cited(bracketed("Ages [18, 65] were studied.", texts)) == []
    assert numbers_cited(bracketed("Ages were studied [18, 65].", texts)) == ["18", "65"]
    assert numbers_cited(bracketed("Ages [18] were studied.", texts)) == ["18"]
