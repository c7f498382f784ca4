"""Files as programs write them: spreadsheets, compressed, in UTF-16, and formats that are not
read."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import claimeval as ce
from tests.command_line import call

ROWS: list[dict[str, Any]] = [
    {"question": "How high?", "answer": "It is 63 m.", "contexts": ["The tower is 63 m – höher!"]},
    {"question": "Who?", "answer": "Mara.", "contexts": ["Mara, says one.", "Mara, says another."]},
]
TABLE: list[list[Any]] = [
    ["question", "answer", "contexts"],
    *([row["question"], row["answer"], json.dumps(row["contexts"])] for row in ROWS),
]
Sheets = dict[str, list[list[Any]]]


def write_xlsx(path: Path, sheets: Sheets) -> Path:
    """An Excel file with texts within the cells, as some programs write them."""
    numbered = list(enumerate(sheets.items(), 1))
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{at}" r:id="r{at}"/>' for at, (name, _) in numbered
    )
    related = "".join(
        f'<Relationship Id="r{at}" Type="{OFFICE}/worksheet" Target="worksheets/s{at}.xml"/>'
        for at, _ in numbered
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("[Content_Types].xml", TYPES)
        file.writestr("_rels/.rels", ROOT)
        file.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{PACKAGE}">{related}</Relationships>',
        )
        for at, (_, rows) in numbered:
            data = "".join(_xlsx_row(number, row) for number, row in enumerate(rows, 1))
            file.writestr(
                f"xl/worksheets/s{at}.xml",
                f'<worksheet xmlns="{MAIN}"><sheetData>{data}</sheetData></worksheet>',
            )
    return path


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
ROOT = (
    f'<Relationships xmlns="{PACKAGE}"><Relationship Id="r1" Type="{OFFICE}/officeDocument"'
    ' Target="xl/workbook.xml"/></Relationships>'
)


def _xlsx_row(number: int, row: list[Any]) -> str:
    cells = []
    for at, value in enumerate(row):
        place = f'r="{chr(65 + at)}{number}"'
        if isinstance(value, (int, float)):
            cells.append(f"<c {place}><v>{value}</v></c>")
        elif value:
            text = f'<is><t xml:space="preserve">{escape(value)}</t></is>'
            cells.append(f'<c {place} t="inlineStr">{text}</c>')
    return f'<row r="{number}">{"".join(cells)}</row>'


def write_ods(path: Path, sheets: Sheets) -> Path:
    """An OpenDocument file."""
    names = "urn:oasis:names:tc:opendocument:xmlns"
    tables = []
    for name, rows in sheets.items():
        lines = []
        for row in rows:
            cells = [
                f'<table:table-cell office:value-type="string"><text:p>{escape(str(value))}'
                "</text:p></table:table-cell>"
                for value in row
            ]
            lines.append(f"<table:table-row>{''.join(cells)}</table:table-row>")
        tables.append(f'<table:table table:name="{escape(name)}">{"".join(lines)}</table:table>')
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("META-INF/manifest.xml", f'<m:manifest xmlns:m="{names}:manifest:1.0"/>')
        file.writestr(
            "content.xml",
            f'<office:document-content xmlns:office="{names}:office:1.0"'
            f' xmlns:table="{names}:table:1.0" xmlns:text="{names}:text:1.0"><office:body>'
            f"<office:spreadsheet>{''.join(tables)}</office:spreadsheet></office:body>"
            "</office:document-content>",
        )
    return path


def read(path: Path, **options: Any) -> list[tuple[str, str | None, list[str]]]:
    return [
        (one.question, one.answer, [document.text for document in one.contexts or ()])
        for one in ce.read_samples(path, **options)
    ]


EXPECTED = [(row["question"], row["answer"], row["contexts"]) for row in ROWS]
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
CSV = "question,answer,contexts\n" + "".join(
    ",".join('"' + cell.replace('"', '""') + '"' for cell in row) + "\n" for row in TABLE[1:]
)
CONTENTS = {"jsonl": LINES, "json": json.dumps(ROWS, ensure_ascii=False), "csv": CSV}


@pytest.mark.parametrize("form", CONTENTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("packed", [False, True])
def test_texts_are_read_in_their_encodings_and_compressed(
    tmp_path: Path, form: str, encoding: str, packed: bool
) -> None:
    data = CONTENTS[form].encode(encoding)
    path = tmp_path / f"data.{form}{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert read(path) == EXPECTED


@settings(max_examples=30, deadline=None)
@given(
    texts=st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=5),
    encoding=st.sampled_from(["utf-16", "utf-16-le", "utf-16-be"]),
)
def test_any_text_is_the_same_in_utf_16(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], encoding: str
) -> None:
    path = tmp_path_factory.mktemp("utf16") / "a.jsonl"
    rows = [{"question": f"q{text}", "answer": "a"} for text in texts]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes(lines.encode(encoding))
    assert [one.question for one in ce.read_samples(path)] == [row["question"] for row in rows]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("question", ["Когда открыли зал?", "一一一?", "Größe?"])
def test_a_table_without_a_mark_of_its_encoding_is_read(
    tmp_path: Path, encoding: str, question: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(f"{question},答案\n二,三\n".encode(encoding))
    (sample,) = ce.read_samples(path, mapping={"question": question, "answer": "答案"})
    assert (sample.question, sample.answer) == ("二", "三")


def test_a_large_compressed_file_is_counted_and_read(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl.gz"
    rows = [{**ROWS[0], "id": str(at)} for at in range(50)]
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    run = ce.score(path, judges="local:lexical", metrics="faithfulness")
    assert len(run.results) == 50


def test_a_broken_compressed_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(LINES.encode())[:-12])
    with pytest.raises(ce.DataError, match=r"a\.jsonl\.gz is not a readable \.gz file"):
        read(path)


def test_a_cell_that_is_merged_over_rows_is_in_each_of_them(tmp_path: Path) -> None:
    question, answer = ROWS[0]["question"], ROWS[0]["answer"]
    rows = [
        ["question", "answer", "context"],
        [question, answer, "The tower is old."],
        ["", "", "It is red."],
        ["Who built the mill?", "Ana Souto.", "Ana Souto built it."],
    ]
    plain = write_xlsx(tmp_path / "plain.xlsx", {"s": rows})
    merged = tmp_path / "merged.xlsx"
    cells = '</sheetData><mergeCells><mergeCell ref="A2:A3"/><mergeCell ref="B2:B3"/></mergeCells>'
    with zipfile.ZipFile(plain) as read, zipfile.ZipFile(merged, "w") as file:
        for name in read.namelist():
            content = read.read(name).decode().replace("</sheetData>", cells)
            file.writestr(name, content)
    assert [each.question for each in ce.read_samples(plain)][1] == ""
    first, second = ce.read_samples(merged, mapping={"group": "question"})
    assert (first.question, len(first.contexts or ())) == (question, 2)
    assert len(second.contexts or ()) == 1


@pytest.mark.parametrize("write", [write_xlsx, write_ods])
def test_a_spreadsheet_is_read_and_several_sheets_are_asked_for(tmp_path: Path, write: Any) -> None:
    suffix = write.__name__.removeprefix("write_")
    assert read(write(tmp_path / f"one.{suffix}", {"Answers": TABLE, "Sheet2": []})) == EXPECTED
    two = write(tmp_path / f"two.{suffix}", {"v 1": TABLE, "Notes": [["remark"], ["good"]]})
    with pytest.raises(ce.DataError, match=r"2 sheets with values: add --sheet 'v 1' or --sheet"):
        read(two)
    assert read(two, sheet="v 1") == EXPECTED
    with pytest.raises(ce.DataError, match=r"no sheet 'v2': add --sheet 'v 1' or --sheet Notes"):
        read(two, sheet="v2")
    call("doctor", two.name, "--sheet", "v 1", folder=tmp_path)
    sheets = {
        "Read me": [["What it is", "Who made it"], ["Runs of May", "Kim"]],
        "Documents": [["document", "chunk", "source"], ["a", "It is red.", "a.pdf"]],
        "Empty": [["question", "answer"]],
        "Runs": [["Runs of May", ""], ["Frage", "Bot reply"], ["How high?", "It is 58 m."]],
    }
    several = write(tmp_path / f"several.{suffix}", sheets)
    with pytest.raises(ce.DataError, match="add --sheet Runs or --sheet 'Read me' or --sheet D"):
        read(several)


def test_numbers_empty_columns_and_empty_rows_of_a_spreadsheet(tmp_path: Path) -> None:
    table: list[list[Any]] = [
        [],
        ["id", "question", "", "answer", ""],
        [1, "How high?", "", 63, ""],
        ["", "", "", "", ""],
        [2.5, "", "", "63.5", ""],
    ]
    path = write_xlsx(tmp_path / "a.xlsx", {"s": table})
    first, second = ce.read_samples(path, mapping={"id": ""})
    assert (first.question, first.answer) == ("How high?", "63")
    assert (second.question, second.answer) == ("", "63.5")
    table[2][2] = "?"
    with pytest.raises(ce.DataError, match="row 3: column 3 has a value and no name"):
        list(ce.read_samples(write_xlsx(tmp_path / "b.xlsx", {"s": table})))


def test_labels_may_be_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINES)
    score = ("score", "a.jsonl", "-j", "local:lexical", "-m", "faithfulness", "-o", "run")
    call(*score, folder=tmp_path)
    rows: list[list[Any]] = [["id", "claim_id", "label"]]
    rows += [[1, "answer-1", "supported"], [2, "answer-1", "supported"]]
    write_xlsx(tmp_path / "labels.xlsx", {"s": rows})
    told = call("agreement", "run", "--labels", "labels.xlsx", folder=tmp_path)
    assert "2 labeled items" in told.stdout


def test_the_sheet_of_every_file_beside_the_data_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINES)
    score = ("score", "a.jsonl", "-j", "local:lexical", "-m", "faithfulness", "-o", "run")
    call(*score, folder=tmp_path)
    book: dict[str, list[list[Any]]] = {
        "Labels": [["id", "claim_id", "label"], [1, "answer-1", "supported"]],
        "Ratings": [["id", "rating"], [1, 4], [2, 5]],
        "Gold": [["id", "text"], [1, "It is 63 m."], [2, "Mara."]],
        "Grades": [["query", "document", "grade"], ["q", "d", 1]],
        "Docs": [["id", "text"], ["d", "The tower is 63 m – höher!"], ["e", "Mara."]],
    }
    write_xlsx(tmp_path / "book.xlsx", book)
    (tmp_path / "e.yaml").write_text(
        "data: a.jsonl\njudges: local:lexical\nmetrics: faithfulness\nlabels: book.xlsx\n"
        "sheet: Labels\ngrid: {assess_prompt: [three_way, binary]}\n"
    )
    asking = {
        "Labels": ("agreement", "run", "--labels", "book.xlsx"),
        "Ratings": ("agreement", "book.xlsx", "--score", "rating", "--rating", "rating"),
        "Grades": ("agreement", "book.xlsx", "--labels", "book.xlsx", "--scale", "binary"),
        "Gold": ("extraction", "a.jsonl", "--gold", "book.xlsx", "-o", "gold"),
    }
    for sheet, command in asking.items():
        told = call(*command, folder=tmp_path, exits=2)
        assert "--sheet Labels or --sheet Ratings or --sheet Gold" in told.stderr
        call(*command, "--sheet", sheet, folder=tmp_path)
    corpus = ("locate", "run", "--corpus", "book.xlsx", "-j", "local:lexical")
    assert "add --sheet Labels" in call(*corpus, folder=tmp_path, exits=2).stderr
    told = call(*corpus, "--sheet", "Docs", folder=tmp_path, exits=2)
    assert "no claim of the run failed" in told.stderr  # after the corpus was opened
    labels = ("correct", "run", "--labels", "book.xlsx")
    assert "add --sheet Labels" in call(*labels, folder=tmp_path, exits=2).stderr
    call(*labels, "--sheet", "Labels", folder=tmp_path)
    told = call("experiment", "e.yaml", "-o", "x", folder=tmp_path)
    assert "as people" in told.stdout


def test_a_table_saved_with_empty_columns_and_rows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        'question,answer,contexts,,,\nHow high?,63 m.,"[""It is 63 m.""]",,,\n,,,,,\n,,,,,\n'
    )
    assert read(path) == [("How high?", "63 m.", ["It is 63 m."])]
    path.write_text("question,answer,,\nHow high?,63 m.,,x\n")
    with pytest.raises(ce.DataError, match="line 2: column 4 has a value and no name"):
        read(path)


def test_feather_and_arrow_files_are_read(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import feather, ipc

    table = pyarrow.Table.from_pylist(ROWS)
    feather.write_feather(table, tmp_path / "a.feather")
    assert read(tmp_path / "a.feather") == EXPECTED
    for name, write in (("file", ipc.new_file), ("stream", ipc.new_stream)):
        path = tmp_path / f"{name}.arrow"
        with write(path, table.schema) as writer:
            writer.write_table(table)
        assert read(path) == EXPECTED
    (tmp_path / "b.feather").write_bytes(b"no")
    with pytest.raises(ce.DataError, match="is not a readable Arrow file"):
        read(tmp_path / "b.feather")


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a.xls", "soffice --headless --convert-to xlsx"),
        ("a.yaml", "yq -o json"),
        ("a.db", "sqlite3 -json"),
        ("a.zip", "unzip"),
        ("a.tar.gz", "tar -xzf"),
        ("a.parquet.gz", "gunzip -k"),
        ("a.jsonl.zst", "zstd -d"),
        ("a.pkl", "pandas.read_pickle"),
        ("a.sql", r"\copy TABLE to"),
        ("it's.txt", "name it so: cp"),
        ("a.unknown", "write it as JSON Lines or CSV"),
        ("a", "write it as JSON Lines or CSV"),
    ],
)
def test_other_formats_are_refused_with_the_command_that_converts_them(
    tmp_path: Path, name: str, command: str
) -> None:
    (tmp_path / name).write_bytes(b"?")
    with pytest.raises(ce.DataError) as refused:
        read(tmp_path / name)
    assert "unknown file extension" in str(refused.value)
    assert command in str(refused.value).partition("To convert it: ")[2]


def test_a_sheet_of_a_file_without_sheets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(LINES)
    with pytest.raises(ce.DataError, match="has no sheets: leave out --sheet x"):
        read(tmp_path / "a.jsonl", sheet="x")


def test_a_document_that_is_returned_twice_is_kept_once_with_a_note(tmp_path: Path) -> None:
    found = [{"id": "d1", "text": "It is 63 m."}, {"id": "d2", "text": "It is old."}]
    row = {"question": "How high?", "answer": "63 m.", "contexts": [*found, found[0]]}
    (sample,) = ce.read_samples([row])
    assert [document.id for document in sample.contexts or ()] == ["d1", "d2"]
    run = ce.score([row], judges="local:lexical", metrics="faithfulness")
    assert "1 document that a retriever returned more than once is kept once" in run.manifest.notes
    other = {**found[0], "text": "It is 58 m."}
    with pytest.raises(ce.DataError, match="duplicate document id"):
        list(ce.read_samples([{**row, "contexts": [*found, other]}]))


def test_a_test_set_is_drawn_from_the_sheet_that_is_named(tmp_path: Path) -> None:
    log = write_xlsx(
        tmp_path / "log.xlsx",
        {"May": [["question"], ["Who?"]], "June": [["question"], ["When?"], ["Where?"]]},
    )
    with pytest.raises(ce.DataError, match="add --sheet May or --sheet June"):
        ce.draw(log, n=1)
    drawn = ce.draw(log, n=2, sheet="June")
    assert {row["question"] for row in drawn} == {"When?", "Where?"}
