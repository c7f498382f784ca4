"""A fake language model that writes questions about documents and takes a second look at questions,
by rules.

It asks about the longest words of the first line with eight words or more, gives that line as
answer and passage, and has nothing to ask of a document without one. The second look finds a
question unrealistic that names no word in capitals. As a judge of the loopback server:
`serve(Options(judge="benchmarks.loopback.query_judge:make"))`.
"""

from __future__ import annotations

import json
import re

from benchmarks.loopback.judge import Body, Judge, Reply, text_of

WORDS = 8
"""Words of a line that is worth a question."""
_DOCUMENT = re.compile(r'<document>\n(".*")\n</document>')
_QUESTION = re.compile(r'<question>\n(".*")\n</question>')


def answer(body: Body) -> Reply:
    """Questions, or a second look, as the prompt asks for."""
    text = text_of(body)
    if '"self_contained"' in text:
        match = _QUESTION.search(text)
        assert match, "the second look shows a question"
        realistic = any(word[:1].isupper() for word in json.loads(match.group(1)).split()[1:])
        said = {
            "reason": "by rule",
            "answerable": True,
            "self_contained": True,
            "realistic": realistic,
        }
        return Reply(json.dumps(said))
    match = _DOCUMENT.search(text)
    assert match, "a document is shown"
    found = about(json.loads(match.group(1)))
    return Reply(json.dumps({"questions": [found] if found else []}))


def about(document: str) -> dict[str, str] | None:
    """The question about a document."""
    line = next(
        (line.strip() for line in document.splitlines() if len(line.split()) >= WORDS), None
    )
    if line is None:
        return None
    longest = sorted(set(re.findall(r"[^\W\d]{4,}", line)), key=lambda word: (-len(word), word))[:4]
    return {
        "question": f"What was reported about {', '.join(longest)}?",
        "answer": line,
        "passage": line,
    }


def make() -> Judge:
    """The judge, for a server in another process."""
    return answer
