"""Speed of the page of a large run in Chromium: drawing it, opening a sample, and searching all samples.

    python -m benchmarks.page_speed [samples]

The lower bound of a search, for text that no sample or every sample has, is the time to unpack and parse every chunk in
the same browser. The load of the machine is printed too, because times on a busy machine mean little.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from claimeval.report import forms
from claimeval.report.assets import bundle
from tests.report.conftest import Browser, opened_browser
from tests.report.runs import many

GOALS = {"drawn": 1000, "a sample": 100, "the next claim": 100, "search": 2000, "search for what all have": 2000}
"""Milliseconds on a machine that does nothing else."""
BOUND = """
const { unpack } = $_unpacking;
const done = arguments[0];
(async () => {
  const started = performance.now();
  for (let i = 0; document.getElementById(`chunk-${i}`); i += 1) await unpack(`chunk-${i}`);
  done(performance.now() - started);
})();
"""


def measure(browser: Browser, page: Path) -> dict[str, float]:
    """Return milliseconds by what was done."""
    browser.open(page)
    found = {"drawn": float(str(browser.run("return performance.getEntriesByName('drawn')[0].startTime")))}
    browser.until(lambda: browser.run("return document.readyState === 'complete'"))
    browser.driver.set_script_timeout(120)
    bound = browser.driver.execute_async_script(bundle("unpacking") + BOUND)
    found["lower bound of a search"] = float(bound)
    for name, (act, until) in STEPS.items():
        found[name] = clocked(browser, act, until)
    return found


FOUND = "/^[1-9].* samples(?!, still)/.test(document.querySelector('.count')?.textContent)"
STEPS = {
    "a sample": ("location.hash = '#/sample/sample-00011'", "document.querySelector('.marked')"),
    "the next claim": (
        "dispatchEvent(new KeyboardEvent('keydown', { key: 'n' }))",
        "document.querySelector('details.claim[open]')",
    ),
    "search": (
        "location.hash = '#/samples?q=keeper+nowhere'",
        "document.querySelector('.empty')?.textContent.startsWith('No sample')",
    ),
    "search for what all have": ("location.hash = '#/samples?q=keeper'", FOUND),
}
"""What is done, and what is there when it is done."""


def clocked(browser: Browser, act: str, until: str) -> float:
    """Return the milliseconds from an action to what it leads to, looked at every frame."""
    script = f"""
      const done = arguments[0];
      const started = performance.now();
      {act};
      const look = () => ({until} ? done(performance.now() - started) : requestAnimationFrame(look));
      look();
    """
    return float(browser.driver.execute_async_script(script))


def main(samples: int) -> None:
    """Measure a page three times and print the least times."""
    with tempfile.TemporaryDirectory() as folder:
        run = many(Path(folder), samples)
        started = time.perf_counter()
        page = forms.write(run, "html")
        took, size = time.perf_counter() - started, page.stat().st_size / 1e6
        print(f"{samples:,} samples: written in {took:.1f} s, {size:.1f} MB; load {os.getloadavg()[0]:.1f}")
        with opened_browser(Path(folder) / "browser") as browser:
            rounds = [measure(browser, page) for _ in range(3)]
        for name in rounds[0]:
            goal = f" (goal {GOALS[name]:,})" if name in GOALS else ""
            print(f"{name:24} {min(one[name] for one in rounds):8,.0f} ms{goal}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
