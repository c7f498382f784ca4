"""A fake language model that understands claimeval's prompts and judges by rules, so that scores
are predictable.

Every sentence is a claim. A claim with the word WRONG is contradicted, one with MISSING is not
found, one with FROM_alpha is supported if the evidence has the word alpha, and any other claim is
supported. PARTLY is partial support. A claim with ASIDE is off topic, not vital, or unverifiable;
one with "and" states several facts. A whole answer is unfaithful with WRONG or MISSING and
incorrect with WRONG. It is relevant unless it has PARTLY or OFFTOPIC, and noncommittal with "do not
know". A document has the grade that it names, as in GRADE3, else the highest grade if it has half
of the question's longer words, else 0. Use it as a judge of the loopback server with
`serve(Options(judge="benchmarks.loopback.claim_judge:make"))`.
"""

from __future__ import annotations

import json
import re

from benchmarks.loopback.judge import Body, Judge, Reply, text_of

_FROM = re.compile(r"FROM_(\w+)")
EMPTY = re.compile(r"or an empty text if its label is (\w+)")
"""The label whose reason stays empty."""
_LINE = re.compile(r'^(\w+): (".*")$', re.MULTILINE)


def answer(body: Body) -> Reply:
    """Return the claims, verdicts, rating or grades that the prompt asks for, in its format."""
    text = text_of(body)
    requested = text.rpartition("Reply with this JSON and nothing else:")[2]
    if '{"grades"' in requested:
        return Reply(_grades(text))
    if '"rating"' in requested or '"kind"' in requested:
        return Reply(_rating(text, requested))
    return Reply(
        _claims(text) if "<sentences>" in text.rpartition("<claims>")[2] else _verdicts(text)
    )


def _within(text: str, tag: str) -> str:
    return text.rpartition(f"<{tag}>\n")[2].partition(f"\n</{tag}>")[0]


def _claims(text: str) -> str:
    if '{"claims"' not in text:
        sentences = [json.loads(line) for line in _within(text, "sentences").splitlines() if line]
        return "\n".join(f"- {sentence}" for sentence in sentences) or "NONE"
    numbered = [
        (int(number), json.loads(sentence))
        for number, sentence in _LINE.findall(_within(text, "sentences"))
    ]
    return json.dumps({"claims": [{"claim": s, "sentences": [n], "quote": s} for n, s in numbered]})


def label(claim: str, evidence: str = "") -> str:
    """Return the label of a claim by the rule above."""
    if "WRONG" in claim:
        return "contradicted"
    lacks = any(word not in evidence for word in _FROM.findall(claim))
    return "not_found" if lacks or "MISSING" in claim or "PARTLY" in claim else "supported"


def word(claim: str, evidence: str, prompt: str) -> str:
    """Return the judge's word for a claim on the prompt's scale."""
    assigned = label(claim, evidence)
    if "- on_topic: " in prompt:
        return "off_topic" if "ASIDE" in claim else "on_topic"
    if "- vital: " in prompt:
        return "okay" if "ASIDE" in claim else "vital"
    if "- one: " in prompt:
        return "several" if " and " in claim else "one"
    if "- verifiable: " in prompt:
        return "unverifiable" if "ASIDE" in claim else "verifiable"
    if "- partial_support: " in prompt:
        return (
            "support"
            if assigned == "supported"
            else "partial_support"
            if "PARTLY" in claim
            else "not_support"
        )
    if "- yes: " in prompt:
        return "yes" if assigned == "supported" else "no"
    return assigned


def _verdicts(text: str) -> str:
    claims = _within(text, "claims")
    if "SUPPORTED=" in text.rpartition("</claims>")[2]:
        lines = [line.removeprefix("- ") for line in claims.splitlines() if line]
        return "\n".join(f"{line} SUPPORTED={int(label(line) == 'supported')}" for line in lines)
    evidence = _within(text, "evidence")
    if '{"verdicts":{"c1"' in text:
        return json.dumps(
            {
                "verdicts": {
                    name: word(claim, evidence, text) for name, claim in _LINE.findall(claims)
                }
            }
        )
    unreasoned = EMPTY.findall(text)
    verdicts = [
        {
            "id": claim_id,
            "reason": (
                ""
                if word(claim, evidence, text) in unreasoned
                else f"judged by rule: {label(claim, evidence)}"
            ),
            "evidence": ["d1"],
            "label": word(claim, evidence, text),
        }
        for claim_id, claim in _LINE.findall(claims)
    ]
    return json.dumps({"verdicts": verdicts})


def _rating(text: str, requested: str) -> str:
    rated = json.loads(_within(text, "answer"))
    unknown = "do not know" in rated.lower()
    reason = "rated by rule"
    if '"kind"' in requested:
        return json.dumps({"reason": reason, "kind": "declines" if unknown else "answers"})
    if '"noncommittal"' in requested:
        rating = (
            "no" if unknown or "OFFTOPIC" in rated else "partly" if "PARTLY" in rated else "fully"
        )
        return json.dumps({"reason": reason, "rating": rating, "noncommittal": unknown})
    faults = ("WRONG",) if "<references>" in text else ("WRONG", "MISSING")
    return json.dumps(
        {"reason": reason, "rating": "no" if any(word in rated for word in faults) else "yes"}
    )


def _grades(text: str) -> str:
    question = _within(text, "passage" if "<passage>" in text else "question")
    words = {word.lower() for word in re.findall(r"\w{5,}", json.loads(question))}
    highest = max(int(step) for step in re.findall(r"^- (\d): ", text, re.MULTILINE))
    grades = [
        {
            "id": name,
            "reason": "graded by rule",
            "grade": _grade(json.loads(document), words, highest),
        }
        for name, document in _LINE.findall(_within(text, "documents"))
    ]
    return json.dumps({"grades": grades})


def _grade(document: str, words: set[str], highest: int) -> int:
    if named := re.search(r"GRADE(\d)", document):
        return int(named[1])
    shared = {word for word in words if word in document.lower()}
    return highest if words and 2 * len(shared) >= len(words) else 0


def make() -> Judge:
    """Return the judge, for a server in another process."""
    return answer
