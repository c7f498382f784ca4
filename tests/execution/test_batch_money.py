"""What batches cost, and caps that hold."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.loopback import ThreadHandle
from claimeval.providers.prices import VARIABLE
from tests.execution.batch_runs import go, spec
from tests.sample_runs import RIGHT

pytestmark = pytest.mark.usefixtures("quick_polling")


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A dollar for a million tokens; half of it in batches."""
    file = tmp_path / "prices.yaml"
    file.write_text("openai:judge: {input: 1.0, output: 1.0, batch: 0.5}\n")
    monkeypatch.setenv(VARIABLE, str(file))


@pytest.mark.usefixtures("priced")
def test_money_is_counted_at_the_batch_rate(server: ThreadHandle, tmp_path: Path) -> None:
    came = go(server, [spec(server, "openai")], tmp_path / "store")
    tokens = sum(line.tokens for line in came.lines)
    assert came.run.progress.tokens == tokens
    assert came.run.progress.spent == pytest.approx(tokens * 0.5e-6)
    assert came.run.progress.calls == came.run.progress.replies == 8


@pytest.mark.usefixtures("priced")
def test_a_cap_fills_round_after_round_and_is_never_passed(
    server: ThreadHandle, tmp_path: Path
) -> None:
    judge = spec(server, "openai")
    # A question costs less than 1,000 tokens, $0.0005; at worst its 1,700 to 3,000 bytes and 4,096
    # tokens of reply, $0.0029 to $0.0036. So two ride at a time within $0.008, and all eight are
    # paid from it in the end.
    came = go(server, [judge], tmp_path / "store", max_cost=0.008)
    assert came.run.values == [RIGHT] * 4
    assert sorted(Counter(line.batch for line in came.lines).values(), reverse=True)[0] == 2
    assert set(came.paid.values()) == {1}
    assert came.run.progress.spent is not None
    assert came.run.progress.spent < 0.004


@pytest.mark.usefixtures("priced")
def test_a_cap_that_is_reached_stops_the_run_and_a_higher_one_goes_on(
    server: ThreadHandle, tmp_path: Path
) -> None:
    judge = spec(server, "openai")
    less = go(server, [judge], tmp_path / "store", max_cost=0.004)
    assert less.run.outcome.status.budget_exhausted
    assert not less.run.outcome.summary.complete
    assert 0 < len(less.lines) < 8
    more = go(server, [judge], tmp_path / "store", max_cost=0.05)
    assert more.run.values == [RIGHT] * 4
    assert len(more.lines) == 8


def test_a_cap_on_calls_counts_lines(server: ThreadHandle, tmp_path: Path) -> None:
    came = go(server, [spec(server, "openai")], tmp_path, max_calls=6)
    assert (
        came.run.outcome.status.budget_exhausted == "6 calls of unknown price are spent or reserved"
    )
    assert len(came.lines) == 6
    assert go(server, [spec(server, "openai")], tmp_path, max_calls=8).run.values == [RIGHT] * 4
    assert len(server.batch_lines()) == 8
