"""Every line of docs/reference/hosts.md asks its host: the address, path, headers and parameters,
and words that it would use.

Connections end at a server on loopback whatever host they are meant for; the SDKs and all that is
above them are real.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
import pytest

from benchmarks.loopback.claim_judge import answer
from claimeval.evaluation.probe import probe
from claimeval.providers.checkers import presets
from claimeval.providers.specs import parse_judge
from claimeval.testing import serve
from claimeval.types.options import RunOptions
from claimeval.types.requests import Judge
from tests.canary import CANARY
from tests.providers.anthropic_server import judged
from tests.sample_runs import RIGHT, run

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "hosts.md"
Refusal = Callable[[dict[str, Any]], str | None]


class Host(NamedTuple):
    """What a host expects and says."""

    url: str
    """Of a question, without parameters."""
    key: str | None = CANARY
    header: str = "authorization"
    query: str = ""
    refuses: Refusal = lambda body: None
    error: Callable[[str], object] = lambda words: {
        "error": {"message": words, "type": "invalid_request_error"}
    }
    learned: tuple[str, ...] = ()
    """What a judge learns of it."""


def schema(body: Mapping[str, Any]) -> str:
    return json.dumps(body.get("response_format", ""))


def no_schema(words: str) -> Refusal:
    return lambda body: words if "response_format" in body else None


def of_openai(body: dict[str, Any]) -> str | None:
    if body.get("temperature") is not None:
        return (
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default"
            " (1) is supported."
        )
    if "max_tokens" in body:
        return (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
            " 'max_completion_tokens' instead."
        )
    if "maxLength" in schema(body):
        return (
            "Invalid schema for response_format 'reply': In context=(), 'maxLength' is not"
            " permitted."
        )
    return None


def of_groq(body: dict[str, Any]) -> str | None:
    if "maxItems" in schema(body):
        return (
            "invalid schema for response format: response_format/json_schema/reply: maxItems is not"
            " supported"
        )
    return None


def of_gemini(body: dict[str, Any]) -> str | None:
    unknown = {"seed", "max_completion_tokens", "logprobs"} & set(body)
    return (
        "".join(
            f'Invalid JSON payload received. Unknown name "{n}": Cannot find field.'
            for n in unknown
        )
        or None
    )


def of_litellm(body: dict[str, Any]) -> str | None:
    if "logprobs" in body:
        return (
            "litellm.UnsupportedParamsError: anthropic does not support parameters: ['logprobs',"
            " 'top_logprobs']"
        )
    if body.get("temperature") == 0:
        return (
            "litellm.BadRequestError: AnthropicException - `temperature` is deprecated for this"
            " model."
        )
    return None


HOSTS = {
    "OpenAI": Host("https://api.openai.com/v1/chat/completions", refuses=of_openai),
    "Anthropic": Host("https://api.anthropic.com/v1/messages"),
    "Mistral": Host("https://api.mistral.ai/v1/chat/completions"),
    "Azure": Host(
        "https://name.openai.azure.com/openai/v1/chat/completions",
        header="api-key",
        refuses=lambda body: of_openai(body) if "max_tokens" in body else None,
        learned=("max_tokens", "temperature"),
    ),
    "Azure 2": Host(
        "https://name.openai.azure.com/openai/deployments/DEPLOYMENT/chat/completions",
        header="api-key",
        query="api-version=2024-10-21",
    ),
    "Gemini": Host(
        "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
        refuses=of_gemini,
        error=lambda words: [
            {"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}}
        ],
    ),
    "Bedrock": Host("https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1/chat/completions"),
    "OpenRouter": Host("https://openrouter.ai/api/v1/chat/completions"),
    "Groq": Host(
        "https://api.groq.com/openai/v1/chat/completions", refuses=of_groq, learned=("maxItems",)
    ),
    "DeepSeek": Host(
        "https://api.deepseek.com/chat/completions",
        refuses=no_schema("This response_format type is unavailable now"),
        learned=("response_format",),
    ),
    "A LiteLLM proxy": Host(
        "http://127.0.0.1:4000/v1/chat/completions",
        refuses=of_litellm,
        error=lambda words: {
            "error": {"message": words, "type": "None", "param": "None", "code": "400"}
        },
        learned=("temperature",),
    ),
    "Ollama": Host("http://127.0.0.1:11434/v1/chat/completions", key=None),
    "vLLM": Host("http://127.0.0.1:8000/v1/chat/completions", key=None),
    "llama.cpp": Host("http://127.0.0.1:8080/v1/chat/completions", key=None),
}


NO_HOSTS = ("Checkers",)
"""Sections with judge files of other kinds."""


class Recipe(NamedTuple):
    """A block of the page."""

    variables: dict[str, str]
    judge: str
    """What to name, or a judge file."""


def recipes() -> Iterator[tuple[str, Recipe]]:
    """The recipes of the page by the name of their section; the second of a section has a 2 behind
    it."""
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        name = section.partition("\n")[0]
        if name in NO_HOSTS:
            continue
        for number, (kind, block) in enumerate(
            re.findall(r"```(console|yaml)\n(.*?)```", section, re.DOTALL), 1
        ):
            lines = (
                [shlex.split(line.removeprefix("$ ")) for line in block.splitlines()]
                if kind == "console"
                else []
            )
            exports = dict(line[1].split("=", 1) for line in lines if line[0] == "export")
            variables = {
                name: CANARY if value == "..." else value for name, value in exports.items()
            }
            judge = next(
                (line[-1] for line in lines if line[:3] == ["claimeval", "doctor", "--judge"]),
                block,
            )
            if kind == "yaml":
                variables = dict.fromkeys(re.findall(r"key_variable: (\w+)", block), CANARY)
            yield f"{name} {number}" if number > 1 else name, Recipe(variables, judge)


RECIPES = dict(recipes())


class Wire:
    """The server that all connections end at."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.asked: list[tuple[str, str, str | None]] = []
        """Address, parameters and key of each question."""
        self.answers: Callable[[dict[str, Any]], tuple[int, object] | None] = lambda body: None

    def respond(self, path: str, headers: Mapping[str, str], content: bytes) -> tuple[int, bytes]:
        """Answer as the host does; questions after the size of a model are not counted."""
        address = urlsplit(path)
        if address.path.endswith(("/models", "/api/show")):
            return 404, b"{}"
        scheme = urlsplit(self.host.url).scheme
        key = headers.get(self.host.header, "").removeprefix("Bearer ")
        self.asked.append((f"{scheme}://{headers['host']}{address.path}", address.query, key))
        body = json.loads(content)
        if self.host.key and key != self.host.key:
            return 401, b'{"error": {"message": "Incorrect API key provided"}}'
        if given := self.answers(body):
            return given[0], json.dumps(given[1]).encode()
        if words := self.host.refuses(body):
            return 400, json.dumps(self.host.error(words)).encode()
        if address.path.endswith("/messages"):
            return 200, json.dumps(judged(body)).encode()
        message = {"role": "assistant", "content": answer(body).content}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        return (
            200,
            json.dumps({"model": body["model"], "choices": [choice], "usage": usage}).encode(),
        )


