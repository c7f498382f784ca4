"""A fake language model that understands claimeval's prompts and judges by a rule, so that scores can be foretold.

It takes every sentence for a claim. A claim that contains the word WRONG is contradicted, one with MISSING is not
found, any other is supported. As a judge of the loopback server: `serve(Options(judge="tests.claim_judge:make"))`.
"""

from __future__ import annotations

import json
import re

from tests.loopback.judge import Body, Judge, Reply, text_of

_LINE = re.compile(r'^(\w+): (".*")$', re.MULTILINE)


def answer(body: Body) -> Reply:
    """Claims for an extraction prompt, verdicts for an assessment prompt, in the format the prompt asks for."""
    text = text_of(body)
    return Reply(_claims(text) if "<sentences>" in text.rpartition("<claims>")[2] else _verdicts(text))


def _within(text: str, tag: str) -> str:
    return text.rpartition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0]


def _claims(text: str) -> str:
    if '{"claims"' not in text:
        sentences = [json.loads(line) for line in _within(text, "sentences").splitlines() if line]
        return "\n".join(f"- {sentence}" for sentence in sentences) or "NONE"
    found = [(int(number), json.loads(said)) for number, said in _LINE.findall(_within(text, "sentences"))]
    return json.dumps({"claims": [{"claim": s, "sentences": [n], "quote": s} for n, s in found]})


def label(claim: str) -> str:
    """The rule."""
    return "contradicted" if "WRONG" in claim else "not_found" if "MISSING" in claim else "supported"


def _verdicts(text: str) -> str:
    claims = _within(text, "claims")
    if "SUPPORTED=" in text.rpartition("</claims>")[2]:
        lines = [line.removeprefix("- ") for line in claims.splitlines() if line]
        return "\n".join(f"{line} SUPPORTED={int(label(line) == 'supported')}" for line in lines)
    binary = "- yes: " in text
    words = {"supported": "yes"} if binary else {}
    verdicts = [
        {
            "id": claim_id,
            "reason": f"judged by rule: {label(claim)}",
            "evidence": ["d1"],
            "label": words.get(label(claim), "no") if binary else label(claim),
        }
        for claim_id, claim in _LINE.findall(claims)
    ]
    return json.dumps({"verdicts": verdicts})


def make() -> Judge:
    """The judge, for a server in another process."""
    return answer
