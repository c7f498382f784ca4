"""Prices are stated by somebody or unknown: the package's table, the user's files over it, and
nothing guessed."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest
import yaml

from claimeval.providers import anthropic, mistral, openai, prices, specs
from claimeval.providers.prices import CLAIMS, FREE, TABLE, Price, cost_bound, price
from claimeval.types.errors import UsageError
from claimeval.types.requests import Judge, Message, Request

ROWS = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
del ROWS[CLAIMS]
TODAY = date(2026, 11, 22)
OPENAI = openai.OFFICIAL
MISTRAL = mistral.OFFICIAL


def write(folder: Path, text: str, name: str = "prices.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("key", ROWS)
def test_every_row_of_the_package_has_a_date_a_source_and_the_providers_own_endpoint(
    key: str,
) -> None:
    row = ROWS[key]
    model, _, endpoint = key.partition("@")
    provider = model.partition(":")[0]

    assert date(2026, 1, 1) <= row["as_of"] <= TODAY
    assert "http" in row["source"]
    assert 0 < row["input"] <= (row["output"] or row["input"]), "decision models write nothing"
    own = {
        "openai": OPENAI,
        "decisions": OPENAI,
        "mistral": MISTRAL,
        "anthropic": anthropic.OFFICIAL,
    }
    assert endpoint == own[provider]
    found = price(model, endpoint)
    assert (
        found
        == price(model, None)
        == Price(
            row["input"],
            row["output"],
            row.get("cached_input"),
            row["as_of"],
            row.get("cache_write"),
        )
    )
    assert found.cached_input is None or found.cached_input < found.input


def test_the_examples_of_the_documentation_have_a_price() -> None:
    # gpt-5-mini: 0.25 in, 0.025 cached, 2.00 out, OpenAI's pricing page as read on 2026-09-05.
    assert price("openai:gpt-5-mini", OPENAI) == Price(0.25, 2.0, 0.025, date(2026, 9, 5))
    # Mistral Large 3: 0.50 in, 1.50 out, Mistral's pricing page as read on 2026-06-17.
    assert price("mistral:mistral-large-latest", MISTRAL) == Price(
        0.5, 1.5, None, date(2026, 6, 17)
    )


def test_a_judge_as_it_is_resolved_finds_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    judge = specs.parse_judge("openai:gpt-5-mini")

    assert price(judge.model, judge.endpoint) is not None


@pytest.mark.parametrize(
    "model", ["openai:gpt-4", "openai:gpt-4.1-2025-04-14", "openai:gpt-5-minimal", "mistral:x"]
)
def test_a_name_that_only_looks_like_a_known_one_has_no_price(model: str) -> None:
    assert price(model, None) is None


def test_a_known_model_at_another_endpoint_has_no_price() -> None:
    assert price("openai:gpt-5-mini", "http://127.0.0.1:8000/v1") is None
    assert price("openai:gpt-5-mini", "https://eu.api.openai.com/v1") is None


def test_a_price_of_the_package_needs_no_look_at_what_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[str] = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: looked.append("at all"))
    prices._read.cache_clear()

    assert price("openai:gpt-5-mini", None) is not None
    assert looked == []


def test_local_engines_cost_nothing() -> None:
    assert price("local:lexical", "lexical-1/0123") == Price(0.0, 0.0, 0.0, None)


def test_a_users_row_with_a_url_holds_there_alone(tmp_path: Path) -> None:
    file = write(tmp_path, "openai:llama@http://gpu:8000/v1: {input: 0, output: 0.5}")

    assert price("openai:llama", "http://gpu:8000/v1", file) == Price(0.0, 0.5, None, None)
    assert price("openai:llama", "http://gpu:8000", file) == Price(0.0, 0.5, None, None)
    assert price("openai:llama", "http://gpu:9000/v1", file) is None


def test_a_users_row_without_a_url_holds_everywhere_and_before_the_packages(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "openai:gpt-5-mini: {input: 1, output: 4, cached_input: 0.5, as_of: 2026-11-01}\n"
        "openai:gpt-5-mini@http://proxy: {input: 2, output: 8}\n",
    )

    assert price("openai:gpt-5-mini", OPENAI, file) == Price(1.0, 4.0, 0.5, date(2026, 11, 1))
    assert price("openai:gpt-5-mini", "http://elsewhere", file) == Price(
        1.0, 4.0, 0.5, date(2026, 11, 1)
    )
    assert price("openai:gpt-5-mini", "http://proxy", file) == Price(2.0, 8.0, None, None)
    assert price("openai:gpt-5", OPENAI, file) == price("openai:gpt-5", OPENAI)


def test_the_file_that_is_given_goes_before_the_one_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "CLAIMEVAL_PRICES",
        str(write(tmp_path, "openai:a: {input: 1, output: 1}\nopenai:b: {input: 2, output: 2}")),
    )
    file = write(tmp_path, "openai:a: {input: 3, output: 3}", "other.yaml")

    assert price("openai:a", None) == Price(1.0, 1.0, None, None)
    assert price("openai:a", None, file) == Price(3.0, 3.0, None, None)
    assert price("openai:b", None, file) == Price(2.0, 2.0, None, None)

    monkeypatch.setenv(
        "CLAIMEVAL_PRICES", os.pathsep.join([str(file), os.environ["CLAIMEVAL_PRICES"]])
    )
    assert price("openai:a", None) == Price(3.0, 3.0, None, None)
    assert price("openai:b", None) == Price(2.0, 2.0, None, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "openai:a: {input: -1, output: 2}",
            "openai:a, input: needs 0 or more",
        ),
        (
            "openai:a: {input: 1, output: 1.0e+300}",
            "openai:a, output: needs 1000000 or less",
        ),
        ("openai:a: {input: .nan, output: 2}", "openai:a, input: needs a finite number"),
        ("openai:a: {input: '1', output: 2}", "openai:a, input: needs a number"),
        ("openai:a: {input: 1}", "openai:a, output: is missing"),
        (
            "openai:a: {input: 1, output: 2, outptu: 3}",
            "openai:a, outptu: is not a known name",
        ),
        ("openai:a: 3", "openai:a, the row: "),
        ("gpt-5: {input: 1, output: 2}", "'gpt-5' is not of the form provider:model[@URL]"),
        ("- openai:a", "needs rows such as"),
        ("{", "is not YAML"),
    ],
)
def test_a_bad_file_is_the_callers_mistake_and_says_where(
    tmp_path: Path, text: str, said: str
) -> None:
    file = write(tmp_path, text)

    with pytest.raises(UsageError) as caught:
        price("openai:a", None, file)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_file_that_is_not_there_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no price file: .*absent\.yaml does not exist"):
        price("openai:a", None, tmp_path / "absent.yaml")


def request(
    *texts: str, schema: str | None = None, structured: bool = True, max_tokens: int = 100
) -> Request:
    judge = Judge(name="j", model="openai:m", structured=structured)
    messages = tuple(Message(role="user", content=text) for text in texts)
    return Request(
        judge=judge,
        messages=messages,
        reply_format="json",
        response_schema=schema,
        max_tokens=max_tokens,
    )


def test_the_bytes_of_a_prompt_are_those_of_its_messages_and_of_the_schema_that_is_sent() -> None:
    # "née" has 4 bytes in UTF-8, a lone surrogate 3, "{}" 2.
    assert request("née", "ab").size == 6
    assert request("\ud800").size == 3
    assert request("ab", schema="{}").size == 4
    assert request("ab", schema="{}", structured=False).size == 2


def test_the_worst_case_is_a_token_a_byte_and_a_reply_that_runs_to_its_limit() -> None:
    # 4 + 2 bytes and 3 x 16 tokens for two messages and the whole: 54 tokens at 2 $, 100 at 10 $ a
    # million.
    assert cost_bound(request("née", "ab"), Price(2.0, 10.0, 0.1, None)) == pytest.approx(
        (54 * 2 + 100 * 10) / 1e6
    )
    assert cost_bound(request("ab"), Price(0.0, 0.0, None, None)) == 0


def test_batches_cost_half_at_the_providers_own_endpoints() -> None:
    assert price("openai:gpt-5-mini", OPENAI, batched=True) == Price(
        0.125, 1.0, None, date(2026, 9, 5)
    )
    assert price("mistral:mistral-large-latest", MISTRAL, batched=True) == Price(
        0.25, 0.75, None, date(2026, 6, 17)
    )
    assert price("mistral:mistral-large-latest", f"{MISTRAL}/v1/", batched=True) == Price(
        0.25, 0.75, None, date(2026, 6, 17)
    )


def test_batches_elsewhere_cost_what_a_row_says_or_the_full_price(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "openai:m: {input: 2, cached_input: 1, output: 4}\nopenai:n: {input: 2, output: 4, batch:"
        " 0.25}",
    )
    assert price("openai:m", "http://127.0.0.1/v1", file, batched=True) == Price(
        2.0, 4.0, None, None
    )
    assert price("openai:n", "http://127.0.0.1/v1", file, batched=True) == Price(
        0.5, 1.0, None, None
    )
    assert price("openai:n", OPENAI, file, batched=True) == Price(0.5, 1.0, None, None)
    assert price("openai:m", OPENAI, file, batched=True) == Price(1.0, 2.0, None, None)
    assert price("openai:unheard-of", OPENAI, batched=True) is None
    assert price("local:lexical", "lexical/1", batched=True) == FREE


@pytest.mark.parametrize("share", ["-0.1", "1.1", ".nan", "'0.5'"])
def test_a_share_is_between_nothing_and_all(tmp_path: Path, share: str) -> None:
    file = write(tmp_path, f"openai:m: {{input: 2, output: 4, batch: {share}}}")
    with pytest.raises(UsageError, match=r"openai:m, batch: "):
        price("openai:m", OPENAI, file)


DIFFERENT = {
    # the discount of a public preview, which prices.yaml leaves out on purpose
    "openai:gpt-5.6-sol": (4.0, 20.0),
    "mistral:mistral-large-4": (0.7, 2.1),
    "mistral:mistral-large-4-0": (0.7, 2.1),
    # the price of Mistral Large 2; the provider's own table gives the name to mistral-large-2512
    "mistral:mistral-large-latest": (2.0, 6.0),
}
"""Models for which genai-prices has other numbers, and why ours stand."""


@pytest.mark.parametrize("key", ROWS)
def test_every_row_agrees_with_genai_prices_or_is_known_to_differ(key: str) -> None:
    from genai_prices import Usage, calc_price

    row = ROWS[key]
    provider, _, model = key.partition("@")[0].partition(":")
    try:
        theirs = calc_price(
            Usage(input_tokens=1000, output_tokens=1000), model_ref=model, provider_id=provider
        )
    except LookupError:
        assert provider == "decisions" or model in ("ministral-14b-latest", "ministral-3b-latest")
        return
    found = (float(theirs.input_price) * 1000, float(theirs.output_price) * 1000)
    assert found == pytest.approx(
        DIFFERENT.get(f"{provider}:{model}", (row["input"], row["output"]))
    )
