"""Prompts in the language of the data, with the real SDK at a server on loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from benchmarks.loopback import claim_judge
from benchmarks.loopback.judge import Body, Reply
from claimeval.judging import prompts
from claimeval.runs.experiments import read
from claimeval.runs.experiments.running import prepare
from claimeval.types.errors import UsageError
from tests.api.test_claims import spec
from tests.conftest import StartServer

DATA: dict[str, dict[str, Any]] = {
    "ar": {
        "question": "متى احترقت الطاحونة؟",
        "answer": "احترقت الطاحونة عام ١٨٧٧. هل أُعيد بناؤها؟ نعم، وكان الباب WRONG أحمر.",
        "contexts": ["احترقت الطاحونة في أورسا عام ١٨٧٧ وأُعيد بناؤها عام ١٨٨٠."],
    },
    "ja": {
        "question": "水車はいつ焼けましたか。",
        "answer": "水車は１８７７年に焼けた。再建されたのは1880年だった。扉はWRONG赤い。",
        "contexts": ["オルサの水車は1877年に焼け、1880年に再建された。"],
    },
}


class Judge:
    """A judge by rule that keeps what it was shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def __call__(self, body: Body) -> Reply:
        self.shown += [
            message["content"] for message in body["messages"] if message["role"] == "system"
        ]
        return claim_judge.answer(body)


@pytest.mark.parametrize("language", DATA)
def test_auto_asks_in_the_language_of_the_samples_and_the_run_says_so(
    language: str, start_server: StartServer, tmp_path: Path
) -> None:
    judge = Judge()
    rows = [{"id": f"s{i}", **DATA[language]} for i in range(2)]
    server = spec(start_server(judge=judge))
    options = ce.RunOptions(cache=tmp_path / "cache")
    run = ce.score(
        rows,
        judges=server,
        metrics="faithfulness",
        language="auto",
        out=tmp_path / "a",
        options=options,
    )
    assert run["faithfulness"].mean == pytest.approx(2 / 3)
    names = [f"extract/atomic.{language}", f"assess/three_way.{language}"]
    assert [prompt.name for prompt in run.manifest.prompts] == names
    assert any("the language of the samples" in note for note in run.manifest.notes)
    texts = [prompts.find(name).render(EMPTY)[0].content for name in names]
    assert set(judge.shown) == set(texts)
    assert all(text[0] > "\u0590" for text in texts)
    claims = run.results[0].claims
    assert [claim.grounding for claim in claims] == ["exact"] * 3
    asked = len(judge.shown)
    again = ce.score(
        rows,
        judges=server,
        metrics="faithfulness",
        language=language,
        out=tmp_path / "b",
        options=options,
    )
    assert len(judge.shown) == asked  # the same prompts have the same keys
    assert again.manifest.identity == run.manifest.identity
    english = ce.score(rows, judges=server, metrics="faithfulness", options=options)
    assert len(judge.shown) > asked
    assert english.manifest.identity != run.manifest.identity


EMPTY: dict[str, prompts.Value] = {
    "question": '""',
    "part": "answer",
    "sentences": [],
    "documents": [],
    "claims": [],
    "scale": [],
    "alternatives": 0,
    "reasons": "all",
}


def test_samples_of_several_languages_are_asked_in_english(start_server: StartServer) -> None:
    rows = [{"id": name, **row} for name, row in DATA.items()]
    run = ce.score(rows, judges=spec(start_server(judge=Judge())), language="auto")
    assert [prompt.name for prompt in run.manifest.prompts] == [
        "extract/atomic",
        "assess/three_way",
    ]
    assert "prompts are in English" in run.manifest.notes[0]
    assert "Arabic 1, Japanese 1" in run.manifest.notes[0]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"language": "xx"}, "unknown language 'xx'"),
        ({"language": "de", "assess_prompt": "rules"}, "available: three_way, binary, partial"),
    ],
)
def test_what_is_not_there_in_a_language_is_said_before_any_call(
    wanted: dict[str, str], says: str
) -> None:
    settings: dict[str, Any] = {"judges": "openai:m@http://localhost:9/v1", **wanted}
    with pytest.raises(UsageError, match=says):
        ce.score([{"id": "1", **DATA["ar"]}], **settings)


def test_an_experiment_varies_the_language(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps({"id": "1", **DATA["ja"]}), encoding="utf-8")
    design = {"data": str(data), "judges": "local:lexical", "grid": {"language": ["en", "ja"]}}
    assert [arm.name for arm in read(design).arms] == ["language=en", "language=ja"]
    plans = [ce.plan(ce.experiment, design)]
    assert plans[0].samples == 1
    own = prepare(
        read({**design, "grid": {"language": ["en", "auto"]}}), list(ce.read_samples(data))
    )
    assert [job.assess_prompt.name for job in own] == ["assess/three_way", "assess/three_way.ja"]
    assert [len(job.remarks) for job in own] == [0, 1]
    assert "prompts are in Japanese" in own[1].remarks[0]


@pytest.mark.parametrize(
    "name", [name for step in prompts.TRANSLATED for name in prompts.shipped(step) if "." in name]
)
def test_a_prompt_in_another_language_holds_what_the_english_one_holds(name: str) -> None:
    step, short = name.split("/")
    english = prompts.load(step, short.partition(".")[0])
    other = prompts.load(step, short)
    assert (other.reply, other.scale, other.lists_unclear) == (
        english.reply,
        english.scale,
        english.lists_unclear,
    )
    assert other.reads | {"scale", "reasons"} == english.reads | {"scale", "reasons"}
    shown = "\n".join(message.content for message in other.render({**EMPTY, "alternatives": 1}))
    for word in english.scale.offered if english.scale else ("claims", "sentences", "quote"):
        assert word in shown
    words = set(shown.replace('"', " ").split())
    assert not words & {
        "the",
        "that",
        "and",
        "text",
        "Reply",
        "claim:",
        "evidence.",
        "supported:the",
    }
    assert "[[" not in other.source


def test_prompts_of_a_step_have_one_system_message_a_language() -> None:
    for language in prompts.languages():
        asked = {
            prompts.load("assess", f"{name}.{language}").render(EMPTY)[0]
            for name in prompts.TRANSLATED["assess"]
        }
        assert len(asked) == 1
