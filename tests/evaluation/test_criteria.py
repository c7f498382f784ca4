"""A criterion in a sentence: what the judge is asked, what is kept of it, and what a run of
criteria can do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import claimeval as ce
from claimeval.testing import LoopbackProvider, provider
from tests.command_line import call

POLITE = "The answer stays polite, in tone, and in words."
DATA = [
    {
        "id": "kind",
        "question": "When?",
        "answer": "At 9, dear guest.",
        "contexts": ["Open from 9."],
    },
    {
        "id": "curt",
        "question": "When?",
        "answer": "At 9. Read the sign.",
        "contexts": ["Open from 9."],
    },
    {"id": "rude", "question": "When?", "answer": "At 9, you fool.", "contexts": ["Open from 9."]},
    {"id": "mute", "question": "When?", "answer": "", "contexts": ["Open from 9."]},
]


def reply(text: str) -> str:
    rating = "no" if "fool" in text else "partly" if "sign" in text else "fully"
    return json.dumps({"reason": f"it is {rating}", "rating": rating})


@pytest.fixture
def server() -> Iterator[LoopbackProvider]:
    with provider(reply) as running:
        yield running


def prompts(server: LoopbackProvider) -> list[str]:
    return [request["messages"][-1]["content"] for request in server.requests]


def test_a_sentence_is_asked_about_alone_and_counts_by_its_word(server: LoopbackProvider) -> None:
    run = ce.rate(DATA, judges=server.judge, criteria={"polite": POLITE})
    assert len(server.requests) == 3
    assert all(
        json.dumps(POLITE) in text and "Open from 9." not in text for text in prompts(server)
    )
    assert [result["polite"].value for result in run.results] == [1, 0.5, 0, None]
    assert run["polite"].mean == 0.5
    assert run["polite"].missing == {"no_claims": 1}
    assert run.results[0].assessments[0].verdicts[0].explanation == "it is fully"
    assert server.requests[0]["response_format"]["json_schema"]["schema"]["properties"]["rating"][
        "enum"
    ] == [*("fully", "partly", "no")]


def test_the_contexts_are_shown_on_request_and_other_questions_too(
    server: LoopbackProvider,
) -> None:
    run = ce.rate(DATA[:1], judges=server.judge, criteria={"cites:contexts": "It names the place."})
    assert "Open from 9." in prompts(server)[0]
    assert run.results[0].assessments[0].against == "contexts"
    both = ce.rate(DATA[:1], judges=server.judge, ask="faithfulness", criteria={"polite": POLITE})
    assert list(both.summary) == ["rated_faithfulness", "polite"]


def test_the_sentence_is_in_the_manifest_and_in_the_key(
    server: LoopbackProvider, tmp_path: Path
) -> None:
    run = ce.rate(DATA, judges=server.judge, criteria={"polite": POLITE}, out=tmp_path / "a")
    assert run.manifest.settings == {"criteria": {"polite": POLITE}}
    ce.rate(DATA, judges=server.judge, criteria={"polite": POLITE}, out=tmp_path / "b")
    assert len(server.requests) == 3
    other = ce.rate(
        DATA, judges=server.judge, criteria={"polite": "It is polite."}, out=tmp_path / "c"
    )
    assert len(server.requests) == 6
    with pytest.raises(ce.UsageError, match="settings"):
        ce.rate(DATA, judges=server.judge, criteria={"polite": "It is polite."}, out=tmp_path / "a")
    assert ce.compare(run, other).metrics["polite"].difference.value == 0


def test_a_run_is_judged_again_from_its_manifest(server: LoopbackProvider, tmp_path: Path) -> None:
    run = ce.rate(DATA, judges=server.judge, criteria={"polite": POLITE}, out=tmp_path / "a")
    again = ce.rejudge(tmp_path / "a", panel=ce.PanelOptions(vote="any"))
    assert len(server.requests) == 3
    assert again.manifest.settings == run.manifest.settings
    with provider(reply) as second:
        more = ce.rejudge(
            tmp_path / "a",
            judges=[second.judge.model_copy(update={"name": "second"})],
            keep_verdicts=True,
        )
        assert all(json.dumps(POLITE) in text for text in prompts(second))
    assert [len(assessment.verdicts) for assessment in more.results[0].assessments] == [2]


def test_the_command_takes_a_sentence_with_commas(server: LoopbackProvider, tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in DATA))
    done = call(
        "rate",
        str(file),
        "-j",
        f"openai:judge@{server.judge.endpoint}",
        "--criterion",
        f"polite={POLITE}",
        "--json",
    )
    assert json.loads(done.stdout)["ratings"] == {"polite": {"fully": 1, "partly": 1, "no": 1}}


@pytest.mark.parametrize(
    ("name", "sentence", "message"),
    [
        ("Polite", "x", "write NAME=SENTENCE"),
        ("polite:policy", "x", "NAME:contexts=SENTENCE"),
        ("polite", " ", "write NAME=SENTENCE"),
        ("relevance", "x", "the name is that of another question"),
        ("rated_relevance", "x", "the name is that of another question"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(name: str, sentence: str, message: str) -> None:
    with pytest.raises(ce.UsageError, match=message):
        ce.rate(DATA, judges="openai:gpt-5-mini", criteria={name: sentence})


def test_a_criterion_that_no_sample_can_feed_is_refused() -> None:
    rows = [{"question": "?", "answer": "a"}]
    with pytest.raises(
        ce.UsageError, match="no sample has what 'held' needs: an answer and reference"
    ):
        ce.rate(
            rows,
            judges="openai:gpt-5-mini",
            ask="relevance",
            criteria={"held:reference": "It says the same."},
        )


def many(server: LoopbackProvider, folder: Path) -> Path:
    """Forty answers, of which the judge calls a half fully and a half not polite."""
    rows = [
        {"id": f"a{i}", "question": f"When {i}?", "answer": f"At {i}{', you fool' * (i % 2)}."}
        for i in range(40)
    ]
    ce.rate(rows, judges=server.judge, criteria={"polite": POLITE}, out=folder)
    return folder


def labels_of(folder: Path, words: dict[str, str]) -> Path:
    file = folder / "people.jsonl"
    file.write_text(
        "".join(json.dumps({"id": name, "label": word}) + "\n" for name, word in words.items())
    )
    return file


def test_agreement_is_in_the_words_of_the_scale(server: LoopbackProvider, tmp_path: Path) -> None:
    run = many(server, tmp_path / "run")
    words = {f"a{i}": "no" if i % 2 else "partly" if i < 10 else "fully" for i in range(20)} | {
        "gone": "no"
    }
    found = ce.agreement(run, labels_of(tmp_path, words))
    (rater,) = found.raters
    assert (rater.compared, found.unmatched) == (20, 1)
    assert rater.labels == ("no", "partly", "fully")
    assert rater.confusion == (
        (10, 0, 0),
        (0, 0, 5),
        (0, 0, 5),
    )  # 5 partly and 5 fully, all called fully
    assert rater.same.value == 15 / 20


def test_the_mean_rating_is_corrected_by_people(server: LoopbackProvider, tmp_path: Path) -> None:
    run = many(server, tmp_path / "run")
    words = {f"a{i}": "no" if i % 2 else "partly" for i in range(20)}
    found = ce.correct(run, labels_of(tmp_path, words))
    assert (found.unit, found.items, found.labeled, found.macro) == ("answer", 40, 20, None)
    assert found.micro.judged.value == 0.5
    assert found.micro.people.value == 0.25
    # each fully is a partly, so the judge explains all of people's labels but the scale: mean(Y) =
    # 0.25
    assert found.micro.corrected.value == pytest.approx(0.25)
    assert (
        "rated answers, 20 of them labeled"
        in call("correct", run, "--labels", tmp_path / "people.jsonl").stdout
    )
    with pytest.raises(ce.UsageError, match="name a file with --labels"):
        ce.correct(run)
    with pytest.raises(ce.UsageError, match="rogan-gladen corrects shares"):
        ce.correct(run, tmp_path / "people.jsonl", method="rogan-gladen")
