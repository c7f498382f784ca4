"""Keys come from the environment, are checked before any call, and are taken out of every text."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from claimeval.providers import check_key, specs
from claimeval.providers.keys import (
    ENDPOINT_KEY,
    Secrets,
    is_loopback,
    read_key,
    rejection,
    scrub,
    scrub_body,
)
from claimeval.providers.openai import PROVIDER
from claimeval.types.errors import UsageError
from claimeval.types.requests import CallError, Judge
from tests.first_day.servers import judged, refusal, serve
from tests.providers.asking import ask

KEY = "sk-CANARY/1+2=3&4"
pytestmark = pytest.mark.usefixtures("without_keys")


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "MISTRAL_API_KEY is not set"),
        ({"MISTRAL_API_KEY": ""}, "is empty"),
        ({"MISTRAL_API_KEY": " \n"}, "is empty"),
        ({"MISTRAL_API_KEY": f"{KEY}\n{KEY}"}, "a line break"),
        ({"MISTRAL_API_KEY": f"Bearer {KEY}"}, "a character that no key has"),
        ({"MISTRAL_API_KEY": f"{KEY}é"}, "a character that no key has"),
        ({"MISTRAL_API_KEY": f"{KEY}\x00"}, "a character that no key has"),
    ],
)
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(
    environment: dict[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        read_key("MISTRAL_API_KEY", environment)
    assert "CANARY" not in str(refused.value)


@pytest.mark.parametrize("left", ["\n", "\r\n", " \n"])
def test_a_line_break_that_a_file_leaves_behind_a_key_is_said(left: str) -> None:
    with pytest.raises(
        UsageError, match="MISTRAL_API_KEY holds a line break; set it again without it"
    ) as raised:
        read_key("MISTRAL_API_KEY", {"MISTRAL_API_KEY": KEY + left})
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    ("model", "variable"),
    [("openai:gpt-5-mini", "OPENAI_API_KEY"), ("mistral:mistral-small-latest", "MISTRAL_API_KEY")],
)
def test_a_judge_without_its_key_fails_before_any_call(
    model: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = specs.parse_judge(model)
    with pytest.raises(UsageError, match=f"{variable} is not set"):
        check_key(judge)
    monkeypatch.setenv(variable, f"{KEY}\nexport")
    with pytest.raises(UsageError, match=f"{variable} holds a line break"):
        check_key(judge)
    monkeypatch.setenv(variable, KEY)
    check_key(judge)


OPENAI_KEY = {"OPENAI_API_KEY": KEY}


@pytest.mark.parametrize(
    ("endpoint", "named", "environment", "key"),
    [
        (None, None, OPENAI_KEY, KEY),
        ("https://api.openai.com/v1", None, OPENAI_KEY | {ENDPOINT_KEY: "mine-1"}, KEY),
        (None, None, OPENAI_KEY | {"OPENAI_BASE_URL": "http://127.0.0.1:4000/v1"}, KEY),
        (
            "http://127.0.0.1:4000/v1",
            None,
            OPENAI_KEY | {"OPENAI_BASE_URL": "http://127.0.0.1:4000/v1/"},
            KEY,
        ),
        ("https://models.example.org/v1", None, OPENAI_KEY, "none"),
        ("https://models.example.org/v1", None, OPENAI_KEY | {ENDPOINT_KEY: "mine-1"}, "mine-1"),
        (
            "https://models.example.org/v1",
            "MY_KEY",
            {"MY_KEY": "mine-2", ENDPOINT_KEY: "mine-1"},
            "mine-2",
        ),
        ("https://models.example.org/v1", "OPENAI_API_KEY", OPENAI_KEY, KEY),
        ("http://127.0.0.1:8000/v1", None, OPENAI_KEY, "none"),
        ("http://localhost:8000/v1", None, OPENAI_KEY, "none"),
        ("http://localhost:8000/v1", None, {}, "none"),
    ],
)
def test_a_providers_key_goes_to_the_provider_and_where_the_user_says(
    endpoint: str | None,
    named: str | None,
    environment: dict[str, str],
    key: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    judge = specs.parse_judge(
        Judge(name="j", model="openai:m", endpoint=endpoint, key_variable=named)
    )
    assert PROVIDER.api_key(judge).get_secret_value() == key


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_is_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    ["10.0.0.1", "127.0.0.1.example.org", "localhost.example.org", "1270.0.0.1", "127.0.0.999", ""],
)
def test_other_names_are_not(host: str) -> None:
    assert not is_loopback(host)


FORMS = [
    KEY,
    quote(KEY, safe=""),
    base64.b64encode(KEY.encode()).decode(),
    base64.b64encode(KEY.encode()).decode().rstrip("="),
    base64.urlsafe_b64encode(KEY.encode()).decode(),
]


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_the_key_stays_in_a_text_or_a_body(form: str) -> None:
    assert scrub(f"Incorrect API key: '{form}'.", SecretStr(KEY)) == "Incorrect API key: '[key]'."
    assert scrub_body(f'{{"echo":"{form}"}}'.encode(), SecretStr(KEY)) == b'{"echo":"[key]"}'


def test_what_looks_like_a_key_goes_from_messages_too() -> None:
    text = "key sk-proj-abcdefgh123 and header Bearer abc.def"
    assert scrub(text, SecretStr("another-key")) == "key [key] and header [key]"


def test_a_body_without_the_key_is_untouched_and_the_placeholder_is_no_key() -> None:
    body = b'{"content":"none of the claims; Bearer bonds; sk-a-judge-may-say-so"}'
    assert scrub_body(body, SecretStr(KEY)) is body
    assert scrub_body(body, SecretStr("none")) is body
    assert scrub("none", SecretStr("none")) == "none"


@pytest.mark.parametrize(
    "escaped",
    [
        "".join(f"\\u{ord(one):04x}" for one in KEY),
        "".join(f"\\\\u{ord(one):04X}" for one in KEY),
        "".join(f"\\u005cu{ord(one):04x}" for one in KEY),
        KEY.replace("/", "\\/"),
        KEY.replace("s", "\\u0073").replace("=", "\\u003D"),
    ],
)
def test_a_key_in_escapes_of_json_is_taken_out_and_the_rest_is_left(escaped: str) -> None:
    body = f'{{"echo": "{escaped}", "kept": "\\u003c\\n\\u00e9 \xe9"}}'
    without = '{"echo": "[key]", "kept": "\\u003c\\n\\u00e9 \xe9"}'
    assert scrub_body(body.encode(), SecretStr(KEY)).decode() == without
    assert scrub(body, SecretStr(KEY)) == without
    assert scrub_body(body.encode("latin-1"), SecretStr(KEY)) == without.encode("latin-1")


def test_headers_of_the_environment_go_to_the_provider_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: CUSTOM\nauthorization: Bearer CUSTOM")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    with serve(judged) as server:
        asked = judge_of(server.url, headers={"x-team": "search"})
        ask(asked)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        ask(asked)
    foreign, own = server.headers
    assert "CUSTOM" not in str(foreign)
    assert {"openai-organization", "openai-project"}.isdisjoint(foreign)
    assert (foreign["authorization"], foreign["x-team"]) == ("Bearer none", "search")
    assert (own["x-secret"], own["openai-organization"], own["openai-project"]) == (
        "CUSTOM",
        "org-1",
        "proj-1",
    )


def judge_of(url: str, **settings: object) -> Judge:
    return specs.parse_judge(
        Judge.model_validate({"name": "j", "model": "openai:m", "endpoint": url} | settings)
    )


def test_a_key_that_is_not_accepted_is_named_by_its_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOUSE_KEY", KEY)
    assert rejection(SecretStr(KEY)) == "the key is not accepted: it is that of HOUSE_KEY"
    header = Secrets(SecretStr("none"), {"api-key": "$HOUSE_KEY"}, {})
    assert rejection(header) == "the key is not accepted: it is that of HOUSE_KEY"


def test_a_server_that_wants_a_key_and_gets_none_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OTHER", "none")

    with serve(lambda body: refusal("Unauthorized", status=401)) as server:
        outcome = ask(judge_of(server.url)).outcome
    assert isinstance(outcome, CallError)
    assert outcome.message.startswith(
        f"status 401: Unauthorized; no key was sent: set {ENDPOINT_KEY} to this server's key, or"
        " name its variable "
    )
    assert server.headers[0]["authorization"] == "Bearer none"
