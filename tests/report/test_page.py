"""The file that a report is: whole, small, closed to the outside, and true to the results."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import quoted
from claimeval.report import assets, forms
from claimeval.report.packing import Literals, line, pack
from claimeval.report.viewer import ready_made
from claimeval.runs.directory import RunResults, load_manifest
from claimeval.types.errors import DataError, UsageError
from tests.report.runs import BRIDGE, TOWER, TOWER_SAYS, make

PAGES = ("report", "experiment", "forwarded", "series", "viewer")


def unpacked(page: Path, name: str) -> Any:
    """The content of one block of data."""
    match = re.search(
        rf'<script type="text/plain" id="{name}">([^<]*)</script>', page.read_text(encoding="utf-8")
    )
    assert match
    return json.loads(zlib.decompress(base64.b64decode(match.group(1))))


@pytest.mark.parametrize("name", PAGES)
def test_the_policy_admits_this_style_and_this_script_alone(name: str) -> None:
    page = assets.page(name)
    for kind in ("style", "script"):
        (text,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page.html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in page.policy
    assert "default-src 'none'" in page.policy
    assert "unsafe" not in page.policy
    assert f'http-equiv="Content-Security-Policy" content="{page.policy}"' in page.html


@pytest.mark.parametrize("path", sorted(assets.FOLDER.iterdir()), ids=lambda path: path.name)
def test_assets_reach_for_nothing_outside_and_never_make_markup_of_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    text = re.sub(
        r'^(?:import|/\*\* @import) \{[^}]*\} from "\./\w+\.js"(?:;|'
        r' \*/)$|@\w+.*import\("\./\w+\.js"\).*',
        "",
        text,
        flags=re.MULTILINE,
    )
    assert not re.search(
        r"https?:|//[a-z]+\.|@import|url\(|\bimport\b|XMLHttpRequest|WebSocket", text
    )
    assert ("fetch(" in text) == (path.name in ("label.js", "labeled.js")), (
        "labels alone are sent, to the server of the page"
    )
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc", text
    )
    assert not re.search(r"<[^>]*\son\w+=|style=", text)
    assert len(text.splitlines()) < 400


def test_labels_given_with_annotate_show_in_the_next_page(tmp_path: Path) -> None:
    """Of three claims the judge supports one, and people all."""
    run = make(tmp_path / "run")
    earlier = forms.write(run, "html")
    assert unpacked(earlier, "overview")["agreement"] is None
    items = list(ce.annotate(run))
    for item in items:
        item.label("unsure")
    assert ready_made(run) is None, "older than the labels"
    assert unpacked(forms.write(run, "html"), "overview")["agreement"] is None
    for item in items:
        item.label("supported")
    (rater,) = unpacked(forms.write(run, "html"), "overview")["agreement"]["raters"]
    assert (rater["compared"], rater["same"]["value"]) == (3, pytest.approx(1 / 3))


def test_every_asset_is_part_of_a_page() -> None:
    modules = {
        f"{name}.js"
        for page in (*PAGES, "label")
        for name in re.findall(r"^const \$_(\w+)", assets.bundle(page), re.MULTILINE)
    }
    used = {file for files in assets.STYLES.values() for file in files} | modules
    used |= {f"{page}.html" for page in (*assets.STYLES, "frame")}
    assert used == {path.name for path in assets.FOLDER.iterdir()}


def modules(folder: Path, monkeypatch: pytest.MonkeyPatch, **sources: str) -> None:
    for name, source in sources.items():
        (folder / f"{name}.js").write_text(source, encoding="utf-8")
    monkeypatch.setattr(assets, "FOLDER", folder)


def test_a_module_comes_once_after_those_that_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules(
        tmp_path,
        monkeypatch,
        top=(
            '// It.\n\nimport { one } from "./low.js";\nimport {\n  two as too,\n} from'
            ' "./middle.js";\none(too);\n'
        ),
        middle='import { one } from "./low.js";\n\nexport const two = one();\n',
        low=(
            "const own = 1;\n\n/** @returns {number} */\nexport function one() {\n  return own; //"
            " kept\n}\n"
        ),
    )
    assert (
        assets.bundle("top")
        == '"use strict";\nconst $_low = (() => {\nconst own = 1;\n\nfunction one() {\n  return'
        " own; // kept\n}\nreturn { one };\n})();\nconst $_middle = (() => {\nconst { one } ="
        " $_low;\n\nconst two = one();\nreturn { two };\n})();\nconst $_top = (() => {\n\nconst"
        " { one } = $_low;\nconst {\n  two: too,\n} = $_middle;\none(too);\nreturn { "
        " };\n})();\n"
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('import { one } from "./a.js";\n', "modules import each other: a > b > a"),
        ('import * as all from "./c.js";\n', "cannot be bundled: import * as all"),
        ("export let changing = 1;\n", "cannot be bundled: export let"),
        ("export default 1;\n", "cannot be bundled: export default"),
    ],
)
def test_what_cannot_be_bundled_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str
) -> None:
    modules(tmp_path, monkeypatch, a='import { two } from "./b.js";\n', b=source, c="")
    with pytest.raises(ValueError, match=re.escape(said)):
        assets.bundle("a")


def test_a_hundred_samples_of_a_panel_stay_under_a_megabyte(tmp_path: Path) -> None:
    words = (
        "The harbour of Tavelund was deepened between 1911 and 1924 by order of the council, which"
        " also paid for it. "
    )
    samples = []
    for i in range(100):
        varied = [
            f"{i * n} {words[n % 50 :]}{hashlib.sha256(f'{i}-{n}'.encode()).hexdigest()} "
            for n in range(30)
        ]
        contexts = tuple(
            (TOWER.contexts or ())[0].model_copy(
                update={"id": f"d{n}", "text": "".join(varied[6 * n : 6 * n + 6]) * 2}
            )
            for n in range(5)
        )
        samples.append(
            TOWER.model_copy(update={"id": f"s{i}", "contexts": contexts, "answer": TOWER.answer})
        )
    page = forms.write(make(tmp_path / "run", samples, {"one": TOWER_SAYS, "two": {}}), "html")
    assert page.stat().st_size < 1_000_000


def test_results_stand_in_the_page_as_they_stand_in_the_run(tmp_path: Path) -> None:
    run = make(tmp_path / "run", [TOWER, BRIDGE])
    page = forms.write(run, "html")
    wanted = [[json.loads(line(result))] for result in RunResults.of(run)]
    assert unpacked(page, "chunk-0")["results"] == wanted
    assert unpacked(page, "index")["starts"] == [0]


def test_large_runs_are_cut_into_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claimeval.report.packing.CHUNK", 5000)
    samples = [TOWER.model_copy(update={"id": f"t{i}"}) for i in range(5)]
    page = forms.write(make(tmp_path / "run", samples), "html")
    starts = unpacked(page, "index")["starts"]
    assert len(starts) > 1
    found = [
        result["sample"]["id"]
        for i in range(len(starts))
        for (result,) in unpacked(page, f"chunk-{i}")["results"]
    ]
    assert found == [f"t{i}" for i in range(5)]
    assert starts[1] == len(unpacked(page, "chunk-0")["results"])


@pytest.mark.parametrize(
    ("prompt", "settings"),
    [
        ("three_way", Panel()),
        ("binary", Panel()),
        ("tags", Panel()),
        ("three_way", Panel(per_document=True)),
        ("three_way", Panel(shuffle_contexts=2)),
    ],
)
def test_requests_are_rebuilt_with_their_keys_and_packed_small(
    tmp_path: Path, prompt: str, settings: Panel
) -> None:
    sample = TOWER.model_copy(update={"question": 'Is "it"\n<high>? \u202e🗼 \ud83d'})
    run = make(tmp_path / "run", [sample], assess_prompt=prompt, panel=settings)
    rebuilder = Rebuilder(load_manifest(run))
    for result in RunResults.of(run):
        claims = {claim.id: claim.text for claim in result.claims}
        for call in result.calls:
            request = rebuilder.rebuild(result, call)
            assert request is not None
            assert request.key == call.key
            literals = Literals()
            packed = pack(request, result.sample, call.evidence, literals)
            documents = result.sample.documents(call.evidence.part) or () if call.evidence else ()
            source = result.sample.text(call.part) or ""

            def text(piece: int | str) -> str:
                if isinstance(piece, int):
                    return literals.texts()[piece]  # noqa: B023  # used in this turn only
                start, _, end = piece[1:].partition("-")
                known = {
                    "q": lambda: result.sample.question,  # noqa: B023
                    "s": lambda: source[int(start) : int(end)],  # noqa: B023
                    "c": lambda: claims[call.subjects[int(start) - 1]],  # noqa: B023
                    "d": lambda: documents[int(start) - 1].text,  # noqa: B023
                    "t": lambda: documents[int(start) - 1].title or "",  # noqa: B023
                }
                return quoted(known[piece[0]]())[1:-1]

            assert ["".join(map(text, m.pieces)) for m in packed.messages] == [
                m.content for m in request.messages
            ]
            assert any(isinstance(piece, str) for m in packed.messages for piece in m.pieces)


def test_no_folder_and_no_variable_name_of_a_key_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-12345")
    run = make(tmp_path / "run", data="/home/someone/secret-project/towers.jsonl")
    page = forms.write(run, "html")
    told = json.dumps(
        [unpacked(page, "overview"), unpacked(page, "index"), unpacked(page, "chunk-0")]
    )
    for text in (told, *(forms.text(run, form) for form in ("md", "json", "csv"))):
        assert "secret" not in text
        assert "/home" not in text
        assert str(tmp_path) not in text


def test_an_older_page_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    run = make(tmp_path / "run")
    page = forms.write(run, "html")
    before = page.read_bytes()
    (run / "results.jsonl").write_text('{"sample":', encoding="utf-8")
    with pytest.raises(DataError, match=r"results.jsonl, line 1: not a result"):
        forms.write(run, "html")
    assert page.read_bytes() == before


def test_what_cannot_be_read_or_written_is_said_in_one_line(tmp_path: Path) -> None:
    run = make(tmp_path / "run")
    with pytest.raises(DataError, match=r"holds (a run|\d+ runs): name one"):
        forms.write(tmp_path, "html")
    (tmp_path / "file").write_text("")
    for form in ("html", "md"):
        with pytest.raises(UsageError, match="Cannot write the report"):
            forms.write(run, form, tmp_path / "file" / "report")
    with pytest.raises(UsageError, match=r"unknown table 'claims'\. Known: .*differences"):
        forms.write(run, "csv", compared=run, rows="claims")
