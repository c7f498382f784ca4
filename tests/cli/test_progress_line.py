"""The status line says how far the run is, how fast, at what cost, and what it waits for."""

from __future__ import annotations

import io

import pytest

from claimeval.cli import terminal
from claimeval.cli.terminal import ProgressLine, describe
from claimeval.types.progress import Progress
from claimeval.types.requests import CallError, Completion, Usage

REPLY = Completion(body=b"", text="", usage=Usage(prompt_tokens=900, completion_tokens=100))
LATE = CallError("timeout", "no whole reply within 300 s", possibly_paid=True)


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("claimeval.types.progress.time.monotonic", clock.monotonic)
    return clock


def after(clock: Clock, replies: int, seconds: float) -> Progress:
    """Half of 240 samples, a reply every so many seconds, one failure, two calls in flight."""
    progress = Progress(240)
    for _ in range(replies):
        progress.sent()
        clock.now += seconds
        progress.ended(REPLY, 0.042)
    for _ in range(3):
        progress.sent()
    progress.ended(LATE, 0.042)
    for _ in range(120):
        progress.answered_from_cache()
        progress.sample_done()
    return progress


def test_everything_there_is_to_say_is_in_the_line(clock: Clock) -> None:
    progress = after(clock, 30, 1.0)
    progress.set_waiting("openai:gpt-5-mini", "rate limit until 16:40:03")
    assert (
        describe(progress)
        == "[##########..........] 120/240 samples  $0.042 of ~$0.084  0:30 left  waiting for"
        " openai:gpt-5-mini: rate limit until 16:40:03  33 calls  1 failed (timeout 1)  2 in flight"
        "  120 from cache  60 calls/min, 60k tokens/min"
    )


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_done_cost_and_time_fit_and_the_rest_as_there_is_room(clock: Clock, width: int) -> None:
    progress = after(clock, 30, 1.0)
    line = describe(progress, width)
    assert len(line) <= width
    assert "120/240 samples" in line
    assert "$0.042 of ~$0.084" in line
    assert ("0:30 left" in line) == (width >= 60)
    assert ("2 in flight" in line) == (width >= 100)
    assert ("calls/min" in line) == (width >= 160)


def test_a_message_stands_on_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "QUIET", 0.0)
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    with ProgressLine(stream) as line:
        line.show(Progress(10))
        terminal.say("a warning")
        assert stream.getvalue().endswith(" \r")
    assert capsys.readouterr().err == "claimeval: a warning\n"


def test_rates_are_those_of_the_last_minute(clock: Clock) -> None:
    progress = after(clock, 30, 1.0)
    for _ in range(180):
        progress.sent()
        clock.now += 0.5
        progress.ended(REPLY, None)
    replies, tokens = progress.per_minute()
    assert replies == pytest.approx(120, abs=3)
    assert tokens == pytest.approx(120_000, abs=3000)


def test_a_wait_that_is_over_is_no_longer_said(clock: Clock) -> None:
    progress = after(clock, 30, 1.0)
    progress.set_waiting("m", "something")
    progress.set_waiting("m", None)
    progress.set_waiting("n", None)
    assert "waiting" not in describe(progress)


def test_a_run_that_has_just_begun_says_little() -> None:
    assert describe(Progress()) == "0 samples  0 calls"
    assert describe(Progress(3)) == "[....................] 0/3 samples  0 calls"
    one = Progress(3)
    one.sent()
    assert describe(one).startswith("[....................] 0/3 samples  1 call ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(terminal, "QUIET", 0.0)
    monkeypatch.setenv("COLUMNS", "40")
    progress = Progress(10)
    with ProgressLine(stream) as line:
        line.show(progress)
    return stream.getvalue()


def test_on_a_terminal_the_line_fits_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(Terminal(), monkeypatch)
    drawn = text.split("\r")[1]
    assert drawn == "[...............] 0/10 samples  0 calls"
    assert text.endswith("\r" + " " * len(drawn) + "\r")


def test_elsewhere_it_is_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(io.StringIO(), monkeypatch) == "[....................] 0/10 samples  0 calls\n"
