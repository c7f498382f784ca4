"""Decision models: what is asked, and what becomes of each answer that is not exactly one."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import claimeval as ce
from claimeval.providers import claims_per_call, specs
from claimeval.providers.prices import price_of
from claimeval.testing import serve
from claimeval.types.errors import UsageError

Record = dict[str, Any]
Change = Callable[[list[Record]], Any]
CLAIMS = ("Berlin is big.", "Berlin is small.", "Berlin is old.")
TRUE = {"Berlin is big.": "supported", "Berlin is small.": "contradicted"}
"""The label of each claim; all others are not found."""


def answer(question: Record) -> Record:
    """The right answer to a question, at .8 for its choice and .1 for both others."""
    values = [choice["value"] for choice in question["choices"]]
    right = TRUE.get(question["instructions"].rpartition("Claim: ")[2], "not_found")
    return {
        "type": "choice",
        "name": question["name"],
        "choice": right,
        "confidence": 0.8,
        "probabilities": [
            {"value": value, "probability": 0.8 if value == right else 0.1} for value in values
        ],
    }


class Server:
    """The Decisions API; `change` alters the answers to a request before they are sent."""

    def __init__(self) -> None:
        self.bodies: list[Record] = []
        self.paths: list[str] = []
        self.change: Change = lambda answers: None
        self.statuses: list[int] = []
        self.longest: int | None = None
        self.refused = 0
        self.raw: bytes | None = None
        self.usage: Any = {
            "input_tokens": 120,
            "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 120,
        }
        self.url = ""

    def respond(self, path: str, headers: Any, content: bytes) -> Any:
        body = json.loads(content)
        if self.longest and len(content) > self.longest:
            self.refused += 1
            refusal = {"message": "too long", "type": "x", "code": "context_length_exceeded"}
            return 400, json.dumps({"error": refusal}).encode()
        self.paths.append(path)
        self.bodies.append(body)
        if self.statuses:
            status = self.statuses.pop(0)
            error = {"error": {"message": f"status {status}", "type": "x", "code": None}}
            return status, json.dumps(error).encode(), {"retry-after": "0"}
        if self.raw is not None:
            return 200, self.raw
        answers = [answer(question) for question in body["questions"]]
        changed = self.change(answers)
        reply = {"model": body["model"], "answers": answers if changed is None else changed}
        if self.usage is not None:
            reply["usage"] = self.usage
        return 200, json.dumps(reply).encode()


@pytest.fixture
def server() -> Iterator[Server]:
    fake = Server()
    with serve(fake.respond) as url:
        fake.url = url
        yield fake


def sample(claims: tuple[str, ...] = CLAIMS, documents: int = 2) -> Record:
    return {
        "id": "s1",
        "question": "What is Berlin?",
        "answer": " ".join(claims),
        "contexts": [f"Berlin is big. Part {number}" for number in range(documents)],
    }


def score(
    server: Server, data: Record | None = None, judge: str | None = None, **settings: Any
) -> ce.Run:
    return ce.score(
        [data or sample()],
        metrics=["faithfulness"],
        judges=judge or f"decisions:gpt-6-luna@{server.url}",
        extractor="local:lexical",
        **settings,
    )


def labels(run: ce.Run) -> list[str | None]:
    """The label of each claim, or why it has none, in the order of the text."""
    (result,) = run
    return [each.label or each.unassessed for each in result.assessments]


RIGHT = ["supported", "contradicted", "not_found"]


def test_one_request_asks_about_all_claims_of_an_evidence(server: Server) -> None:
    run = score(server)
    assert labels(run) == RIGHT
    assert server.paths == ["/v1/decisions"]
    (body,) = server.bodies
    assert set(body) == {"model", "input", "questions"}
    assert body["model"] == "gpt-6-luna"
    assert body["input"].index("Berlin is big. Part 0") < body["input"].index("Part 1")
    assert [question["instructions"] for question in body["questions"]] == [
        f"Claim: {claim}" for claim in CLAIMS
    ]
    assert all(choice["description"] for choice in body["questions"][0]["choices"])
    (result,) = run
    assert [each.probability for each in result.assessments] == [0.8, 0.1, 0.1]
    call = result.calls[-1]
    assert (call.prompt_tokens, call.cached_tokens, call.completion_tokens) == (120, 40, 0)


def test_each_document_alone_is_a_request_with_all_claims(server: Server) -> None:
    score(server, per_document=True)
    single = [body for body in server.bodies if body["input"].count("<d") == 1]
    assert [len(body["questions"]) for body in single] == [3, 3]
    both = [body for body in server.bodies if body not in single]
    assert [len(body["questions"]) for body in both] == [2], "no document alone supports two"


def _second(change: Callable[[Record], Any]) -> Change:
    """A change of the answer about the second claim, whenever it is asked about."""

    def apply(answers: list[Record]) -> None:
        for each in answers:
            if each["choice"] == "contradicted":
                change(each)

    return apply


def _shares(*shares: object) -> Change:
    """Other probabilities of supported, contradicted and not found for the second claim."""

    def change(each: Record) -> None:
        for entry, share in zip(each["probabilities"], shares, strict=True):
            entry["probability"] = share

    return _second(change)


def _doubled(answers: list[Record]) -> list[Record]:
    return answers + [each for each in answers if each["choice"] == "contradicted"]


def _missing(answers: list[Record]) -> list[Record]:
    return [each for each in answers if each["choice"] != "contradicted"]


@pytest.mark.parametrize(
    "change",
    [
        lambda answers: answers[::-1],
        _shares(0.1, 0.79, 0.1),
        _shares(0.1, 0.82, 0.1),
        _shares(0.45, 0.45, 0.1),
        _shares(0, 1, 0),
        _second(lambda each: each["probabilities"].reverse()),
        _second(lambda each: each.pop("confidence")),
    ],
    ids=["order", "sum .99", "sum 1.02", "tie", "integers", "choices in another order", "extra"],
)
def test_faultless_answers_are_accepted_in_any_order(server: Server, change: Change) -> None:
    server.change = change
    assert labels(score(server)) == RIGHT
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_missing, "incomplete"),
        (_doubled, "incomplete"),
        (_second(lambda each: each.update(name=None)), "incomplete"),
        (_second(lambda each: each.pop("name")), "incomplete"),
        (_second(lambda each: each.update(name="c9")), "incomplete"),
        (_shares(0.1, 0.6, 0.1), "unparsable"),
        (_shares(0.2, 0.8, 0.1), "unparsable"),
        (_shares(0.8, 0.1, 0.1), "unparsable"),
        (_shares(math.nan, 0.9, 0.1), "unparsable"),
        (_shares(-0.1, 1.0, 0.1), "unparsable"),
        (_shares(0.0, 1.01, 0.0), "unparsable"),
        (_shares("0.1", "0.8", "0.1"), "unparsable"),
        (_shares(False, True, False), "unparsable"),
        (_shares(None, 0.9, 0.1), "unparsable"),
        (_shares(0.1, 10**400, 0.1), "unparsable"),
        (_second(lambda each: each["probabilities"].pop(0)), "unparsable"),
        (
            _second(lambda each: each["probabilities"].append(each["probabilities"][0])),
            "unparsable",
        ),
        (_second(lambda each: each["probabilities"][0].update(value="backed")), "unparsable"),
        (_second(lambda each: each.pop("probabilities")), "unparsable"),
        (_second(lambda each: each.update(choice="refuted")), "unparsable"),
        (_second(lambda each: each.update(choice="Contradicted")), "unparsable"),
        (_second(lambda each: each.update(choice=True)), "unparsable"),
        (_second(lambda each: each.update(type="predicate")), "unparsable"),
    ],
)
def test_what_is_not_exactly_an_answer_is_no_label(
    server: Server, change: Change, reason: str
) -> None:
    server.change = change
    assert labels(score(server)) == ["supported", reason, "not_found"]
    assert len(server.bodies) > 1, "the claim is asked about again"
    assert [len(body["questions"]) for body in server.bodies[1:]] == [1] * (len(server.bodies) - 1)


def test_a_refused_question_is_refused_and_not_asked_again(server: Server) -> None:
    server.change = lambda answers: [
        {"type": "refusal", "name": each["name"]} if each["choice"] == "contradicted" else each
        for each in answers
    ]
    assert labels(score(server)) == ["supported", "refused", "not_found"]
    assert len(server.bodies) == 1


def test_a_reply_without_answers_gives_no_label(server: Server) -> None:
    server.change = lambda answers: {"none": 1}
    run = score(server, options=ce.RunOptions(attempts=1))
    assert labels(run) == ["provider_error"] * 3
    (result,) = run
    assert "not a list of answers, as the Decisions API gives" in (result.calls[-1].message or "")


def test_a_later_run_reads_the_stored_reply(server: Server, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for _ in range(2):
        assert labels(score(server, options=ce.RunOptions(cache=cache))) == RIGHT
    assert len(server.bodies) == 1


@pytest.mark.parametrize("status", [429, 500])
def test_a_passing_fault_is_tried_again(server: Server, status: int) -> None:
    server.statuses = [status]
    assert labels(score(server)) == RIGHT
    assert len(server.bodies) == 2


def test_a_bad_key_stops_the_judge(server: Server) -> None:
    server.statuses = [401] * 9
    with pytest.raises(ce.ClaimevalError, match="401"):
        score(server)
    assert len(server.bodies) == 1


def test_more_than_400_claims_are_asked_in_even_parts(server: Server) -> None:
    claims = tuple(f"Berlin has the number {number}." for number in range(401))
    run = score(server, sample(claims))
    assert sorted(len(body["questions"]) for body in server.bodies) == [200, 201]
    assert labels(run) == ["not_found"] * 401


def test_usage_that_is_not_reported_costs_no_label(server: Server) -> None:
    server.usage = None
    assert labels(score(server)) == RIGHT


PRICES = "decisions:gpt-6-luna: {input: 0.10, output: 0}\n"


def test_a_cap_below_the_bytes_of_a_request_sends_nothing(server: Server, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    with pytest.raises(ce.StoppedEarly, match="Budget reached: 0 calls"):
        score(server, options=ce.RunOptions(max_cost=0.0001, prices=prices))
    assert not server.bodies
    assert labels(score(server, options=ce.RunOptions(max_cost=0.001, prices=prices))) == RIGHT


def test_a_plan_counts_tokens_and_price(server: Server, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES)
    plan = ce.plan(
        ce.score,
        [sample()],
        metrics=["faithfulness"],
        judges=f"decisions:gpt-6-luna@{server.url}",
        extractor="local:lexical",
        options=ce.RunOptions(prices=prices),
    )
    (line,) = [line for line in plan.lines if line.step == "assess"]
    assert line.calls == (1, 1)
    assert line.output_tokens == (0, 0)
    low, high = line.prompt_tokens
    assert 100 < low <= high
    assert line.cost == pytest.approx((low * 0.10 / 1e6, high * 0.10 / 1e6))
    assert not server.bodies


def test_it_votes_in_a_panel(server: Server) -> None:
    run = ce.score(
        [sample()],
        metrics=["faithfulness"],
        judges=[f"decisions:gpt-6-luna@{server.url}", "local:lexical"],
        extractor="local:lexical",
    )
    (result,) = run
    assert [len(each.verdicts) for each in result.assessments] == [2, 2, 2]
    assert [each.verdicts[0].probability for each in result.assessments] == [0.8, 0.1, 0.1]


def test_without_an_extractor_nothing_is_sent(server: Server) -> None:
    with pytest.raises(UsageError, match=r"openai:gpt-5-mini.*--extractor local:lexical"):
        ce.score([sample()], metrics=["faithfulness"], judges=f"decisions:x@{server.url}")
    assert not server.bodies


def test_it_takes_the_key_of_openai_for_its_address_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    own = specs.parse_judge("decisions:gpt-6-luna")
    assert (own.endpoint, own.is_engine) == ("https://api.openai.com/v1", True)
    assert claims_per_call(own) == 400


@pytest.mark.parametrize("setting", ["temperature", "seed", "top_p"])
def test_settings_of_language_models_are_refused(setting: str) -> None:
    judge = ce.Judge.model_validate({"name": "j", "model": "decisions:x", setting: 1})
    with pytest.raises(UsageError, match=f"decisions does not take {setting}"):
        specs.parse_judge(judge)


def _usage(**fields: Any) -> Record:
    return {"input_tokens": 120, "output_tokens": 0, "total_tokens": 120, **fields}


def _first(**fields: Any) -> Change:
    """A change of the first answer of every reply."""
    return lambda answers: answers[0].update(fields)


def _status(*statuses: int) -> Callable[[Server], None]:
    return lambda server: server.statuses.extend(statuses)


def _set(name: str, value: Any) -> Callable[[Server], None]:
    return lambda server: setattr(server, name, value)


FAULTS: dict[str, Callable[[Server], None]] = {
    "another order": _set("change", lambda answers: answers[::-1]),
    "one missing": _set("change", _missing),
    "one doubled": _set("change", _doubled),
    "all missing": _set("change", lambda answers: []),
    "unnamed": _set("change", _first(name=None)),
    "the name of none": _set("change", _first(name="c77")),
    "the name of another": _set("change", _first(name="c2")),
    "names as numbers": _set("change", _first(name=1)),
    "refused": _set("change", _first(type="refusal")),
    "another type": _set("change", _first(type="score")),
    "no type": _set("change", lambda answers: answers[0].pop("type")),
    "sum of .7": _set("change", _shares(0.1, 0.5, 0.1)),
    "sum of 1.3": _set("change", _shares(0.3, 0.9, 0.1)),
    "NaN": _set("change", _shares(math.nan, 0.9, 0.1)),
    "below 0": _set("change", _shares(-0.1, 1.0, 0.1)),
    "a number of 400 digits": _set("change", _shares(10**400, 0.8, 0.1)),
    "percentages": _set("change", _shares(10, 80, 10)),
    "texts": _set("change", _shares("0.1", "0.8", "0.1")),
    "fewer probabilities": _set("change", _second(lambda each: each["probabilities"].pop())),
    "no probabilities": _set("change", _second(lambda each: each.pop("probabilities"))),
    "not the most probable": _set("change", _shares(0.8, 0.1, 0.1)),
    "an unknown word": _set("change", _first(choice="true")),
    "another case": _set("change", _first(choice="Supported")),
    "no choice": _set("change", _first(choice=None)),
    "an answer as text": _set("change", lambda answers: ["supported", *answers[1:]]),
    "an object of answers": _set("change", lambda answers: {"c1": answers[0]}),
    "no usage": _set("usage", None),
    "usage of another shape": _set("usage", ["x"]),
    "usage of texts": _set("usage", _usage(input_tokens="many")),
    "usage below 0": _set("usage", _usage(input_tokens=-5)),
    "rate limited": _status(429),
    "a fault of the server": _status(500, 503),
    "a refusal of the request": _status(400),
    "a web page": _set("raw", b"<html>Sign in</html>"),
    "an empty body": _set("raw", b""),
    "broken JSON": _set("raw", b'{"answers": [{"type": "choice"'),
    "an error inside": _set("raw", b'{"error": {"message": "busy", "code": 503}}'),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_of_a_server_gives_a_wrong_label(server: Server, fault: str) -> None:
    FAULTS[fault](server)
    try:
        found = labels(score(server, options=ce.RunOptions(attempts=2)))
    except ce.StoppedEarly as stopped:
        found = [each.label for result in stopped.run for each in result.assessments if each.label]
    for label, right in zip(found, RIGHT, strict=False):
        assert label == right or label not in ("supported", "contradicted", "not_found")


GIVEN = (*CLAIMS, "Berlin has lakes.", "Berlin has bears.")
FIVE = [f"Berlin is a town. Part {number}." for number in range(5)]


def test_each_of_five_documents_alone_is_six_requests_for_given_claims(server: Server) -> None:
    judge = f"decisions:gpt-6-luna@{server.url}"
    ce.assess(list(GIVEN), FIVE, judges=judge, per_document=True)
    assert len(server.bodies) == 6, "one a document, and one for what no document supports"


def test_a_joint_matrix_is_two_requests_and_is_in_the_manifest(
    server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "luna.yaml"
    file.write_text(f"model: decisions:gpt-6-luna@{server.url}\nmatrix: joint\n")
    run = ce.assess(list(GIVEN), FIVE, judges=str(file), per_document=True, out=tmp_path / "run")
    assert [len(body["questions"]) for body in server.bodies] == [25, 4]
    pairs = {question["instructions"] for question in server.bodies[0]["questions"]}
    assert len(pairs) == 25
    assert "By d5 alone, as if it were the only document. Claim: Berlin is old." in pairs
    (judge,) = json.loads((tmp_path / "run" / "manifest.json").read_text())["judges"]
    assert judge["settings"]["matrix"] == "joint"
    (result,) = run
    found = {
        (each.subject, each.document): each.label
        for each in result.assessments
        if each.document is not None
    }
    assert len(found) == 25
    assert {found[result.claims[0].id, rank] for rank in range(1, 6)} == {"supported"}
    assert {found[result.claims[1].id, rank] for rank in range(1, 6)} == {"contradicted"}


def test_a_joint_matrix_of_more_than_400_pairs_is_asked_in_even_parts(
    server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "luna.yaml"
    file.write_text(f"model: decisions:gpt-6-luna@{server.url}\nmatrix: joint\n")
    claims = [f"Berlin has the number {number}." for number in range(81)]
    ce.assess(claims, FIVE, judges=str(file), per_document=True)
    asked = sorted(len(body["questions"]) for body in server.bodies)
    assert asked == [81, 202, 203]


def test_requests_beyond_the_window_are_asked_in_parts(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "luna.yaml"
    file.write_text(f"model: decisions:gpt-6-luna@{server.url}\ncontext_tokens: 4000\n")
    claims = tuple(f"Berlin has the number {number}." for number in range(40))
    run = score(server, sample((*CLAIMS, *claims)), judge=str(file))
    assert labels(run) == [*RIGHT, *["not_found"] * 40]
    assert len(server.bodies) > 1
    sizes = [len(body["questions"]) for body in server.bodies]
    assert sum(sizes) == 43
    assert max(sizes) - min(sizes) <= 1


def test_a_request_that_the_server_refuses_as_too_long_is_asked_in_parts(server: Server) -> None:
    server.longest = 8_000
    claims = tuple(f"Berlin has the number {number}." for number in range(40))
    run = score(server, sample((*CLAIMS, *claims)))
    assert labels(run) == [*RIGHT, *["not_found"] * 40]
    assert server.refused >= 1


def test_claims_of_a_gold_answer_need_no_extractor(server: Server) -> None:
    data = {
        **sample(),
        "reference_answers": ["Berlin is big."],
        "reference_claims": [{"text": "Berlin is big."}, {"text": "Berlin is old."}],
    }
    judge = f"decisions:gpt-6-luna@{server.url}"
    run = ce.score([data], metrics=["context_recall"], judges=judge)
    assert run["context_recall"].mean == 0.5
    with pytest.raises(UsageError, match="cannot extract"):
        ce.score([{**data, "reference_claims": []}], metrics=["context_recall"], judges=judge)


def test_the_price_of_the_own_endpoint_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    price = price_of(specs.parse_judge("decisions:gpt-6-luna"))
    assert price
    assert (price.input, price.output) == (0.10, 0.0)


def test_it_can_be_judged_again_and_compared_with_people(server: Server, tmp_path: Path) -> None:
    score(server, out=tmp_path / "run")
    asked = len(server.bodies)
    again = ce.rejudge(tmp_path / "run", judges=f"decisions:other@{server.url}")
    assert labels(again) == RIGHT
    assert len(server.bodies) == asked + 1


def test_doctor_tries_a_decision_model_with_a_true_and_a_false_claim(server: Server) -> None:
    TRUE["The Eiffel Tower is in Paris."] = "supported"
    found = ce.probe(f"decisions:gpt-6-luna@{server.url}")
    del TRUE["The Eiffel Tower is in Paris."]
    assert found.ok
    assert [step.step for step in found.steps] == ["assess"]
    assert found.log_probabilities
    assert found.lines["price"] == "unknown", "another address has another price"
    assert len(server.bodies) == 1
    server.statuses = [401]
    assert not ce.probe(f"decisions:gpt-6-luna@{server.url}").ok


def test_200_faultless_answers_are_each_accepted(server: Server) -> None:
    """Probabilities rounded to two digits, which add up to .98 to 1.02, ties, and any order."""
    draw = random.Random(5)
    right: dict[str, str] = {}

    def change(answers: list[Record]) -> list[Record]:
        for each, question in zip(answers, server.bodies[-1]["questions"], strict=True):
            parts = [draw.choice([0.0, 0.1, draw.random()]) + 1e-9 for _ in range(3)]
            shares = [round(part / sum(parts), 2) for part in parts]
            if draw.random() < 0.2:
                shares = draw.sample([0.45, 0.45, 0.1], 3)
            values = [entry["value"] for entry in each["probabilities"]]
            best = [
                value for value, share in zip(values, shares, strict=True) if share == max(shares)
            ]
            each["choice"] = draw.choice(best)
            pairs = [
                {"value": value, "probability": share}
                for value, share in zip(values, shares, strict=True)
            ]
            each["probabilities"] = draw.sample(pairs, 3)
            right[question["instructions"].removeprefix("Claim: ")] = each["choice"]
        return draw.sample(answers, len(answers))

    server.change = change
    claims = tuple(f"Berlin has the number {number}." for number in range(200))
    assert labels(score(server, sample(claims))) == [right[claim] for claim in claims]
    assert len(server.bodies) == 1, "none is asked again"


def test_a_run_that_reached_its_cap_goes_on_with_what_is_missing(
    server: Server, tmp_path: Path
) -> None:
    data = [{**sample((claim,)), "id": f"s{n}"} for n, claim in enumerate(CLAIMS)]
    settings: Record = {
        "metrics": ["faithfulness"],
        "judges": f"decisions:gpt-6-luna@{server.url}",
        "extractor": "local:lexical",
        "out": tmp_path / "run",
    }
    cache = tmp_path / "cache"
    with pytest.raises(ce.StoppedEarly):
        ce.score(data, options=ce.RunOptions(cache=cache, max_calls=2), **settings)
    assert len(server.bodies) == 2
    run = ce.score(data, options=ce.RunOptions(cache=cache), **settings)
    assert [result.assessments[0].label for result in run] == RIGHT
    assert len(server.bodies) == 3
