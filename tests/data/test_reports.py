"""Reports with citations and the folder of their sources: what is matched, and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

import claimeval as ce
from claimeval.data.reports import SourceFindings, address_key

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


def pdf(text: str) -> bytes:
    """A PDF of one page with a line of text, as a writer of PDFs makes it."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("latin-1")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 2000 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
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
    assert found(sample).unreadable == ("broken.pdf", "scan.pdf")


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