@contextmanager
def wire(host: Host, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """Serve a host, and have every connection end there."""
    server = Wire(host)
    send = httpx2.AsyncHTTPTransport.handle_async_request
    with serve(server.respond) as url:
        port = urlsplit(url).port

        async def rerouted(
            self: httpx2.AsyncHTTPTransport, request: httpx2.Request
        ) -> httpx2.Response:
            request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=port)
            return await send(self, request)

        monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", rerouted)
        yield server


@pytest.fixture
def made(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    without_keys: None,
) -> Judge:
    """The judge of a recipe, in an environment with nothing but what the recipe sets."""
    recipe = RECIPES[request.param]
    for name, value in recipe.variables.items():
        monkeypatch.setenv(name, value)
    if "\n" not in recipe.judge:
        return parse_judge(recipe.judge)
    file = tmp_path / "judge.yaml"
    file.write_text(recipe.judge, encoding="utf-8")
    return parse_judge(str(file))


def test_the_page_on_judge_files_has_every_setting() -> None:
    page = PAGE.with_name("judge-files.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \|",
        page.partition("## A judge file\n")[2].partition("\n## ")[0],
        re.MULTILINE,
    )
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(set(Judge.model_fields) - {"learned"})


def test_the_judge_files_of_checkers_can_be_used(tmp_path: Path, without_keys: None) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("\n## Checkers\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        file = tmp_path / "judge.yaml"
        file.write_text(block, encoding="utf-8")
        assert parse_judge(str(file)).asks == "pair"
    assert all(f"`check:{name}`" in section for name in presets())


def test_every_host_of_the_page_is_tried() -> None:
    assert list(RECIPES) == list(HOSTS)
    rows = re.findall(r"^\| \[([^\]]+)\]", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(
        name.removeprefix("A ") for name in HOSTS if not name.endswith(" 2")
    )


@pytest.mark.parametrize(("made", "host"), list(HOSTS.items()), ids=list(HOSTS), indirect=["made"])
def test_a_recipe_reaches_its_host_and_is_judged(
    made: Judge, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wire(host, monkeypatch) as server:
        done = run([made], tmp_path / "cache", concurrency=1)
    assert done.values == [RIGHT]
    for url, query, key in server.asked:
        assert (url, query) == (host.url, host.query)
        assert host.key is None or key == host.key
    learned = set(done.outcome.status.learned[made.name].refused) - set(made.learned.refused)
    assert learned == set(host.learned)


@pytest.mark.parametrize(
    "made", ["Gemini", "A LiteLLM proxy", "Anthropic", "OpenRouter"], indirect=True
)
def test_doctor_says_so(
    made: Judge, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wire(HOSTS[request.node.callspec.params["made"]], monkeypatch):
        found = asyncio.run(probe(made, RunOptions()))
    assert (found.reachable, found.key_accepted) == (True, True)


@pytest.mark.parametrize(
    ("made", "said", "reason"),
    [
        (
            "Gemini",
            (
                200,
                {"choices": [{"index": 0, "finish_reason": "content_filter: PROHIBITED_CONTENT"}]},
            ),
            "filtered",
        ),
        (
            "Azure",
            (
                400,
                {
                    "error": {
                        "message": (
                            "The response was filtered due to the prompt triggering Azure OpenAI's"
                            " content management policy."
                        ),
                        "param": "prompt",
                        "code": "content_filter",
                        "innererror": {"code": "ResponsibleAIPolicyViolation"},
                    }
                },
            ),
            "filtered",
        ),
        (
            "OpenRouter",
            (
                403,
                {
                    "error": {
                        "code": 403,
                        "message": (
                            "openai/gpt-5-mini requires moderation on OpenRouter. Your input was"
                            ' flagged for "harassment". No credits were charged.'
                        ),
                    }
                },
            ),
            "filtered",
        ),
        (
            "OpenRouter",
            (
                200,
                {"error": {"code": 402, "message": "Insufficient credits."}, "user_id": "user_1"},
            ),
            "judge_stopped",
        ),
        (
            "OpenRouter",
            (200, {"error": {"code": 502, "message": "Provider returned error"}}),
            "provider_error",
        ),
        (
            "Gemini",
            (
                400,
                [
                    {
                        "error": {
                            "code": 400,
                            "message": "API key not valid. Please pass a valid API key.",
                        }
                    }
                ],
            ),
            "judge_stopped",
        ),
        (
            "DeepSeek",
            (402, {"error": {"message": "Insufficient Balance", "type": "unknown_error"}}),
            "judge_stopped",
        ),
        (
            "Ollama",
            (404, {"error": {"message": "model 'qwen3:8b' not found", "type": "not_found_error"}}),
            "judge_stopped",
        ),
    ],
    indirect=["made"],
)
def test_what_a_host_says_has_its_reason(
    made: Judge,
    said: tuple[int, object],
    reason: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with wire(HOSTS[request.node.callspec.params["made"]], monkeypatch) as server:
        server.answers = lambda body: said
        done = run([made], tmp_path / "cache")
    assert done.reasons == ([reason] if reason != "judge_stopped" else [])
    assert bool(done.outcome.status.stopped) == (reason == "judge_stopped")
    assert len(server.asked) == (2 if reason == "provider_error" else 1)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            "vLLM",
            (
                "This model's maximum context length is 4096 tokens. However, you requested 9000"
                " tokens."
            ),
        ),
        (
            "llama.cpp",
            (
                "request (9000 tokens) exceeds the available context size (4096 tokens), try"
                " increasing it"
            ),
        ),
    ],
    indirect=["made"],
)
def test_a_window_is_learned(
    made: Judge, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(body: dict[str, Any]) -> tuple[int, object] | None:
        return (
            (400, {"error": {"code": 400, "message": words}})
            if body["max_tokens"] >= 4096
            else None
        )

    with wire(HOSTS["vLLM"], monkeypatch) as server:
        server.answers = full
        done = run([made], tmp_path / "cache", concurrency=1)
    assert done.values == [RIGHT]
    assert done.outcome.status.learned[made.name].context_tokens == 4096
