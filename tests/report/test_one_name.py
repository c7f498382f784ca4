"""One thing has one name and one form, on the terminal, in Markdown and on the page."""

from __future__ import annotations

import html
import re

import pytest

import claimeval as ce
from claimeval.metrics.derived import DOWN, LOWER_IS_BETTER
from claimeval.runs.causes import CAUSES
from tests.command_line import call
from tests.report.runs import TOWER, make

GUIDE = "The tower is 80 metres high. It is made of stone."
NOUNS = "samples|questions|claims|answers|documents|verdicts|labels|calls|arms|runs|judges|pairs"
MISSHAPEN = {
    rf"(?<![\d.,/-])1 (?:{NOUNS})\b": "one thing in the plural",
    r"\d %": "a percentage with a blank",
    r"95% CI|confidence interval": "another name of the interval",
    r"documents? gone|no longer brings|documents only in [ab]": "another name of a lost document",
    r"−\d": "another minus than that of tables",
}
"""What no form prints, and why."""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a dozen commands print, by command and form."""
    folder = tmp_path_factory.mktemp("forms")
    samples = [
        TOWER.model_copy(update={"id": f"s{i}", "question": f"Question {i}?"}) for i in range(12)
    ]
    make(folder / "a", samples, {"strict": {}}, metrics=["faithfulness"])
    lacking = [one.model_copy(update={"contexts": (one.contexts or ())[1:]}) for one in samples]
    make(folder / "b", lacking, metrics=["faithfulness"])
    ce.score(
        [{"id": "s", "question": "How high?", "answer": f"{GUIDE} [1]", "contexts": [GUIDE]}],
        judges="local:lexical",
        metrics="faithfulness,citations",
        out=folder / "one",
    )
    commands = (
        *("demo -o demo", "demo -o demo --details", "report demo -f md", "agreement demo"),
        *("compare a b", "compare a b --details", "report a --compare b -f md"),
        *("compare a b a", "compare a b a --details", "report one -f md", "extraction one"),
        *("report demo -f csv --rows scores", "lexical demo"),
    )
    printed = {command: call(*command.split(), folder=folder).stdout for command in commands}
    page = (folder / "demo" / "report.html").read_text(encoding="utf-8")
    found = re.search(r"<noscript>(.*?)</noscript>", page, re.DOTALL)
    assert found, "the page says something without its script"
    return printed | {"page": html.unescape(re.sub(r"<[^>]+>", " ", found[1]))}


@pytest.mark.parametrize("pattern", MISSHAPEN)
def test_no_form_prints_what_has_another_form_elsewhere(
    texts: dict[str, str], pattern: str
) -> None:
    found = {
        command: match[0] for command, text in texts.items() if (match := re.search(pattern, text))
    }
    assert found == {}, MISSHAPEN[pattern]


def test_means_are_the_same_number_in_every_form(texts: dict[str, str]) -> None:
    first = dict(re.findall(r"^ (\w+) +(\d\.\d\d) [█▓·#x.]", texts["demo -o demo"], re.MULTILINE))
    markdown = dict(re.findall(r"\| `(\w+)` \| (\d\.\d\d) \|", texts["report demo -f md"]))
    page = dict(re.findall(r"(\w+)\s+(\d\.\d\d)\s", texts["page"]))
    assert {*first} == {"faithfulness", "correctness", "coverage", "context_recall"}
    for name, mean in first.items():
        assert markdown[name] == page[name]
        assert markdown[name] == mean


def test_metrics_of_which_a_low_value_is_good_have_their_arrow_in_every_form(
    texts: dict[str, str],
) -> None:
    for command in ("report one -f md", "extraction one"):
        for name in LOWER_IS_BETTER:
            shown = name.replace("_", " ") if command.startswith("extraction") else name
            for match in re.finditer(rf"\b{shown}\b(`?)", texts[command]):
                after = texts[command][match.end(0) - len(match[1]) :][:2]
                assert DOWN in after, f"{command}: {name}"


def test_a_cause_has_one_name(texts: dict[str, str]) -> None:
    for command in ("compare a b", "compare a b --details", "report a --compare b -f md"):
        assert CAUSES["lost"] in texts[command], command
        assert "retrieval lost" in texts[command], command
