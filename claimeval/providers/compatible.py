"""Servers with OpenAI's chat-completions protocol that have a name of their own: an address, a key, what they refuse.

Any other such server is `openai:MODEL@URL`.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from claimeval.providers import Provider
from claimeval.providers.openai import AZURE_HOST, AZURE_KEY, open_backend, reasons, resolve
from claimeval.types.requests import Judge

_DATED = re.compile(r"(?:^|&)api-version=\d{4}-\d\d-\d\d")
_THINKING_GEMINI = re.compile(r"gemini-(?:2\.5|[3-9]|flash-latest|pro-latest)(?!.*lite)")


def _azure(judge: Judge) -> Judge:
    """Resolve a deployment at a resource that is given by its host alone, as Azure's documentation has it.

    A dated API version, in the address or under `query`, takes the path of a deployment; without, the path is that of
    the version-less API.
    """
    address, mark, query = (judge.endpoint or AZURE.default_endpoint or "").partition("?")
    if address and not urlsplit(address).path.strip("/"):
        dated = _DATED.search(query or f"api-version={judge.query.get('api-version', '')}")
        path = f"deployments/{judge.model.partition(':')[2]}" if dated else "v1"
        judge = judge.model_copy(update={"endpoint": f"{address.rstrip('/')}/openai/{path}{mark}{query}"})
    return resolve(judge)


AZURE = Provider(
    name="azure",
    open=open_backend,
    resolve=_azure,
    example="azure:DEPLOYMENT@https://NAME.openai.azure.com",
    endpoint_variable="AZURE_OPENAI_ENDPOINT",
    key_variable=AZURE_KEY,
    own_host=AZURE_HOST,
    reasons=reasons,
)
GEMINI = Provider(
    name="gemini",
    open=open_backend,
    resolve=resolve,
    example="gemini:gemini-2.5-flash",
    endpoint="https://generativelanguage.googleapis.com/v1beta/openai",
    key_variable="GEMINI_API_KEY",
    refuses=frozenset({"seed"}),  # "Unknown name "seed": Cannot find field", as users report
    reasons=lambda model: _THINKING_GEMINI.search(model) is not None,
)
OLLAMA = Provider(
    name="ollama",
    open=open_backend,
    resolve=resolve,
    example="ollama:qwen3:8b",
    endpoint="http://127.0.0.1:11434/v1",
    reasons=reasons,
)
OPENROUTER = Provider(
    name="openrouter",
    open=open_backend,
    resolve=resolve,
    example="openrouter:openai/gpt-5-mini",
    endpoint="https://openrouter.ai/api/v1",
    key_variable="OPENROUTER_API_KEY",
    reasons=reasons,
)
