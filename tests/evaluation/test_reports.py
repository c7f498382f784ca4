"""Claims of a cited report are judged against passages of the sources that they cite."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.evaluation.reports import MOST_WORDS, SourceIndex, cut
from claimeval.report.packing import Literals, pack
from claimeval.testing import ScriptedJudge
from claimeval.types.records import Claim
from tests.command_line import call

FILLER = [f"Sentence {number} of the archive is about the weather." for number in range(60)]
FACTS = {
    "01-height.txt": "The tower is 63 metres high.",
    "02-opening.txt": "It was opened in 1902 by the mayor.",
    "03-lift.txt": "The lift holds eight people.",
}
REPORT = """# Tower

The tower is 63 metres high [1]. The lift holds eight people [1].
It was opened in 1902 by the mayor.
It has nine floors [2]. Penguins nest on its roof [4]. The granite came from Norway [9].

## References

1. 01-height.txt
2. 02-opening.txt
3. 03-lift.txt
4. 04-wall.txt
"""
CLAIMS = {
    "The tower is 63 metres high": "supported",
    "The lift holds eight people": "misplaced",
    "It was opened in 1902 by the mayor": "missing",
    "It has nine floors": "unfounded",
    "Penguins nest on its roof": "source_unread",
    "The granite came from Norway": "unresolved",
}
_DOCUMENT = re.compile(r'^(d\d+): (".*")$', re.MULTILINE)
_CLAIM = re.compile(r'^(c\d+): (".*")$', re.MULTILINE)
SHOWN: list[str] = []


def _reply(prompt: str) -> str | None:
    evidence, _, rest = prompt.partition("</evidence>")
    if not rest:
        return None
    SHOWN.append(evidence)
    verdicts = []
    documents = {name: json.loads(text) for name, text in _DOCUMENT.findall(evidence)}
    for name, claim in _CLAIM.findall(rest):
        words = re.sub(r"\s?\[\d\]", "", json.loads(claim)).rstrip(".")
        cites = [one for one, text in documents.items() if words in text]
        label = "supported" if cites else "not_found"
        verdicts.append({"id": name, "reason": words, "evidence": cites[:1], "label": label})
    return json.dumps({"verdicts": verdicts})


@pytest.fixture
def report(tmp_path: Path) -> Path:
    sources = tmp_path / "sources"
    sources.mkdir()
    for name, fact in FACTS.items():
        (sources / name).write_text("\n".join([*FILLER[:30], fact, *FILLER[30:]]))
    (sources / "04-wall.txt").write_text("Please enable cookies.")
    file = tmp_path / "report.md"
    file.write_text(REPORT)
    return file


def run_of(report: Path, **settings: object) -> ce.Run:
    SHOWN.clear()
    sources = report.parent / "sources"
    judge = ScriptedJudge(reply=_reply)
    extractor = ScriptedJudge(name="extractor")
    return ce.score(
        report,
        sources=sources,
        judges=judge,
        extractor=extractor,
        **settings,  # type: ignore[arg-type]  # `out` alone
    )


def test_each_fault_of_a_citation_is_told_from_the_others(report: Path) -> None:
    run = run_of(report)
    faults = ("missing", "misplaced", "unfounded", "unresolved")
    assert {name: run[f"citation_{name}"].hits for name in faults} == dict.fromkeys(faults, 1)
    assert run["citation_recall"].hits == 1
    assert run["citation_recall"].unassessed == {"source_unread": 1}


def test_a_judge_sees_passages_and_not_whole_sources(report: Path) -> None:
    run = run_of(report)
    (result,) = run
    assert len(SHOWN) == len([call for call in result.calls if call.step == "assess"])
    assert max(map(len, SHOWN)) < sum(map(len, FILLER)) * 3
    first = next(shown for shown in SHOWN if "63 metres" in shown)
    assert "mayor" not in first, "only the cited source is shown"


def test_a_misplaced_citation_says_which_source_has_the_claim(report: Path) -> None:
    run = run_of(report, out=report.parent / "run")
    table = call("report", run.path, "--format", "csv", "--rows", "citations").stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [(row["citation"], row["label"]) for row in rows] == [
        ("[1]", "supported"),
        ("[1]", "not_found"),
        ("[2]", "not_found"),
        ("[4]", "source_unread"),
        ("[9]", "citation_unresolved"),
    ]
    assert rows[1]["why"].endswith("supported by 03-lift.txt instead")
    assert rows[0]["passage"] == "The tower is 63 metres high."


def test_phrases_without_a_claim_are_in_the_details_of_a_report(report: Path) -> None:
    claim = {"claim": "It has nine floors.", "sentences": [1], "quote": "nine floors"}
    unclear = {"sentence": 2, "phrase": "That firm"}
    reply = json.dumps({"claims": [claim], "unclear": [unclear]})
    extractor = ScriptedJudge(name="extractor", reply=lambda prompt: reply)
    run = ce.score(
        report,
        sources=report.parent / "sources",
        judges=ScriptedJudge(reply=_reply),
        extractor=extractor,
        extract_prompt="complete",
    )
    assert run.results[0].details == {"unclear": {"answer": [unclear]}}
    assert any("1 statement" in note for note in run.notes)


def test_a_run_of_a_report_can_be_judged_again(report: Path) -> None:
    run = run_of(report, out=report.parent / "run")
    again = ce.rejudge(run, judges=ScriptedJudge(reply=_reply, name="other"))
    assert again["citation_misplaced"].hits == 1
    assert again.manifest.settings["passages"] == 8


def test_the_command_says_what_is_missing_and_what_is_sent_first(report: Path) -> None:
    sources = report.parent / "sources"
    arguments = ("score", report, "--sources", sources, "-j", "openai:gpt-5-mini")
    planned = call("plan", *arguments)
    assert "Nothing readable: 04-wall.txt. No entry: [9]. Never cited: [3]" in planned.stderr
    assert re.search(r"[\d,]+ to [\d,]+ tokens .* api\.openai\.com", planned.stderr)
    assert "assess" in planned.stdout
    here = call("plan", *arguments[:-1], "local:lexical")
    assert "The report and passages of its sources go to local:lexical on this" in here.stderr
    other = call("score", *arguments[1:], "-m", "correctness", exits=2)
    assert "correctness" in other.stderr


def test_the_page_has_the_requests_of_a_report(report: Path) -> None:
    run = run_of(report)
    (result,) = run
    rebuilder = Rebuilder(run.manifest)
    literals = Literals()
    contexts = result.sample.contexts or ()
    of_sources = 0
    for call_made in result.calls:
        request = rebuilder.rebuild(result, call_made)
        assert request is not None
        if call_made.step != "assess":
            continue
        packed = pack(request, result.sample, call_made.evidence, literals)
        for message, sent in zip(packed.messages, request.messages, strict=True):
            whole = sent.content
            for piece in map(str, message.pieces):
                if match := re.fullmatch(r"d(\d+):(\d+)-(\d+)", piece):
                    rank, start, end = map(int, match.groups())
                    assert contexts[rank - 1].text[start:end] in whole
                    of_sources += 1
    assert of_sources > 50
    assert not any("about the weather" in text for text in literals.texts())


@pytest.mark.parametrize("metadata", [{}, {"report": {"id": 7}}, {"report": "weekly"}])
def test_other_samples_are_judged_as_ever(metadata: dict[str, object]) -> None:
    row = {"question": "?", "answer": "It is old [1].", "contexts": ["It is old."], **metadata}
    run = ce.score([row], judges="local:lexical", metrics=["citation_recall", "faithfulness"])
    assert "passages" not in run.manifest.settings
    assert run["faithfulness"].mean == 1


def test_passages_that_follow_each_other_are_shown_as_one_text() -> None:
    source = ce.Document(id="a", text=" ".join([*FILLER, "The tower has nine floors."]))
    claim = Claim(
        id="c", of="answer", text="The tower has nine floors", sentences=(1,), grounding="ids_only"
    )
    (shown,) = SourceIndex([source]).nearest([claim], best=1, rank=1)
    # the last passage, of one sentence, and the five sentences before it
    assert shown.text == " ".join([*FILLER[55:], "The tower has nine floors."])


GERMAN = (
    "Im Winter lag viel Schnee auf den Dächern.",
    "Die Bauern verkauften Butter auf dem Markt.",
    "Der Rat tagte im Saal der Burg.",
    "Die Straße nach Norden war gesperrt.",
)


def test_a_source_in_another_language_is_shown_further_than_its_common_words() -> None:
    sentences = [GERMAN[number % 4] for number in range(150)]
    sentences[1] = "Kolme liegt an einem Fluss."
    sentences[100] = "Die Burg brannte nieder."
    source = ce.Document(id="a", text=" ".join(sentences))
    claim = Claim(id="c", of="answer", text="The castle of Kolme burned.", grounding="ids_only")
    report = "The castle of Kolme burned down, and it was rebuilt in the year that followed. " * 3
    shown = SourceIndex([source], report).nearest([claim], 8, 1)
    assert "Die Burg brannte nieder." in " ".join(one.text for one in shown)
    everywhere = SourceIndex([source], report).nearest([claim], 8, None)
    assert "Die Burg brannte nieder." not in " ".join(one.text for one in everywhere)


def test_a_short_source_is_shown_as_a_whole_whatever_its_words() -> None:
    sentences = [f"It snowed in week {number} of that year." for number in range(30)]
    sentences[1] = "Kolme lies on a river."
    sentences[25] = "Flames took all of the fortress."
    source = ce.Document(id="a", text=" ".join(sentences))
    claim = Claim(id="c", of="answer", text="Kolme Castle burned down.", grounding="ids_only")
    (shown,) = SourceIndex([source]).nearest([claim], 8, 1)
    assert shown.text == source.text


def test_passages_are_a_few_sentences_and_never_long() -> None:
    assert cut("One. Two. Three. Four. Five. Six.") == ["One. Two. Three. Four. Five.", "Six."]
    table = " ".join(["cell"] * 1000)
    assert {len(piece.split()) for piece in cut(table)} == {MOST_WORDS}
    assert " ".join(cut(" ".join(FILLER))) == " ".join(FILLER)
