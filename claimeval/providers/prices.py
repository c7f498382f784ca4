"""Prices of calls, from a dated table in the package and from price files, which take precedence,
and the number of claims that a model is asked about at once.

A price that is not listed is unknown; it is never guessed from a similar name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from claimeval import providers
from claimeval.types.errors import UsageError, first_problem, misspelt_key, read_yaml
from claimeval.types.records import Call, Record
from claimeval.types.requests import HIGHEST_PRICE, Judge, Request, Usage

VARIABLE = "CLAIMEVAL_PRICES"
"""The environment variable with the paths of price files, separated as in PATH."""

TABLE = Path(__file__).with_name("prices.yaml")
CLAIMS = "claims_per_call"
"""The key in the table under which models stand that are asked about more than five claims."""
_VENDOR = re.compile(r"(?:[a-z][a-z-]*\.)+(?=[a-z])")
_VERSION = re.compile(
    r"(?:-v?\d+:\d+|:free|-latest|-preview|-instruct"
    r"|-(?:20\d\d-?\d\d-?\d\d|\d\d-20\d\d|\d\d-\d\d|\d{4}))+$"
)
"""What gateways write before a model's name, and what names one of its versions after it."""


class Price(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float
    cached_input: float | None
    """Price of prompt tokens in the provider's cache; None if it is `input`."""
    as_of: date | None
    """The date of the price; None if it is unknown."""
    cache_write: float | None = None
    """Price of prompt tokens that the provider writes to its cache; None if it is `input`."""

    def dollars(self, prompt: float, completion: float) -> float:
        """Return US dollars for prompt and completion tokens without a cache."""
        return (prompt * self.input + completion * self.output) / 1e6

    def of(self, usage: Usage | Call) -> float:
        """Return US dollars for the tokens that a provider reported, including those of its
        cache."""
        prompt = usage.prompt_tokens or 0
        read = min(usage.cached_tokens or 0, prompt)
        cache_written = min(usage.cache_write_tokens or 0, prompt - read)
        cached_input = self.input if self.cached_input is None else self.cached_input
        cache_write = self.input if self.cache_write is None else self.cache_write
        extra = read * (cached_input - self.input) + cache_written * (cache_write - self.input)
        return self.dollars(prompt, usage.completion_tokens or 0) + extra / 1e6

    def dearer(self, other: Price) -> Price:
        """Return a price that is in no part below this or the other one."""
        written = (price.cache_write for price in (self, other))
        return Price(
            max(self.input, other.input),
            max(self.output, other.output),
            None,
            None,
            max((price for price in written if price is not None), default=None),
        )

    def at_most(self, prompt: float, completion: float) -> float:
        """Return the maximum US dollars for prompt and completion tokens, whether the cache is used
        or not."""
        return (
            self.dollars(prompt, completion)
            + prompt * max((self.cache_write or 0.0) - self.input, 0.0) / 1e6
        )


def counted(usage: Usage | Call) -> bool:
    """Return whether the provider reported prompt and completion tokens, so that the cost is
    known."""
    return usage.prompt_tokens is not None and usage.completion_tokens is not None


FREE = Price(0.0, 0.0, 0.0, None)
LOCAL = ("local:", "recorded:")
"""What names of judges without a server begin with: they cost nothing unless a file says so."""

MESSAGE_TOKENS = 16
"""Upper bound of the tokens that a chat format adds to one message (OpenAI's adds 3, and 3 to all
together)."""


class _PriceRow(Record):
    input: float = Field(ge=0, le=HIGHEST_PRICE, allow_inf_nan=False, strict=True)
    output: float = Field(ge=0, le=HIGHEST_PRICE, allow_inf_nan=False, strict=True)
    cached_input: float | None = Field(
        default=None,
        ge=0,
        le=HIGHEST_PRICE,
        allow_inf_nan=False,
        strict=True,
    )
    cache_write: float | None = Field(
        default=None,
        ge=0,
        le=HIGHEST_PRICE,
        allow_inf_nan=False,
        strict=True,
    )
    batch: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False, strict=True)
    """Price of a token in a batch, as a share of its normal price."""
    as_of: date | None = None
    source: str | None = None


def price(
    model: str,
    endpoint: str | None,
    file: str | Path | None = None,
    *,
    batched: bool = False,
) -> Price | None:
    """Return the price of `provider:name` at an endpoint; None if it is unknown.

    The first source with the model counts: `file`, the files in $CLAIMEVAL_PRICES, the table in the
    package. Files are YAML with a row per model: `openai:gpt-5-mini: {input: 0.25, output: 2.00,
    cached_input: 0.025, as_of: 2026-11-20}`. A row with `@URL` after the name applies only to that
    endpoint, others to every endpoint without a row in the same file. Rows of the package are for
    the providers' endpoints. Local engines cost nothing. Files are read once per process.

    Args:
        model: The model as `provider:name`.
        endpoint: The address of the calls; None for the provider's.
        file: A file of prices.
        batched: Return the price in a batch. The discount is the field `batch` of the row (`{input:
            1, output: 2, batch: 0.5}`), else that of the provider's batches at its endpoint, else
            none. No further discount for cached prompt tokens is assumed.

    Raises:
        UsageError: If a file cannot be read.
    """
    row = _row(model, endpoint, file)
    if row is None:
        return FREE if model.startswith(LOCAL) else None
    if not batched:
        return Price(row.input, row.output, row.cached_input, row.as_of, row.cache_write)
    share = _batch_share(model, endpoint or "") if row.batch is None else row.batch
    write = None if row.cache_write is None else row.cache_write * share
    return Price(row.input * share, row.output * share, None, row.as_of, write)


