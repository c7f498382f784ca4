"""Every view at the width of a telephone and of a desk, light, dark and on paper: nothing hangs
over the edge.

With a folder artefacts/ beside tests/, pictures for people to look at land there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval.api.claims import score
from claimeval.report import forms
from claimeval.types.bundled import bundled
from claimeval.types.options import RunOptions
from tests.report.conftest import Browser
from tests.report.runs import TOWER, TOWER_SAYS, make

pytestmark = pytest.mark.browser

VIEWS = {
    "overview": "",
    "list": "#/samples",
    "sample": "#/sample/lamp-warranty?claim=answer-1",
    "settings": "#/settings",
}
PANEL_VIEWS = {"panel": "", "panel-sample": "#/sample/t1?claim=answer-2"}
TWO_VIEWS = {
    "comparison": "",
    "comparison-list": "#/samples",
    "comparison-sample": "#/sample/t1?claim=answer-3&run=1",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    samples = [TOWER.model_copy(update={"id": f"t{i}"}) for i in range(8)]
    score(
        bundled("demo.jsonl"), judges=["local:lexical"], options=RunOptions(cache=folder / "cache")
    ).save(folder / "demo")
    mine = make(folder / "panel", samples, {"strict": TOWER_SAYS, "kind": {}, "third": {}})
    other = make(folder / "other", samples, {"strict": {"It is 90 metres high.": "contradicted"}})
    demo = forms.write(folder / "demo", "html")
    panel = forms.write(mine, "html")
    two = forms.write(mine, "html", compared=other)
    return (
        dict.fromkeys(VIEWS, demo)
        | dict.fromkeys(PANEL_VIEWS, panel)
        | dict.fromkeys(TWO_VIEWS, two)
    )


@pytest.mark.parametrize(("view", "fragment"), (VIEWS | PANEL_VIEWS | TWO_VIEWS).items())
def test_a_view_fits_its_window(
    browser: Browser, pages: dict[str, Path], view: str, fragment: str
) -> None:
    browser.colours("dark" if view in ("panel", "comparison-sample") else "light")
    browser.size(400)
    browser.open(pages[view], fragment)
    for width in (400, 1600):
        browser.size(width)
        browser.picture(f"{view}-{width}")
        assert browser.run("return document.documentElement.scrollWidth") == width


def test_paper_shows_the_list_in_full_and_no_buttons(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.size(800)
    browser.open(pages["list"], "#/samples")
    browser.paper(True)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert len(browser.all(".row")) == 24
    assert not browser.one(".bar").is_displayed()
    browser.picture("list-on-paper")
    browser.paper(False)
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.one(".bar").is_displayed()


@pytest.mark.parametrize("fragment", [*VIEWS.values()])
def test_everything_that_can_be_used_has_a_name(
    browser: Browser, pages: dict[str, Path], fragment: str
) -> None:
    browser.open(pages["overview"], fragment)
    nameless = """
      const USED = "a, button, input, select, summary, [role=img], [role=region]";
      const named = (node) =>
        node.textContent.trim() ||
        node.getAttribute("aria-label") ||
        node.labels?.length ||
        node.hasAttribute("aria-labelledby");
      const nameless = [...document.querySelectorAll(USED)].filter((node) => !named(node));
      return nameless.map((node) => node.outerHTML);
    """
    assert browser.run(nameless) == []
    assert browser.run("return document.querySelectorAll('main h1').length") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(
    browser: Browser, pages: dict[str, Path], scheme: str
) -> None:
    """The contrast of every colour of text with the grounds it stands on is 4.5 or more (WCAG 2.2,
    1.4.3)."""
    browser.colours(scheme)
    browser.open(pages["overview"])
    contrast = """
      const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
      const colour = (name) => {
        canvas.fillStyle = name;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      const probe = document.body.appendChild(document.createElement("p"));
      const light = (variable) => {
        probe.style.color = `var(${variable})`;
        const parts = colour(getComputedStyle(probe).color).map((v) => v / 255);
        const linear = parts.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
      };
      const ratio = (a, b) => {
        const lights = [light(a), light(b)];
        return (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05);
      };
      const labels = ["supported", "contradicted", "not_found", "unassessed"];
      const texts = ["--ink", "--quiet", "--link", ...labels.map((l) => `--${l}`)];
      const pairs = [
        ...texts.map((colour) => [colour, "--page"]),
        ...texts.map((colour) => [colour, "--surface"]),
        ...labels.map((l) => ["--ink", `--${l}-back`]),
        ["--ink", "--caution"],
      ];
      return pairs.map(([a, b]) => [a, b, ratio(a, b)]).filter(([, , found]) => found < 4.5);
    """
    assert browser.run(contrast) == []
