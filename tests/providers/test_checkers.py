"""Checkers: small models that judge one claim at a time in a form of their own."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import claimeval as ce
from claimeval.evaluation.rebuilder import Rebuilder
from claimeval.judging.checkers import probability, read
from claimeval.judging.reply_values import after_reasoning
from claimeval.providers import checkers, claims_per_call, reads_prompts, specs
from claimeval.testing import serve
from claimeval.types.chat_format import read_chat
from claimeval.types.checkers import ReplyRule
from claimeval.types.errors import UsageError

Record = dict[str, Any]


def supports(document: str, claim: str) -> bool:
    """Whether every longer word and number of a claim is in the document."""
    words = [word for word in re.findall(r"\w+", claim.lower()) if len(word) > 3 or word.isdigit()]
    return bool(words) and all(word in document.lower() for word in words)


class Form(NamedTuple):
    """What a checker reads and writes, as its own documentation says."""

    pair: Callable[[list[Record], Record], tuple[str, str]]
    """Take document and claim from the messages and the arguments of the chat template."""
    yes: tuple[str, ...]
    """Replies that say that the claim is supported."""
    no: tuple[str, ...]


def _found(pattern: str) -> Callable[[list[Record], Record], tuple[str, str]]:
    def pair(messages: list[Record], _: Record) -> tuple[str, str]:
        match = re.search(pattern, messages[-1]["content"], re.DOTALL)
        assert match, messages
        return match[1], match[2]

    return pair


def _guardian(messages: list[Record], template: Record) -> tuple[str, str]:
    assert template["guardian_config"]["risk_name"] == "groundedness"
    assert [message["role"] for message in messages] == ["context", "assistant"]
    return messages[0]["content"], messages[1]["content"]


RUBRIC = r"document supports\.\n(.*?)\n```\n\nResponse:\n```\n(.*?)\n```"
FORMS = {
    "minicheck": Form(_found(r"^Document: (.*)\nClaim: (.*)$"), ("Yes", "Yes.", " yes\n"), ("No",)),
    "lynx": Form(
        _found(r"DOCUMENT:\n(.*?)\n\n--\nANSWER:\n(.*?)\n\n--"),
        (
            '{"REASONING": ["The document says so."], "SCORE": "PASS"}',
            '{"REASONING": [\'- it is "there"\'], "SCORE": PASS}',
            '```json\n{"REASONING": "so", "SCORE":"PASS"}\n```',
        ),
        ('{"REASONING": ["It is not there."], "SCORE": "FAIL"}',),
    ),
    "granite-guardian": Form(
        _guardian,
        ("No", "No\n<confidence> High </confidence>", "<think>\n</think>\n<score> no </score>"),
        ("Yes", "Yes\n<confidence> Low </confidence>", "<score> yes </score>"),
    ),
    "prometheus": Form(
        _found(r"document supports\.\n(.*?)\n\n###Response to evaluate:\n(.*?)\n\n###Score"),
        ("Feedback: All of it is there. [RESULT] 5", "It is so. [RESULT] (5)", "[RESULT] 5/5."),
        tuple(f"Feedback: A part is missing. [RESULT] {score}" for score in range(1, 5)),
    ),
    "flow-judge": Form(
        _found(r"<context>\n(.*?)\n</context>.*<output>\n(.*?)\n</output>"),
        ("<feedback>\nGrounded.\n</feedback>\n<score>\n1\n</score>", "<score>1</score>"),
        ("<feedback>Not there.</feedback>\n<score>0</score>",),
    ),
    "selene": Form(
        _found(RUBRIC),
        ("**Reasoning:** It is there.\n\n**Result:** Yes", "**Result:** Y"),
        ("**Reasoning:** It is not there.\n\n**Result:** No", "**Result:** N"),
    ),
}


class Server:
    """A server with OpenAI's protocol that replies as one checker does."""

    def __init__(self, name: str) -> None:
        self.form = FORMS[name]
        self.bodies: list[Record] = []
        self.models = [f"{name}-8b"]
        self.reply: Callable[[bool], Record] | None = None
        self.refuses_logprobs = False
        self.url = ""

    def respond(self, path: str, headers: Mapping[str, str], content: bytes) -> tuple[int, bytes]:
        if path.endswith("/models"):
            listed = {"data": [{"id": model} for model in self.models]}
            return 200, json.dumps(listed).encode()
        body = json.loads(content)
        if self.refuses_logprobs and "logprobs" in body:
            refusal = {"error": {"message": "Unknown parameter: 'top_logprobs'"}}
            return 400, json.dumps(refusal).encode()
        self.bodies.append(body)
        supported = supports(
            *self.form.pair(body["messages"], body.get("chat_template_kwargs", {}))
        )
        written = self.form.yes if supported else self.form.no
        choice = {"message": {"role": "assistant", "content": written[0]}, "finish_reason": "stop"}
        if self.reply:
            choice |= self.reply(supported)
        usage = {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102}
        reply = {"model": body["model"], "choices": [choice], "usage": usage}
        return 200, json.dumps(reply).encode()


