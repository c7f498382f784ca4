"""Functions and other packages' providers as judges: stored, paced and capped like the others."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import claim_judge
from claimeval import providers
from claimeval.providers.specs import parse_judge
from claimeval.types.requests import Judge
from tests.command_line import call, spawn
from tests.first_day.servers import judged, serve
from tests.first_day.test_judge_habits import CALLS, SAMPLES, TRUE_SCORE, data

ROOT = Path(__file__).parents[2]


class House:
    """A model in this process, which counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.at_once = self.most_at_once = 0

    def plain(self, messages: list[dict[str, str]]) -> str:
        self.calls += 1
        return str(claim_judge.answer({"messages": messages}).content)

    async def waits(self, messages: list[dict[str, str]]) -> str:
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        return self.plain(messages)

    async def __call__(self, messages: list[dict[str, str]]) -> str:
        return await self.waits(messages)


def judge(function: Any, **settings: Any) -> Judge:
    return Judge.from_callable("house", function, **{"model": "llama-3-70b", **settings})


def score(folder: Path, judges: Judge, **options: Any) -> ce.Run:
    return ce.score(
        data(folder), judges=judges, metrics="faithfulness", options=ce.RunOptions(**options)
    )


FORMS: dict[str, Callable[[House], Any]] = {
    "plain": lambda house: house.plain,
    "asynchronous": lambda house: house.waits,
    "an object": lambda house: house,
    "a function that gives a coroutine": lambda house: lambda messages: house.waits(messages),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_function_is_a_judge_whose_replies_are_stored(tmp_path: Path, form: str) -> None:
    house = House()
    first = score(tmp_path, judge(FORMS[form](house)))
    again = score(tmp_path, judge(FORMS[form](house)))
    assert first["faithfulness"].mean == again["faithfulness"].mean == TRUE_SCORE
    assert house.calls == CALLS
    score(tmp_path, judge(FORMS[form](house), revision="2"))
    assert house.calls == 2 * CALLS


def test_a_function_is_paced_and_capped(tmp_path: Path) -> None:
    house = House()
    score(tmp_path, judge(house.waits), concurrency=2)
    assert house.most_at_once == 2
    with pytest.raises(ce.StoppedEarly, match="Budget reached"):
        score(tmp_path, judge(house.plain, revision="b"), max_calls=5)
    assert house.calls == CALLS + 5


def test_a_cap_in_dollars_needs_its_price(tmp_path: Path) -> None:
    with pytest.raises(ce.UsageError, match="price"):
        score(tmp_path, judge(House().plain), max_cost=1.0)
    with pytest.raises(ce.StoppedEarly, match="Budget reached"):
        score(tmp_path, judge(House().plain, price={"input": 1e6, "output": 1e6}), max_cost=1.0)


def test_an_error_is_a_failed_call_and_a_defect_stops_at_once(tmp_path: Path) -> None:
    calls = 0

    def fails_once(messages: list[dict[str, str]]) -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ConnectionError("gateway asleep")
        return House().plain(messages)

    assert score(tmp_path, judge(fails_once), backoff=0.0)["faithfulness"].n == SAMPLES
    with pytest.raises(ce.StoppedEarly, match=r"the function raised KeyError: 'text'"):
        score(tmp_path, judge(lambda messages: messages[0]["text"], revision="defect"))
    with pytest.raises(ce.StoppedEarly, match="the function returned a dict; a text is needed"):
        score(tmp_path, judge(lambda messages: {"text": ""}, revision="dict"))


def test_an_error_over_one_sample_is_a_reason_and_stops_nothing(tmp_path: Path) -> None:
    house = House()
    called = Counter[str]()

    def empty_choice(messages: list[dict[str, str]]) -> str:
        text = "".join(message["content"] for message in messages)
        called["bad"] += "Tower 1 " in text
        if "Tower 1 " in text:
            raise IndexError("list index out of range")
        return house.plain(messages)

    run = score(tmp_path, judge(empty_choice, revision="one"))
    assert run["faithfulness"].missing == {"provider_error": 1}
    assert run["faithfulness"].n == SAMPLES - 1
    assert called["bad"] == 1, "the same messages are not sent again"


def test_a_function_that_never_returns_keeps_no_process_alive(tmp_path: Path) -> None:
    script = """
import threading, claimeval as ce
hang = threading.Event()
judge = ce.Judge.from_callable("house", lambda messages: hang.wait(), model="m")
rows = [{"question": "Q?", "answer": "A tower.", "contexts": ["A tower."]}]
run = ce.score(rows, judges=judge, metrics="faithfulness",
               options=ce.RunOptions(cache="replies", timeout=0.2, attempts=1))
print(run["faithfulness"].missing)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "{'timeout': 1}\n", done.stderr


def test_what_is_no_function_or_no_price_is_refused() -> None:
    with pytest.raises(ce.UsageError, match="a str cannot be called"):
        judge("not a function")
    with pytest.raises(ce.UsageError, match="a price is"):
        judge(House().plain, price={"in": 1})


def test_its_family_is_that_which_was_given(tmp_path: Path) -> None:
    house = House()
    rows = [
        {
            "id": "1",
            "question": "Q?",
            "answer": "A tower.",
            "contexts": ["A tower."],
            "generator": "llama-9",
        }
    ]
    given = judge(house.plain, model="secret-model", family="llama")
    with pytest.raises(ce.UsageError, match="family"):
        ce.score(
            rows,
            judges=given,
            metrics="faithfulness",
            panel=ce.PanelOptions(on_same_family="error"),
        )
    assert house.calls == 0


def test_a_function_of_another_process_is_missed_in_words() -> None:
    with pytest.raises(ce.UsageError, match=r"make it again with Judge\.from_callable"):
        parse_judge(Judge(name="gone", model="callable:gone", endpoint="gone"))


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package of docs/reference/custom-judges.md, installed; the folder where Python finds
    it."""
    page = (ROOT / "docs" / "reference" / "custom-judges.md").read_text(encoding="utf-8")
    code = page.partition("## A provider")[2].partition("```python\n")[2].partition("```")[0]
    entry = page.partition('[project.entry-points."claimeval.providers"]\n')[2].partition("```")[0]
    package = tmp_path / "site"
    info = package / "acme_judges-1.0.dist-info"
    info.mkdir(parents=True)
    (package / "acme_judges.py").write_text(code, encoding="utf-8")
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: acme-judges\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        f"[claimeval.providers]\n{entry}".replace('"', ""), encoding="utf-8"
    )
    monkeypatch.syspath_prepend(package)
    monkeypatch.setenv("ACME_KEY", "key-of-acme-12345")
    yield package
    providers._row.cache_clear()
    providers.provider.cache_clear()
    sys.modules.pop("acme_judges", None)


