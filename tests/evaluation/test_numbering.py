"""What the numbers of citations are, decided over all answers. All expected values are by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.evaluation.numbering import MOST, NumberingFound, find_numbering
from claimeval.metrics.citations import of
from claimeval.runs.compare import differences
from claimeval.types.errors import UsageError
from claimeval.types.records import Document, Numbering, Sample

TOWER = "The tower of Bern is 63 metres high"
BRIDGE = "Ana Lind designed the old bridge in 1902"
CATS = "Cats sleep all day long in summer"
TEXTS = (f"{TOWER}.", f"{BRIDGE}.", f"{CATS}.")


def sample(
    first: object,
    second: object,
    *,
    texts: Sequence[str] = TEXTS,
    ids: Sequence[str] = (),
    titles: Sequence[str] = (),
    name: str = "s",
) -> Sample:
    """An answer that cites the tower by one number or name and the bridge by another."""
    contexts = [
        Document(
            id=ids[place] if ids else str(place + 1),
            text=text,
            title=titles[place] if titles else None,
        )
        for place, text in enumerate(texts)
    ]
    answer = f"{TOWER} [{first}]. {BRIDGE} [{second}]."
    return Sample(id=name, question="?", answer=answer, contexts=contexts)


def shares(samples: Sequence[Sample], **settings: object) -> list[tuple[float | None, ...]]:
    run = ce.score(
        [each.model_copy(update={"id": str(n)}) for n, each in enumerate(samples)],
        judges="local:lexical",
        metrics="citations",
        mapping=settings or None,
    )
    names = ("citation_recall", "citation_misplaced")
    return [tuple(result[name].value for name in names) for result in run.results]


NOTHING_FOUND = NumberingFound(numbering=None, note=None, doubt=None)
RIGHT = (1.0, 0.0)
SWAPPED = (0.0, 1.0)
FORMS = {
    "brackets": "[{n}] {text}",
    "words": "Document {n}: {text}",
    "lines": "Source #{n}\n{text}",
    "tags": '<doc id="{n}">\n{text}</doc>',
    "bold": "**[{n}]** {text}",
    "headings": "### Passage {n}\n{text}",
    "braces": "{{{n}}} {text}",
    "results": "Result {n}\n{text}",
    "ids": "ID: {n}\n{text}",
    "dashes": "{n} - {text}",
    "colons": "{n}: {text}",
    "another word": "Fragment {n} | {text}",
}


def printed(form: str, numbers: Sequence[int] = (7, 3, 5)) -> list[str]:
    return [form.format(n=n, text=text) for n, text in zip(numbers, TEXTS, strict=True)]


PRINTED = {
    **{name: printed(form) for name, form in FORMS.items()},
    "one without": [f"[7] {TEXTS[0]}", f"[3] {TEXTS[1]}", TEXTS[2]],
    "permuted": printed("[{n}] {text}", (2, 3, 1)),
}


@pytest.mark.filterwarnings("ignore::claimeval.NoteWarning")
@pytest.mark.parametrize("form", PRINTED)
def test_a_number_that_is_printed_before_a_context_means_it(form: str) -> None:
    first, second = (2, 3) if form == "permuted" else (7, 3)
    texts = PRINTED[form]
    cited = [sample(first, second, texts=texts), sample(second, first, texts=texts)]
    assert shares(cited) == [RIGHT, SWAPPED]
    assert find_numbering(cited).numbering == "printed"


@pytest.mark.filterwarnings("ignore::claimeval.NoteWarning")
def test_numbers_from_0_are_known_by_any_0_in_the_file() -> None:
    other = (f"{CATS}.", f"{TOWER}.", f"{BRIDGE}.")
    cited = [sample(0, 1), sample(1, 0), sample(1, 2, texts=other)]
    assert shares(cited) == [RIGHT, SWAPPED, RIGHT]
    found = find_numbering(cited)
    assert (
        found.note
        == "the numbers of citations are ranks of contexts, from 0 (3 answers with numbers)"
    )


@pytest.mark.filterwarnings("ignore::claimeval.NoteWarning")
def test_ids_and_titles_that_are_cited_mean_their_contexts() -> None:
    numbers = ("12", "7", "3")
    assert shares([sample(12, 7, ids=numbers), sample(7, 12, ids=numbers)]) == [RIGHT, SWAPPED]
    ids = ("kb_14", "kb_11", "kb_9")
    assert shares([sample(14, 11, ids=ids), sample("kb_11", "kb_14", ids=ids)]) == [RIGHT, SWAPPED]
    titles = ("Tower of Bern", "Old Bridge", "Cats")
    by_title = [
        sample("Tower of Bern", "Old Bridge", titles=titles),
        sample("Source: Old Bridge", "Source: Tower of Bern", titles=titles),
    ]
    assert shares(by_title) == [RIGHT, SWAPPED]


@pytest.mark.filterwarnings("ignore::claimeval.NoteWarning")
def test_a_file_is_cited_by_its_name_without_its_path() -> None:
    paths = ("/data/kb/tower.pdf", r"C:\\kb\\bridge.docx", "https://example.org/cats.html")
    cited = [
        sample("tower.pdf", "bridge.docx", ids=paths),
        sample("Source: bridge.docx", "tower.pdf", ids=paths),
    ]
    assert shares(cited) == [RIGHT, SWAPPED]


@pytest.mark.parametrize(("first", "second", "numbering"), [(3, 1, "printed"), (1, 2, "rank")])
def test_pages_that_contexts_begin_with_are_no_numbers_of_their_own(
    first: int, second: int, numbering: Numbering
) -> None:
    texts = [f"Page {n}\n{text}" for n, text in zip((3, 1, 2), TEXTS, strict=True)]
    assert find_numbering([sample(first, second, texts=texts)] * 6).numbering == numbering


@pytest.mark.filterwarnings("ignore::claimeval.NoteWarning")
def test_ids_that_count_from_0_are_no_numbers_if_marks_count_from_1() -> None:
    ids = ("0", "1", "2")
    other = (f"{CATS}.", f"{TOWER}.", f"{BRIDGE}.")
    assert shares([sample(1, 2, ids=ids), sample(2, 3, ids=ids, texts=other)]) == [RIGHT, RIGHT]


@pytest.mark.parametrize(("first", "second", "numbering"), [(3, 1, "id"), (1, 2, "rank")])
def test_the_words_of_many_answers_tell_ids_from_ranks(
    first: int, second: int, numbering: Numbering
) -> None:
    ids = ("doc_3", "doc_1", "doc_2")
    assert find_numbering([sample(first, second, ids=ids)] * 6).numbering == numbering


def test_printed_numbers_that_are_ranks_go_before_ids_of_a_list_that_was_ranked_again() -> None:
    """The ids are the places of the first ranking, and the model saw `[1]` to `[3]`."""
    texts = printed(FORMS["brackets"], (1, 2, 3))
    shown = [sample(1, 2, texts=texts, ids=("2", "3", "1"), name=str(n)) for n in range(8)]
    found = find_numbering(shown)
    assert (found.numbering, found.note) == (
        "printed",
        "the numbers of citations are the numbers that are printed before the contexts"
        " (8 answers with numbers)",
    )
    assert shares(shown) == [RIGHT] * 8


def test_words_tell_ids_from_printed_numbers_that_are_both_numbers() -> None:
    texts = printed(FORMS["brackets"], (1, 2, 3))
    cited = [sample(2, 3, texts=texts, ids=("2", "3", "1"), name=str(n)) for n in range(8)]
    assert find_numbering(cited).numbering == "id"
    assert shares(cited) == [RIGHT] * 8
    # One answer may be wrong, and its printed numbers are what the model saw.
    assert find_numbering(cited[:1]).numbering == "printed"


def test_what_fits_two_readings_is_asked_and_can_be_said() -> None:
    cited = sample(3, 1, ids=("doc_3", "doc_1", "doc_2"))
    with pytest.raises(UsageError, match="numbering=id, or --field numbering=rank") as refusal:
        ce.score([cited], judges="local:lexical", metrics="citations")
    assert "the numbers in the ids of the contexts or ranks of contexts, from 1" in str(
        refusal.value
    )
    assert "other contexts in 1 of 1 answers" in str(refusal.value)
    assert str(refusal.value).endswith("or --field numbering=none if brackets cite nothing")
    assert find_numbering([cited], ask=False).numbering == "rank"


def test_a_context_without_a_label_among_others_is_asked_about() -> None:
    texts = (f"[2] {TEXTS[0]}", TEXTS[2], f"[1] {TEXTS[1]}")
    with pytest.raises(UsageError, match="numbering=printed, or --field numbering=rank"):
        find_numbering([sample(2, 1, texts=texts)])


def test_a_check_of_one_answer_asks_nothing() -> None:
    zero = sample(0, 1)
    contexts = [document.text for document in zero.contexts or ()]
    names = "citation_recall"
    result = ce.check(zero.answer or "", contexts, judge="local:lexical", metrics=names)
    assert result["citation_recall"].value == 1
    unclear = sample(1, 2, ids=("doc_3", "doc_1", "doc_2"))
    documents = [document.model_dump() for document in unclear.contexts or ()]
    result = ce.check(unclear.answer or "", documents, judge="local:lexical", metrics=names)
    assert result["citation_recall"].value == 1


@pytest.mark.filterwarnings("ignore::claimeval.NoteWarning")
def test_the_numbering_that_is_said_counts_and_stays_with_the_run() -> None:
    ids = ("doc_3", "doc_1", "doc_2")
    assert shares([sample(3, 1, ids=ids)], numbering="id") == [RIGHT]
    assert shares([sample(1, 2, ids=ids)], numbering="rank") == [RIGHT]
    said = {"numbering": "id"}
    run = ce.score(
        [sample(3, 1, ids=ids)], judges="local:lexical", metrics="faithfulness", mapping=said
    )
    again = ce.rejudge(run, metrics="citations")
    assert again.results[0]["citation_recall"].value == 1
    with pytest.raises(UsageError, match="numbering"):
        ce.score([sample(3, 1)], judges="local:lexical", mapping={"numbering": "ranks"})


@pytest.mark.parametrize("zeros", [1, 2])
def test_a_made_up_0_in_many_answers_moves_none_of_them(zeros: int) -> None:
    cited = [*[sample(1, 2)] * 60, *[sample(0, 2)] * zeros]
    assert find_numbering(cited).numbering == "rank"
    silent = [each.model_copy(update={"answer": "Ja [1]. Nein [2]."}) for each in cited[:60]]
    with pytest.raises(UsageError, match="from 0 or ranks of contexts, from 1"):
        find_numbering([*silent, Sample(question="?", answer="Ja [0].", contexts=list(TEXTS))])


def test_two_numberings_in_one_file_are_asked_about_or_noted() -> None:
    """Half of the answers count from 0; the words of the others are those of ranks from 1."""
    with pytest.raises(UsageError, match="from 0 or ranks of contexts, from 1"):
        find_numbering([*[sample(0, 1)] * 20, *[sample(1, 2)] * 20])
    found = find_numbering([*[sample(0, 1)] * 40, *[sample(3, 1)] * 3])
    assert found.numbering == "zero"
    assert found.note is not None
    assert found.note.endswith("(43 answers with numbers); 3 of them fit another numbering only")
    made_up = find_numbering([*[sample(1, 2)] * 60, sample(0, 2)])
    assert made_up.note is not None
    assert made_up.note.endswith("; 1 of them fits another numbering only")


def test_samples_without_numbers_or_with_sources_say_nothing() -> None:
    named = sample("doc_3", "doc_1", ids=("doc_3", "doc_1", "doc_2"))
    mapped = sample(1, 2, ids=("a", "b", "c")).model_copy(update={"sources": ("a", "b")})
    plain = Sample(question="?", answer="It is so.", contexts=["a"])
    assert find_numbering([named, mapped, plain, sample(1, 2)]) == NOTHING_FOUND


@pytest.mark.parametrize(
    "texts",
    [
        ("[2] The tower.", "The bridge.", "Cats."),  # most without a label
        ("[2] The tower.", "[2] The bridge.", "[1] Cats."),  # two with the same
        ("Document 2 of the treaty bans it.", "Document 1 allows it.", "Document 3 is lost."),
        ("1994 was wet.", "1995 was dry.", "1996 was cold."),
        ("63 metres.", "12 metres.", "9 metres."),
    ],
)
def test_a_text_that_begins_with_a_number_has_no_label(texts: Sequence[str]) -> None:
    assert find_numbering([sample(2, 1, texts=texts)]) == NOTHING_FOUND


def stated(answer: str, *, ids: Sequence[str] = ("a", "b", "c")) -> Sample:
    contexts = [Document(id=name, text=text) for name, text in zip(ids, TEXTS, strict=True)]
    read = Sample(question="?", answer=answer, contexts=contexts)
    return read.model_copy(update={"numbering": "none"})


@pytest.mark.parametrize(
    "mark",
    [
        "[1]",
        "[1, 2]",
        "[1-2]",
        "[1 and 2]",
        "[1][2]",
        "[ 3 ]",
        "[[1]]",
        "([1], [2])",
        "［１］",
        "【1】",
        "{1}",
        "[7]",
        "[0]",
    ],
)
def test_numbers_in_brackets_cite_nothing_if_this_is_stated(mark: str) -> None:
    silent = stated(f"{TOWER} {mark}. It is old.")
    assert of(silent) == []
    assert of(silent.model_copy(update={"numbering": None})) != []


@pytest.mark.parametrize(
    ("answer", "cited"),
    [
        (f"{TOWER} [doc_2].", [(2,)]),
        (f"{TOWER} [Document 2].", [(2,)]),
        (f"{TOWER} (Doc. 2).", [(2,)]),
        (f"According to document 2, {TOWER}.", [(2,)]),
        (f"{TOWER}².", [(2,)]),
        (f"{TOWER}<sup>2</sup>.", [(2,)]),
        (f"{TOWER} [^2].", [(2,)]),
        (f"{TOWER} [#2].", [(2,)]),
        (f"{TOWER} [2, p. 14].", [(2,)]),
        (f"{TOWER} 【2†source】.", [(2,)]),
        (f"{TOWER} [2](https://example.org/x).", [(2,)]),
        (f"{TOWER} [b].", [(2,)]),
        (f"{TOWER} [Source: b], as data[1] says.", [(2,)]),
        (f"{TOWER} <cite>2</cite>.", [(2,)]),
    ],
)
def test_other_marks_cite_though_numbers_in_brackets_do_not(
    answer: str, cited: Sequence[object]
) -> None:
    found = [name for citation in of(stated(answer)) for name in citation.cited]
    assert found == cited


def test_ids_that_are_numbers_are_cited_by_other_marks_than_brackets() -> None:
    """`[2]` is a number in brackets. A longer number is the name of a context, whatever else
    numbers in brackets are."""
    ids = ("3", "12345", "2")
    assert of(stated("It is high [2].", ids=ids)) == []
    cited = of(stated("It is high [12345], as stated in Document 2.", ids=ids))
    assert [citation.cited for citation in cited] == [((2,),), ((3,),)]


def test_numbers_that_the_data_or_the_answer_explain_cite_whatever_is_stated() -> None:
    listed = stated(f"{TOWER} [1].\n\nSources:\n[1] b\n")
    assert [citation.cited for citation in of(listed)] == [((2,),)]
    given = stated(f"{TOWER} [1].").model_copy(update={"sources": ("c", "a")})
    assert [citation.cited for citation in of(given)] == [((3,),)]


def test_answers_whose_brackets_cite_nothing_have_no_citations_and_these_in_claims() -> None:
    spoken = Sample(
        id="1", question="?", answer=f"Press [1] to speak. {TOWER}.", contexts=list(TEXTS)
    )
    judge = "local:lexical"
    before = ce.score([spoken], judges=judge, metrics="citations")
    after = ce.score([spoken], judges=judge, metrics="citations", mapping={"numbering": "none"})
    assert before.results[0]["citation_precision"].value is not None
    score = after.results[0]["citation_precision"]
    assert (score.value, score.because) == (None, "no_citations")
    texts = [[claim.text for claim in run.results[0].claims] for run in (before, after)]
    assert texts == [["Press to speak.", f"{TOWER}."], ["Press [1] to speak.", f"{TOWER}."]]
    assert after.manifest.settings["numbering"] == "none"
    assert "numbering" not in before.manifest.settings


@pytest.mark.filterwarnings("ignore::claimeval.NoteWarning")
@pytest.mark.parametrize(("number", "label"), [(1, "supported"), (7, "not_found")])
def test_numbers_in_brackets_that_cite_nothing_are_compared(number: int, label: str) -> None:
    said = Sample(
        id="1",
        question="Who repairs the scanner?",
        answer=f"Press key [{number}] to speak with the workshop of the museum.",
        contexts=["Press key [1] to speak with the workshop of the museum."],
    )
    labels: list[str | None] = []
    for mapping in ({"numbering": "none"}, None):
        run = ce.score([said], judges="local:lexical", metrics="faithfulness", mapping=mapping)
        labels += [assessment.label for assessment in run.results[0].assessments]
    assert labels == [label, "supported"]


@pytest.mark.filterwarnings("ignore::claimeval.NoteWarning")
def test_a_numbering_that_is_stated_when_a_run_is_judged_again_stays_with_its_runs() -> None:
    run = ce.score([sample(1, 2)], judges="local:lexical", metrics="citations")
    silent = ce.rejudge(run, metrics="citations", mapping={"numbering": "none"})
    again = ce.rejudge(silent, metrics="citations")
    ranked = ce.rejudge(silent, metrics="citations", mapping={"numbering": "rank"})
    values = [one.results[0]["citation_recall"].value for one in (run, silent, again, ranked)]
    assert values == [1, None, None, 1]


@pytest.mark.filterwarnings("ignore::claimeval.NoteWarning")
def test_a_comparison_says_that_brackets_are_stated_to_cite_nothing(tmp_path: Path) -> None:
    cited = [
        sample(1, 2, name=str(n)).model_copy(update={"question": f"Question {n}?"})
        for n in range(20)
    ]
    a, b = tmp_path / "a", tmp_path / "b"
    ce.score(cited, judges="local:lexical", metrics="citations", out=a)
    ce.rejudge(a, metrics="citations", mapping={"numbering": "none"}, out=b)
    said = differences(a, b).culprit.sentence
    assert said.startswith(
        "Run b has no citation_recall for 20 of 20 questions that have one in run a (the answer"
        " cites nothing; numbering: not stated → none)"
    )


def spoken(number: int, words: str = "Ana Lind designed") -> Sample:
    """An answer whose first sentence has a number and words of the second context alone."""
    return sample(2, 2).model_copy(update={"answer": f"{words} [{number}] the old bridge."})


CLOSER = spoken(2)
"""All six words are in the second context, and only "the" in another one."""
FARTHER = spoken(1)
NEITHER = sample(2, 2).model_copy(update={"answer": "Ana Lind designed [1, 2, 3] the old bridge."})
"""No context is left that the bracket could be farther from."""
UNKNOWN = spoken(7)
"""No context has the number, and some share words: farther."""
WITHOUT = sample(1, 2).model_copy(update={"answer": f"{TOWER}."})


@pytest.mark.parametrize(
    ("closer", "farther", "without", "is_noted"),
    [
        (1, 0, 2, False),  # all of few are closer
        (5, 0, 6, False),
        (0, 1, 2, True),
        (3, 1, 5, True),  # 3 of 4 under a fair coin: p = 0.63
        (8, 2, 11, True),  # p = 2 (1 + 10 + 45) / 1024 = 0.11
        (9, 1, 11, False),  # p = 2 (1 + 10) / 1024 = 0.02
        (1, 9, 11, True),  # surely farther is no sign of citations
        (3, 3, 7, True),
        (3, 3, 6, False),  # in half of the answers, brackets are the rule
        (0, 9, 0, False),
        (0, 0, 9, False),
    ],
)
def test_brackets_in_few_answers_are_doubted_unless_their_words_are_those_of_their_contexts(
    closer: int, farther: int, without: int, is_noted: bool
) -> None:
    samples = [*[CLOSER] * closer, *[FARTHER] * farther, *[WITHOUT] * without]
    assert (find_numbering(samples).doubt is not None) == is_noted


def test_the_doubt_has_both_counts_the_first_bracket_and_what_to_add() -> None:
    samples = [WITHOUT, UNKNOWN, CLOSER, NEITHER, *[WITHOUT] * 4]
    found = find_numbering(samples)
    assert found.doubt == (
        "numbers in brackets, as in “Ana Lind designed [7] the old bridge.”, are read as citations"
        " in 3 of 8 answers with contexts. Words do not show that they are: the sentences with"
        " brackets share more words with the contexts of the numbers than with the others in 1 of"
        " 3 answers. If they cite nothing, add --field numbering=none"
    )
    assert (found.numbering, found.note) == (None, None)
    assert find_numbering(samples, "rank") == NumberingFound("rank", None)
    assert find_numbering(samples, "none") == NumberingFound("none", None)


def test_answers_without_contexts_or_with_sources_do_not_count_in_the_doubt() -> None:
    alone = Sample(question="?", answer="Press [1] to speak.")
    mapped = CLOSER.model_copy(update={"sources": ("a", "b")})
    assert find_numbering([*[alone] * 9, *[mapped] * 9, FARTHER]).doubt is None
    found = find_numbering([*[alone] * 9, *[mapped] * 9, FARTHER, WITHOUT, WITHOUT]).doubt
    assert found is not None
    assert "in 1 of 3 answers with contexts" in found


def test_the_words_of_the_doubt_are_those_of_the_contexts_that_the_numbering_means() -> None:
    """Printed before the second context is 1: `[1]` means it, and `[2]` the first one."""
    texts = (f"[2] {TEXTS[0]}", f"[1] {TEXTS[1]}", f"[3] {TEXTS[2]}")
    contexts = sample(1, 2, texts=texts).contexts
    close, far = (one.model_copy(update={"contexts": contexts}) for one in (FARTHER, CLOSER))
    plain = WITHOUT.model_copy(update={"contexts": contexts})
    assert find_numbering([close, plain, plain]).numbering == "printed"
    assert find_numbering([close, plain, plain]).doubt is None
    assert find_numbering([far, plain, plain]).doubt is not None


def test_words_that_several_contexts_have_count_for_each_of_them_in_part() -> None:
    """Of "The bridge of Bern" the contexts have 3, 2 and 3 words. "the" is a third in each, "of"
    and "Bern" are halves in the first and the third, "bridge" is whole in the second: 1.33 in each.
    """
    texts = ("The tower of Bern.", "The bridge.", "The cats of Bern.")
    contexts = sample(1, 2, texts=texts).contexts
    plain = WITHOUT.model_copy(update={"contexts": contexts})
    for number in (1, 2):
        answer = f"The bridge [{number}] of Bern."
        cited = plain.model_copy(update={"answer": answer})
        doubt = find_numbering([cited, plain, plain]).doubt
        assert doubt is not None
        assert "in 0 of 1 answer. If" in doubt


def test_an_answer_that_is_a_mark_alone_is_neither_closer_nor_farther() -> None:
    silent = CLOSER.model_copy(update={"answer": "[1]"})
    doubt = find_numbering([silent, WITHOUT, WITHOUT]).doubt
    assert doubt is not None
    assert "as in “[1]”, are read as citations in 1 of 3 answers" in doubt
    assert "in 0 of 1 answer. If" in doubt


def test_many_brackets_are_compared_by_the_first_of_them() -> None:
    brackets = [*[FARTHER] * MOST, *[CLOSER] * 3 * MOST]
    doubt = find_numbering([*brackets, *[WITHOUT] * 5 * MOST]).doubt
    assert doubt is not None
    assert "in 0 of the first 100 answers. If" in doubt
    assert "in 400 of 900 answers" in doubt


@pytest.mark.parametrize(
    ("words", "quoted"),
    [
        ("He said “stop it”", "“said stop it [7] the old bridge.”"),
        ("x" * 200, f"“{'x' * 30} [7] the old bridge.”"),
        ("One\n\ntwo\tthree \x1b[31m", "“two three [31m [7] the old bridge.”"),
    ],
)
def test_the_first_bracket_is_quoted_in_a_line_of_few_words(words: str, quoted: str) -> None:
    doubt = find_numbering([spoken(7, words), WITHOUT, WITHOUT]).doubt
    assert doubt is not None
    assert quoted in doubt


def test_the_doubt_is_a_note_of_runs_with_metrics_of_citations_alone() -> None:
    samples = [
        one.model_copy(update={"id": str(n)}) for n, one in enumerate([FARTHER, WITHOUT, WITHOUT])
    ]
    with pytest.warns(ce.NoteWarning, match="add --field numbering=none"):
        run = ce.score(samples, judges="local:lexical", metrics="citations")
    assert [note for note in run.notes if "numbering=none" in note]
    for settings in ({"per_document": True}, {"metrics": "faithfulness"}):
        other = ce.score(samples, judges="local:lexical", **settings)
        assert not [note for note in other.notes if "numbering" in note]
    checked = ce.check(
        FARTHER.answer or "", list(TEXTS), judge="local:lexical", metrics="citation_recall"
    )
    assert checked["citation_recall"].value is not None