@pytest.fixture(params=sorted(FORMS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(name: str) -> Iterator[Server]:
    yield from _served(name)


@pytest.fixture
def minicheck() -> Iterator[Server]:
    yield from _served("minicheck")


def _served(name: str) -> Iterator[Server]:
    fake = Server(name)
    with serve(fake.respond) as url:
        fake.url = url
        yield fake


CONTEXTS = ("Berlin has 891 square kilometres.", "Berlin was founded in 1237.")
CLAIMS = {
    "Berlin was founded in 1237.": "supported",
    "Berlin has 891 square kilometres.": "supported",
    "Berlin was founded in 1307.": "not_found",
}


def sample(contexts: tuple[str, ...] = CONTEXTS) -> Record:
    return {
        "id": "s1",
        "question": "What is Berlin?",
        "answer": " ".join(CLAIMS),
        "contexts": list(contexts),
    }


def score(judge: str | Path | ce.Judge, data: Record | None = None, **settings: Any) -> ce.Run:
    return ce.score(
        [data or sample()],
        metrics=["faithfulness"],
        judges=str(judge) if isinstance(judge, Path) else judge,
        extractor="local:lexical",
        **settings,
    )


def labels(run: ce.Run) -> list[str | None]:
    (result,) = run
    return [each.label or each.unassessed for each in result.assessments if each.is_whole]


RIGHT = [*CLAIMS.values()]


def test_every_preset_has_a_form_here() -> None:
    assert set(checkers.presets()) == set(FORMS)


def test_a_preset_judges_from_its_name_and_an_address(name: str, server: Server) -> None:
    run = score(f"check:{name}@{server.url}")
    assert labels(run) == RIGHT
    assert {body["model"] for body in server.bodies} == {f"{name}-8b"}
    assert len(server.bodies) == len(CLAIMS) * len(CONTEXTS), "a request for each pair"


def test_a_preset_says_the_same_as_a_function_that_asks_in_its_form(
    name: str, server: Server
) -> None:
    def ask(messages: list[dict[str, str]]) -> str:
        """Take the prompt apart, and answer as the checker at the server does."""
        user = messages[-1]["content"]

        def items(tag: str) -> list[tuple[str, str]]:
            lines = user.split(f"<{tag}>\n")[1].split(f"\n</{tag}>")[0].splitlines()
            pairs = (line.split(": ", 1) for line in lines if ": " in line)
            return [(subject, json.loads(text)) for subject, text in pairs]

        documents = [text for _, text in items("evidence")]
        verdicts: list[Record] = [
            {
                "id": subject,
                "reason": "",
                "evidence": [],
                "label": "supported"
                if any(supports(document, claim) for document in documents)
                else "not_found",
            }
            for subject, claim in items("claims")
        ]
        return json.dumps({"verdicts": verdicts})

    function = ce.Judge.from_callable(name, ask, model=name)
    assert labels(score(f"check:{name}@{server.url}")) == labels(score(function))


def test_each_reply_in_the_form_of_a_preset_is_read(name: str) -> None:
    rule = specs.parse_judge(f"check:{name}=m@http://127.0.0.1:9/v1").reply
    assert rule
    form = FORMS[name]
    for reply in form.yes:
        assert read(after_reasoning(reply), rule).label == "supported", reply
    for reply in form.no:
        assert read(after_reasoning(reply), rule).label == "not_found", reply


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("minicheck", "Maybe"),
        ("minicheck", "Yes and No"),
        ("minicheck", ""),
        ("minicheck", "Yes, but the year is missing"),
        ("lynx", '{"REASONING": [], "SCORE": "UNSURE"}'),
        ("lynx", '{"SCORE": "PASS"} and then {"SCORE": "FAIL"}'),
        ("lynx", '{"REASONING": [], "SCORE": "PASS/FAIL"}'),
        ("lynx", '{"REASONING": [], "SCORE": PASS or FAIL}'),
        ("granite-guardian", "It is grounded. No fault."),
        ("granite-guardian", "no, yes"),
        ("granite-guardian", "No\nYes"),
        ("granite-guardian", "<score> no yes </score>"),
        ("granite-guardian", "<score> no </score> <score> yes </score>"),
        ("prometheus", "Feedback: good. [RESULT] 7"),
        ("prometheus", "Feedback: good. [RESULT] 5 or [RESULT] 4"),
        ("prometheus", "Feedback: good. [RESULT] 4.5"),
        ("prometheus", "Feedback: good. [RESULT] 5/10"),
        ("prometheus", "Feedback: good. [RESULT] 5 out of 10"),
        ("flow-judge", "<score>2</score>"),
        ("selene", "**Result:** Perhaps"),
        ("selene", "**Result:** Yes/No"),
        ("selene", "**Result:** Yes or No"),
    ],
)
def test_a_reply_that_says_nothing_or_two_things_is_no_label(name: str, reply: str) -> None:
    for fake in _served(name):
        fake.reply = lambda _: {"message": {"content": reply}}
        data = {**sample(CONTEXTS[:1]), "answer": "Berlin was founded in 1237."}
        assert labels(score(f"check:{name}@{fake.url}", data)) == ["unparsable"]


