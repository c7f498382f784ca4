"""API keys: read from the environment, checked, and kept out of every message."""

from __future__ import annotations

import base64
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import quote, urlsplit

from pydantic import SecretStr

from claimeval.types.errors import UsageError

ENDPOINT_KEY = "CLAIMEVAL_ENDPOINT_KEY"
"""The variable for servers of one's own, so that a provider's key never goes to another server."""

SHORTEST = 6
"""Characters; something shorter is no key and may stand in any text."""

_WIRE_LOGS = (
    *(f"httpcore2.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
    "httpx2",
)
"""The loggers that repeat, at level DEBUG, what servers say."""

_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_LOOKS_SECRET = re.compile(r"\b(?:sk|key|pk)-[A-Za-z0-9_-]{8,}|\bBearer\s+\S+")


def read_key(variable: str, environment: Mapping[str, str] | None = None) -> SecretStr:
    """The key in an environment variable; UsageError where it is absent, empty, or holds what no key holds.

    That is a space or a line break too, as a key read from a file may have at its end: the HTTP client would refuse it
    with an error that shows the key.
    """
    value = (os.environ if environment is None else environment).get(variable)
    if value is None:
        raise UsageError(f"the environment variable {variable} is not set; put your API key there")
    if not value.strip():
        raise UsageError(f"the environment variable {variable} is empty; put your API key there")
    if not _PRINTABLE.fullmatch(value):
        kind = "a line break" if "\n" in value or "\r" in value else "a character that no key has (a space?)"
        raise UsageError(f"the environment variable {variable} holds {kind}; set it again without it")
    return SecretStr(value)


def is_this_machine(url: str) -> bool:
    """Whether the host of a URL is a loopback address."""
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host == "::1" or re.fullmatch(r"127(?:\.\d{1,3}){3}", host) is not None


def key_for(endpoint: str, *, own: bool, variable: str, named: str | None) -> SecretStr:
    """The key for an endpoint.

    `own`: the endpoint is the provider's (or the one set in its environment variable), so `variable` must hold the
    key. Any other server gets the key in `named`, or in CLAIMEVAL_ENDPOINT_KEY; a server on this machine also that in
    `variable`; and else the word "none", since local servers ask for a key but do not look at it.
    """
    if named:
        return read_key(named)
    if own:
        return read_key(variable)
    for candidate in (ENDPOINT_KEY, variable if is_this_machine(endpoint) else ENDPOINT_KEY):
        if candidate in os.environ:
            return read_key(candidate)
    return SecretStr("none")


def scrub(text: str, key: SecretStr) -> str:
    """The text without the key, in whatever form servers echo it, and without anything that looks like one."""
    for form in _forms(key):
        text = text.replace(form, "[key]")
    return _LOOKS_SECRET.sub("[key]", text)


def scrub_body(body: bytes, key: SecretStr) -> bytes:
    """A reply's body without the key; the same object where it does not hold it."""
    for form in _forms(key):
        body = body.replace(form.encode(), b"[key]")
    return body


class _Scrubbing(logging.Filter):
    """Lets every record through, without the key."""

    def __init__(self, key: SecretStr) -> None:
        super().__init__()
        self._key = key

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = scrub(record.getMessage(), self._key), ()
        return True


@contextmanager
def scrubbed_logs(key: SecretStr) -> Iterator[None]:
    """A block in which the HTTP libraries' logs do not hold the key, whatever servers echo."""
    scrubbing = _Scrubbing(key)
    loggers = [logging.getLogger(name) for name in _WIRE_LOGS]
    for logger in loggers:
        logger.addFilter(scrubbing)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(scrubbing)


def _forms(key: SecretStr) -> list[str]:
    """The key as it is, in URL encoding and in base64; nothing for the placeholder of local servers."""
    secret = key.get_secret_value()
    if len(secret) < SHORTEST:
        return []
    encoded = base64.b64encode(secret.encode()).decode()
    forms = (secret, quote(secret, safe=""), quote(secret), encoded, encoded.rstrip("="))
    return list(dict.fromkeys((*forms, base64.urlsafe_b64encode(secret.encode()).decode())))