def _batch_share(model: str, endpoint: str) -> float:
    provider = providers.provider(model)
    has_share = provider.batches is not None and _normalized(endpoint) == _normalized(
        provider.endpoint or ""
    )
    return provider.batches.share if has_share and provider.batches else 1.0


def price_of(
    judge: Judge,
    file: str | Path | None = None,
    *,
    batched: bool = False,
) -> Price | None:
    """Return the price of a judge: its setting, else that of its model at its endpoint; None if it
    is unknown."""
    if judge.price:
        return Price(judge.price.input, judge.price.output, None, None)
    return price(judge.model, judge.endpoint, file, batched=batched)


def example_row(judge: Judge) -> str:
    """Return a row of a price file for a judge, as messages show it."""
    return f"`{judge.model}@{judge.endpoint}: {{input: 0.25, output: 2.00}}`"


def _row(model: str, endpoint: str | None, file: str | Path | None) -> _PriceRow | None:
    location = _normalized(endpoint) if endpoint else None
    shipped = [] if model.startswith(LOCAL) else [TABLE]
    for rows in map(_read, _files(file) + shipped):
        row = rows.get((model, location)) or rows.get((model, None))
        if row is None and location is None:
            row = next((row for (name, _), row in rows.items() if name == model), None)
        if row is not None:
            return row
    return None


def cost_bound(request: Request, price: Price) -> float:
    """Return the maximum cost of one call in US dollars, with a token per byte of its prompt and
    the longest reply.

    Byte-pair tokenizers never make more than one token of a byte; English text has about four bytes
    per token.
    """
    tokens = request.size + overhead(request.judge, len(request.messages))
    return price.at_most(tokens, request.max_tokens)


def overhead(judge: Judge, messages: int) -> int:
    """Return an upper bound of the tokens that a provider adds to this number of messages, and for
    a schema."""
    enforced = providers.row_of(judge).schema_tokens if judge.structured else 0
    return MESSAGE_TOKENS * (messages + 1) + enforced


def _normalized(endpoint: str) -> str:
    """Return the endpoint without a trailing `/v1`, as in rows."""
    return endpoint.rstrip("/").removesuffix("/v1")


def _files(file: str | Path | None) -> list[Path]:
    paths = os.environ.get(VARIABLE, "").split(os.pathsep)
    return ([Path(file)] if file else []) + [Path(name) for name in paths if name]


@lru_cache(maxsize=16)
def _read(path: Path) -> dict[tuple[str, str | None], _PriceRow]:
    content = read_yaml(path, "price file")
    if not isinstance(content, dict):
        raise UsageError(
            f"the price file {str(path)!r} needs rows such as `openai:MODEL: {{input: 1, output:"
            " 2}`"
        )
    # Other packages may add providers, which takes a look at all that are installed: our own table
    # needs none.
    known = frozenset[str]() if path == TABLE else providers.names()
    rows = {}
    for key, fields in content.items():
        if path == TABLE and key == CLAIMS:
            continue
        model, _, endpoint = str(key).partition("@")
        _check_model(model, str(key), path, known)
        try:
            rows[model, _normalized(endpoint) or None] = _PriceRow.model_validate(fields)
        except ValidationError as error:
            field, problem, _ = first_problem(error, _PriceRow)
            raise UsageError(
                f"the price file {str(path)!r}, {key}, {field or 'the row'}: {problem}. Write"
                f" {key}: {{input: 0.25, output: 2.00}}, in dollars per million tokens"
            ) from error
    return rows


def _check_model(model: str, key: str, path: Path, known: Collection[str]) -> None:
    """Raise UsageError for the model of a row that is not of the form `provider:name`, or of a
    provider whose name is a misspelling of a known one."""
    if not all(model.partition(":")):
        raise UsageError(
            f"the price file {str(path)!r}: {key!r} is not of the form provider:model[@URL]"
        )
    name = model.partition(":")[0]
    # Rows of other providers, of a package that is not installed here, stay.
    if given := misspelt_key([name], known):
        raise UsageError(
            f"the price file {str(path)!r}: unknown provider {name!r} in {key!r}. Did you mean"
            f" {given[1]!r}?"
        )


def known_claims(model: str) -> int | None:
    """Return the number of claims in one question to `provider:name`, by its name at any address;
    None if the table does not name it."""
    return _claims().get(_plain_name(model.partition(":")[2]))


@lru_cache(maxsize=1)
def _claims() -> dict[str, int]:
    content = read_yaml(TABLE, "price file")
    assert isinstance(content, dict), "the package has its table"
    by_number: Mapping[int, list[str]] = content[CLAIMS]
    claims = dict[str, int]()
    for number, names in by_number.items():
        for name in names:
            claims[_plain_name(name)] = number
    return claims


@lru_cache(maxsize=256)
def _plain_name(name: str) -> str:
    """Return a model's name without vendor and version, with one spelling of its number:
    `openai/gpt-4.1-2025-04-14` is `gpt-4-1`."""
    last = name.lower().rpartition("/")[2]
    without_vendor = _VENDOR.sub("", last, count=1)
    without_version = _VERSION.sub("", without_vendor)
    return without_version.replace(".", "-")