def test_yes_of_granite_guardian_is_a_fault() -> None:
    rule = specs.parse_judge("check:granite-guardian=m@http://127.0.0.1:9/v1").reply
    assert rule
    assert rule.label("Yes") == "not_found"
    assert rule.label("no") == "supported"


def _token(text: str, **shares: float) -> Record:
    """A token of a reply with the probability of alternatives."""
    top = [{"token": word, "logprob": math.log(share)} for word, share in shares.items()]
    return {"token": text, "logprob": -0.1, "bytes": None, "top_logprobs": top}


def test_the_probability_is_that_of_the_first_token(minicheck: Server) -> None:
    shares = {True: {"Yes": 0.7, "yes": 0.1, "No": 0.2}, False: {"No": 0.9, "Yes": 0.1}}
    minicheck.reply = lambda yes: {
        "logprobs": {"content": [_token("Yes" if yes else "No", **shares[yes])]}
    }
    run = score(f"check:minicheck@{minicheck.url}")
    (result,) = run
    found = [each.probability for each in result.assessments]
    assert found == pytest.approx([0.8, 0.8, 0.1]), "the best document decides"


def test_the_probability_of_granite_guardian_is_that_of_no() -> None:
    for fake in _served("granite-guardian"):
        fake.reply = lambda yes: {
            "logprobs": {"content": [_token("No" if yes else "Yes", No=0.3, Yes=0.6)]}
        }
        (result,) = score(f"check:granite-guardian@{fake.url}", sample(CONTEXTS[:1]))
        assert result.assessments[0].probability == pytest.approx(0.3 / 0.9)


