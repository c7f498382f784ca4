"""Hosts by name: rows of data, from which the docs are made."""

from __future__ import annotations

from pathlib import Path

import pytest

import claimeval as ce
from claimeval import providers
from claimeval.providers import hosts
from claimeval.providers.keys import ENDPOINT_KEY
from claimeval.providers.specs import parse_judge
from claimeval.types.errors import UsageError
from tests.first_day.servers import judged, serve

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "hosts.md"


@pytest.mark.parametrize("name", hosts.hosts())
def test_a_host_is_a_judge_by_its_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    host = hosts.hosts()[name]
    row = providers.provider(f"{name}:m")
    assert row.name == name
    if host.endpoint is None:
        with pytest.raises(UsageError, match=f"names no server.*{name}:"):
            parse_judge(f"{name}:m")
    judge = parse_judge(f"{name}:m" + (f"@{host.address}" if host.address else ""))
    assert judge.endpoint == (host.endpoint or host.address)
    if host.key:
        with pytest.raises(UsageError, match=host.key):
            providers.check_key(judge)
        monkeypatch.setenv(host.key, "sk-of-this-host")
        assert row.api_key(judge).get_secret_value() == "sk-of-this-host"
        other = parse_judge(f"{name}:m@https://elsewhere.example/v1")
        assert row.api_key(other).get_secret_value() != "sk-of-this-host"


def test_a_server_of_ones_own_gets_the_key_for_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT_KEY, "sk-of-my-server")
    judge = parse_judge("vllm:m")
    assert providers.provider("vllm:m").api_key(judge).get_secret_value() == "sk-of-my-server"


def test_a_host_is_asked_by_the_protocol_of_openai(tmp_path: Path) -> None:
    sample = {"question": "q", "answer": "It is true.", "contexts": ["It is true."]}
    with serve(judged) as server:
        options = ce.RunOptions(cache=tmp_path)
        run = ce.score(
            [sample], judges=f"sglang:m@{server.url}", metrics="faithfulness", options=options
        )
        assert run["faithfulness"].n == 1
        assert {body["model"] for body in server.asked} == {"m"}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("ollama/llama3", "ollama:llama3"),
        ("openai/gpt-5-mini", "openai:gpt-5-mini"),
        ("together_ai/meta-llama/x", "together:meta-llama/x"),
        ("hosted_vllm/q", "vllm:q"),
        ("gpt-5-mini", "openai:gpt-5-mini"),
        ("claude-haiku-4-5", "anthropic:claude-haiku-4-5"),
        ("grok:grok-4", "xai:grok-4"),
    ],
)
def test_a_form_of_another_tool_is_led_to_ours(given: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"Did you mean '{meant}'"):
        providers.provider(given)


def test_an_unknown_host_is_led_to_its_address() -> None:
    with pytest.raises(
        UsageError, match="Any other server with OpenAI's protocol is openai:MODEL@"
    ):
        providers.provider("nosuch:m")


def test_the_docs_have_the_rows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    printed = text.partition("<!-- hosts -->\n")[2].partition("\n<!-- /hosts -->")[0]
    assert printed == hosts.markdown(), "write claimeval.providers.hosts.markdown() there"


def test_no_name_stands_for_two_hosts() -> None:
    names = list(hosts.hosts())
    for host in hosts.hosts().values():
        names += host.also
    assert len(names) == len(set(names))
    assert not set(names) & set(providers.PROVIDERS)
