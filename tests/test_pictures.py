"""The committed pictures of the documentation show what the commands and pages of this version
show."""

from __future__ import annotations

import base64
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.report.conftest import Browser, _tab, browser  # noqa: F401  # fixtures

ROOT = Path(__file__).parents[1]
LIKE = 0.05
"""Mean difference of pixels, of 1: other fonts and browsers differ less, another page more."""
COMPARE = """
const [first, second, done] = arguments;
const pixels = async (data) => {
  const image = new Image();
  image.src = "data:image/png;base64," + data;
  await image.decode();
  const canvas = new OffscreenCanvas(120, 90);
  canvas.getContext("2d").drawImage(image, 0, 0, 120, 90);
  return canvas.getContext("2d").getImageData(0, 0, 120, 90).data;
};
Promise.all([first, second].map(pixels)).then(([a, b]) =>
  done(a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / a.length / 255));
"""


@pytest.fixture(scope="module")
def site() -> ModuleType:
    """tools/build_site.py."""
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "tools" / "build_site.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_of_the_first_screen_is_what_the_first_guide_shows(
    site: ModuleType, scheme: str
) -> None:
    drawn = (site.DRAWN / f"first-screen-{scheme}.svg").read_text(encoding="utf-8")
    assert drawn == site.first_screen(scheme), "`make docs` draws it"
    assert "faithfulness" in drawn


def test_the_pictures_of_the_readme_follow_its_theme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r'srcset="(.+)">\n.* src="(.+)">', text)
    assert len(pictures) == 2
    for dark, light in pictures:
        assert dark == light.replace("-light.", "-dark.")
        assert (ROOT / dark).exists()
        assert (ROOT / light).exists()


@pytest.mark.browser
def test_the_pictures_of_the_report_are_like_it(
    site: ModuleType,
    browser: Browser,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLAIMEVAL_CACHE", str(tmp_path / "cache"))
    site.pictures(tmp_path, tmp_path / "drawn")
    browser.driver.get("about:blank")

    def apart(first: Path, second: Path) -> float:
        data = [base64.b64encode(path.read_bytes()).decode() for path in (first, second)]
        found = browser.driver.execute_async_script(COMPARE, *data)
        assert isinstance(found, int | float)
        return float(found)

    names = [f"{name}-{scheme}.png" for name in site.PICTURES for scheme in ("light", "dark")]
    differences = {name: apart(site.DRAWN / name, tmp_path / "drawn" / name) for name in names}
    assert max(differences.values()) < LIKE, differences
    assert apart(site.DRAWN / names[0], site.DRAWN / names[2]) > LIKE, "two pages are apart"
