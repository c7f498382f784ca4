"""`reasons` of a judge: for all verdicts, for those that are not support, or for none; all else stays."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal, get_args

import pytest

import claimeval as ce
from benchmarks.loopback import Options
from benchmarks.loopback.judge import Body, Reply, text_of
from claimeval.judging import assess, prompts
from claimeval.types.records import Claim, Document
from claimeval.types.requests import Judge, Request
from tests.conftest import StartServer

CLAIMS = [Claim(id=f"answer-{n}", of="answer", text=f"Claim {n}.", grounding="exact") for n in (1, 2)]
DOCUMENTS = (Document(id="a", text="Some text."),)
SHOWN = assess.ShownDocuments(DOCUMENTS)


Reasons = Literal["all", "unsupported", "none"]
EVERY: tuple[Reasons, ...] = get_args(Reasons)


def asked(prompt: str, reasons: Reasons) -> Request:
    judge = Judge(model="openai:m", reasons=reasons)
    return assess.ask(prompts.load("assess", prompt), judge, CLAIMS, SHOWN, "Which?")


@pytest.mark.parametrize("prompt", ["three_way", "binary", "partial"])
def test_the_question_and_the_schema_ask_for_these_reasons(prompt: str) -> None:
    by = {reasons: asked(prompt, reasons) for reasons in EVERY}
    texts = {reasons: request.messages[-1].content for reasons, request in by.items()}
    assert "first give the reason in one short sentence, then the ids" in texts["all"]
    favorable = {"three_way": "supported", "binary": "yes", "partial": "support"}[prompt]
    assert f"or an empty text if its label is {favorable}, then the ids" in texts["unsupported"]
    assert "reason" not in texts["none"].replace("reasonable", "")
    entries = {name: json.loads(request.response_schema or "")["properties"] for name, request in by.items()}
    fields = {name: list(entry["verdicts"]["items"]["properties"]) for name, entry in entries.items()}
    assert fields["all"] == fields["unsupported"] == ["id", "reason", "evidence", "label"]
    assert fields["none"] == ["id", "evidence", "label"]
    same = [re.sub(r"(?s)For each claim, first give.*", "", text) for text in texts.values()]
    assert len(set(same)) == 1


def judge_of(body: Body) -> Reply:
    """One claim supported, one not, with the reasons that are asked for."""
    text = text_of(body)
    if "<claims>" not in text:
        sentences = re.findall(r"^(\d+): \"(.*)\"$", text, re.MULTILINE)
        return Reply(json.dumps({"claims": [{"claim": t, "sentences": [int(n)], "quote": t} for n, t in sentences]}))
    verdicts = []
    for name, claim in re.findall(r"^(c\d+): \"(.*)\"$", text, re.MULTILINE):
        label = "supported" if "right" in claim else "not_found"
        reason = "because" if "empty text" not in text or label != "supported" else ""
        given = {"reason": reason} if '"reason"' in text else {}
        verdicts.append({"id": name, **given, "evidence": ["d1"], "label": label})
    return Reply(json.dumps({"verdicts": verdicts}))


@pytest.mark.parametrize(
    ("reasons", "explanations"),
    [("all", ["because", "because"]), ("unsupported", [None, "because"]), ("none", [None, None])],
)
def test_labels_are_the_same_and_a_note_says_which_reasons_there_are(
    start_server: StartServer, tmp_path: Path, reasons: Reasons, explanations: list[str | None]
) -> None:
    server = start_server(Options(), judge=judge_of)
    judge = Judge(name="j", model="openai:m", endpoint=server.url, reasons=reasons)
    sample = ce.Sample(id="a", question="Which?", answer="This is right. That is wrong.", contexts=DOCUMENTS)
    run = ce.score([sample], judges=judge, metrics="faithfulness", options=ce.RunOptions(cache=tmp_path))
    (result,) = run
    given = {a.label: a.verdicts[0].explanation for a in result.assessments}
    assert given == {"supported": explanations[0], "not_found": explanations[1]}
    notes = {
        "all": (),
        "unsupported": ("J gives reasons only for claims that are not supported, as its settings say.",),
        "none": ("J gives no reasons, as its settings say.",),
    }
    assert run.notes == notes[reasons]


@pytest.mark.parametrize("prompt", ["rules", "tags", "short", "three_way.de"])
def test_a_prompt_that_asks_for_all_reasons_is_refused_before_any_call(prompt: str) -> None:
    sample = ce.Sample(id="a", question="Which?", answer="This is right.", contexts=DOCUMENTS)
    judge = {"model": "openai:m", "reasons": "none"}
    with pytest.raises(ce.UsageError, match=f"the prompt assess/{prompt} asks for all reasons"):
        ce.score([sample], judges=judge, metrics="faithfulness", assess_prompt=prompt)
