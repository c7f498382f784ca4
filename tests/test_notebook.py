"""The example notebook runs in a kernel, shows every result as HTML, and draws progress."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "examples"
PROGRESS = """
from claimeval.report import progress_bar
progress_bar.FIRST = 0.0
_ = ce.score(answers, judges="local:lexical", metrics="faithfulness")
"""
HOSTILE = """
texts = "<script>alert(1)</script> costs $5 or $6 & <b>more</b>."
row = {"id": "<i>", "question": texts, "answer": texts, "contexts": ["None."]}
ce.score([row], judges="local:lexical")
"""


@pytest.fixture(scope="module")
def shown() -> list[dict[str, str]]:
    """What each code cell of the notebook displays, by type, then the cells that only the tests
    have."""
    content = json.loads((EXAMPLES / "first_look.ipynb").read_text(encoding="utf-8"))
    assert not any(cell.get("outputs") for cell in content["cells"]), (
        "outputs are not kept in the repository"
    )
    more: dict[str, object] = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
    }
    content["cells"] += [
        {**more, "id": source[1:5], "source": source} for source in (PROGRESS, HOSTILE)
    ]
    # half typed
    notebook = nbformat.reads(json.dumps(content), as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        {kind: text for output in cell.outputs for kind, text in output.get("data", {}).items()}
        for cell in cells
    ]


def test_every_cell_shows_something_and_nothing_else_is_printed(
    shown: list[dict[str, str]],
) -> None:
    assert all(shown)


def test_runs_samples_slices_comparisons_and_agreement_show_themselves(
    shown: list[dict[str, str]],
) -> None:
    pages = [
        html
        for cell in shown
        if (html := cell.get("text/html", "")).startswith('<div class="claimeval')
    ]
    marks = (
        "judged by shared words",
        "<b>handbook-mileage:",
        "<th>metadata.kind</th>",
        "b = ",
        "<b>agreement</b>: ",
    )
    assert [mark in page for mark, page in zip(marks, pages, strict=False)] == [True] * 5


def test_a_job_draws_its_progress_below_the_cell(shown: list[dict[str, str]]) -> None:
    bar = shown[-2]
    assert '<progress max="24" value="24">' in bar["text/html"]
    assert bar["text/plain"].startswith("24/24 samples")


def test_judged_texts_are_neither_markup_nor_formulas(shown: list[dict[str, str]]) -> None:
    page = shown[-1]["text/html"]
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "<i>" not in page
    assert "tex2jax_ignore" in page, "MathJax reads no formula from the first dollar to the second"