def test_the_provider_of_the_page_pays_its_second_run_nothing(acme: Path, tmp_path: Path) -> None:
    with serve(judged) as server:
        command = ("score", data(tmp_path), "-j", "acme:judge-1", "-m", "faithfulness", "-o")
        first = spawn(
            *command,
            tmp_path / "a",
            PYTHONPATH=os.pathsep.join([str(acme), str(ROOT)]),
            ACME_URL=server.url,
        )
        paid = server.paid
        second = call(*command, tmp_path / "b", ACME_URL=server.url)
        assert second.returncode == 0, first.stderr
        assert (paid, server.paid) == (CALLS, CALLS)
        assert server.headers[0]["authorization"] == "Bearer key-of-acme-12345"
        assert server.asked[0]["temperature"] == 0.0
    unknown = call("score", data(tmp_path), "-j", "acne:judge-1", exits=2)
    assert "Did you mean 'acme'" in unknown.stderr


def test_a_reply_that_a_provider_does_not_keep_stops_the_run(tmp_path: Path, acme: Path) -> None:
    file = acme / "acme_judges.py"
    file.write_text(
        file.read_text().replace(
            "ResponseRecorder(self._key, keep)", "ResponseRecorder(self._key, print)"
        )
    )
    with serve(judged) as server:
        options = ("-m", "faithfulness", "--concurrency", 1, "-o", tmp_path / "run")
        done = call(
            "score", data(tmp_path), "-j", "acme:judge-1", *options, ACME_URL=server.url, exits=3
        )
    assert done.returncode == 3
    assert "returned a reply that it did not keep" in " ".join(done.stderr.split())
    assert server.paid == 1


def test_a_judge_that_answers_other_questions_stops_the_run_before_verdicts_are_paid(
    tmp_path: Path,
) -> None:
    """As after a batch whose results come back under one another's ids."""
    house = House()
    texts = [f"Tower {n} is {100 + n} metres high." for n in range(40)]
    samples = [
        {"id": str(n), "question": "How high?", "answer": text, "contexts": [text]}
        for n, text in enumerate(texts)
    ]

    def mixed_up(messages: list[dict[str, str]]) -> str:
        content = messages[-1]["content"]
        number = next(n for n in reversed(range(40)) if texts[n][:9] in content)
        other = [
            {**message, "content": message["content"].replace(texts[number], texts[-number])}
            for message in messages
        ]
        return house.plain(other)

    options = ce.RunOptions(cache=tmp_path / "cache", concurrency=1)
    with pytest.raises(
        ce.StoppedEarly, match=r"of its first \d+ claims are not in the texts it was asked about"
    ):
        ce.score(samples, judges=judge(mixed_up), metrics="faithfulness", options=options)
    asked = house.calls
    with pytest.raises(ce.StoppedEarly, match="replies belong to other questions"):
        ce.score(samples, judges=judge(mixed_up), metrics="faithfulness", options=options)
    assert house.calls <= asked + 2
    assert (
        ce.score(samples, judges=judge(house.plain), metrics="faithfulness")["faithfulness"].mean
        == 1.0
    )


def test_another_function_under_the_name_of_one_before_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def first(messages: list[dict[str, str]]) -> str:
        return "a"

    def second(messages: list[dict[str, str]]) -> str:
        return "b"

    for function in (first, first):
        Judge.from_callable("twice", function, model="llama")
    Judge.from_callable("twice", second, model="llama", revision="2")
    assert not caplog.text
    Judge.from_callable("twice", second, model="llama")
    assert "another `revision`" in caplog.text
