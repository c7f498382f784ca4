"""The price of a call: a dated table in the package, and the user's price files, which take precedence.

A price is stated or it is unknown; nothing is guessed from a similar name.
"""

from __future__ import annotations

import os
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from claimeval import providers
from claimeval.types.errors import UsageError, first_problem, read_yaml
from claimeval.types.records import Call, Record
from claimeval.types.requests import Judge, Request, Usage

VARIABLE = "CLAIMEVAL_PRICES"
"""The environment variable that names files of prices, as PATH names folders."""

TABLE = Path(__file__).with_name("prices.yaml")


class Price(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float
    cached_input: float | None
    """For prompt tokens in the provider's cache; None if it states no such price, and then `input` holds."""
    as_of: date | None
    """The day for which the price is stated; None if no date is given."""
    cache_write: float | None = None
    """For prompt tokens that the provider writes to its cache; None if it charges `input` for them."""

    def dollars(self, prompt: float, completion: float) -> float:
        """Return US dollars for so many tokens, none of them in the provider's cache."""
        return (prompt * self.input + completion * self.output) / 1e6

    def of(self, usage: Usage | Call) -> float:
        """Return US dollars for the tokens that a provider reported, with those of its cache at their prices."""
        prompt = usage.prompt_tokens or 0
        read = min(usage.cached_tokens or 0, prompt)
        written = min(usage.cache_write_tokens or 0, prompt - read)
        cached_input = self.input if self.cached_input is None else self.cached_input
        cache_write = self.input if self.cache_write is None else self.cache_write
        extra = read * (cached_input - self.input) + written * (cache_write - self.input)
        return self.dollars(prompt, usage.completion_tokens or 0) + extra / 1e6

    def at_most(self, prompt: float, completion: float) -> float:
        """Return US dollars for so many tokens, every one of the prompt at its highest price."""
        return self.dollars(prompt, completion) + prompt * max((self.cache_write or 0.0) - self.input, 0.0) / 1e6


def counted(usage: Usage | Call) -> bool:
    """Return whether the provider reported the tokens of the prompt and of the reply, so that its cost is known."""
    return usage.prompt_tokens is not None and usage.completion_tokens is not None


FREE = Price(0.0, 0.0, 0.0, None)

MESSAGE_TOKENS = 16
"""More than any chat format adds around one message (OpenAI's adds 3, and 3 to the whole)."""


class _PriceRow(Record):
    input: float = Field(ge=0, allow_inf_nan=False, strict=True)
    output: float = Field(ge=0, allow_inf_nan=False, strict=True)
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False, strict=True)
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False, strict=True)
    batch: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False, strict=True)
    """What a token costs in a batch, as a share of its price."""
    as_of: date | None = None
    source: str | None = None


def price(model: str, endpoint: str | None, file: str | Path | None = None) -> Price | None:
    """Return the price of `provider:name` at an endpoint; None if none is stated.

    The first of these that names the model: `file`, the files in $CLAIMEVAL_PRICES, the table in the package. Files
    are YAML, a row a model: `openai:gpt-5-mini: {input: 0.25, output: 2.00, cached_input: 0.025, as_of: 2026-11-20}`.
    With `@URL` after the name a row holds at that endpoint alone; without, at every endpoint without a row in the same
    file. The package's rows hold at the providers' own endpoints, which is also what `endpoint=None` means. Local
    engines cost nothing. Files are read once in a process; UsageError if one cannot be read.
    """
    if row := _row(model, endpoint, file):
        return Price(row.input, row.output, row.cached_input, row.as_of, row.cache_write)
    return FREE if model.startswith("local:") else None


def batch_price(model: str, endpoint: str, file: str | Path | None = None) -> Price | None:
    """Return the price of `provider:name` in a batch; None if none is stated.

    Its share of the price is the field `batch` of the row (`{input: 1, output: 2, batch: 0.5}`), else at the provider's
    own endpoint that of its batches; elsewhere tokens cost the same in a batch. A discount for prompt tokens that the
    provider has in its own cache is not assumed.
    """
    row = _row(model, endpoint, file)
    if row is None:
        return price(model, endpoint, file)
    share = _batch_share(model, endpoint) if row.batch is None else row.batch
    write = None if row.cache_write is None else row.cache_write * share
    return Price(row.input * share, row.output * share, None, row.as_of, write)


def _batch_share(model: str, endpoint: str) -> float:
    provider = providers.provider(model)
    has_share = provider.batches is not None and _location(endpoint) == _location(provider.endpoint or "")
    return provider.batches.share if has_share and provider.batches else 1.0


def price_of(judge: Judge, file: str | Path | None = None) -> Price | None:
    """Return the price of a judge: its own, else that of its model at its endpoint; None if none is stated."""
    if judge.price:
        return Price(judge.price.input, judge.price.output, None, None)
    return price(judge.model, judge.endpoint, file)


def batch_price_of(judge: Judge, file: str | Path | None = None) -> Price | None:
    """Return the price of a judge in a batch: its own, else that of its model; None if none is stated."""
    return price_of(judge) if judge.price else batch_price(judge.model, judge.endpoint or "", file)


def _row(model: str, endpoint: str | None, file: str | Path | None) -> _PriceRow | None:
    location = _location(endpoint) if endpoint else None
    for rows in (*(_read(path) for path in _files(file)), _read(TABLE)):
        row = rows.get((model, location)) or rows.get((model, None))
        if row is None and location is None:
            row = next((row for (name, _), row in rows.items() if name == model), None)
        if row is not None:
            return row
    return None


def cost_bound(request: Request, price: Price) -> float:
    """Return the most that one call can cost in US dollars: a token for each byte of its prompt, and the longest reply.

    Tokenizers of byte pairs never make more than one token of a byte; English text has about four bytes in one.
    """
    tokens = request.size + overhead(request.judge, len(request.messages))
    return price.at_most(tokens, request.max_tokens)


def overhead(judge: Judge, messages: int) -> int:
    """Return more tokens than a provider adds to so many messages, and for a schema where it has one enforced."""
    enforced = providers.row_of(judge).schema_tokens if judge.structured else 0
    return MESSAGE_TOKENS * (messages + 1) + enforced


def _location(endpoint: str) -> str:
    """Return the endpoint as rows name it, without a closing `/v1`."""
    return endpoint.rstrip("/").removesuffix("/v1")


def _files(file: str | Path | None) -> list[Path]:
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    return ([Path(file)] if file else []) + [Path(name) for name in named if name]


@lru_cache(maxsize=16)
def _read(path: Path) -> dict[tuple[str, str | None], _PriceRow]:
    content = read_yaml(path, "file of prices")
    if not isinstance(content, dict):
        raise UsageError(f"the file of prices {str(path)!r} needs rows such as `openai:MODEL: {{input: 1, output: 2}}`")
    rows = {}
    for key, fields in content.items():
        model, _, endpoint = str(key).partition("@")
        if not all(model.partition(":")):
            raise UsageError(f"the file of prices {str(path)!r}: {str(key)!r} is not of the form provider:model[@URL]")
        try:
            rows[model, _location(endpoint) or None] = _PriceRow.model_validate(fields)
        except ValidationError as error:
            field, problem, _ = first_problem(error)
            raise UsageError(f"the file of prices {str(path)!r}, {key}, {field or 'the row'}: {problem}") from error
    return rows
