"""What the numbers of citations are, decided over all answers. All expected values are by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import claimeval as ce
from claimeval.evaluation.numbering import find_numbering
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


def test_what_fits_two_readings_is_asked_and_can_be_said() -> None:
    cited = sample(3, 1, ids=("doc_3", "doc_1", "doc_2"))
    with pytest.raises(UsageError, match="numbering=id, or --field numbering=rank") as refusal:
        ce.score([cited], judges="local:lexical", metrics="citations")
    assert "the numbers in the ids of the contexts or ranks of contexts, from 1" in str(
        refusal.value
    )
    assert "other contexts in 1 of 1 answers" in str(refusal.value)
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
    assert find_numbering([named, mapped, plain, sample(1, 2)]) == (None, None)


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
    assert find_numbering([sample(2, 1, texts=texts)]) == (None, None)
