"""Evidence that is longer than a judge's window, at servers that refuse it in the words of real
ones, or cut it."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.judging.extract import TextWindow
from claimeval.testing import serve
from claimeval.types.chat_format import write_chat
from claimeval.types.records import Document, Sample

WINDOW = 4096
CHARACTERS = 4.4
"""Of a token, as this tokenizer has it."""
CLAIMS = (
    "The lighthouse at Varn was lit in 1871.",
    "Its keeper was Ines Moll.",
    "It is 58 m high.",
)
WORDS = [
    "harbour",
    "council",
    "voted",
    "tariffs",
    "barges",
    "waited",
    "near",
    "locks",
    "measured",
    "silt",
    "autumn",
]

Refusal = Callable[[int], dict[str, Any]]
"""What a server says to a prompt of so many tokens."""
REFUSALS: dict[str, Refusal] = {
    "openai": lambda n: {
        "error": {
            "message": (
                f"This model's maximum context length is {WINDOW} tokens. However, your messages"
                f" resulted in {n} tokens. Please reduce the length of the messages."
            ),
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
    },
    "openai, without a number": lambda n: {
        "error": {
            "message": (
                "Your input exceeds the context window of this model. Please adjust your input and"
                " try again."
            ),
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        }
    },
    "mistral": lambda n: {
        "object": "error",
        "message": (
            f"Prompt contains {n} tokens and 0 draft tokens, too large for model with {WINDOW}"
            " maximum context length"
        ),
        "type": "invalid_request_invalid_args",
        "code": "3051",
    },
    "anthropic": lambda n: {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": f"prompt is too long: {n} tokens > {WINDOW} maximum",
        },
    },
    "vllm": lambda n: {
        "object": "error",
        "message": (
            f"This model's maximum context length is {WINDOW} tokens. However, you requested"
            f" {n + 500} tokens ({n} in the messages, 500 in the completion). Please reduce the"
            " length of the messages or completion."
        ),
        "type": "BadRequestError",
        "code": 400,
    },
    "llama.cpp": lambda n: {
        "error": {
            "code": 400,
            "message": (
                "the request exceeds the available context size. try increasing the context size"
            ),
            "type": "exceed_context_size_error",
            "n_prompt_tokens": n,
            "n_ctx": WINDOW,
        }
    },
    "lm studio": lambda n: {
        "error": (
            f"Trying to keep the first {n} tokens when context the overflows. However, the model is"
            f" loaded with context length of only {WINDOW} tokens, which is not enough."
        )
    },
}


def filler(sentences: int) -> str:
    draw = random.Random(7)
    return " ".join(
        " ".join(draw.choice(WORDS) for _ in range(12)).capitalize() + "." for _ in range(sentences)
    )


LONG = f"{filler(120)} {CLAIMS[0]} {filler(400)} {CLAIMS[1]}"
SAMPLE = Sample(
    id="q1",
    question="When was the lighthouse lit?",
    answer=" ".join(CLAIMS),
    contexts=(
        Document(id="a", text="A page about Varn."),
        Document(id="b", text=LONG),
        Document(id="c", text="Varn has a harbour."),
    ),
)


class Server:
    """What a server was asked."""

    def __init__(self, url: str) -> None:
        self.judge = f"openai:m@{url}"
        self.prompts: list[int] = []
        """Tokens of each prompt that came, refused ones included."""
        self.refused = 0


@contextmanager
def server(
    refusal: Refusal | None, cut: Callable[[int], int] = lambda window: window // 2 + 2
) -> Iterator[Server]:
    """A server that reads `WINDOW` tokens: it refuses longer prompts in these words, or reads the
    end of them."""

    def respond(path: str, headers: Mapping[str, str], content: bytes) -> tuple[int, bytes]:
        body = json.loads(content)
        text = "\n".join(message["content"] for message in body["messages"])
        tokens = int(len(text) / CHARACTERS)
        running.prompts.append(tokens)
        said = json.dumps(refusal(tokens)) if refusal else ""
        reply = (
            body["max_tokens"] if str(WINDOW) in said else 0
        )  # who states a window counts the reply in
        if refusal and tokens + reply > WINDOW:
            running.refused += 1
            return 400, said.encode()
        if tokens > WINDOW:
            tokens = cut(WINDOW)
        answer = json.loads(
            write_chat(write(text, text[-int(tokens * CHARACTERS) :]), body["model"])
        )
        answer["usage"] = {
            "prompt_tokens": tokens,
            "completion_tokens": 50,
            "total_tokens": tokens + 50,
        }
        return 200, json.dumps(answer).encode()

    with serve(respond) as url:
        running = Server(url)
        yield running


def write(prompt: str, read: str) -> str:
    """What a model writes that reads these last characters of a prompt."""
    if keepers := re.findall(r'^(\d+): "(Keeper .*)"$', prompt, re.MULTILINE):
        return json.dumps(
            {
                "claims": [
                    {"claim": said, "sentences": [int(n)], "quote": said} for n, said in keepers
                ]
            }
        )
    if "<sentences>" in prompt:
        return json.dumps(
            {
                "claims": [
                    {"claim": c, "sentences": [i], "quote": c} for i, c in enumerate(CLAIMS, 1)
                ]
            }
        )
    if "<claims>" in prompt:
        asked = re.findall(r'^(c\d+): "(.*)"$', prompt.partition("<claims>")[2], re.MULTILINE)
        evidence = read.partition("</evidence>")[0]
        labels = {name: "supported" if claim in evidence else "not_found" for name, claim in asked}
        verdicts = [
            {"id": name, "reason": "r", "evidence": ["d1"], "label": label}
            for name, label in labels.items()
        ]
        return json.dumps({"verdicts": verdicts})
    if "<answer>" in prompt:
        return json.dumps(
            {
                "reason": "r",
                "rating": "yes" if CLAIMS[0] in prompt.partition("<answer>")[0] else "no",
            }
        )
    return json.dumps(
        {"grades": [{"id": "d1", "reason": "r", "grade": 3 if CLAIMS[0] in prompt else 0}]}
    )


def score(judge: str, cache: Path, *samples: Sample) -> ce.Run:
    options = ce.RunOptions(cache=cache)
    return ce.score(samples or (SAMPLE,), judges=judge, metrics=["faithfulness"], options=options)


@pytest.mark.parametrize("words", REFUSALS)
def test_evidence_that_is_refused_as_too_long_is_read_in_windows(
    words: str, tmp_path: Path
) -> None:
    with server(REFUSALS[words]) as running:
        run = score(running.judge, tmp_path)
        asked = len(running.prompts)
        again = score(running.judge, tmp_path)
        repeated = running.prompts[asked:]
    (verdicts,) = zip(*(a.verdicts for a in run.results[0].assessments), strict=True)
    assert {a.subject: a.label for a in run.results[0].assessments} == {
        "answer-1": "supported",
        "answer-2": "supported",
        "answer-3": "not_found",
    }
    assert all(verdict.windows and verdict.windows > 3 for verdict in verdicts)
    assert {verdict.cites for verdict in verdicts if verdict.label == "supported"} <= {
        ("a",),
        ("b",),
        ("a", "b"),
    }
    assert run["faithfulness"].mean == again["faithfulness"].mean == pytest.approx(2 / 3)
    assert not run["faithfulness"].missing
    assert min(repeated, default=WINDOW) > WINDOW // 2  # nothing that was answered is asked again
    assert len(repeated) <= running.refused


LONG_ANSWER = SAMPLE.model_copy(
    update={
        "id": "long",
        "answer": " ".join(
            f"Keeper {n} was {word}. {filler(4)}" for n, word in enumerate(WORDS * 9)
        ),
        "contexts": (Document(id="a", text="Keeper 0 was harbour."),),
    }
)
"""99 claims, each in a sentence of its own, in a text of more than two windows."""


@pytest.mark.parametrize("words", ["openai", "openai, without a number", "llama.cpp"])
def test_an_answer_that_is_longer_than_the_window_is_taken_apart_in_windows(
    words: str, tmp_path: Path
) -> None:
    with server(REFUSALS[words]) as running:
        run = score(running.judge, tmp_path, LONG_ANSWER)
        asked = len(running.prompts)
        refused = running.refused
        again = score(running.judge, tmp_path, LONG_ANSWER)
        repeated = len(running.prompts) - asked
    (result,) = run.results
    assert result.sample.answer
    found = [
        (claim.id, result.sample.answer[slice(*claim.span or ())], claim.grounding)
        for claim in result.claims
    ]
    expected = [f"Keeper {n} was {word}." for n, word in enumerate(WORDS * 9)]
    assert found == [(f"answer-{n}", text, "exact") for n, text in enumerate(expected, 1)]
    assert [claim.sentences for claim in result.claims] == [(5 * n + 1,) for n in range(99)]
    windows = [call.window for call in result.calls if call.step == "extract" and not call.failed]
    count = windows[-1] or 0
    assert windows[-count:] == list(range(1, count + 1))
    assert count > 2
    assert run["faithfulness"].mean == pytest.approx(1 / 99)
    assert not run["faithfulness"].missing
    assert again.results[0].claims == result.claims
    assert repeated <= refused


def test_a_sentence_that_is_longer_than_the_window_is_cut_between_words(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(6000)]
    endless = SAMPLE.model_copy(update={"answer": f"It rained. {' '.join(words)}."})
    with server(REFUSALS["openai"]) as running:
        run = score(running.judge, tmp_path, endless)
    (result,) = run.results
    assert [claim.text for claim in result.claims] == list(CLAIMS)  # what each window gave, once
    assert not run["faithfulness"].missing
    read = [call for call in result.calls if call.step == "extract" and call.window]
    assert [call.window for call in read] == list(range(1, len(read) + 1))
    requests = [Rebuilder(run.manifest).rebuild(result, call) for call in read]
    shown = [
        re.findall(r"\bw\d+\b", request.messages[-1].content) for request in requests if request
    ]
    assert set().union(*shown) == set(words)
    pieces = [set(some) for some in shown if some]
    assert len(pieces) > 2
    assert all(one & other for one, other in itertools.pairwise(pieces))
    (long,) = run.record.long
    assert (long.samples, long.windows) == (1, len(read))


@pytest.mark.parametrize("name", ["sentences 1-2", "sentence 7, characters 20-900"])
def test_a_window_of_a_text_is_read_as_it_is_written(name: str) -> None:
    window = TextWindow.read(name)
    assert str(window) == name
    assert TextWindow.read("answer-1") is None


def test_the_extraction_command_takes_claims_in_windows_too(tmp_path: Path) -> None:
    data = [{"id": "long", "question": "q", "answer": LONG_ANSWER.answer}]
    with server(REFUSALS["openai"]) as running:
        found = ce.extraction(data, extractor=running.judge, options=ce.RunOptions(cache=tmp_path))
    assert found["claims_per_sentence"].total == 5 * 99
    assert [claim.sentences for claim in found.results[0].claims] == [
        (5 * n + 1,) for n in range(99)
    ]
    rebuilt = [
        Rebuilder(found.manifest).rebuild(found.results[0], call) for call in found.results[0].calls
    ]
    assert all(rebuilt)


@pytest.mark.parametrize(
    "cut", [lambda window: window // 2 + 2, lambda window: window], ids=["half", "whole"]
)
def test_a_prompt_that_was_cut_in_silence_counts_for_nothing(
    cut: Callable[[int], int], tmp_path: Path
) -> None:
    with server(None, cut) as running:
        run = score(running.judge, tmp_path)
        again = score(running.judge, tmp_path)
        asked = len(running.prompts)
    (call,) = [call for call in run.results[0].calls if call.failed]
    assert call.failed == "too_long"
    assert "silently truncated" in (call.message or "")
    assert run.manifest.judges[0].learned.context_tokens == WINDOW
    assert run["faithfulness"].mean == again["faithfulness"].mean == pytest.approx(2 / 3)
    assert sum(tokens > WINDOW for tokens in running.prompts[:asked]) == 1


def test_a_window_that_is_known_is_kept_to_and_planned(tmp_path: Path) -> None:
    short = SAMPLE.model_copy(
        update={"id": "q2", "contexts": SAMPLE.contexts and SAMPLE.contexts[:1]}
    )
    with server(REFUSALS["openai"]) as running:
        judge = {"model": running.judge, "name": "m", "context_tokens": WINDOW}
        options = ce.RunOptions(cache=tmp_path)
        planned = ce.plan(
            ce.score, [SAMPLE, short], judges=judge, metrics=["faithfulness"], options=options
        )
        run = ce.score([SAMPLE, short], judges=judge, metrics=["faithfulness"], options=options)
        assert running.refused == 0
    (ahead,) = planned.long
    (long,) = run.record.long
    assert abs(long.windows - ahead.windows) <= 1  # the claims are not known before
    assert (ahead.judge, ahead.context_tokens, ahead.samples) == ("m", WINDOW, 1)
    assert long.windows == max(
        v.windows or 0 for r in run.results for a in r.assessments for v in a.verdicts
    )
    assert "1 of 2 samples do not fit into the window of 4,096 tokens of m" in long.in_words(2, "m")
    assert planned.calls[0] - 1 <= len(running.prompts) <= planned.calls[1] + 1


def test_what_fits_into_no_window_is_too_long_and_soon_given_up(tmp_path: Path) -> None:
    with server(
        lambda n: {"error": {"message": "Input is too long for requested model.", "type": "error"}}
    ) as running:
        huge = SAMPLE.model_copy(update={"question": filler(400)})
        with pytest.warns(
            UserWarning, match="too_long: the text does not fit into the model's context window"
        ):
            run = score(running.judge, tmp_path, huge)
        assert run["faithfulness"].missing == {"too_long": 1}
        assert len(running.prompts) < 12


def test_a_long_document_is_graded_by_its_best_window(tmp_path: Path) -> None:
    with server(REFUSALS["vllm"]) as running:
        run = ce.grade([SAMPLE], judges=running.judge, options=ce.RunOptions(cache=tmp_path))
    labels = {
        a.subject: (a.label, a.verdicts[0].windows is not None) for a in run.results[0].assessments
    }
    assert labels == {"a": ("0", False), "b": ("3", True), "c": ("0", False)}


def test_a_whole_answer_is_rated_against_windows(tmp_path: Path) -> None:
    with server(REFUSALS["mistral"]) as running:
        run = ce.rate(
            [SAMPLE],
            judges=running.judge,
            ask="faithfulness",
            options=ce.RunOptions(cache=tmp_path),
        )
    (rating,) = run.results[0].assessments
    assert rating.label == "yes"
    assert rating.verdicts[0].windows


def test_a_run_on_disk_knows_its_windows(tmp_path: Path) -> None:
    with server(REFUSALS["anthropic"]) as running:
        run = score(running.judge, tmp_path / "cache")
    loaded = ce.Run.load(run.save(tmp_path / "run"))
    assert loaded == run
    assert loaded.record.long[0].windows > 3
