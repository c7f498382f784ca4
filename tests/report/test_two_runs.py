"""Two runs side by side: the numbers, worked by hand, and the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claimeval.report import forms, notebook
from claimeval.runs.compare import compare
from claimeval.runs.views import comparison as view
from claimeval.runs.views import heading
from claimeval.types.errors import DataError, UsageError
from claimeval.types.records import Document, SampleResult
from tests.report.conftest import Browser
from tests.report.realistic import Realistic
from tests.report.runs import TOWER, TOWER_SAYS, make

SAMPLES = [TOWER.model_copy(update={"id": f"t{i}", "question": f"Question {i}?"}) for i in range(3)]
BETTER = {"It is 90 metres high.": "contradicted"}
"""The third claim is supported now."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Run a: three samples, each with one of three claims supported. Run b: two of them and
    another, two supported."""
    folder = tmp_path_factory.mktemp("runs")
    other = SAMPLES[0].model_copy(update={"id": "new", "question": "Another question?"})
    a = make(folder / "a", SAMPLES, {"strict": TOWER_SAYS})
    b = make(folder / "b", [SAMPLES[2], SAMPLES[1], other], {"kind": BETTER})
    return a, b


def test_shared_samples_are_paired_whatever_their_order(runs: tuple[Path, Path]) -> None:
    found = compare(*runs).comparison
    assert (found.shared, found.only_a, found.only_b) == (2, 1, 1)
    faithfulness, coverage = found.metrics
    assert (faithfulness.a, faithfulness.b) == (1 / 3, 2 / 3)
    assert faithfulness.difference.value == pytest.approx(1 / 3)
    assert (faithfulness.increased, faithfulness.decreased, faithfulness.n) == (2, 0, 2)
    assert coverage.difference.value == 0
    # Sign patterns of two equal differences: 2 of 4 are as extreme, p = 0.5; Holm doubles the
    # smaller of two.
    assert (faithfulness.p, faithfulness.p_adjusted) == (0.5, 1.0)


def test_claims_that_flipped_are_listed_with_both_labels(runs: tuple[Path, Path]) -> None:
    found = compare(*runs).comparison
    assert found.flipped == 2
    assert [(f.sample_id, f.claim, f.a, f.b) for f in found.flips] == [
        ("t1", "Its keeper was a poet.", "not_found", "supported"),
        ("t2", "Its keeper was a poet.", "not_found", "supported"),
    ]


def test_what_was_asked_differently_is_said(runs: tuple[Path, Path]) -> None:
    found = compare(*runs).comparison
    assert found.settings == ("judges: strict → kind",)
    assert (found.changed_texts, found.changed_claims) == (0, 0)


def test_other_answers_are_counted_and_their_claims_not_compared(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    other = [
        s.model_copy(update={"answer": "The tower is new. It is 90 metres high."}) for s in SAMPLES
    ]
    found = compare(runs[0], make(tmp_path / "c", other, {"strict": {}})).comparison
    assert (found.changed_texts, found.changed_claims) == (3, 3)
    # The second claim of both answers reads the same; the first does not.
    assert {flip.claim for flip in found.flips} == {"It is 90 metres high."}


def test_runs_without_a_shared_sample_or_metric_cannot_be_compared(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    strange = make(tmp_path / "strange", [TOWER])
    with pytest.raises(UsageError, match="the runs a and strange are not over the same samples"):
        compare(runs[0], strange)
    with pytest.raises(
        UsageError,
        match="no metric in common: one has faithfulness, coverage, the other correctness",
    ):
        compare(runs[0], make(tmp_path / "other", SAMPLES, metrics=["correctness"]))
    with pytest.raises(DataError, match="holds 2 runs: name one"):
        compare(runs[0], tmp_path)


def test_the_summary_in_markdown_has_the_difference(runs: tuple[Path, Path]) -> None:
    text = forms.text(runs[0], "md", compared=runs[1])
    assert "2 samples in both, 1 only in a, 1 only in b" in text
    assert "| `faithfulness` | 2 | 0.33 | 0.67 | +0.33 |" in text
    assert (
        "- `t1`\n  - claim: `Its keeper was a poet.`\n"
        "  - label: not found → supported against the contexts, claim of the answer\n" in text
    )
    assert "| `faithfulness` | other judges, prompt or settings | +0.33 | 2 | 2 |" in text


def test_two_claims_of_the_same_words_say_which_text_they_are_of(runs: tuple[Path, Path]) -> None:
    """The judge of run b supports both claims of these words: that of the answer and that of the
    gold answer."""
    found = compare(*runs).comparison
    first, second = (
        view.flip(found.flips[0].model_copy(update={"of": of})) for of in ("answer", "reference")
    )
    assert first != second


def test_no_claim_of_both_runs_is_said_in_every_form(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    """The answers share no claim, and neither do the gold answers."""
    texts = {"answer": "The tower is new.", "reference_answers": ("It is 20 metres high.",)}
    other = make(
        tmp_path / "other", [sample.model_copy(update=texts) for sample in SAMPLES], {"strict": {}}
    )
    pair = compare(runs[0], other).comparison
    assert (pair.compared, [metric.discordant for metric in pair.metrics]) == (0, [None, None])
    said = "No claim is in both runs"
    assert f"\n### {said}\n" in forms.text(runs[0], "md", compared=other)
    assert f"<b>{said}</b>" in notebook.comparison(pair)
    assert list(view.flipped(pair, 10)) == [heading(said)], "what the terminal draws"


def test_runs_without_claims_say_nothing_of_claims(runs: tuple[Path, Path]) -> None:
    pair = compare(*runs).comparison
    lexical = tuple(metric.model_copy(update={"source": "lexical"}) for metric in pair.metrics)
    assert not [
        *view.flipped(pair.model_copy(update={"compared": 0, "flips": (), "metrics": lexical}), 10)
    ]


@pytest.mark.browser
def test_the_page_of_runs_without_a_common_claim_says_so(
    browser: Browser, runs: tuple[Path, Path], tmp_path: Path
) -> None:
    texts = {"answer": "The tower is new.", "reference_answers": ("It is 20 metres high.",)}
    other = make(
        tmp_path / "other", [sample.model_copy(update=texts) for sample in SAMPLES], {"strict": {}}
    )
    browser.open(forms.write(runs[0], "html", compared=other))
    assert browser.line("[aria-labelledby=flips]") == "No claim is in both runs"
    browser.open(forms.write(*runs[:1], "html", compared=runs[1]))
    assert browser.texts("[aria-labelledby=flips] h2") == ["2 of 8 claims flipped"]
    assert browser.texts("#discordant") == ["Claims that one run alone supports"]


@pytest.mark.browser
def test_the_page_shows_what_changed_and_leads_there(
    browser: Browser, runs: tuple[Path, Path]
) -> None:
    browser.open(forms.write(runs[0], "html", compared=runs[1]))
    assert "+0.33" in browser.one(".differences tbody tr").text
    assert "judges: strict → kind" in browser.one(".settings").text
    browser.one("[aria-labelledby=flips] .worst a").click()
    browser.one(".side")
    assert browser.texts(".side h2 .run-letter") == ["a", "b"]
    assert "became supported" in browser.line("details.claim[open]")
    assert browser.texts('.side[data-run="1"] .flag') == ["was not found"]


@pytest.mark.browser
def test_the_list_begins_with_the_samples_that_changed(browser: Browser, tmp_path: Path) -> None:
    a = make(tmp_path / "a", SAMPLES, {"strict": TOWER_SAYS})
    first = SAMPLES[0].model_copy(update={"answer": "The tower opened in 1902."})
    b = make(tmp_path / "b", [first, SAMPLES[1], SAMPLES[2]], {"strict": TOWER_SAYS})
    page = forms.write(b, "html", compared=a)
    browser.open(page, "#/samples")
    assert browser.texts(".row-id") == ["t0", "t1", "t2"]
    assert browser.line(".row-value.focus") == "faithfulness 1.00 ↘ 0.33 1 of 1 → 1 of 3"
    browser.open(page, "#/samples?show=flipped")
    assert browser.texts(".row-id") == ["t0"]


@pytest.mark.browser
def test_a_chosen_claim_shows_the_verdicts_of_both_runs(
    browser: Browser, runs: tuple[Path, Path]
) -> None:
    page = forms.write(runs[0], "html", compared=runs[1])
    browser.open(page, "#/sample/t1?run=1&claim=answer-1")
    assert "kind: supported" in browser.line('.side[data-run="1"] details.claim[open]')
    assert "strict: supported" in browser.line('.side[data-run="0"] details.claim[open]')
    said = browser.line(".document.named")
    assert "a: named by strict" in said
    assert "b: named by kind" in said
    browser.one('.side[data-run="0"] .pin[data-claim="answer-3"]').click()
    assert browser.texts(".both-verdicts p") == [
        "Its keeper was a poet.",
        "a? not found · strict ?not found",
        "b✓ supported · kind ✓supported",
    ]


@pytest.fixture
def compared(realistic: Realistic) -> Path:
    """The page of two runs with other contexts and other answers."""
    return realistic.pages["ab"]


@pytest.mark.browser
def test_one_list_of_documents_says_which_run_had_which(browser: Browser, compared: Path) -> None:
    browser.open(compared, "#/sample/q15?claim=answer-1")
    found = browser.run(
        "return [...document.querySelectorAll('.document')].map((d) => [d.dataset.document,"
        " [...d.querySelectorAll('.rank')].map((r) => r.textContent).join(' '),"
        " d.querySelector('.flag').textContent])"
    )
    # b kept the first of three contexts and got another.
    assert found == [
        ["tavelpund-0", "a1 b1", "both"],
        ["other-15", "b2", "gained"],
        ["tavelpund-1", "a2", "lost"],
        ["tavelpund-2", "a3", "lost"],
    ]
    assert (
        browser.line(".evidence h2") == "Evidence: retrieved contexts (1 in both, 2 lost, 1 gained)"
    )
    assert browser.line(".changed") == "Different in the two runs: the answer, the contexts."


OPENS, COSTS, CAFE, KIOSK = (
    *("The museum opens at ten.", "A ticket costs five euros.", "The café closes at six."),
    "The kiosk opens at noon.",
)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("ids", "texts", "counts", "cards"),
    [
        (
            *("123 123", (KIOSK, COSTS, KIOSK), "1 in both, 2 lost, 2 gained"),
            [
                ("b1", "gained"),
                ("a1", "lost"),
                ("a2b2", "both"),
                ("b3", "gained"),
                ("a3", "lost"),
            ],
        ),
        (
            *(
                "pqr qxp",
                (COSTS, KIOSK, f"{OPENS} And at noon on Sunday."),
                "1 in both, 1 of them at another rank, 1 rewritten, ",
            ),
            [
                ("a1", "a text"),
                ("a2b1", "both"),
                ("b2", "gained"),
                ("b3", "b text"),
                ("a3", "lost"),
            ],
        ),
    ],
    ids=["ids that are ranks", "ids that are no ranks"],
)
def test_documents_are_the_same_by_their_text_and_not_by_their_rank(
    browser: Browser,
    tmp_path: Path,
    ids: str,
    texts: tuple[str, ...],
    counts: str,
    cards: list[tuple[str, str]],
) -> None:
    def run(name: str, ids: str, texts: tuple[str, ...]) -> Path:
        contexts = tuple(Document(id=i, text=text) for i, text in zip(ids, texts, strict=True))
        return make(tmp_path / name, [TOWER.model_copy(update={"contexts": contexts})])

    page = tmp_path / "compared.html"
    first, second = ids.split()
    forms.write(
        run("a", first, (OPENS, COSTS, CAFE)), "html", out=page, compared=run("b", second, texts)
    )
    browser.open(page, "#/sample/tower?metric=faithfulness")
    assert browser.line(".evidence h2").startswith(f"Evidence: retrieved contexts ({counts}")
    found: Any = browser.run(
        "return [...document.querySelectorAll('.document')].map((d) =>"
        " [[...d.querySelectorAll('.rank')].map((r) => r.textContent).join(''),"
        " d.querySelector('.flag').textContent])"
    )
    assert [tuple(card) for card in found] == cards


@pytest.mark.browser
def test_no_sentence_is_looked_for_in_documents_that_only_the_other_run_has(
    browser: Browser, tmp_path: Path
) -> None:
    # Nobody gives a reason, and only run a has a document with words of the third claim.
    keeper = "Its keeper was a poet, they say."

    def without_reasons(result: SampleResult) -> SampleResult:
        update = {"explanation": None, "evidence": None, "cites": ()}
        found = tuple(
            one.model_copy(
                update={"verdicts": tuple(each.model_copy(update=update) for each in one.verdicts)}
            )
            for one in result.assessments
        )
        return result.model_copy(update={"assessments": found})

    def run(name: str, texts: tuple[str, ...]) -> Path:
        contexts = tuple(Document(id=text[:3], text=text) for text in texts)
        samples = [TOWER.model_copy(update={"contexts": contexts})]
        return make(
            tmp_path / name,
            samples,
            {"strict": TOWER_SAYS},
            metrics=["faithfulness"],
            revise=without_reasons,
        )

    page = tmp_path / "compared.html"
    forms.write(
        run("a", (OPENS, keeper)), "html", out=page, compared=run("b", (OPENS, "Soup is served."))
    )
    browser.open(page, "#/sample/tower?metric=faithfulness")
    shown = []
    for run_of_page in (0, 1):
        browser.all('.pin[data-claim="answer-3"]')[run_of_page].click()
        shown.append(browser.texts(".passage"))
    assert shown == [[keeper], []]


@pytest.mark.browser
def test_words_that_only_one_answer_has_are_marked(browser: Browser, compared: Path) -> None:
    browser.open(compared, "#/sample/q15")
    first, second = (
        " ".join(browser.texts(f'.side[data-run="{run}"] .marked b')) for run in (0, 1)
    )
    assert second == "Nobody knows who paid for it"
    assert "council" in first
    assert "harbour" not in first + second
    assert browser.texts('.side[data-run="1"] .claims .flag') == ["only in b"]
    browser.go("#/sample/q03")  # the same answer over other contexts
    assert browser.texts("b.differs") == []


@pytest.mark.browser
def test_the_head_has_the_metadata_of_both_runs(browser: Browser, compared: Path) -> None:
    browser.open(compared, "#/sample/q15")
    assert browser.texts(".facts > div")[:2] == [
        "answered byaopenai:gpt-4.1 banthropic:claude-sonnet-4 ",
        "fieldPhysics",
    ]


@pytest.mark.browser
def test_samples_with_other_contexts_or_answers_are_listed(
    browser: Browser, compared: Path
) -> None:
    browser.open(compared, "#/samples?show=other_contexts&sort=data")
    assert browser.texts(".row-id") == [*(f"q{i:02}" for i in range(3, 24, 3)), "arabic", "word"]
    browser.go("#/samples?show=other_reference")
    assert browser.texts(".row-id") == ["q07"]
