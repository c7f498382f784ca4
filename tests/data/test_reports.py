"""Reports with citations and the folder of their sources: what is matched, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import claimeval as ce
from claimeval.data.report_lists import without_lists
from claimeval.data.report_marks import numbered
from claimeval.data.reports import SourceFindings
from claimeval.data.source_files import address_key, joined_lines
from claimeval.metrics.citations import Unread
from claimeval.metrics.citations import of as citations_of

LONG = (
    " The town has a harbour and a market, and people come from far away to see both of them." * 4
)


def folder(path: Path, **files: str) -> Path:
    sources = path / "sources"
    sources.mkdir(exist_ok=True)
    for name, text in files.items():
        (sources / name.replace("__", ".")).write_text(text)
    return sources


def page(title: str, address: str, text: str) -> str:
    head = f'<title>{title}</title><link rel="canonical" href="{address}">'
    return (
        f"<html><head>{head}</head><body><nav><ul><li>Home</li></ul></nav><article>"
        f"<h1>{title}</h1><p>{text}{LONG}</p></article><footer>Cookies.</footer></body></html>"
    )


def pdf(*texts: str) -> bytes:
    """A PDF with a line of text on each page, as a writer of PDFs makes it."""
    numbers = range(4, 4 + 2 * len(texts), 2)
    kids = " ".join(f"{number} 0 R" for number in numbers).encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(texts)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in zip(numbers, texts, strict=True):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("latin-1")
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 2000 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (number + 1),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        ]
    content = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(content)
    content += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    content += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    content += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        start,
    )
    return content


def found(sample: ce.Sample) -> SourceFindings:
    return SourceFindings.model_validate(sample.metadata["report"])


def test_entries_are_matched_by_address_title_name_and_number(tmp_path: Path) -> None:
    sources = folder(
        tmp_path,
        a__html=page("Height", "https://www.example.org/height/", "It is 63 metres high."),
        b__md=f"# The opening of the tower\n\nIt was opened in 1902.{LONG}",
        c__txt=f"The lift holds eight people.{LONG}",
        **{"04-stone__txt": f"The granite came from Norway.{LONG}"},
    )
    report = tmp_path / "report.md"
    report.write_text(
        "# Tower\n\nHigh [1]. Opened [2]. Lift [3]. Stone [4].\n\n## References\n\n"
        "1. http://example.org/height?utm_source=x\n2. The Opening of the Tower, 1990.\n"
        "3. See c.txt.\n4. Stone of the region.\n"
    )
    sample = ce.read_report(report, sources)
    assert sample.sources == ("a.html", "b.md", "c.txt", "04-stone.txt")
    assert (sample.question, sample.answer) == (
        "Tower",
        "# Tower\n\nHigh [1]. Opened [2]. Lift [3]. Stone [4].",
    )
    assert found(sample).in_words == "4 sources are cited, 4 files were read"


def test_what_is_missing_is_said_before_any_call(tmp_path: Path) -> None:
    sources = folder(
        tmp_path,
        a__html=page("Height", "https://example.org/height", "It is 63 metres high."),
        b__txt="403 Forbidden",
    )
    report = tmp_path / "report.md"
    report.write_text(
        "# Tower\n\nHigh [1]. Old [2][9]. Far [3].\n\n## Sources\n\n"
        "[1] https://example.org/height\n[2] https://example.org/gone\n[3] b.txt\n[4] never\n"
    )
    sample = ce.read_report(report, sources)
    findings = found(sample)
    assert findings.absent == ("[2] https://example.org/gone",)
    assert findings.unreadable == ("b.txt",)
    assert findings.unresolved == ("[9]",)
    assert findings.never_cited == ("[4]",)
    assert sample.contexts is not None
    assert [document.has_words for document in sample.contexts] == [True, False]


def test_footnotes_with_names_become_numbers(tmp_path: Path) -> None:
    sources = folder(tmp_path, a__txt=f"Source: https://example.org/a\n\nIt is high.{LONG}")
    report = tmp_path / "report.md"
    report.write_text(
        "# Tower\n\nIt is high.[^height] It is old.[^1]\n\n"
        "[^height]: https://example.org/a\n[^1]: https://example.org/b\n"
    )
    sample = ce.read_report(report, sources)
    assert sample.answer == "# Tower\n\nIt is high.[^2] It is old.[^1]"
    assert sample.sources == ("[1] https://example.org/b", "a.txt")


def test_links_are_citations_of_the_pages_that_they_lead_to(tmp_path: Path) -> None:
    sources = folder(tmp_path, a__html=page("H", "https://example.org/height", "It is high."))
    report = tmp_path / "report.md"
    report.write_text(
        "# Tower\n\nIt is high ([source](https://example.org/height)). It is old"
        " ([source](https://example.org/gone)).\n"
    )
    sample = ce.read_report(report, sources)
    assert sample.contexts is not None
    assert sample.contexts[0].id == "https://example.org/height"
    assert found(sample).absent == ("https://example.org/gone",)


def test_a_pdf_is_read_and_gets_its_address_from_a_table(tmp_path: Path) -> None:
    sources = folder(tmp_path)
    (sources / "paper.pdf").write_bytes(pdf("The tower is 63 metres high." + LONG))
    (sources / "scan.pdf").write_bytes(pdf(""))
    # pictures of pages, below which the archive writes the same line
    running = [f"Downloaded from the archive of the town of Bern, page {n}" for n in range(1, 13)]
    (sources / "archive.pdf").write_bytes(pdf(LONG[:150], *running))
    (sources / "broken.pdf").write_bytes(b"no pdf")
    names = tmp_path / "names.csv"
    names.write_text("file,url\npaper.pdf,https://example.org/paper\n")
    report = tmp_path / "report.md"
    report.write_text("# T\n\nHigh [1].\n\n## References\n\n1. https://example.org/paper\n")
    sample = ce.read_report(report, sources, source_names=names)
    assert sample.sources == ("paper.pdf",)
    assert sample.contexts is not None
    texts = {document.id: document.text for document in sample.contexts}
    assert texts["paper.pdf"].startswith("The tower is 63 metres high. The town has a harbour")
    assert found(sample).unreadable == ("archive.pdf", "broken.pdf", "scan.pdf")


def test_a_report_in_html_is_read_with_its_marks(tmp_path: Path) -> None:
    sources = folder(tmp_path, a__html=page("H", "https://example.org/height", "It is high."))
    report = tmp_path / "report.html"
    report.write_text(
        "<html><body><h1>Tower</h1><p>It is high<sup><a href='#r1'>1</a></sup>.</p>"
        "<h2>References</h2><ol><li><a href='https://example.org/height'>Height</a></li></ol>"
        "</body></html>"
    )
    sample = ce.read_report(report, sources)
    assert sample.answer == "# Tower\n\nIt is high[1]."
    assert sample.sources == ("a.html",)


def test_without_a_list_the_numbers_are_those_of_the_files(tmp_path: Path) -> None:
    sources = folder(tmp_path, **{"01-a__txt": f"It is high.{LONG}", "02-b__txt": f"Old.{LONG}"})
    report = tmp_path / "report.md"
    report.write_text("# Tower\n\nIt is old [2]. It is red [7].\n")
    sample = ce.read_report(report, sources)
    assert sample.sources == ("", "02-b.txt")
    assert found(sample).unresolved == ("[7]",)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("https://www.example.org/a/", "http://example.org/a"),
        ("https://example.org/a#part", "https://example.org/a?utm_source=x"),
        ("https://Example.org/A.", "https://example.org/a"),
    ],
)
def test_addresses_of_one_page_are_equal(a: str, b: str) -> None:
    assert address_key(a) == address_key(b)


def test_other_pages_are_not_equal() -> None:
    assert address_key("https://example.org/a?id=1") != address_key("https://example.org/a?id=2")


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    report.write_text("# T\n")
    with pytest.raises(ce.UsageError, match="is no folder"):
        ce.read_report(report, tmp_path / "none")
    with pytest.raises(ce.DataError, match="does not exist"):
        ce.read_report(tmp_path / "none.md", tmp_path)
    with pytest.raises(ce.UsageError, match="not to list"):
        ce.score([{"answer": "x"}], sources=tmp_path, judges="local:lexical")
    names = tmp_path / "names.csv"
    names.write_text("name,url\n")
    with pytest.raises(ce.DataError, match="needs the columns file and url"):
        ce.read_report(report, tmp_path, source_names=names)


SOURCES = {
    "a__html": page("Height of the tower", "https://example.org/a", "It is 63 metres high."),
    "b__html": page("Opening of it | Town of Bern", "https://example.org/b_(1)", "In 1902."),
    "3-phase-motors__txt": "The lift has a motor." + LONG,
}


def cited(path: Path, report: str, name: str = "report.md") -> list[str]:
    """What each mark of a report means: a file, or what is written for one that is not there."""
    file = path / name
    file.write_text(report)
    sample = ce.read_report(file, folder(path, **SOURCES))
    assert sample.contexts is not None
    names = [context.id for context in sample.contexts]
    meant = list[str]()
    for citation in citations_of(sample):
        for one in citation.cited:
            if isinstance(one, tuple):
                meant += [names[rank - 1] for rank in one]
            else:
                meant.append(f"absent: {one.name}" if isinstance(one, Unread) else f"none: {one}")
    assert found(sample).absent == tuple(
        dict.fromkeys(one[8:] for one in meant if one.startswith("absent"))
    )
    return meant


A = "https://example.org/a"
B = "https://example.org/b_(1)"


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        # an entry goes on in the next line
        (f"High [1].\n\n## References\n\n1. Smith, The height.\n   {A}\n", ["a.html"]),
        # the list is no end of the report, and notes below it are no list
        (
            f"High [1].\n\n## 7. References\n\n[1] {A}\n\n## Notes\n\nOld [2].\n",
            ["a.html", "none: 2"],
        ),
        # a table, a list without a heading, one in a line, one that Markdown numbers
        (f"High [1].\n\n## Sources\n\n| # | URL |\n|---|---|\n| 1 | {A} |\n", ["a.html"]),
        (f"High [1]. Old [2].\n\n---\n[1] {A}\n[2] {B}\n", ["a.html", "b.html"]),
        (f"High [1]. Old [2].\n\n**Sources:** [1] {A}, [2] {B}\n", ["a.html", "b.html"]),
        (f"High [1]. Old [2].\n\nReferences\n---\n1. {A}\n1. {B}\n", ["a.html", "b.html"]),
        (f"High [2].\n\n**Sources**\n\n- [O]({B})\n- {A}\n", ["a.html"]),
        # the steps of a list have places of texts no more than errors have
        (
            "Do [1]:\n\n1. Open.\n2. Go.\n\n## Sources of error\n\n1. Noise.\n\n"
            f"## Sources\n[1] {A}",
            ["a.html"],
        ),
        # links with numbers, links to entries, labels that are no numbers, escaped marks
        (
            f"High [[1]]({A}). Old [2]({B}). Far [3](https://x.org/).",
            ["a.html", "b.html", "absent: https://x.org/"],
        ),
        (f'High [1](#r1). [See](#x).\n\n## Sources\n\n1. <a id="r1"></a>{A}\n', ["a.html"]),
        (
            f"High [S1]. Old [of it][s2].\n\n## Sources\n[S1] {A}\n\n[s2]: {B}\n",
            ["a.html", "b.html"],
        ),
        (f"High \\[1\\].\n\n## Works cited\n\n1. {A}\n", ["a.html"]),
        # the same page by two addresses, an address with brackets, written addresses
        (
            f"[High]({A}?utm_source=x), [tall]({A}#t). [Old]({B}).",
            [f"{A}?utm_source=x"] * 2 + ["https://example.org/b_%281%29"],
        ),
        (
            f"High ({A}). Old (see {B}). Far <https://x.org/y>.",
            ["a.html", "b.html", "absent: https://x.org/y"],
        ),
        # titles, files, authors
        (
            "High (Height of the tower). Lift [3-phase-motors.txt]. Far (gone.pdf, p. 3).",
            ["a.html", "3-phase-motors.txt", "absent: gone.pdf"],
        ),
        (
            "It is [strong](sources/3-phase-motors.txt), [here](/index.html).",
            ["3-phase-motors.txt"],
        ),
        (
            "High (Lind et al., 2020). Berg (2019) says so. It fell (Bern, 1902).\n\n"
            f"## References\n\nLind, A. (2020). {A}\n\nBerg, B. (2019). {B}\n",
            ["a.html", "b.html"],
        ),
        # entry 3 is not the file that only begins with a 3
        (
            f"High [1]. Far [3].\n\n## Sources\n1. {A}\n3. A lost book\n",
            ["a.html", "absent: [3] A lost book"],
        ),
        # Chinese
        (f"塔高63米【1】。建于1902年［2］。\n\n参考资料：[1] {A}，[2] {B}\n", ["a.html", "b.html"]),
        # each chapter with its own list, a list in a quotation, an address without its scheme
        (
            f"High [1].\n\nSources:\n[1] {A}\n\n## B\n\nOld [1, 2].\n\n"
            f"Sources:\n[1] {B}\n[2] {A}\n",
            ["a.html", "b.html", "a.html"],
        ),
        (f"High [1].\n\n> **Sources**\n> [1] {A}\n", ["a.html"]),
        (
            "High [1]–[2].\n\n## Sources\n1. Height, example.org/a.\n2. Lost.\n",
            ["a.html", "absent: [2] Lost."],
        ),
        # lines below paragraphs name their sources and are no list
        (
            f"High.\n*Source: [1]*\n\nOld.\n(Sources: [1], [2])\n\n## Sources\n\n1. {A}\n2. {B}\n",
            ["a.html", "a.html", "b.html"],
        ),
        # numbers that marks elsewhere do not have
        (
            f"High [0]. Old [1]. Far [1001].\n\n## Sources\n[0] {A}\n[1] {B}\n[1001] Lost\n",
            ["a.html", "b.html", "absent: [1001] Lost"],
        ),
        # the labels of a table are in the column that marks name
        (
            "High [1]. Old [2].\n\n## Sources\n\n| Year | Link | No |\n|---|---|---|\n"
            f"| 2019 | {A} | 1 |\n| 2020 | {B} | 2 |\n",
            ["a.html", "b.html"],
        ),
        (
            f"Old [S2].\n\n## Sources\n\n| Link | Id |\n|---|---|\n| {A} | S1 |\n| {B} | S2 |\n",
            ["b.html"],
        ),
        # lines with an address each, and with a word before the number
        (f"High [1]. Old [2].\n\n## Sources\n{A}\nOpening of it: {B}\n", ["a.html", "b.html"]),
        (
            f"High (Source 1). Old [2].\n\n## Sources\nSource 1: {A}\n**Source 2:** {B}\n",
            ["a.html", "b.html"],
        ),
        # an entry of two lines that have an address each
        (
            f"High [2].\n\n## Sources\n\nLost, https://x.org/a\nhttps://x.org/b\n\nHeight {A}\n",
            ["a.html"],
        ),
        # the same source again, files without their ending, keys
        (
            f"High.[^1] Tall.[^2] Old.[^3] So.[^4]\n\n[^1]: {A}\n[^2]: Ibid., p. 4.\n[^3]: {B}\n"
            "[^4]: *Ebd.*, S. 5.\n",
            ["a.html", "a.html", "b.html", "b.html"],
        ),
        (
            "Lift [3-phase-motors]. So [a; 3-phase-motors]. Far [4-phase-motors]. He [sic] said.",
            ["3-phase-motors.txt", "a.html", "3-phase-motors.txt", "absent: 4-phase-motors"],
        ),
        (
            "Lift [@3-phase-motors, p. 4; see @a]. Far [@a; @gone]. Lost [@lost2020].",
            ["3-phase-motors.txt", "a.html", "a.html", "none: 3", "none: 4"],
        ),
        (
            f"Old [@lind, p. 4; @berg2019].\n\n## References\n\n- `lind`: {A}\n- berg2019: {B}\n",
            ["a.html", "b.html"],
        ),
        ("Lift (see gone.pdf). So [cf. a.html].", ["absent: gone.pdf", "a.html"]),
        # numbers that lead to files
        (
            "High [1](sources/a.html). Old [[2]](b.html#x) and [2](./b.html).",
            ["a.html", "b.html", "b.html"],
        ),
        # numbers in round brackets, if no others are marks, and not those of an enumeration
        (
            "The tower (1) is high (1). It is old (1, 2), for (1) one and (2) another reason.\n\n"
            f"## References\n\n1. {A}\n2. {B}\n",
            ["a.html", "a.html", "b.html"],
        ),
        (f"High [1]. Old (2).\n\n## References\n\n1. {A}\n2. {B}\n", ["a.html"]),
        # organizations, pages after a colon, no year
        (
            "High (Town of Bern, 2020: 14). As the Town of Bern (2020) says (WHO, n.d.), it is old"
            " (New York, 2012).\n\n## References\n\n"
            f"Town of Bern. (2020). {A}\n\nWorld Health Organization [WHO]. (n.d.). {B}\n",
            ["a.html", "a.html", "b.html"],
        ),
        # a note within the text, and code
        (f"High.^[See {A}] Use `x[7]`.", ["a.html"]),
    ],
)
def test_marks_of_every_form_lead_to_their_sources(
    tmp_path: Path, report: str, expected: list[str]
) -> None:
    assert cited(tmp_path, f"# Tower\n\n{report}") == expected


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (
            "<p>On 5 m<sup>2</sup> it is high<sup>1,2</sup>.</p><h2>References</h2><ol>"
            f"<li>{A}</li><li>{B}</li></ol>",
            ["a.html", "b.html"],
        ),
        # as pandoc, MediaWiki and authors by hand write notes, which lead back to their marks
        (
            '<p>High.<a href="#fn1" id="r1"><sup>1</sup></a></p><section><ol><li id="fn1"><p>'
            f'{A}<a href="#r1">↩</a></p></li></ol></section>',
            ["a.html"],
        ),
        (
            '<p>High.<sup id="r1"><a href="#n1">[1]</a></sup></p><h2>References</h2><ol>'
            f'<li id="n1"><a href="#r1">1</a> <a href="{A}">H</a></li></ol>',
            ["a.html"],
        ),
        (
            '<p>High <a href="#r1">[1]</a>.</p><dl><dt id="r1">[1]</dt><dd>A lost book</dd></dl>',
            ["absent: [1] A lost book"],
        ),
        # letters and signs, names with years, terms, tables, files
        (
            '<p>High.<sup><a href="#a">a</a></sup> Old.<a href="#b">†</a> <a href="#s">A</a></p>'
            f'<p id="a">a <a href="{A}">x</a></p><p id="b">† {B}</p><p id="s">Text.</p>',
            ["a.html", "b.html"],
        ),
        (
            '<p>High (<a href="#r1">Lind 2020</a>). <a href="#t">Towers 2020</a></p>'
            f'<p id="r1">Lind, A. (2020). {A}</p><p id="t">All of it.</p>',
            ["a.html"],
        ),
        (
            f"<p>High [1]. Old [2].</p><h2>Sources</h2><dl><dt>[1]</dt><dd>{A}</dd><dt>2.</dt>"
            f"<dd>{B}</dd></dl>",
            ["a.html", "b.html"],
        ),
        (
            "<p>High [1]. Old [2].</p><h2>Sources</h2><table><tr><th>#</th><th>Page</th></tr>"
            f"<tr><td>1</td><td>{A}</td></tr><tr><td>2</td><td>{B}</td></tr></table>",
            ["a.html", "b.html"],
        ),
        (
            "<p>High [1]. Old [2].</p><h2>Sources</h2><table>"
            f"<tr><td>1</td><td>{A}</td></tr><tr><td>2</td><td>{B}</td></tr></table>",
            ["a.html", "b.html"],
        ),
        (
            '<p>It is <a href="sources/a.html#x">high</a>, <a href="javascript:x.md">far</a> and'
            ' <a href="about/us">here</a>.</p>',
            ["a.html"],
        ),
        # a table of contents leads to sections, which are no notes
        (
            f'<p><a href="#s1">1</a></p><div id="s1"><h2>One</h2><p>It is <a href="{A}">high</a>.'
            "</p></div>",
            ["none: 1", A],
        ),
    ],
)
def test_marks_of_pages_lead_to_their_notes(
    tmp_path: Path, report: str, expected: list[str]
) -> None:
    page_of_report = f"<html><body><h1>Tower</h1>{report}</body></html>"
    assert cited(tmp_path, page_of_report, "report.html") == expected


def test_the_rows_of_a_table_of_a_page_have_their_cells_apart(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text(
        "<h1>Tower</h1><table><tr><th>What</th><th>How</th></tr><tr><td>Height</td>"
        f'<td>63 metres <a href="{A}">1</a></td></tr></table><table><tr><td><p>Laid</p><p>out</p>'
        "</td><td>here</td></tr></table>"
    )
    sample = ce.read_report(report, folder(tmp_path, **SOURCES))
    assert sample.answer is not None
    assert sample.answer.startswith(
        "# Tower\n\n| What | How |\n| --- | --- |\n| Height | 63 metres [1] |\n"
    )
    assert "Laid\n\nout" in sample.answer


def test_sources_are_counted_once_however_often_they_are_listed(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    report.write_text(f"High [1]. [Tall]({A}). So [2]. (a.html)\n\n## Sources\n1. {A}\n2. {A}#x\n")
    sample = ce.read_report(report, folder(tmp_path, **SOURCES))
    assert found(sample).cited == 1


def test_cited_sources_in_another_language_are_named(tmp_path: Path) -> None:
    german = "Der Turm ist 63 Meter hoch, und er steht in der Stadt, die an einem See liegt. "
    report = tmp_path / "report.md"
    report.write_text(
        f"# Tower\n\nThe tower is high [1], and it was built in 1902 [2].{LONG}\n\n"
        "## Sources\n\n1. turm.txt\n2. tower.txt\n"
    )
    sources = folder(tmp_path, turm__txt=german * 5, other__txt=german * 5, tower__txt=LONG * 3)
    sample = ce.read_report(report, sources)
    assert found(sample).foreign == ("turm.txt",)
    assert found(sample).in_words.endswith("In another language than the report: turm.txt")
    report.write_text("E [1]. A [2].\n\n## Sources\n\n1. turm.txt\n2. tower.txt\n")
    assert found(ce.read_report(report, sources)).foreign == (), "letters are words of many"


def test_a_source_is_known_by_the_title_above_its_text_and_by_names_with_brackets(
    tmp_path: Path,
) -> None:
    head = "---\ntitle: 'Height of the tower'\nauthor: Ann\n---\n\n# By Ann Lind of Bern\n\n"
    sources = folder(tmp_path, x__md=head + LONG, y__txt=f"---\nA rule. {LONG}")
    (sources / "old (final).txt").write_text(LONG)
    report = tmp_path / "report.md"
    report.write_text(
        "It is high [1]. By Ann [2]. Old [old (final).txt].\n\n## Sources\n\n"
        "1. Height of the tower, 2020\n2. By Ann Lind of Bern\n"
    )
    sample = ce.read_report(report, sources)
    assert sample.sources == ("x.md", "x.md", "old (final).txt")


def test_a_cited_file_of_another_kind_is_unreadable(tmp_path: Path) -> None:
    sources = folder(tmp_path, **SOURCES, plan__docx="PK", notes__docx="PK", _x__txt="")
    report = tmp_path / "report.md"
    report.write_text("# T\n\nHigh [1].\n\n## References\n\n1. plan.docx\n")
    assert found(ce.read_report(report, sources)).unreadable == ("_x.txt", "plan.docx")


def test_texts_and_pages_are_read_in_their_encoding(tmp_path: Path) -> None:
    sources = folder(tmp_path)
    text = "Die Höhe des Turms von Bern\n\n" + LONG
    (sources / "a.txt").write_bytes(text.encode("cp1252"))
    (sources / "b.txt").write_bytes(text.replace("Höhe", "Größe").encode("utf-16"))
    chinese = "该镇有一个港口和一个市场，人们从很远的地方来参观这两个地方。" * 10
    head = '<meta charset="gb2312"><title>塔的开放历史</title>'
    (sources / "c.html").write_bytes(f"<html>{head}<p>{chinese}</p></html>".encode("gb2312"))
    report = tmp_path / "report.md"
    report.write_text(
        "# T\n\nHigh [1]. Big [2]. Open [3].\n\n## References\n\n1. Die Höhe des Turms von Bern\n"
        "2. Die Größe des Turms von Bern\n3. 塔的开放历史，2020年。\n"
    )
    assert ce.read_report(report, sources).sources == ("a.txt", "b.txt", "c.html")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("The har-\nbour is\nold.", "The harbour is old."),
        ("from 2019-\n2020 Jean-\nClaude", "from 2019-2020 Jean-Claude"),
        ("该镇有\n港口。", "该镇有港口。"),
        ("ﬁrst\ufffe\r\nly", "firstly"),
    ],
)
def test_lines_of_a_printed_page_are_joined(lines: str, expected: str) -> None:
    assert joined_lines(lines) == expected


PIECES = [
    "[1]",
    "[^a]",
    "[S1,",
    "S2]",
    "(Smith,",
    "2020)",
    "https://x.org/a_(b)",
    "](",
    "[",
    "(",
    "²",
    "<sup>2</sup>",
    "【1】",
    "[a.pdf]",
    "^[note]",
    "\\[1\\]",
    "`x[1]`",
    "[[2]](https://y.org)",
    "[text][1]",
    "来源：",
    "#",
    "---",
    "```",
    "</details>",
    "<summary>Sources</summary>",
]
LINES = ("\n", "\n\n## Sources\n", "\n1. ", "\n[^1]: ", "\n| 1 | a |")


@given(st.lists(st.sampled_from([*PIECES, *LINES])))
@example(
    [
        "<summary>Sources</summary>",
        "[^a]",
        "[1]",
        "[1]",
        "<summary>Sources</summary>",
        "[^a]",
        "[1]",
    ]
)
def test_every_mark_without_a_link_has_a_place(pieces: list[str]) -> None:
    parts = without_lists(" ".join(pieces))
    report = numbered(parts, frozenset({"a.pdf"}))
    assert all(number.isdecimal() for number in report.entries)
    assert set(report.entries.values()) >= {
        entry.text for entry in {entry.label: entry for entry in reversed(parts.entries)}.values()
    }


@pytest.mark.parametrize("content", ["", "<!-- nothing -->", "   "])
def test_an_empty_page_is_unreadable_and_an_empty_report_has_no_text(
    tmp_path: Path, content: str
) -> None:
    sources = folder(tmp_path, a__html=content)
    report = tmp_path / "report.html"
    report.write_text(content)
    sample = ce.read_report(report, sources)
    assert found(sample).unreadable == ("a.html",)
    assert sample.answer == ""
    assert found(sample).in_words.startswith("No citation was found in the report, 0 files")


def test_a_table_of_sources_is_their_list_by_its_first_column(tmp_path: Path) -> None:
    sources = folder(
        tmp_path,
        ferry__txt=f"The ferry\n\nThe ferry leaves at 7:40.{LONG}",
        tower__txt=f"Height of the tower\n\nIt is 63 metres high.{LONG}",
    )
    report = tmp_path / "report.md"
    report.write_text(
        "# Tower\n\nHigh [S1]. Ferry [S2]. Old [S3].\n\n## Source list\n\n"
        "| ID | Title |\n|---|:---|\n| S1 | Height of the tower |\n| S2 | See ferry.txt |\n"
        "| S3 | A lost page |\n"
    )
    sample = ce.read_report(report, sources)
    assert tuple(filter(None, sample.sources)) == ("tower.txt", "ferry.txt", "[S3] A lost page")
    assert found(sample).absent == ("[S3] A lost page",)
    assert sample.answer == "# Tower\n\nHigh [4]. Ferry [5]. Old [6]."


def test_a_file_that_is_named_after_its_address_is_found(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    saved = {
        "example.org/tower/height.html": page("A", "", "It is 63 metres high."),
        "example.net_lift.html.txt": f"The lift holds eight people.{LONG}",
        "stone.example.com.txt": f"The granite came from Norway.{LONG}",
        "two.example.com.txt": f"Somebody has two pages.{LONG}",
    }
    for name, text in saved.items():
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_text(text)
    report = tmp_path / "report.md"
    report.write_text(
        "High ([page](https://example.org/tower/height)). Lift"
        " ([page](https://example.net/lift.html)). Stone"
        " ([page](https://www.stone.example.com/granite/1)). One"
        " ([a](https://two.example.com/a)), two ([b](https://two.example.com/b)).\n"
    )
    findings = found(ce.read_report(report, sources))
    assert findings.absent == ("https://two.example.com/a", "https://two.example.com/b")
    assert findings.cited == 5


def test_an_author_and_year_without_an_entry_is_named(tmp_path: Path) -> None:
    sources = folder(tmp_path, smith__txt=f"Height\n\nIt is 63 metres high.{LONG}")
    report = tmp_path / "report.md"
    entries = "Smith, A. (2020). smith.txt\n\nJones, B. (2019). On lifts.\n\nBerg (2001). Stone."
    body = "High (Smith, 2020). Lift (Jones, 2019). Stone (Berg, 2001)."
    # another year of an author of the list, others, a page, beside one that has an entry
    lost = (
        "Red (Berg, 1999). Blue (Olsen et al., 1999). Old (Dahl, 1987, p. 3). Sad (Smith, 2020;"
        " Moe, 2011). Nice (London, 2012). Wet (Skarv Harbour, 1931). Shut (March, 1998)."
    )
    report.write_text(f"{body} {body} {body} {lost}\n\n## References\n\n{entries}\n")
    findings = found(ce.read_report(report, sources))
    assert findings.unresolved == (
        "(Berg, 1999)",
        "(Olsen et al., 1999)",
        "(Dahl, 1987, p. 3)",
        "(Moe, 2011)",
    )
    numbered_list = entries.replace("\n\n", "\n").splitlines()
    listed = "\n".join(f"[{n}] {entry}" for n, entry in enumerate(numbered_list, 1))
    report.write_text(f"High [1]. Lift [2]. Fair (London, 2012).\n\n## References\n\n{listed}\n")
    assert found(ce.read_report(report, sources)).unresolved == ()


def test_a_last_list_in_the_brackets_of_the_marks_needs_no_heading(tmp_path: Path) -> None:
    sources = folder(tmp_path, a__md=f"# Height of the tower\n\nIt is 63 metres high.{LONG}")
    report = tmp_path / "report.md"
    report.write_text(
        "High [1]. Old [2].\n\n---\n\n[1] Height of the tower\n[2] History of the tower\n"
    )
    sample = ce.read_report(report, sources)
    assert (sample.answer, sample.sources[0]) == ("High [1]. Old [2].", "a.md")
    assert found(sample).absent == ("[2] History of the tower",)
    steps = "Do [1] and [2].\n\n1. Turn the key.\n2. Open the door.\n"
    report.write_text(steps)
    assert ce.read_report(report, sources).answer == steps.strip()
