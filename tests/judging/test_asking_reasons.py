"""`reasons` of a judge: for all verdicts, for those that are not support, or for none; all else
stays."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

import claimeval as ce
from benchmarks.loopback import Options
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.judging import assess, prompts
from claimeval.providers.anthropic import body as anthropic_body
from claimeval.types.chat_format import request_body
from claimeval.types.records import Claim, Document
from claimeval.types.requests import Judge, Request
from tests.conftest import StartServer

CLAIMS = [
    Claim(id=f"answer-{n}", of="answer", text=f"Claim {n}.", grounding="exact") for n in (1, 2)
]
DOCUMENTS = (Document(id="a", text="Some text."),)
SHOWN = assess.ShownDocuments(DOCUMENTS)


Reasons = Literal["all", "unsupported", "none"]
EVERY: tuple[Reasons, ...] = get_args(Reasons)


def asked(prompt: str, reasons: Reasons, **settings: Any) -> Request:
    judge = Judge(**{"model": "openai:m", **settings})
    return assess.ask(
        prompts.load("assess", prompt, {"reasons": reasons}), judge, CLAIMS, SHOWN, "Which?"
    )


@pytest.mark.parametrize("prompt", ["three_way", "binary", "partial"])
def test_the_question_and_the_schema_ask_for_these_reasons(prompt: str) -> None:
    by = {reasons: asked(prompt, reasons) for reasons in EVERY}
    texts = {reasons: request.messages[-1].content for reasons, request in by.items()}
    assert "first give the reason in one short sentence, then the ids" in texts["all"]
    favorable = {"three_way": "supported", "binary": "yes", "partial": "support"}[prompt]
    assert f"or an empty text if its label is {favorable}, then the ids" in texts["unsupported"]
    assert "reason" not in texts["none"].replace("reasonable", "")
    entries = {
        name: json.loads(request.response_schema or "")["properties"]
        for name, request in by.items()
    }
    fields = {
        name: list(entries[name]["verdicts"]["items"]["properties"])
        for name in ("all", "unsupported")
    }
    assert fields["all"] == fields["unsupported"] == ["id", "reason", "evidence", "label"]
    assert entries["none"]["verdicts"]["additionalProperties"]["enum"][0] == favorable
    named = json.loads(asked(prompt, "none", reply_schema="closed").response_schema or "")
    assert named["$defs"]["label"] == entries["none"]["verdicts"]["additionalProperties"]
    ref = {"$ref": "#/$defs/label"}
    assert named["properties"]["verdicts"]["properties"] == {"c1": ref, "c2": ref}
    strict = [request_body(by[name])["response_format"]["json_schema"]["strict"] for name in EVERY]
    assert strict == [name != "none" for name in EVERY], (
        "a strict mode refuses an object with any keys"
    )
    same = [re.sub(r"(?s)For each claim, (first )?give.*", "", text) for text in texts.values()]
    assert len(set(same)) == 1


def test_an_object_with_any_ids_is_no_output_format_of_anthropic() -> None:
    requests = {
        (reasons, schema): asked(
            "three_way", reasons, model="anthropic:claude-opus-5", reply_schema=schema
        )
        for reasons in ("all", "none")
        for schema in ("list", "closed")
    }
    without = {
        key for key, request in requests.items() if "output_config" not in anthropic_body(request)
    }
    assert without == {("none", "list")}


def judge_of(body: Body) -> Reply:
    """One claim supported, one not, with the reasons that are asked for."""
    text = text_of(body)
    if "<claims>" not in text:
        sentences = re.findall(r"^(\d+): \"(.*)\"$", text, re.MULTILINE)
        return Reply(
            json.dumps(
                {"claims": [{"claim": t, "sentences": [int(n)], "quote": t} for n, t in sentences]}
            )
        )
    alone = "give the label alone" in text
    labels = {}
    verdicts = []
    for name, claim in re.findall(r"^(c\d+): \"(.*)\"$", text, re.MULTILINE):
        label = "supported" if "right" in claim else "not_found"
        reason = "because" if "empty text" not in text or label != "supported" else ""
        labels[name] = label
        verdicts.append({"id": name, "reason": reason, "evidence": ["d1"], "label": label})
    return Reply(json.dumps({"verdicts": labels if alone else verdicts}))


@pytest.mark.parametrize(
    ("reasons", "explanations"),
    [("all", ["because", "because"]), ("unsupported", [None, "because"]), ("none", [None, None])],
)
def test_labels_are_the_same_and_a_note_says_which_reasons_there_are(
    start_server: StartServer, tmp_path: Path, reasons: Reasons, explanations: list[str | None]
) -> None:
    server = start_server(Options(), judge=judge_of)
    judge = Judge(name="j", model="openai:m", endpoint=server.url)
    sample = ce.Sample(
        id="a", question="Which?", answer="This is right. That is wrong.", contexts=DOCUMENTS
    )
    cache = ce.RunOptions(cache=tmp_path)
    run = ce.score([sample], judges=judge, metrics="faithfulness", reasons=reasons, options=cache)
    (result,) = run
    given = {a.label: a.verdicts[0].explanation for a in result.assessments}
    assert given == {"supported": explanations[0], "not_found": explanations[1]}
    asked_with = {"all": "assess/three_way[reasons=all]", "unsupported": "assess/three_way"}
    assert run.manifest.prompts[1].name == asked_with.get(reasons, "assess/three_way[reasons=none]")


@pytest.mark.parametrize("prompt", ["rules", "tags", "short"])
def test_a_prompt_that_asks_for_all_reasons_is_refused_before_any_call(prompt: str) -> None:
    sample = ce.Sample(id="a", question="Which?", answer="This is right.", contexts=DOCUMENTS)
    with pytest.raises(
        ce.UsageError, match=f"reasons: the prompt assess/{prompt} always asks for all reasons"
    ):
        ce.score(
            [sample],
            judges="openai:m",
            metrics="faithfulness",
            assess_prompt=prompt,
            reasons="none",
        )
