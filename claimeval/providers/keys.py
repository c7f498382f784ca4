"""Read API keys from the environment, check them, and keep them out of all messages and logs."""

from __future__ import annotations

import base64
import ipaddress
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import quote

from pydantic import SecretStr

from claimeval.types.errors import UsageError

ENDPOINT_KEY = "CLAIMEVAL_ENDPOINT_KEY"
"""The key variable for other servers, so that a provider's key is never sent to them."""

NO_KEY = "none"
"""Sent if no key is set, because local servers need a key but do not check it."""

SHORTEST = 6
"""Minimum characters of a key; shorter texts may occur in any reply."""

_WIRE_LOGS = (
    *(f"httpcore2.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
    "httpx2",
    "openai._base_client",
    "anthropic._base_client",
    "mistralai.client",
)
"""Loggers that repeat servers' responses at level DEBUG."""

_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_CREDENTIALS = re.compile(r"(?<=//)[^/\s]*@")
_PARAMETER = re.compile(r"(?<=[?&])([^=&?\s]+)=(?!\$)[^&\s'\"]+")
_ESCAPED = re.compile(r"\\u00[2-7]|\\/")
"""A character of a key as a JSON escape, which is rare in replies."""
_SECRET = re.compile(
    r"auth|(?<!cache_)key|token(?!iz)|secret|cookie|password|credential|signature|"
    r"^(?:code|sig|pat|pwd)$",
    re.IGNORECASE,
)
"""Names of headers, query parameters and body fields with secret values."""
_LOOKS_SECRET = re.compile(r"\b(?:sk|key|pk)-[A-Za-z0-9_-]{8,}|\bBearer\s+\S+")


def read_key(variable: str, environment: Mapping[str, str] | None = None) -> SecretStr:
    """Read the key in an environment variable. Raises UsageError if it is absent, empty or
    malformed.

    A key with a space or a line break (a key from a file may end with one) is malformed: the HTTP
    client would refuse it with an error that shows the key.
    """
    value = (os.environ if environment is None else environment).get(variable)
    if value is None:
        raise UsageError(f"the environment variable {variable} is not set; put your API key there")
    if not value.strip():
        raise UsageError(f"the environment variable {variable} is empty; put your API key there")
    if not _PRINTABLE.fullmatch(value):
        kind = (
            "a line break"
            if "\n" in value or "\r" in value
            else "a character that no key has (a space?)"
        )
        raise UsageError(
            f"the environment variable {variable} holds {kind}; set it again without it"
        )
    return SecretStr(value)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def rejection(key: SecretStr) -> str:
    """Return why a server accepts no key: which environment variable holds it, or what to set if
    there is none."""
    secrets = set(_secrets(key)) - {NO_KEY}
    if names := sorted(name for name, value in os.environ.items() if value in secrets):
        return f"the key is not accepted: it is that of {' and '.join(names)}"
    return (
        f"no key was sent: set {ENDPOINT_KEY} to this server's key, or name its variable with"
        " `key_variable` in a judge file (keys of providers, such as OPENAI_API_KEY, are sent to"
        " these providers only)"
    )


def check_secrets(setting: str, fields: Mapping[str, object], judge: str) -> None:
    """Raise UsageError for a field of `headers`, `query` or `extra` that would write a secret into
    files of a run."""
    for name, value in fields.items():
        if not isinstance(value, str) or not _SECRET.search(name):
            continue
        if setting == "extra":
            remedy = "send it as a header whose value is read from the environment"
        elif not value.startswith("$"):
            remedy = (
                f"put it into an environment variable and give `{name}: $VARIABLE` under {setting}"
            )
        else:
            continue
        raise UsageError(
            f"judge {masked(judge)!r}, {setting}: {name!r} holds a secret, and settings are written"
            f" into every run; {remedy}"
        )


class Secrets(SecretStr):
    """A key, with headers and query parameters whose values from the environment are also
    secret."""

    def __init__(
        self,
        key: SecretStr,
        headers: Mapping[str, str],
        query: Mapping[str, str],
    ) -> None:
        super().__init__(key.get_secret_value())
        read = {
            value: read_key(value[1:]).get_secret_value()
            for value in (*headers.values(), *query.values())
            if value.startswith("$")
        }
        self.headers = {name: read.get(value, value) for name, value in headers.items()}
        self.query = {name: read.get(value, value) for name, value in query.items()}
        self.secrets = tuple(read.values())


def masked(address: str) -> str:
    """Return an address without user name, password, and values of secret parameters."""
    return _PARAMETER.sub(
        lambda match: f"{match[1]}=[hidden]" if _SECRET.search(match[1]) else match[0],
        _CREDENTIALS.sub("[hidden]@", address),
    )


def scrub(text: str, key: SecretStr) -> str:
    """Remove the key, in every form in which servers echo it, and everything that looks like a
    key."""
    for form in _forms(key):
        text = text.replace(form, "[key]")
        if _ESCAPED.search(text):
            text = _key_pattern(form).sub("[key]", text)
    return masked(_LOOKS_SECRET.sub("[key]", text))


def scrub_body(body: bytes, key: SecretStr) -> bytes:
    """Remove the key, escaped or not, from a reply's body; the same object is returned if it is not
    there."""
    for form in _forms(key):
        body = body.replace(form.encode(), b"[key]")
    text = body.decode("utf-8", "surrogateescape")
    if not _ESCAPED.search(text):
        return body
    for form in _forms(key):
        text = _key_pattern(form).sub("[key]", text)
    return text.encode("utf-8", "surrogateescape")


def _key_pattern(form: str) -> re.Pattern[str]:
    """Return a pattern for a text whose characters may be escaped, in JSON or in nested JSON."""
    backslash = r"(?:\\(?:u005[cC])?)+"

    def either(sign: str) -> str:
        spellings = [re.escape(sign), rf"{backslash}u(?i:{ord(sign):04x})"]
        return "|".join(spellings if sign.isalnum() else [*spellings, backslash + re.escape(sign)])

    return re.compile("".join(f"(?:{either(sign)})" for sign in form))


class _Scrubbing(logging.Filter):
    """Removes the key from every log record."""

    def __init__(self, key: SecretStr) -> None:
        super().__init__()
        self._key = key

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the record through, without the key."""
        # The arguments are put in first: a key may be split between message and arguments.
        record.msg = scrub(record.getMessage(), self._key)
        record.args = ()
        return True


@contextmanager
def scrubbed_logs(key: SecretStr) -> Iterator[None]:
    """Remove the key from the logs of HTTP libraries within the block."""
    scrubbing = _Scrubbing(key)
    loggers = [logging.getLogger(name) for name in _WIRE_LOGS]
    for logger in loggers:
        logger.addFilter(scrubbing)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(scrubbing)


def _secrets(key: SecretStr) -> tuple[str, ...]:
    return key.get_secret_value(), *(key.secrets if isinstance(key, Secrets) else ())


def _forms(key: SecretStr) -> list[str]:
    """Return the key in plain, URL and base64 encoding; nothing for the placeholder of local
    servers."""
    forms: dict[str, None] = {}
    for secret in _secrets(key):
        if len(secret) >= SHORTEST:
            encoded = base64.b64encode(secret.encode()).decode()
            forms |= dict.fromkeys(
                # Servers echo the address or the header of a request, where a key is encoded.
                (secret, quote(secret, safe=""), quote(secret), encoded, encoded.rstrip("="))
            )
            forms[base64.urlsafe_b64encode(secret.encode()).decode()] = None
    return list(forms)
