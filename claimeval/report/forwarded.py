"""The page that is forwarded, as HTML of one printed page and as Markdown for a pull request."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from unicodedata import east_asian_width
from urllib.parse import quote, urlencode

from claimeval.report import render
from claimeval.report.assets import fill
from claimeval.report.render import code, plain
from claimeval.runs.directory import load_manifest
from claimeval.runs.forwarded import (
    DecidingClaim,
    ForwardedPage,
    PairTally,
    PlainRow,
    RunTally,
    of_pair,
    of_run,
)
from claimeval.runs.overview import gather
from claimeval.runs.views import Sentence, caution, heading, line
from claimeval.statistics.formatting import number_of
from claimeval.types.errors import visible
from claimeval.types.html import Html, element, joined

SHARE = "share of claims, mean over samples"
MEAN = "mean over samples"
CHANGE = "change in points (95% interval)"
ENDS = "95% interval"
CAUTIONS = 3
"""Cautions on the page that is printed."""
ROOMY = 2400
"""Widths of a character that one sheet has room for in all texts, however lines break; of more,
each text has a number of lines."""


def read(run: Path, compared: Path | None = None) -> ForwardedPage:
    """Return the page of one or two run directories.

    Raises:
        DataError: A directory has no finished run.
        UsageError: Two runs share no metric or no sample.
    """
    if compared is None:
        one = RunTally(load_manifest(run))
        return of_run(run, gather(run, one.add, sliced=True), one)
    from claimeval.runs.compare import compare

    both = PairTally([load_manifest(run), load_manifest(compared)])
    a, b, comparison = compare(
        run,
        compared,
        lambda pair, _: both.add(*pair),
        sliced=True,
    )
    return of_pair((run, compared), (a, b), comparison, both)


def document(content: ForwardedPage) -> str:
    """Return a self-contained page that makes no requests."""
    names = " and ".join(content.names)
    foot = element("p", "All claims, prompts and settings are in the report of the run.")
    if names:
        foot = element("p", "All claims, prompts and settings are in the report of both runs.")
    return fill(
        "forwarded",
        title=html.escape(visible(content.title, 120)),
        content=joined((fragment(_with_few_cautions(content), linked=False), foot)),
    )


def _with_few_cautions(content: ForwardedPage) -> ForwardedPage:
    """Return the page with as many cautions as one sheet has room for; the others are counted."""
    first = content.cautions[:CAUTIONS]
    others = len(content.cautions) - len(first)
    if not others:
        return content
    told = f"{number_of(others, 'other caution')} {'is' if others == 1 else 'are'} in the report."
    return content.model_copy(update={"cautions": (*first, told)})


def _width(content: ForwardedPage) -> int:
    """Return the number of characters of all texts; one of Chinese is as wide as two."""
    texts = [content.title, *content.facts, content.why, *content.cautions, *content.sure]
    for one in content.answers:
        texts += [one.question, one.gold, one.before, one.answer, one.claim, one.why]
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in chain(*texts))


def fragment(content: ForwardedPage, *, linked: bool) -> Html:
    """Return the page as an element, which is also the first part of a report.

    Args:
        content: What it says.
        linked: Whether answers lead to their samples in the report around it. Without a report
            around it, it prints on one sheet.
    """
    return element(
        "section",
        element(
            "header",
            element("h1", content.title, id="title"),
            element("p", " · ".join(content.facts), class_="quiet"),
            class_="intro",
        ),
        _cautions(content),
        element(
            "div",
            element("div", _rows(content), _why(content), _foot(content)),
            _answers(content, linked=linked),
            class_="halves",
        ),
        id="summary",
        class_="forwarded" if linked or _width(content) <= ROOMY else "forwarded crowded",
        aria_labelledby="title",
    )


def _cautions(content: ForwardedPage) -> Html | None:
    if not content.cautions:
        return None
    items = (element("li", text) for text in content.cautions)
    heading = element("h2", "Before you trust these numbers", id="cautions")
    return element("div", heading, element("ul", *items), class_="cautions")


def _rows(content: ForwardedPage) -> Html:
    names = content.names or ("mean",)
    head = element(
        "tr",
        element("th", SHARE if content.of_claims else MEAN, scope="col"),
        *(element("th", name, class_="num", scope="col") for name in names),
        element("th", CHANGE if content.names else ENDS, class_="num", scope="col"),
    )
    rows = (element("tr", *_cells(row, names)) for row in content.rows)
    return element(
        "table", element("thead", head), element("tbody", *rows), class_="plain-rows", id="results"
    )


def _cells(row: PlainRow, names: Sequence[str]) -> Iterator[Html]:
    """Yield the cells of a row; `names` are those of the columns, which a telephone has no heads
    for."""
    name = element("small", row.name) if row.name != row.words else None
    yield element("th", row.words, name, scope="row")
    values = [row.shown] if row.differs is None else [row.shown_before, row.shown]
    for column, value in zip(names, values, strict=True):
        yield element("td", value, class_="num value", data_run=column)
    kind = "num change" if row.differs else "num change quiet"
    yield element("td", row.change, element("small", row.samples), class_=kind)


def _why(content: ForwardedPage) -> Html | None:
    if not content.why:
        return None
    return element("p", element("b", "Why."), " ", content.why, class_="why")


def _answers(content: ForwardedPage, *, linked: bool) -> Html | None:
    if not content.answers:
        return None
    items = (element("li", *_answer(one, linked=linked)) for one in content.answers)
    return element(
        "div",
        element("h2", content.heading),
        element("ol", *items, class_="deciding"),
        class_="answers",
    )


def _answer(one: DecidingClaim, *, linked: bool) -> Iterator[Html]:
    question = one.question or one.sample_id
    name = element("a", question, href=_address(one), dir="auto") if linked else question
    yield element("p", element("b", name, dir="auto"))
    of_gold = one.of == "reference"
    if one.gold:
        gold = _marked(one.gold, one, marked=of_gold)
        yield element("p", element("small", "gold answer "), gold)
    texts = [("before", one.before), ("after", one.answer)]
    if not one.before:
        texts = [("answer", one.answer)]
    drawn = (
        element("p", element("small", f"{name} "), _marked(text, one, marked=not of_gold))
        for name, text in texts
    )
    yield element("div", *drawn, class_="before-after")
    claim = "" if not one.claim or one.claim in _all_texts(one) else f": “{one.claim}”"
    why = f" · {one.why}" if one.why else ""
    yield element("p", element("b", one.verdict), claim, why, class_="decides")


def _all_texts(one: DecidingClaim) -> str:
    return one.gold if one.of == "reference" else one.answer + one.before


def _marked(text: str, one: DecidingClaim, *, marked: bool) -> Html:
    """Return a text in which the claim that decides is marked, if it has it word for word."""
    before, found, after = text.partition(one.claim) if one.claim and marked else (text, "", "")
    if not found:
        return element("span", text, dir="auto")
    return element(
        "span",
        before,
        element("mark", found, class_=one.label),
        after,
        dir="auto",
    )


def _address(one: DecidingClaim) -> str:
    """Return the address of the sample in the report, as `route.js` reads it."""
    query = {"metric": one.metric, "claim": one.subject, "run": 1 if one.run == "b" else 0}
    if not one.before:
        del query["run"]
    params = urlencode({name: value for name, value in query.items() if value}, errors="replace")
    sample = quote(one.sample_id, safe="", errors="replace")
    return f"#/sample/{sample}" + (f"?{params}" if params else "")


def _foot(content: ForwardedPage) -> Html:
    sure = " ".join((INTERVALS, *content.sure))
    parts = [element("p", element("b", "How sure."), f" {sure}", class_="foot")]
    if content.paid:
        parts.append(element("p", element("b", "Cost."), f" {content.paid}.", class_="foot"))
    return joined(parts)


INTERVALS = "Intervals are 95%, by resampling questions."


def markdown(content: ForwardedPage, *, texts: bool) -> str:
    """Return the page for a pull request, with folds.

    Args:
        content: What it says.
        texts: Whether it quotes questions, answers and claims; else it has numbers, and names of
            runs and judges.
    """
    if not texts:
        content = content.without_texts()
    return "\n\n".join(filter(None, _markdown(content))) + "\n"


def _markdown(content: ForwardedPage) -> Iterator[str]:
    yield render.markdown([heading(Sentence(content.title))])
    yield _sentence(" · ".join(content.facts))
    for text in content.cautions:
        yield render.markdown([caution(text)])
    yield _markdown_rows(content)
    if content.why:
        yield f"**Why.** {_sentence(content.why)}"
    if content.answers:
        answers = "\n\n".join(_markdown_answer(one) for one in content.answers)
        yield _folded(content.heading, answers)
    sure = [f"- {_sentence(text)}" for text in (INTERVALS, *content.sure)]
    paid = [f"- Cost: {_sentence(content.paid)}."] if content.paid else []
    title = "How sure, and what it cost" if paid else "How sure"
    yield _folded(title, "\n".join((*sure, *paid)))


def _sentence(text: str) -> str:
    return render.markdown([line(Sentence(text))])


def _markdown_rows(content: ForwardedPage) -> str:
    names = [*content.names] or ["mean"]
    ends = CHANGE if content.names else ENDS
    head = [
        SHARE if content.of_claims else MEAN,
        *names,
        ends,
        "samples" if content.names else "counted",
    ]
    rule = ["---", *["---:"] * len(names), "---:", "---"]
    lines = [head, rule]
    for row in content.rows:
        before = [row.shown_before] if content.names else []
        change = f"**{row.change}**" if row.differs else row.change
        name = f" ({plain(row.name)})" if row.name != row.words else ""
        words = f"{plain(row.words)}{name}"
        lines.append([words, *before, row.shown, change, row.samples])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _markdown_answer(one: DecidingClaim) -> str:
    lines = [f"**{code(one.question or one.sample_id)}**"]
    named = {"gold answer": one.gold, "before": one.before}
    named["after" if one.before else "answer"] = one.answer
    named["claim"] = one.claim
    lines += [f"- {name}: {code(text)}" for name, text in named.items() if text]
    lines.append(f"- {plain(one.verdict)}" + (f": {code(one.why)}" if one.why else ""))
    return "\n".join(lines)


def _folded(title: str, content: str) -> str:
    # GitHub reads Markdown inside the element only after an empty line.
    return f"<details><summary>{plain(title)}</summary>\n\n{content}\n\n</details>"