def test_a_server_without_log_probabilities_is_asked_without_them(minicheck: Server) -> None:
    minicheck.refuses_logprobs = True
    run = score(f"check:minicheck@{minicheck.url}")
    assert labels(run) == RIGHT
    (result,) = run
    assert {each.probability for each in result.assessments} == {None}


def test_200_faultless_replies_are_accepted() -> None:
    """Replies whose probabilities add up to .99, ties, and the spellings of each form."""
    draw = random.Random(7)
    for number in range(200):
        name = draw.choice(sorted(FORMS))
        rule = specs.parse_judge(f"check:{name}=m@http://127.0.0.1:9/v1").reply
        assert rule
        supported = draw.random() < 0.5
        written = draw.choice(FORMS[name].yes if supported else FORMS[name].no)
        share = draw.choice([0.5, 0.99, 0.495, round(draw.random(), 2)])
        reading = read(written.partition("</think>")[2] or written, rule)
        assert reading.label == ("supported" if supported else "not_found"), (number, written)
        tokens = [
            _token(piece, **{piece.strip() or " ": max(share, 0.01), "other": 0.005})
            for piece in re.findall(r"\s*\w+|\W", written)
        ]
        assert "".join(token["token"] for token in tokens) == written
        choice = {
            "message": {"content": written},
            "finish_reason": "stop",
            "logprobs": {"content": tokens},
        }
        completion = read_chat(json.dumps({"choices": [choice]}).encode())
        text = written.partition("</think>")[2] or written
        found = probability(completion, text, reading, rule)
        assert found is None or found == (1.0 if supported else 0.0)


def test_citations_come_from_the_same_pairs(minicheck: Server) -> None:
    data = {**sample(), "answer": "Berlin was founded in 1237 [2]. It has 891 kilometres [2]."}
    run = ce.score(
        [data],
        metrics=["citation_precision", "citation_recall"],
        judges=f"check:minicheck@{minicheck.url}",
        extractor="local:lexical",
    )
    pairs = [tuple(body["messages"][-1]["content"].split("\nClaim: ")) for body in minicheck.bodies]
    assert len(pairs) == len(set(pairs)), "each pair is asked about once"
    (result,) = run
    assert {each.document for each in result.assessments if not each.is_whole} == {2}


def test_each_document_alone_asks_no_pair_twice(minicheck: Server) -> None:
    run = score(f"check:minicheck@{minicheck.url}", per_document=True)
    assert labels(run) == RIGHT
    assert len(minicheck.bodies) == len(CLAIMS) * len(CONTEXTS)


def test_a_long_document_is_read_in_windows_and_the_best_one_decides(
    minicheck: Server, tmp_path: Path
) -> None:
    filler = " ".join(f"Sentence {number} says nothing about it." for number in range(400))
    data = sample((f"{filler} Berlin was founded in 1237.",))
    file = tmp_path / "minicheck.yaml"
    file.write_text(f"model: check:minicheck@{minicheck.url}\ncontext_tokens: 1500\n")
    run = score(file, data)
    assert labels(run) == ["supported", "not_found", "not_found"]
    (result,) = run
    windows = result.assessments[0].verdicts[0].windows
    assert windows is not None
    assert windows > 1
    longest = max(len(body["messages"][-1]["content"]) for body in minicheck.bodies)
    assert longest < 1500 * 3


def test_a_stored_reply_is_not_asked_again(minicheck: Server, tmp_path: Path) -> None:
    for _ in range(2):
        run = score(
            f"check:minicheck@{minicheck.url}", options=ce.RunOptions(cache=tmp_path / "cache")
        )
        assert labels(run) == RIGHT
    assert len(minicheck.bodies) == 6


