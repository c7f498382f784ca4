"""Imports everything that clients need, in the process that they are forked from."""

from __future__ import annotations

import importlib
import pkgutil

import anyio._backends._asyncio
import diskcache
import jinja2.sandbox
import mistralai.client.chat
import openai

import claimeval.cli.main

__all__ = ["anyio", "claimeval", "diskcache", "jinja2", "mistralai", "openai"]

for module in pkgutil.walk_packages(claimeval.__path__, "claimeval."):
    if not module.name.startswith(("claimeval.providers.local", "claimeval.__main__")):
        importlib.import_module(module.name)
# loads more
openai.AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:9/v1").chat.completions.create  # noqa: B018
