"""Hosts of OpenAI's chat completions protocol, as rows of data: name, address and key variable."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from claimeval.providers import Provider
from claimeval.providers.openai import SDK, connect, reasons, resolve
from claimeval.types.errors import read_yaml
from claimeval.types.records import Record

TABLE = Path(__file__).with_name("hosts.yaml")


class Host(Record):
    """One host."""

    title: str
    endpoint: str | None = None
    """The address of the calls; None where each user has an own one."""
    address: str | None = None
    """The form of such an own address."""
    key: str | None = None
    """The environment variable with the key; None for servers that need none."""
    hosts: str | None = None
    """Further hosts that get the key, as a regular expression."""
    model: str
    """A model, as users write it."""
    also: tuple[str, ...] = ()
    """Other names, such as LiteLLM's."""


@lru_cache(maxsize=1)
def hosts() -> dict[str, Host]:
    """Return the hosts by name."""
    table = read_yaml(TABLE, "table of hosts")
    return {name: Host.model_validate(fields) for name, fields in table.items()}


def named(name: str) -> str | None:
    """Return the host that a name of it or another tool's name stands for; None if there is
    none."""
    known = (host for host, row in hosts().items() if name == host or name in row.also)
    return next(known, None)


@lru_cache(maxsize=64)
def row(name: str) -> Provider | None:
    """Return the row of a host; None if there is none of this name."""
    if (host := hosts().get(name)) is None:
        return None
    at = f"@{host.address}" if host.address else ""
    return Provider(
        name=name,
        open=connect,
        resolve=resolve,
        example=f"{name}:{host.model}{at}",
        endpoint=host.endpoint,
        endpoint_variable=None if host.endpoint and host.key else f"{name.upper()}_BASE_URL",
        key_variable=host.key,
        own_host=re.compile(host.hosts) if host.hosts else None,
        packages=SDK,
        reasons=reasons,
    )


def markdown() -> str:
    """Return the hosts as the table of docs/reference/hosts.md."""
    lines = ["| host | judge | address | key |", "|---|---|---|---|"]
    for name, host in sorted(hosts().items(), key=lambda entry: entry[1].title.lower()):
        key = f"`{host.key}`" if host.key else "none"
        address = host.endpoint or f"{host.address} (yours)"
        judge = f"{name}:{host.model}"
        lines.append(f"| {host.title} | `{judge}` | `{address}` | {key} |")
    return "\n".join(lines)
