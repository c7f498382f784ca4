"""Names of judges as short as they stay different."""

from __future__ import annotations

from collections.abc import Sequence


def short(names: Sequence[str]) -> dict[str, str]:
    """Each name without its address and provider, or without its address, or as it is: the first that tells all apart.

    `openai:gpt-5-mini@http://127.0.0.1:8000/v1` beside `mistral:mistral-large` is `gpt-5-mini`.
    """
    without_address = [name.partition("@")[0] for name in names]
    without_provider = [name.partition(":")[2] or name for name in without_address]
    for shorter in (without_provider, without_address):
        if len(set(shorter)) == len(set(names)) and all(shorter):
            return dict(zip(names, shorter, strict=True))
    return {name: name for name in names}
