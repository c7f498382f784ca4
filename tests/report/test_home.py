"""The viewer's first page: runs by data set with their trend, experiments, notes, and any number of
runs compared."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
from pathlib import Path

import pytest

import claimeval as ce
from claimeval import experiment
from claimeval.evaluation.summary import Summary
from claimeval.report.viewer import INDEX, NOTES, Home, Viewer, experiment_folders, runs
from claimeval.runs.directory import MANIFEST, load_summary
from claimeval.statistics.formatting import decimal, interval
from claimeval.testing import ScriptedJudge
from claimeval.types.options import RunOptions
from tests.report.conftest import CONTRAST, RULES, Browser
from tests.report.runs import BRIDGE, TOWER, make
from tests.report.test_viewer import ask

MONTHS = 6
CLAIMS = [f"Room {i} is open." for i in range(10)]
SAMPLES = tuple(
    TOWER.model_copy(update={"id": f"t{i}", "question": f"{i}?", "answer": claim})
    for i, claim in enumerate(CLAIMS)
)


def begun(folder: Path, when: str) -> None:
    """Say in a manifest when its run was begun."""
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**manifest, "created": when}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six months of ten samples, of which one more fails each month; in the fourth the prompt
    changed."""
    root = tmp_path_factory.mktemp("home")
    for month in range(MONTHS):
        path = root / f"month_{month}"
        prompt = "three_way" if month < 3 else "binary"
        no, yes = ("not_found", "supported") if month < 3 else ("no", "yes")
        says = {"strict": dict.fromkeys(CLAIMS[:month], no) | dict.fromkeys(CLAIMS[month:], yes)}
        day = f"2026-0{month + 1}"
        make(
            path,
            SAMPLES,
            says,
            metrics=("faithfulness",),
            assess_prompt=prompt,
            data=f"/x/a-{day}.jsonl",
        )
        begun(path, f"{day}-01T00:00:00+00:00")
    make(root / "other", (TOWER, BRIDGE))
    begun(root / "other", "2020-01-01T00:00:00+00:00")
    (root / "month_3" / NOTES).write_text("The index lost a shard.\n\nSee the incident.\n")
    (root / "other" / NOTES).symlink_to(root / "month_3" / NOTES)
    data = root / "rooms.jsonl"
    rows = [
        {"id": s.id, "question": s.question, "answer": s.answer, "contexts": [s.answer]}
        for s in SAMPLES
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arms = [{"name": "first"}, {"name": "again"}]
    design = {
        "data": str(data),
        "judges": "local:lexical",
        "metrics": "faithfulness",
        "baseline": "first",
        "arms": arms,
    }
    experiment(design, out=root / "deep" / "prompts", options=RunOptions(cache=root / ".cache"))
    return root


def test_what_changed_is_said_against_the_last_run_of_the_same_job(tmp_path: Path) -> None:
    data = tmp_path / "rooms.jsonl"
    options = RunOptions(cache=tmp_path / "cache")
    data.write_text(
        json.dumps(
            {"id": "a", "question": "?", "answer": "It is open.", "contexts": ["It is open."]}
        )
        + "\n"
    )
    rating = ScriptedJudge(
        reply=lambda text: '{"reason": "so", "rating": "fully", "noncommittal": false}'
    )
    first = ce.score(
        data, judges=ScriptedJudge(), metrics="faithfulness", out=tmp_path / "a", options=options
    )
    rated = ce.rate(data, judges=rating, ask="relevance", out=tmp_path / "b", options=options)
    again = ce.score(
        data, judges=ScriptedJudge(), metrics="faithfulness", out=tmp_path / "c", options=options
    )
    for run, when in ((first, "2026-01-01"), (rated, "2026-01-02"), (again, "2026-01-03")):
        assert run.path is not None
        begun(run.path, f"{when}T00:00:00+00:00")
    (group,) = Home(tmp_path).content()[2]
    assert (group.runs, group.changes) == (("a", "b", "c"), {})


def test_eight_runs_of_any_file_names_are_one_system_whose_trend_breaks_where_the_judge_changed(
    tmp_path: Path,
) -> None:
    """Every version leaves out other questions; the judge changes after the fourth."""
    for version in range(8):
        judge = ("strict", "mild")[version > 3]
        claims = CLAIMS[: version % 4]
        samples = SAMPLES[:5] + SAMPLES[5 + version % 5 :]
        path = make(
            tmp_path / f"v{version}",
            samples,
            {judge: dict.fromkeys(claims, "not_found")},
            metrics=("faithfulness",),
            data=f"/x/{chr(97 + version)}.jsonl",
        )
        begun(path, f"2026-01-0{version + 1}T00:00:00+00:00")
    make(tmp_path / "other", (TOWER, BRIDGE))
    group = next(group for group in Home(tmp_path).content()[2] if len(group.runs) > 1)
    assert (group.name, group.runs) == (
        "a.jsonl and 7 more",
        tuple(f"v{version}" for version in range(8)),
    )
    assert "judges" in group.changes["v4"]
    # v0 has 10 of 10, v1 one of 9 not supported; v4 is the first run of its judge
    assert group.differences["v1"]["faithfulness"] == pytest.approx(8 / 9 - 1)
    assert "v0" not in group.differences
    assert "v4" not in group.differences
    curves = re.findall(r'<polyline points="([^"]*)"', group.pictures["faithfulness"].svg)
    assert [len(curve.split()) for curve in curves] == [4, 4]


def test_a_judge_of_the_same_name_with_other_settings_or_another_prompt_breaks_the_trend(
    tmp_path: Path,
) -> None:
    for place, prompt in enumerate(
        ["three_way", "three_way", "binary", "binary", "binary", "binary"]
    ):
        yes, no = ("yes", "no") if prompt == "binary" else ("supported", "not_found")
        says = {"strict": dict.fromkeys(CLAIMS, yes) | dict.fromkeys(CLAIMS[:place], no)}
        path = make(
            tmp_path / f"r{place}", SAMPLES, says, metrics=("faithfulness",), assess_prompt=prompt
        )
        begun(path, f"2026-01-0{place + 1}T00:00:00+00:00")
        if place > 3:
            manifest = json.loads((path / MANIFEST).read_text())
            manifest["judges"][0]["settings"]["temperature"] = 0.5
            (path / MANIFEST).write_text(json.dumps(manifest))
    (group,) = Home(tmp_path).content()[2]
    assert group.changes == {"r2": "assess prompt", "r4": "judges"}
    assert sorted(group.differences) == ["r1", "r3", "r5"]
    curves = re.findall(r'<polyline points="([^"]*)"', group.pictures["faithfulness"].svg)
    assert [len(curve.split()) for curve in curves] == [2, 2, 2]


def test_runs_with_less_than_half_of_their_questions_in_common_are_two_systems(
    tmp_path: Path,
) -> None:
    for name, samples in (("a", SAMPLES[:6]), ("b", SAMPLES[3:9]), ("c", SAMPLES[7:])):
        make(tmp_path / name, samples, {"strict": {}}, metrics=("faithfulness",))
    # a and b share 3 of 6, b and c 2 of c's 3; d has one of its 3 questions in c
    assert sorted(len(group.runs) for group in Home(tmp_path).content()[2]) == [3]
    make(tmp_path / "d", (BRIDGE, SAMPLES[9], TOWER), {"strict": {}}, metrics=("faithfulness",))
    assert sorted(len(group.runs) for group in Home(tmp_path).content()[2]) == [1, 3]


def test_runs_are_grouped_by_data_and_the_files_of_every_month_are_one_data_set(
    folder: Path,
) -> None:
    entries, _, (months, other) = Home(folder).content()

    assert (months.name, months.runs) == (
        "a-*.jsonl",
        tuple(f"month_{month}" for month in range(MONTHS)),
    )
    assert (other.name, other.runs) == ("towers.jsonl", ("other",))
    assert {entry.name for entry in entries if entry.experiment} == {
        f"deep/prompts/arms/{arm}" for arm in ("first", "again")
    }
    assert months.changes == {"month_3": "assess prompt"}


def test_the_picture_of_a_data_set_has_the_mean_of_every_run(folder: Path) -> None:
    _, _, (months, other) = Home(folder).content()

    expected = []
    for month in range(MONTHS):
        found = load_summary(folder / f"month_{month}").metrics["faithfulness"]
        assert found.mean == pytest.approx(1 - month / 10)
        more = ", here changed: assess prompt" if month == 3 else ""
        expected.append(
            f"month_{month}: {decimal(found.mean)}, 95% {interval(found.reported)}, n = 10{more}"
        )
    assert list(months.pictures["faithfulness"].descriptions) == expected
    assert '<a href="/report?run=month_2"' in months.pictures["faithfulness"].svg
    assert not other.pictures, "one run has no trend"


def test_notes_of_people_stand_with_their_run_and_links_are_not_followed(folder: Path) -> None:
    entries, _, _ = Home(folder).content()

    notes = {entry.name: entry.notes for entry in entries}
    assert notes["month_3"] == ("The index lost a shard. See the incident.",)
    assert notes["other"] == notes["month_2"] == ()


def test_an_experiment_is_one_entry_with_its_arms_and_means(folder: Path) -> None:
    assert list(experiment_folders(folder)) == ["deep/prompts"]
    assert "deep/prompts" not in runs(folder)

    _, (found,), _ = Home(folder).content()

    assert (found.data, found.samples, found.arms, found.baseline) == (
        "rooms.jsonl",
        10,
        ("first", "again"),
        "first",
    )
    assert found.metrics == {"faithfulness": (1.0, 1.0)}
    assert found.problem is None


def test_what_did_not_change_is_not_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(folder)
    before = home.content()
    read: list[str] = []

    def noting(path: Path) -> Summary:
        read.append(path.name)
        return load_summary(path)

    monkeypatch.setattr("claimeval.report.viewer.load_summary", noting)

    assert home.content() == before
    assert read == []
    os.utime(folder / "month_1" / "summary.json", ns=(1, 1))
    home.content()
    assert read == ["month_1"]


def unread(folder: Path) -> None:
    """Make what the list is read from unreadable, with the times that it had."""
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink() and file.name != INDEX:
            times = file.stat()
            file.write_text("gone")
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_second_start_shows_the_same_from_the_index_without_reading_a_run(
    folder: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(folder, tmp_path / "runs", symlinks=True)
    (copy / INDEX).unlink(missing_ok=True)
    for table in list(copy.rglob("experiment.json")):
        shutil.rmtree(table.parent)
    first = Home(copy).content()
    assert (copy / INDEX).is_file()
    unread(copy)
    assert Home(copy).content() == first


@pytest.mark.parametrize("content", ["", "{", '{"version": "0.0.0", "runs": {}}', "[]"])
def test_an_index_that_is_damaged_or_of_another_version_is_made_again(
    folder: Path, tmp_path: Path, content: str
) -> None:
    copy = shutil.copytree(folder, tmp_path / "runs", symlinks=True)
    first = Home(copy).content()
    (copy / INDEX).write_text(content)
    assert Home(copy).content() == first
    assert len((copy / INDEX).read_text()) > len(content)


def test_what_changed_since_the_index_was_made_is_read_again(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "runs", symlinks=True)
    before, _, _ = Home(copy).content()
    (copy / "month_1" / NOTES).write_text("The one to keep.")
    shutil.rmtree(copy / "month_0")
    after, _, _ = Home(copy).content()
    assert {run.name for run in before} - {run.name for run in after} == {"month_0"}
    assert next(run for run in after if run.name == "month_1").notes[0] == "The one to keep."


def test_a_folder_without_runs_and_one_that_cannot_be_written_get_no_index(
    folder: Path, tmp_path: Path
) -> None:
    assert Home(tmp_path).content() == ([], [], [])
    assert list(tmp_path.iterdir()) == []
    target = tmp_path / "elsewhere.json"
    copy = shutil.copytree(folder, tmp_path / "runs", symlinks=True)
    (copy / INDEX).unlink(missing_ok=True)
    (copy / INDEX).symlink_to(target)
    runs_found, _, _ = Home(copy).content()
    assert runs_found
    assert not target.exists()
    Home(copy / "month_1").content()
    assert not (copy / "month_1" / INDEX).exists()


def test_an_experiment_has_its_page(viewer: Viewer) -> None:
    status, body, headers = ask(viewer, "/report?run=deep/prompts")

    assert status == 200
    assert "<title>rooms.jsonl" in body
    assert "script-src" in headers["Content-Security-Policy"]


def test_three_runs_are_a_page_with_any_of_them_as_the_baseline(viewer: Viewer) -> None:
    status, body, _ = ask(viewer, "/compare?run=month_0&run=month_2&run=month_5&baseline=month_2")

    assert status == 200
    assert "month_5 against month_2: -0.30" in body
    assert "trend: -0.25 per run" in body
    assert 'href="/report?run=month_2&amp;run=month_5"' in body
    assert (
        'href="/compare?run=month_0&amp;run=month_2&amp;run=month_5&amp;baseline=month_0"' in body
    )
    assert ask(viewer, "/compare?run=month_0&run=month_2&run=other")[0] == 422


@pytest.mark.browser
def test_a_person_sees_the_trend_chooses_columns_and_compares_with_a_baseline(
    browser: Browser, viewer: Viewer
) -> None:
    browser.open(viewer.url)
    assert browser.complaints() == []
    assert browser.texts(".group h2")[0] == "a-*.jsonl 6 runs"
    assert len(browser.all(".trend svg")) == 1
    assert browser.texts(".group:first-child thead th:last-child") == ["faithfulness"]

    browser.one("#columns summary").click()
    browser.run(
        "document.querySelectorAll('#columns label').forEach((l) => l.textContent.includes('faith')"
        " && l.click())"
    )
    assert "faithfulness" not in browser.texts(".group:first-child thead th")
    assert "columns=" in browser.fragment()
    browser.one("#columns summary").click()

    for name in ("month_5", "month_0", "month_4"):
        browser.one(f"tr[data-run={name}] input").click()
    assert browser.texts("tr[data-run=month_0] .run-letter") == ["a"], "the oldest is the baseline"
    browser.run(
        "const choice = document.getElementById('baseline'); choice.value = 'month_4';"
        "choice.dispatchEvent(new Event('change'))"
    )
    assert browser.texts("tr[data-run=month_4] .run-letter") == ["a"]
    browser.one("#compare").click()
    browser.until(lambda: browser.run("return document.title") == "3 runs · claimeval")
    assert "month_5 against month_4" in browser.line("main")
    assert browser.complaints() == []


@pytest.mark.browser
def test_the_colours_that_were_chosen_hold_on_the_page_of_several_runs(
    browser: Browser, viewer: Viewer
) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    browser.colours("light")
    browser.open(viewer.url)
    light = browser.run(background)
    browser.one("#theme").click()
    dark = browser.run(background)
    assert light != dark
    browser.open(f"{viewer.url}compare?run=month_0&run=month_2&run=month_5")
    assert browser.run(background) == dark
    browser.one("#theme").click()
    assert browser.run(background) == light
    assert browser.complaints() == []


PAGES = {
    "home": "",
    "columns": (
        "#sort=name&columns=date|job|judges|samples|labels|notes|metric faithfulness"
        "&chosen=month_0&chosen=month_2"
    ),
    "series": "compare?run=month_0&run=month_2&run=month_5",
    "run": "report?run=month_3",
    "comparison": "report?run=month_0&run=month_5",
    "experiment": "report?run=deep/prompts",
}


@pytest.mark.browser
@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_the_viewer_fits_every_window_and_breaks_no_rule_of_axe(
    browser: Browser, viewer: Viewer, page: str
) -> None:
    for width, scheme in itertools.product((390, 1440), ("light", "dark")):
        browser.size(width)
        browser.colours(scheme)
        browser.open(viewer.url + PAGES[page])
        browser.run("for (const one of document.querySelectorAll('main details')) one.open = true")
        browser.picture(f"{page}-{width}-{scheme}")
        assert browser.run("return document.documentElement.scrollWidth") == width
        assert browser.breaches(RULES if scheme == "light" else CONTRAST) == []


def test_two_systems_have_a_line_and_a_difference_each(tmp_path: Path) -> None:
    """Two systems, four releases each, judged alternately: release k of blue leaves k of ten claims
    unsupported, that of green k and four more."""
    for release in range(4):
        for place, (system, more) in enumerate((("blue", 0), ("green", 4))):
            samples = [one.model_copy(update={"generator": f"openai:{system}"}) for one in SAMPLES]
            wrong = dict.fromkeys(CLAIMS[: release + more], "not_found")
            path = make(
                tmp_path / f"{system}-{release}",
                samples,
                {"strict": wrong},
                metrics=("faithfulness",),
                data=f"/x/{system}{release}.jsonl",
            )
            begun(path, f"2026-01-0{2 * release + place + 1}T00:00:00+00:00")
    (group,) = Home(tmp_path).content()[2]
    found = {name: of["faithfulness"] for name, of in group.differences.items()}
    expected = [f"{system}-{release}" for release in (1, 2, 3) for system in ("blue", "green")]
    assert list(found) == expected
    assert list(found.values()) == pytest.approx([-0.1] * 6)
    svg = group.pictures["faithfulness"].svg
    curves = re.findall(r'<polyline points="([^"]*)"[^>]*stroke="([^"]*)"', svg)
    assert [(len(curve.split()), colour) for curve, colour in curves] == [
        (4, "#0072b2"),
        (4, "#d55e00"),
    ]
    first = group.pictures["faithfulness"].descriptions[0]
    assert first.startswith("openai:blue, blue-0: 1.00")
    assert group.systems == {
        f"openai:{system}": tuple(f"{system}-{release}" for release in range(4))
        for system in ("blue", "green")
    }


def test_versions_that_name_themselves_are_one_line(tmp_path: Path) -> None:
    for release in range(3):
        samples = [one.model_copy(update={"generator": f"rag-v{release}"}) for one in SAMPLES]
        path = make(tmp_path / f"v{release}", samples, {"strict": {}}, metrics=("faithfulness",))
        begun(path, f"2026-01-0{release + 1}T00:00:00+00:00")
    (group,) = Home(tmp_path).content()[2]
    assert list(group.differences) == ["v1", "v2"]
    assert group.systems == {}
    assert group.pictures["faithfulness"].svg.count("<polyline") == 1
