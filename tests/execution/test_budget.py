"""Caps on calls and money: never passed, whoever spends, and settled by what a reply cost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import claimeval as ce
from claimeval.evaluation.summary.cost import JudgeCost, total
from claimeval.execution.budget import Budget, Ledger, Spending, check_caps, cost
from claimeval.providers.prices import Price, cost_bound
from claimeval.providers.served import ServedPrices
from claimeval.types.errors import StoreError, UsageError
from claimeval.types.records import Call
from claimeval.types.requests import CallError, Completion, Judge, Message, Request, Usage

PRICE = Price(input=2.0, output=8.0, cached_input=0.5, as_of=None)
JUDGE = Judge(name="j", model="openai:m", endpoint="http://127.0.0.1/v1")
REQUEST = Request(
    judge=JUDGE,
    messages=(Message(role="user", content="x" * 1000),),
    reply_format="json",
    max_tokens=500,
)
WORST = (1000 + 32) * 2e-6 + 500 * 8e-6
"""Each byte a token, 16 for each message and 16 more, and the longest reply."""


@pytest.fixture
def _priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "prices.yaml"
    table.write_text("openai:m: {input: 2.0, output: 8.0, cached_input: 0.5}\n")
    monkeypatch.setenv("CLAIMEVAL_PRICES", str(table))


def reply(
    prompt: int | None = 250, completion: int | None = 100, cached: int | None = None
) -> Completion:
    usage = Usage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached)
    return Completion(body=b"", text="", usage=usage)


@pytest.mark.parametrize(
    ("completion", "dollars"),
    [
        (reply(), 250 * 2e-6 + 100 * 8e-6),
        (reply(cached=200), 50 * 2e-6 + 200 * 0.5e-6 + 100 * 8e-6),
        (reply(cached=900), 250 * 0.5e-6 + 100 * 8e-6),
        (reply(0, 0), 0.0),
        (reply(None, 100), None),
        (reply(250, None), None),
    ],
)
def test_what_a_reply_costs(completion: Completion, dollars: float | None) -> None:
    assert cost(completion, PRICE) == (None if dollars is None else pytest.approx(dollars))


@pytest.mark.parametrize(
    ("prompt", "completion", "dollars"), [(250, 100, 0.0013), (250, None, None), (None, 9, None)]
)
def test_a_summary_has_no_dollars_for_tokens_that_were_not_counted(
    tmp_path: Path, prompt: int | None, completion: int | None, dollars: float | None
) -> None:
    (tmp_path / "prices.yaml").write_text("openai:m: {input: 2.0, output: 8.0}\n")
    tally = JudgeCost(ServedPrices(JUDGE, tmp_path / "prices.yaml").of)
    tally.add(
        Call(
            key="k",
            part="answer",
            judge="j",
            step="assess",
            reply="{}",
            prompt_tokens=prompt,
            completion_tokens=completion,
        )
    )
    costs = total([tally.cost()])
    assert (costs.prompt_tokens, costs.completion_tokens) == (prompt, completion)
    assert costs.dollars == (None if dollars is None else pytest.approx(dollars))


def test_without_a_price_of_its_own_the_providers_cache_is_no_cheaper() -> None:
    assert cost(reply(cached=200), PRICE._replace(cached_input=None)) == pytest.approx(
        250 * 2e-6 + 100 * 8e-6
    )


def test_the_worst_case_is_worked_out_by_hand() -> None:
    assert cost_bound(REQUEST, PRICE) == pytest.approx(WORST)


def test_a_cap_on_money_needs_to_know_prices() -> None:
    with pytest.raises(
        UsageError, match=r"the price of openai:m at http://127.0.0.1/v1.*CLAIMEVAL_PRICES"
    ):
        check_caps([JUDGE], ce.RunOptions(max_cost=1))
    check_caps([Judge(name="l", model="local:lexical", endpoint="x")], ce.RunOptions(max_cost=1))
    check_caps([JUDGE], ce.RunOptions(max_calls=1))


def test_the_ledger_outlives_the_process_and_knows_runs_apart(tmp_path: Path) -> None:
    for calls in (1, 2):
        with Ledger(tmp_path / "spending.db", "run-a", None, 1.0) as ledger:
            assert ledger.reserve(0.25)
            assert ledger.spending == Spending(calls, 0.25 * calls)
    with Ledger(tmp_path / "spending.db", "run-b", None, 1.0) as ledger:
        assert ledger.spending == Spending(0, 0.0)


def test_a_cap_is_reached_to_the_last_billionth_and_not_passed(tmp_path: Path) -> None:
    with Ledger(tmp_path / "spending.db", "run", None, 0.3) as ledger:
        assert [ledger.reserve(0.1) for _ in range(4)] == [True, True, True, False]
        ledger.settle(0.1, 0.0999)
        assert not ledger.reserve(0.1)
        assert ledger.reserve(0.0001)
    with Ledger(tmp_path / "spending.db", "run", None, 0.4) as higher:
        assert higher.reserve(0.1)


def test_calls_are_counted_and_never_given_back(tmp_path: Path) -> None:
    with Ledger(tmp_path / "spending.db", "run", 2, None) as ledger:
        assert ledger.reserve(5.0)
        ledger.settle(5.0, 0.0)
        assert ledger.reserve(0.0)
        assert not ledger.reserve(0.0)
        assert ledger.spending == Spending(2, 0.0)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 0.2), st.floats(0, 1)), max_size=30), st.floats(0, 1))
def test_what_was_paid_never_passes_the_cap(calls: list[tuple[float, float]], cap: float) -> None:
    with Ledger(Path(":memory:"), "run", None, cap) as ledger:
        paid = 0.0
        for worst, share in calls:
            if ledger.reserve(worst):
                paid += worst * share
                ledger.settle(worst, worst * share)
            assert paid <= cap + 1e-8
            assert ledger.spending.cost == pytest.approx(paid, abs=1e-7)


SPENDER = """
import sys
from pathlib import Path
from claimeval.execution.budget import Ledger
with Ledger(Path(sys.argv[1]), "run", 1000, 1.0) as ledger:
    got = 0
    while ledger.reserve(0.003):
        got += 1
        ledger.settle(0.003, 0.002)
    print(got)