def test_all_documents_together_are_one_request_with_asks_set(
    minicheck: Server, tmp_path: Path
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(
        f"""
model: openai:minicheck-8b@{minicheck.url}
asks: set
prompt: |-
  Document: {{{{ document }}}}
  Claim: {{{{ claim }}}}
reply: {{words: ["Yes", "No"], positive: "Yes"}}
"""
    )
    assert labels(score(file)) == RIGHT
    assert len(minicheck.bodies) == len(CLAIMS)
    assert minicheck.bodies[0]["messages"][-1]["content"].startswith(
        f"Document: {CONTEXTS[0]}\n\n{CONTEXTS[1]}\nClaim: "
    )


def test_a_judge_file_changes_a_preset(minicheck: Server, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(f"model: check:minicheck=other@{minicheck.url}\nmax_tokens: 3\n")
    assert labels(score(file)) == RIGHT
    assert {(body["model"], body["max_tokens"]) for body in minicheck.bodies} == {("other", 3)}


def test_texts_of_the_data_are_no_templates(minicheck: Server) -> None:
    data = sample(("Berlin was founded in 1237. {{ claim }} {% if %}", CONTEXTS[0]))
    assert labels(score(f"check:minicheck@{minicheck.url}", data)) == RIGHT


def test_several_models_at_a_server_are_named_and_none_is_asked(minicheck: Server) -> None:
    minicheck.models = ["qwen3:8b", "bespoke-minicheck:7b"]
    wanted = "serves bespoke-minicheck:7b, qwen3:8b; name the model, as in -j check:minicheck="

    with pytest.raises(UsageError, match=wanted):
        score(f"check:minicheck@{minicheck.url}")
    assert not minicheck.bodies
    run = score(f"check:minicheck=bespoke-minicheck:7b@{minicheck.url}")
    assert labels(run) == RIGHT
    assert {body["model"] for body in minicheck.bodies} == {"bespoke-minicheck:7b"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"asks": "pair"}, "has no `prompt:`"),
        ({"asks": "pair", "prompt": "{{ document }} {{ claim }}"}, "has no `reply:`"),
        ({"prompt": "{{ document }} {{ claim }}"}, "add `asks: pair`"),
        ({"asks": "pair", "prompt": "{{ claim }}", "reply": "W"}, "does not use {{ document }}"),
        ({"asks": "pair", "prompt": "{{ text }}", "reply": "W"}, "uses 'text'"),
        ({"asks": "pair", "prompt": "{{ claim", "reply": "W"}, "is no template"),
        ({"matrix": "joint"}, "for decision models"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: Record, message: str) -> None:
    if settings.get("reply"):
        settings = {**settings, "reply": {"words": {"yes": "supported", "no": "not_found"}}}
    judge = ce.Judge.model_validate({"name": "j", "model": "openai:m", **settings})
    with pytest.raises(UsageError, match=re.escape(message)):
        specs.parse_judge(judge)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({}, "give `words` or a `threshold`"),
        ({"words": {"yes": "supported"}, "threshold": 1}, "give `words` or a `threshold`"),
        ({"words": {"yes": "true"}}, "'true' is no label"),
        ({"words": {"no": "not_found"}}, "no word means `supported`"),
        ({"words": {True: "supported", False: "not_found"}}, "put words in quotes"),
        ({"words": {"Yes": "supported", "yes.": "not_found"}}, "differ in more than case"),
        ({"words": ["yes", "no"], "positive": "y"}, "'y' is none of them"),
        ({"pattern": "(a)(b)", "threshold": 1}, "it has 2 groups"),
        ({"pattern": "(a", "threshold": 1}, "not a regular expression"),
        ({"pattern": "(a)", "json": "a", "threshold": 1}, "not both"),
        ({"words": {"yes": "supported"}, "positive": "above"}, "needs a `threshold`"),
        ({"words": {"yes": "supported"}, "probability": True}, "needs a `threshold`"),
    ],
)
def test_rules_that_cannot_be_read_are_refused(rule: Record, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        ReplyRule.model_validate(rule)


@pytest.mark.parametrize(
    ("rule", "value", "label"),
    [
        ({"threshold": 0.5}, "0.5", "supported"),
        ({"threshold": 0.5}, "0.49", "not_found"),
        ({"threshold": 0.5, "positive": "below"}, "0.5", "supported"),
        ({"threshold": 0.5, "positive": "below"}, "0.51", "not_found"),
        ({"threshold": 0.5}, "nan", None),
        ({"threshold": 0.5}, "inf", None),
        ({"threshold": 0.5}, "high", None),
        ({"words": {"PASS": "supported", "FAIL": "contradicted"}}, "*fail*.", "contradicted"),
    ],
)
def test_what_a_value_means(rule: Record, value: str, label: str | None) -> None:
    assert ReplyRule.model_validate(rule).label(value) == label


def test_a_field_of_json_is_found_by_its_path() -> None:
    rule = ReplyRule.model_validate({"json": "result.scores[1]", "threshold": 0.7})
    assert read('{"result": {"scores": [0.1, 0.9]}}', rule).label == "supported"


def test_a_checker_extracts_nothing_and_reads_no_prompts(minicheck: Server) -> None:
    judge = specs.parse_judge(f"check:minicheck=m@{minicheck.url}")
    assert (reads_prompts(judge), judge.is_engine, claims_per_call(judge)) == (False, False, 1)
    with pytest.raises(UsageError, match="cannot extract"):
        ce.score([sample()], metrics=["faithfulness"], judges=f"check:minicheck=m@{minicheck.url}")
    assert not minicheck.bodies


def test_a_plan_counts_the_pairs(minicheck: Server) -> None:
    plan = ce.plan(
        ce.score,
        [sample()],
        metrics=["faithfulness"],
        judges=f"check:minicheck@{minicheck.url}",
        extractor="local:lexical",
    )
    (line,) = [line for line in plan.lines if line.step == "assess"]
    assert line.calls == (6, 6)
    assert line.prompt_tokens[0] > 6 * 20
    assert not minicheck.bodies


def test_a_rejudge_asks_the_same_checker_and_finds_its_replies(
    minicheck: Server, tmp_path: Path
) -> None:
    options = ce.RunOptions(cache=tmp_path / "cache")
    score(f"check:minicheck@{minicheck.url}", options=options, out=tmp_path / "run")
    asked = len(minicheck.bodies)
    run = ce.Run.load(tmp_path / "run")
    (judge,) = run.manifest.judges
    assert judge.reply
    assert judge.reply.words == {"Yes": "supported", "No": "not_found"}
    assert judge.id == specs.parse_judge(f"check:minicheck@{minicheck.url}").id
    again = ce.rejudge(
        tmp_path / "run",
        judges=f"check:minicheck@{minicheck.url}",
        options=options,
    )
    assert labels(again) == RIGHT
    assert len(minicheck.bodies) == asked


def test_a_report_rebuilds_what_a_checker_was_asked(minicheck: Server) -> None:
    run = score(f"check:minicheck@{minicheck.url}")
    (result,) = run
    rebuilder = Rebuilder(run.manifest)
    asked = [rebuilder.rebuild(result, call) for call in result.calls if call.step == "assess"]
    texts = [request.messages[-1].content for request in asked if request]
    assert sorted(texts) == sorted(body["messages"][-1]["content"] for body in minicheck.bodies)


def test_a_checker_rates_whole_answers_and_matches_documents(minicheck: Server) -> None:
    data = {**sample(), "answer": "Berlin has 891 square kilometres and was founded in 1237."}
    run = ce.rate([data], judges=f"check:minicheck@{minicheck.url}")
    assert run["rated_faithfulness"].mean == 1.0
    assert len(minicheck.bodies) == 1, "a whole answer is checked against all documents together"
    references = {**data, "reference_contexts": ["It was founded in 1237."]}
    graded = ce.grade(
        [references], judges=f"check:minicheck@{minicheck.url}", against="reference_contexts"
    )
    (result,) = graded
    assert [each.label for each in result.assessments] == ["0", "1"]


def test_doctor_tries_a_checker_with_a_true_and_a_false_claim(minicheck: Server) -> None:
    minicheck.reply = lambda _: {"message": {"content": "No"}}
    wrong = ce.probe(f"check:minicheck@{minicheck.url}")
    assert not wrong.ok
    assert wrong.problem == "it says not_found, not_found of a true and a false claim"
    minicheck.reply = None
    found = ce.probe(f"check:minicheck@{minicheck.url}")
    assert found.ok
    assert [step.step for step in found.steps] == ["assess"]


ONE_WORD = {
    "No": r"-j check:minicheck=m@http\S+` or",
    "<score> no </score>": "-j check:granite-guardian=m@",
    '{"REASONING": ["so"], "SCORE": "PASS"}': "-j check:lynx=m@",
    "Feedback: good. [RESULT] 5": "-j check:prometheus=m@",
    "<feedback>so</feedback><score>1</score>": "-j check:flow-judge=m@",
    "**Reasoning:** so **Result:** Y": "-j check:selene=m@",
    "PASS": r"`asks: pair` in a judge file, with `prompt` and `reply`",
}


@pytest.mark.parametrize(("reply", "advice"), ONE_WORD.items())
def test_a_chat_judge_that_replies_as_a_checker_does_ends_with_the_preset(
    minicheck: Server, reply: str, advice: str
) -> None:
    minicheck.form = Form(lambda messages, template: ("", ""), (reply,), (reply,))
    answers = [
        {**sample(), "id": f"s{number}", "answer": f"Berlin has {number} lakes."}
        for number in range(12)
    ]
    with pytest.raises(ce.StoppedEarly, match=advice):
        ce.score(
            answers,
            metrics=["faithfulness"],
            judges=f"openai:m@{minicheck.url}",
            extractor="local:lexical",
        )


def test_the_advice_for_one_word_works_when_typed(minicheck: Server) -> None:
    command = re.search(r"check:minicheck=m@\S+", _advised(minicheck))
    assert command
    minicheck.form = FORMS["minicheck"]
    assert labels(score(command[0].rstrip("`"))) == RIGHT


def _advised(server: Server) -> str:
    server.form = Form(lambda messages, template: ("", ""), ("No",), ("No",))
    answers = [
        {**sample(), "id": f"s{number}", "answer": f"Berlin has {number} lakes."}
        for number in range(12)
    ]
    with pytest.raises(ce.StoppedEarly) as stopped:
        ce.score(
            answers,
            metrics=["faithfulness"],
            judges=f"openai:m@{server.url}",
            extractor="local:lexical",
        )
    return str(stopped.value)


def test_a_service_with_a_score_is_a_function_that_gets_plain_texts() -> None:
    asked = []

    def service(messages: list[dict[str, str]]) -> str:
        texts = {message["role"]: message["content"] for message in messages}
        asked.append(texts)
        return str(0.9 if supports(texts["document"], texts["claim"]) else 0.2)

    judge = ce.Judge.from_callable(
        "service",
        service,
        model="service",
        asks="pair",
        reply={"threshold": 0.5, "probability": True},
    )
    run = score(judge)
    assert labels(run) == RIGHT
    (result,) = run
    assert [each.probability for each in result.assessments] == [0.9, 0.9, 0.2]
    assert len(asked) == 6
    assert asked[0]["question"] == "What is Berlin?"


@pytest.mark.parametrize("value", ["1.2", "-0.1", "nan", "high"])
def test_a_number_that_is_no_probability_is_no_label(value: str) -> None:
    rule = ReplyRule.model_validate({"threshold": 0.5, "probability": True})
    assert rule.label(value) is None
