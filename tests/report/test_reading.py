"""One sample in a browser: claims in their places, verdicts, evidence, and what was asked and
answered."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import claimeval as ce
from benchmarks.loopback import Options
from claimeval.evaluation.evidence import shown_sentence
from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.judging.panel import Panel
from claimeval.report import forms
from claimeval.runs.directory import RunResults, load_manifest
from claimeval.types.records import Call, Document, Evidence, SampleResult
from claimeval.types.requests import Judge
from tests.conftest import StartServer
from tests.report.conftest import Browser
from tests.report.runs import TOWER, TOWER_SAYS, make, with_spans

pytestmark = pytest.mark.browser

SAYS = {"openai:strict@http://127.0.0.1/v1": TOWER_SAYS, "openai:mild@http://127.0.0.1/v1": {}}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make(tmp_path_factory.mktemp("runs") / "tower")
    forms.write(folder, "html")
    return folder


@pytest.fixture(scope="module")
def page(run: Path) -> Path:
    return run / "report.html"


def pieces(browser: Browser) -> list[list[str]]:
    """Every marked piece of the text and the claims that stand on it."""
    marks = "[...document.querySelectorAll('.marked mark')]"
    found = browser.run(
        f"return {marks}.map((m) => [m.textContent, m.dataset.claims, m.className.split(' ')[1]])"
    )
    assert isinstance(found, list)
    return found


def test_claims_are_marked_in_place_with_their_labels(browser: Browser, page: Path) -> None:
    browser.open(page, "#/sample/tower")
    assert pieces(browser) == [
        ["The tower opened in 1902.", "answer-1", "is-supported"],
        ["It is 90 metres high.", "answer-2", "is-contradicted"],
        ["Its keeper was a poet.", "answer-3", "is-not_found"],
    ]
    assert browser.texts(".pin") == ["✓1", "✗2", "?3"]
    assert (
        browser.run("return document.querySelectorAll('.pin')[1].ariaLabel")
        == "Claim 2: contradicted"
    )


def test_marks_stand_right_after_characters_of_two_units(browser: Browser, tmp_path: Path) -> None:
    # In Python 🗼, 𝒳 and the halves of a family emoji are one character each; a browser counts two.
    answer = "🗼 The tower opened in 1902. 𝒳 is 👩‍👩‍👧 high. Ünïcödé 東京。"
    sample = TOWER.model_copy(update={"answer": answer})
    claims = ("The tower opened in 1902.", "👩‍👩‍👧 high.", "東京")
    places = [(answer.index(claim), answer.index(claim) + len(claim)) for claim in claims]
    browser.open(
        forms.write(make(tmp_path / "run", (sample,), revise=with_spans(*places)), "html"),
        "#/sample/tower",
    )
    assert [piece[0] for piece in pieces(browser)] == list(claims)


def test_overlapping_claims_share_a_piece_and_clicks_go_from_one_to_the_next(
    browser: Browser, tmp_path: Path
) -> None:
    # The tower opened in 1902. It is 90 metres high. Its keeper was a poet.
    page = forms.write(make(tmp_path / "run", revise=with_spans((0, 24), (4, 16), None)), "html")
    browser.open(page, "#/sample/tower")
    assert pieces(browser) == [
        ["The ", "answer-1", "is-supported"],
        ["tower opened", "answer-2 answer-1", "is-contradicted"],
        [" in 1902", "answer-1", "is-supported"],
    ]
    shared = browser.all(".marked mark")[1]
    shared.click()
    assert browser.fragment().endswith("claim=answer-2")
    shared.click()
    assert browser.fragment().endswith("claim=answer-1")


def test_a_claim_without_a_place_is_listed(browser: Browser, tmp_path: Path) -> None:
    page = forms.write(make(tmp_path / "run", revise=with_spans(None, (0, 9999), (30, 20))), "html")
    browser.open(page, "#/sample/tower?claim=answer-1")
    assert [piece[1] for piece in pieces(browser)] == ["answer-2"]
    assert browser.texts(".claims .claim-number") == ["1.", "2.", "3."]


def test_a_claim_shows_every_judge_with_reason_and_evidence(
    browser: Browser, tmp_path: Path
) -> None:
    browser.open(
        forms.write(make(tmp_path / "run", says=SAYS), "html"), "#/sample/tower?claim=answer-2"
    )
    text = browser.line("details.claim[open]")
    assert "strict ✗ contradicted mild ✓ supported ≠ unassessed" in text
    assert "unassessed: the judges are divided" in text
    assert "openai:strict@http://127.0.0.1/v1: contradicted" in text
    assert "names guide" in text
    named = browser.all(".document.named")
    assert [document.get_attribute("data-document") for document in named] == ["guide"]
    assert "named by strict, mild" in named[0].text


def test_the_sentence_most_like_the_claim_is_highlighted(browser: Browser, page: Path) -> None:
    browser.open(page, "#/sample/tower?claim=answer-2")
    assert browser.texts(".passage") == ["It is 80 metres high."]
    browser.one('.pin[data-claim="answer-1"]').click()
    assert browser.texts(".passage") == ["The tower opened in 1902."]
    browser.one('.pin[data-claim="answer-3"]').click()
    assert browser.texts(".passage") == ["The keeper had left the day before."]


def test_no_sentence_is_highlighted_that_is_not_like_the_claim(
    browser: Browser, tmp_path: Path
) -> None:
    sample = TOWER.model_copy(update={"answer": "Bread is baked on Mondays."})
    browser.open(
        forms.write(make(tmp_path / "run", (sample,)), "html"), "#/sample/tower?claim=answer-1"
    )
    assert browser.texts(".passage") == []
    assert "No sentence shares enough words with claim 1" in browser.line(".evidence")


def test_the_page_finds_the_sentences_that_other_screens_show(
    browser: Browser, tmp_path: Path
) -> None:
    # No judge gives a reason, so the page looks for each sentence itself.
    shown = {
        "The towers were opening in 1902": "The tower opened in 1902.",
        "Its height is 1,250 feet": "It is 1250 feet high, or 381 metres.",
        "The keeper had a dog, and left it the day before": "The keeper had left the day before.",
        "塔は一九〇二年に開いた": "塔は一九〇二年に開業した。",
        "Die Brücke über den Fluß wurde 1911 erbaut": "Erbaut wurde sie im Jahr 1911.",
        "Nobody knows": "Nobody was hurt.",
        "It closed at 18:30": "It opens at 9:00 and closes at 18:30!",
        "Bread is baked on Mondays": None,
    }
    documents = (
        Document(
            id="guide",
            text="The tower opened in 1902. It is 1250 feet high, or 381 metres. It opens at 9:00"
            " and closes at 18:30! Who keeps it?",
        ),
        Document(id="history", text="The keeper had left the day before. Nobody was hurt."),
        Document(id="ja", text="塔は一九〇二年に開業した。高さは八十メートルである。"),
        Document(id="de", text="Über dem Fluss steht eine Brücke. Erbaut wurde sie im Jahr 1911."),
    )
    sample = TOWER.model_copy(
        update={"answer": ". ".join([*shown, ""]).strip(), "contexts": documents}
    )

    def without_reasons(result: SampleResult) -> SampleResult:
        update = {"explanation": None, "evidence": None, "cites": (), "label": "not_found"}
        found = tuple(
            one.model_copy(
                update={"verdicts": tuple(each.model_copy(update=update) for each in one.verdicts)}
            )
            for one in result.assessments
        )
        return result.model_copy(update={"assessments": found})

    folder = make(tmp_path / "run", (sample,), metrics=["faithfulness"], revise=without_reasons)
    (result,) = RunResults.of(folder)
    texts = {document.id: document.text for document in documents}
    for claim, assessment in zip(result.claims, result.assessments, strict=True):
        expected = shown[claim.text.rstrip(".")]
        found = shown_sentence(result.sample, assessment, claim.text)
        of_python = found and texts[found.span.document][found.span.start : found.span.end]
        assert of_python == expected
    page = forms.write(folder, "html")
    for claim in result.claims:
        browser.open(page, f"#/sample/tower?claim={claim.id}")
        expected = shown[claim.text.rstrip(".")]
        assert browser.texts(".passage") == ([expected] if expected else []), claim.text


def test_the_reference_has_its_claims_marked_too(browser: Browser, page: Path) -> None:
    browser.open(page, "#/sample/tower")
    browser.one(".tab:nth-child(2)").click()
    browser.until(lambda: "metric=coverage" in browser.fragment())
    assert pieces(browser) == [[TOWER.reference_answers[0], "reference-1", "is-supported"]]
    assert browser.line(".evidence h2") == "Evidence: answer"


def test_the_matrix_says_what_each_document_is_good_for(browser: Browser, tmp_path: Path) -> None:
    again = Document(id="again", text="The tower opened in 1902, they say.")
    sample = TOWER.model_copy(update={"contexts": (*(TOWER.contexts or ()), again)})

    def cite(result: SampleResult) -> SampleResult:
        """The first claim also stands in the last document, the second speaks of the history."""
        named = {"answer-1": ("guide", "again"), "answer-2": ("history",)}
        changed = tuple(
            a.model_copy(
                update={
                    "verdicts": (
                        tuple(v.model_copy(update={"cites": named[a.subject]}) for v in a.verdicts)
                        if a.evidence.part == "contexts" and a.subject in named
                        else a.verdicts
                    )
                }
            )
            for a in result.assessments
        )
        return result.model_copy(update={"assessments": changed})

    browser.open(
        forms.write(make(tmp_path / "run", (sample,), revise=cite), "html"), "#/sample/tower"
    )
    assert browser.texts(".matrix tfoot td") == ["carries", "no support", "unused", "repeats"]
    assert browser.texts(".matrix tbody tr:first-child td") == ["✓supported", "", "", "✓supported"]
    assert "reference" in browser.texts(".matrix thead th")[1]


def test_request_and_reply_are_shown_word_for_word(browser: Browser, run: Path, page: Path) -> None:
    (result,) = RunResults.of(run)
    call = next(call for call in result.calls if call.evidence == Evidence(part="contexts"))
    request = Rebuilder(load_manifest(run)).rebuild(result, call)
    assert request is not None
    browser.open(page, "#/sample/tower?claim=answer-2")
    browser.one("details.claim[open] .exchange").click()
    assert browser.texts("dialog pre[data-role]") == [
        message.content for message in request.messages
    ]
    assert browser.texts("dialog pre[data-reply]") == [call.reply]
    assert call.key in browser.one("dialog").text


def test_how_claims_were_taken_is_one_click_away(browser: Browser, page: Path) -> None:
    browser.open(page, "#/sample/tower")
    browser.one(".side h2 .link").click()
    assert '"claim": "It is 90 metres high."' in browser.texts("dialog pre[data-reply]")[0]


def test_a_request_that_cannot_be_rebuilt_is_said_to_be_so(
    browser: Browser, tmp_path: Path
) -> None:
    def forget(result: SampleResult) -> SampleResult:
        calls: tuple[Call, ...] = tuple(
            call.model_copy(update={"key": "0" * 64}) for call in result.calls
        )
        return result.model_copy(update={"calls": calls})

    browser.open(
        forms.write(make(tmp_path / "run", revise=forget), "html"), "#/sample/tower?claim=answer-1"
    )
    browser.one("details.claim[open] .exchange").click()
    assert "cannot be rebuilt" in browser.one("dialog").text
    assert browser.texts("dialog pre[data-role]") == []
    assert len(browser.texts("dialog pre[data-reply]")) == 1


def test_a_failed_judge_is_unassessed_and_its_failure_is_shown(
    browser: Browser, tmp_path: Path
) -> None:
    says = {"strict": TOWER_SAYS, "away": {}}
    browser.open(
        forms.write(make(tmp_path / "run", says=says, failing=["away"]), "html"),
        "#/sample/tower?claim=answer-1",
    )
    assert "away ○ unassessed: no complete reply in time" in browser.line("details.claim[open]")
    browser.all("details.claim[open] .exchange")[1].click()
    assert "no complete reply in 5 s" in browser.one("dialog .failure").text


def test_a_sample_without_claims_says_why(browser: Browser, tmp_path: Path) -> None:
    sample = TOWER.model_copy(update={"answer": "..."})
    browser.open(forms.write(make(tmp_path / "run", (sample,)), "html"), "#/sample/tower")
    assert "No claims: the text makes no factual claim." in browser.one(".side").text


def test_labels_of_single_documents_fill_the_matrix(browser: Browser, tmp_path: Path) -> None:
    run = make(
        tmp_path / "run",
        panel=Panel(per_document=True),
        derived=("faithfulness_per_document", "contradiction_rate"),
    )
    page = forms.write(run, "html")
    browser.open(page)
    assert browser.texts("section[aria-labelledby=derived] tbody th") == [
        "faithfulness_per_document",
        "contradiction_rate ↓",
    ]
    assert "0.33" in browser.texts("section[aria-labelledby=derived] tbody tr")[0]
    browser.open(page, "#/sample/tower")
    assert browser.texts(".matrix tbody tr:nth-child(2) td") == ["✗contradicted"] * 3
    assert browser.texts(".matrix tfoot td") == ["carries", "repeats", "repeats"]
    scores = browser.texts("section[aria-labelledby^=derived] tbody td:last-child")
    assert scores == ["0.33", "0.33"]
    assert "one document alone" in browser.texts(".matrix p")[0]
    browser.one(".exchanges").click()
    # claims of answer and reference; each document alone, then all about the rest; the answer
    assert len(browser.texts("dialog pre[data-reply]")) == 2 + 3 + 1 + 1
    assert "cannot be rebuilt" not in browser.one("dialog").text


def test_other_orders_are_summed_up(browser: Browser, tmp_path: Path) -> None:
    browser.open(forms.write(make(tmp_path / "run", panel=Panel(shuffle_contexts=2)), "html"))
    (said,) = browser.texts("section[aria-labelledby=orders] p")
    assert said.startswith("0 of 3 claims flip in one of 2 other orders")


def test_a_document_without_verdicts_is_not_said_to_support_nothing(
    browser: Browser, tmp_path: Path
) -> None:
    run = make(
        tmp_path / "run", panel=Panel(per_document=True), says={"away": {}}, failing=["away"]
    )
    browser.open(forms.write(run, "html"), "#/sample/tower")
    assert browser.texts(".matrix tfoot td") == ["not known"] * 3


@pytest.mark.parametrize(("reasons", "said"), [("all", 0), ("unsupported", 1), ("none", 2)])
def test_a_verdict_without_a_reason_says_that_none_was_asked_for(
    browser: Browser,
    start_server: StartServer,
    tmp_path: Path,
    reasons: Literal["all", "unsupported", "none"],
    said: int,
) -> None:
    server = start_server(Options(judge="benchmarks.loopback.claim_judge:make"))
    judge = Judge(name="rule", model="openai:rule", endpoint=server.url_for("openai"))
    sample = {
        "id": "a",
        "question": "Which?",
        "answer": "It is right. It is WRONG.",
        "contexts": ["It is right."],
    }
    options = ce.RunOptions(cache=tmp_path)
    run = ce.score([sample], judges=judge, metrics="faithfulness", reasons=reasons, options=options)
    page = tmp_path / "report.html"
    page.write_text(run.report(), encoding="utf-8")
    browser.open(page, "#/sample/a?claim=answer-1")
    assert browser.texts(".verdict p.quiet.small") == ["no reason was asked for"] * said


def test_marks_of_citations_say_what_supports_the_sentence(
    browser: Browser, tmp_path: Path
) -> None:
    row = {
        "id": "tower",
        "question": "?",
        "answer": "The tower opened in 1902 [1]. It is 90 metres high [1][7].",
        "contexts": ["The tower opened in 1902.", "The tower is 90 metres high."],
    }
    run = ce.score(
        [row], judges="local:lexical", metrics="citations", out=tmp_path / "run", per_document=True
    )
    assert run.path is not None
    browser.open(run.path / "report.html", "#/sample/tower")
    marks = "[...document.querySelectorAll('.marked .citation')]"
    assert browser.run(
        f"return {marks}.map((m) => [m.textContent, m.className.split(' ')[3], m.title])"
    ) == [
        ["[1]✓", "is-supported", "1 supports it"],
        ["[1]?", "is-not_found", "not supported by 1, supported by 2 instead"],
        ["[7]○", "is-unassessed", "no context is called 7"],
    ]
    browser.one(".citation").click()
    assert browser.run("return document.querySelector('details.document').open") is True