"""


def test_two_processes_together_stay_under_the_cap(tmp_path: Path) -> None:
    spenders = [
        subprocess.Popen(
            [sys.executable, "-c", SPENDER, str(tmp_path / "spending.db")], stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    got = [int(spender.communicate()[0]) for spender in spenders]
    assert sum(got) == 499, "the 500th needs 0.003 and there are 0.002 left"
    with Ledger(tmp_path / "spending.db", "run", None, None) as ledger:
        assert ledger.spending == Spending(499, 0.998)


def test_a_ledger_that_is_none_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "spending.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match=r"spending\.db cannot be used"):
        Ledger(tmp_path / "spending.db", "run", 1, None)


def spend(
    ledger: Ledger, outcomes: list[Completion | CallError | None]
) -> tuple[float | None, Spending]:
    """One call after the other."""

    async def main() -> float | None:
        budget = Budget([JUDGE], ledger)
        for outcome in outcomes:
            budget.settle(REQUEST, await budget.reserve(REQUEST), outcome)
        return budget.spent

    return asyncio.run(main()), ledger.spending


LOST = CallError("timeout", "no whole reply", possibly_paid=True)
REFUSED = CallError("provider_error", "status 429", rate_limited=True)


@pytest.mark.usefixtures("_priced")
@pytest.mark.parametrize(
    ("outcome", "dollars"),
    [(reply(), 0.0013), (reply(None, None), WORST), (LOST, WORST), (None, WORST), (REFUSED, 0.0)],
    ids=["reply", "no usage", "possibly paid", "broken off", "refused"],
)
def test_calls_settle_at_what_they_cost_or_at_their_worst(
    tmp_path: Path, outcome: Completion | CallError | None, dollars: float
) -> None:
    with Ledger(tmp_path / "spending.db", "run", None, 1.0) as ledger:
        spent, entered = spend(ledger, [outcome, outcome])
    assert spent == pytest.approx(2 * dollars)
    assert entered.calls == 2
    assert entered.cost == pytest.approx(2 * dollars)


@pytest.mark.usefixtures("_priced")
def test_a_call_that_does_not_fit_waits_for_those_under_way_and_then_says_no(
    tmp_path: Path,
) -> None:
    async def main(ledger: Ledger) -> tuple[int, int, str | None]:
        budget = Budget([JUDGE], ledger)
        under_way = most = sent = 0

        async def call() -> None:
            nonlocal under_way, most, sent
            reserved = await budget.reserve(REQUEST)
            under_way = under_way + 1
            sent = sent + 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1
            budget.settle(REQUEST, reserved, reply())

        outcomes = await asyncio.gather(*[call() for _ in range(50)], return_exceptions=True)
        assert all(
            o is None or (isinstance(o, CallError) and o.reason == "over_budget") for o in outcomes
        )
        assert budget.exhausted
        return most, sent, budget.exhausted

    with Ledger(tmp_path / "spending.db", "run", None, 4 * WORST) as ledger:
        most, sent, said = asyncio.run(main(ledger))
        assert ledger.spending.cost <= 4 * WORST
    assert most == 3, "the first call goes alone, and three more fit beside what it cost"
    assert sent == int((4 * WORST - WORST) / 0.0013) + 1
    spent = f"{sent} calls and ${sent * 0.0013:.4f} are spent of ${4 * WORST:.4f}"
    assert said == f"{spent}, and the next call may cost ${WORST:.4f}, at its maximum length"


def test_local_engines_cost_nothing_and_count_for_nothing(tmp_path: Path) -> None:
    local = Judge(name="l", model="local:lexical", endpoint="x")

    async def main(ledger: Ledger) -> float | None:
        budget = Budget([local], ledger)
        for _ in range(3):
            request = replace(REQUEST, judge=local)
            budget.settle(request, await budget.reserve(request), reply())
        return budget.spent

    with Ledger(tmp_path / "spending.db", "run", 0, 0.0) as ledger:
        assert asyncio.run(main(ledger)) == 0.0


@pytest.mark.usefixtures("_priced")
def test_what_is_spent_is_known_where_nothing_limits_it() -> None:
    """250 tokens at $2 and 100 at $8 a million."""

    async def main() -> float | None:
        budget = Budget([JUDGE])
        budget.settle(REQUEST, await budget.reserve(REQUEST), reply())
        return budget.spent

    assert asyncio.run(main()) == pytest.approx(0.0013)


def test_without_a_price_nothing_is_said_about_money() -> None:
    assert Budget([JUDGE]).spent is None


def test_a_call_without_an_outcome_costs_what_the_same_request_costs_later(tmp_path: Path) -> None:
    """Reserved 5 each: two processes die with "a" in flight and one with "b"; "a" is asked again
    and costs 2."""
    file = tmp_path / "spending.db"
    for _ in range(2):
        with Ledger(file, "run", None, None) as died:
            died.reserve(5.0, "a")
    with Ledger(file, "run", None, None) as died:
        died.reserve(5.0, "b")
    with Ledger(file, "other", None, None) as other:
        other.reserve(5.0, "a")
    with Ledger(file, "run", None, 25.0) as ledger:
        assert ledger.spending == Spending(3, 15.0)
        assert ledger.reserve(5.0, "a")
        ledger.settle_request("a", 2.0)
        assert ledger.spending == Spending(4, 2.0 + 2.0 + 2.0 + 5.0)
    with Ledger(file, "other", None, None) as other:
        assert other.spending == Spending(1, 5.0)


@pytest.mark.usefixtures("_priced")
def test_a_call_whose_reply_was_stored_before_the_process_died_costs_what_the_reply_says(
    tmp_path: Path,
) -> None:
    with Ledger(tmp_path / "spending.db", "run", None, None) as died:
        died.reserve(WORST, REQUEST.key)
    with Ledger(tmp_path / "spending.db", "run", None, None) as ledger:
        Budget([JUDGE], ledger).settle_stored(REQUEST, reply())
        assert ledger.spending == Spending(1, 0.0013)
        Budget([JUDGE], ledger).settle_stored(REQUEST, reply())
        assert ledger.spending == Spending(1, 0.0013)


def test_a_process_that_still_waits_settles_its_own_call(tmp_path: Path) -> None:
    with (
        Ledger(tmp_path / "a.db", "run", None, None) as one,
        Ledger(tmp_path / "a.db", "run", None, None) as two,
    ):
        one.reserve(5.0, "a")
        two.reserve(5.0, "a")
        two.settle_request("a", 2.0)
        assert one.spending.cost == 4.0
        one.settle_request("a", 3.0)
        assert one.spending == Spending(2, 5.0)


@pytest.mark.parametrize(
    "field", ["num_return_sequences", "search_parameters", "mcp_servers", "something_new"]
)
def test_a_field_of_unknown_price_is_refused_under_a_cap_unless_the_file_says_so(
    field: str, tmp_path: Path
) -> None:
    judge = {"name": "j", "model": "openai:m@http://127.0.0.1:9/v1", "extra": {field: 1}}
    sample = {"id": "a", "question": "Q?", "answer": "A.", "contexts": ["C."]}
    capped = ce.RunOptions(max_calls=5, cache=tmp_path)
    with pytest.raises(UsageError, match=f"the price of `{field}` in `extra` is not known"):
        ce.score(
            [sample], judges=judge, metrics="faithfulness", options=capped, out=tmp_path / "run"
        )
    assert not (tmp_path / "run").exists(), "nothing begins that cannot be paid for"
    check_caps([Judge(model="openai:m", extra={field: 1}, uncounted=True)], capped)
    check_caps(
        [
            Judge(
                model="openai:m",
                extra={"top_k": 5, "stop": ["x"], "chat_template_kwargs": {"a": 1}},
            )
        ],
        capped,
    )
    assert ce.plan(ce.score, [sample], judges=judge, metrics="faithfulness").calls[0] > 0
