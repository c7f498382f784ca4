"""A real Chromium, without a window, that opens reports as a person would."""

from __future__ import annotations

import base64
import itertools
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from tests.report.realistic import Realistic, make_all

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

    from claimeval.report.viewer import Viewer

T = TypeVar("T")

SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
WAIT = 60.0
"""Seconds after which a page that does not come is an error."""
ROOT = Path(__file__).parents[2]
ARTEFACTS = ROOT / "artefacts"
AXE = ROOT / "tools" / "page" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
CONTRAST = {"type": "rule", "values": ["color-contrast"]}
"""What other colours can change."""
RUN_AXE = """
const done = arguments[1];
axe.run(document, { runOnly: arguments[0], resultTypes: ["violations"] }).then((found) =>
  done(found.violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))])));
"""


class Browser:
    """One tab. Every look waits until there is something to see."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver
        self._opened = itertools.count()

    def open(self, address: Path | str, fragment: str = "") -> None:
        """Opens a file or an address afresh and waits until it is drawn."""
        self.complaints()
        assert not isinstance(address, Path) or address.exists(), f"there is no {address}"
        if isinstance(
            address, Path
        ):  # a number makes it another page, so that it is loaded though it may be open
            address = f"{address.resolve().as_uri()}?{next(self._opened)}"
        else:
            self.driver.get("about:blank")
        self.driver.get(address + fragment)
        self.until(lambda: self.run("return performance.getEntriesByName('drawn').length"))

    def go(self, fragment: str) -> None:
        """Changes the fragment as a link would, and waits for the view."""
        turn = self.run("return document.getElementById('main').dataset.turn")
        self.run("location.hash = arguments[0]", fragment)
        drawn = "return +turn > +arguments[0] && drawn === turn"
        self.until(
            lambda: self.run(
                f"const {{ turn, drawn }} = document.getElementById('main').dataset; {drawn}", turn
            )
        )

    def run(self, script: str, *arguments: object) -> object:
        """Runs a script in the page."""
        return self.driver.execute_script(script, *arguments)

    def until(self, look: Callable[[], T]) -> T:
        """What `look` gives as soon as it gives something; it may look at an element that is just
        drawn again."""
        from selenium.common.exceptions import StaleElementReferenceException

        end = time.monotonic() + WAIT
        while True:
            with suppress(StaleElementReferenceException):
                if found := look():
                    return found
            assert time.monotonic() < end, "nothing came"
            time.sleep(0.01)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> WebElement:
        """The first element, as soon as there is one."""
        return self.until(lambda: self.all(selector))[0]

    def line(self, selector: str) -> str:
        """What is to be seen of the first element, on one line."""
        (text,) = self.until(lambda: [one.text for one in self.all(selector)[:1]])
        return " ".join(text.split())

    def texts(self, selector: str) -> list[str]:
        """The texts of all such elements, also of those that are not in view."""
        found = self.run(
            "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)",
            selector,
        )
        assert isinstance(found, list)
        return [str(text) for text in found]

    def press(self, keys: str) -> None:
        """Types into whatever has the focus."""
        self.driver.switch_to.active_element.send_keys(keys)

    def fragment(self) -> str:
        return str(self.run("return location.hash"))

    def complaints(self) -> list[str]:
        """What the console holds: errors, warnings, breaches of the policy."""
        entries = self.driver.get_log("browser")  # type: ignore[no-untyped-call]  # theirs
        return [entry["message"] for entry in entries]

    def size(self, width: int, height: int = 1000) -> None:
        self._command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def colours(self, scheme: str) -> None:
        """What the system prefers: `light` or `dark`."""
        self._command(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def paper(self, printing: bool) -> None:
        self._command("Emulation.setEmulatedMedia", media="print" if printing else "")

    def picture(self, name: str) -> None:
        """Saves the whole page as artefacts/NAME.png, if there is such a folder."""
        if not ARTEFACTS.is_dir():
            return
        found = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True}
        )
        (ARTEFACTS / f"{name}.png").write_bytes(base64.b64decode(found["data"]))

    def breaches(self, rules: object = RULES) -> object:
        """The rules of axe-core that the page breaks as it is shown now."""
        if not AXE.exists():
            pytest.skip("axe-core is not installed: `make scripts` installs it")
        if not self.run("return 'axe' in window"):
            self.run(AXE.read_text(encoding="utf-8"))
        return self.driver.execute_async_script(RUN_AXE, rules)

    def _command(self, name: str, **settings: object) -> None:
        self.driver.execute_cdp_cmd(name, settings)


@pytest.fixture(scope="session")
def realistic(tmp_path_factory: pytest.TempPathFactory) -> Realistic:
    """Runs as people have them, and their pages; tests only read them. One of pytest's workers
    makes them for all."""
    import fcntl

    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "realistic"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            make_all(folder)
            (folder / "made").touch()
    return Realistic.of(folder)


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Viewer]:
    """A viewer of the runs in the module's `folder`."""
    from claimeval.report.viewer import Viewer

    with Viewer(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@contextmanager
def opened_browser(profile: Path) -> Iterator[Browser]:
    """A browser with a profile of its own."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for switch in SWITCHES:
        options.add_argument(switch)
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(
        options=options, service=Service(shutil.which("chromedriver"), env=dict(os.environ))
    ) as chrome:
        chrome.set_script_timeout(2 * WAIT)
        yield Browser(chrome)


@pytest.fixture(scope="session")
def _tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        pytest.skip("no Chromium here; `make browser` installs one on Debian")
    with opened_browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(_tab: Browser) -> Iterator[Browser]:
    """The tab at 1,280 by 900 in light colours; a test fails if the console complained."""
    _tab.size(1280, 900)
    _tab.colours("light")
    yield _tab
    assert _tab.complaints() == []
