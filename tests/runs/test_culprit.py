"""The first line of `compare` on planted changes, worked out in `benchmarks/culprit.py`, and on
runs made by hand."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random

import pytest

import claimeval as ce
from benchmarks.culprit import (
    WORLDS,
    Side,
    base,
    culprit,
    duplicates,
    lost_pages,
    make,
    right,
    write,
)
from benchmarks.non_events import EVENTS, is_true, sentence
from claimeval import testing
from claimeval.metrics.rows import Metric
from claimeval.report import forms, render
from claimeval.runs.causes import RETRIEVAL
from claimeval.runs.compare import differences
from claimeval.runs.inputs import Inputs
from claimeval.runs.views import Line, Sentence, heading, tables
from claimeval.runs.views.comparison import documents, front, where
from claimeval.types.records import Claim, Document, Sample, SampleResult, Score, Turn
from tests.report.runs import DOCUMENTS, TOWER, TOWER_SAYS
from tests.report.runs import make as run

SOME = (
    "lost_document",
    "fewer_documents",
    "other_chunks",
    "worse_topic",
    "refusals",
    "duplicates",
    "stopped",
    "other_judge",
    "other_judge_and_other_answers",
    "edited_document",
    "two_documents_with_opposite_effects",
    "noise_and_answers",
    "two_documents_of_a_question",
    "served_model",
    "served_model_and_answers",
    "judge_behind_its_name",
    "questions_missing",
    "questions_missing_and_answers",
    "always_yes",
    "labels_without_claims",
    "wrong_stock_answer",
    "declined_without_the_documents",
    "claims_of_refusals",
    "two_in_place_of_four",
    "halves",
    "shuffled_without_ids",
    "other_judge_and_lost_pages",
    "other_judge_and_pages_of_nothing",
    "served_model_and_lost_pages",
    "served_model_and_pages_of_nothing",
    "judge_behind_its_name_and_lost_pages",
    "judge_behind_its_name_and_pages_of_nothing",
    "other_judge_and_all_other_answers",
    "lost_pages_and_questions_missing",
)
GOOD = {"strict": dict.fromkeys(TOWER_SAYS, "supported")}


def many(
    folder: Path,
    name: str,
    changed: Mapping[str, object] | None = None,
    says: object = None,
    n: int = 12,
) -> Path:
    """A run of the same sample under many ids and questions."""
    samples = [
        TOWER.model_copy(update={"id": f"s{i}", "question": f"Question {i}?", **(changed or {})})
        for i in range(n)
    ]
    replies = says or GOOD
    # a mapping
    return run(folder / name, samples, replies, metrics=["faithfulness"])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SOME)
def test_the_first_line_names_the_planted_change(name: str) -> None:
    found = culprit(name, 3)
    assert right(name, found), found.sentence


@pytest.mark.parametrize("name", ["halves", "cut_short", "edited_document", "two_in_place_of_four"])
def test_the_first_line_names_the_change_of_long_documents(name: str) -> None:
    found = culprit(name, 4, long=True)
    assert right(name, found), found.sentence


@pytest.mark.parametrize(
    "name",
    ["refusals", "missing_answers", "labels_without_claims", "failed_calls", "questions_missing"],
)
def test_both_orders_of_two_runs_name_the_same_run(tmp_path: Path, name: str) -> None:
    a, b = make(name, 2, tmp_path)
    letters = {"a": "b", "b": "a", "fell": "rose", "rose": "fell"}
    said = differences(a, b).culprit.sentence
    swapped = re.sub(r"(?<=run )[ab]\b|fell|rose", lambda word: letters[word[0]], said, flags=re.I)
    assert differences(b, a).culprit.sentence == swapped


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_nothing_false_is_said_where_nothing_happened(name: str) -> None:
    said = sentence(name, 7)
    assert is_true(name, said), said


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["same_system_again", "sampled_answers", "other_replies"])
def test_no_cause_is_named_where_there_is_none(name: str, seed: int) -> None:
    found = culprit(name, 70 + seed)
    assert found.cause is None, found.sentence


@pytest.mark.parametrize("name", sorted(WORLDS)[::6])
def test_printed_parts_add_up_in_every_world(tmp_path: Path, name: str) -> None:
    found = differences(*make(name, 5, tmp_path))
    changed = [(change, Fraction(figure)) for _, change, _, figure in documents(found).rows]
    for metric in found.metrics:
        outer = [row for row in metric.cause_rows if not row.inner]
        parts = {row.part.cause: Fraction(row.figure) for row in outer if row.part}
        assert not outer or sum(parts.values()) == Fraction(outer[-1].figure)
        for cause in RETRIEVAL if metric.metric == found.culprit.metric and changed else ():
            assert sum(figure for of, figure in changed if of == cause) == parts.get(cause, 0)
    in_slices = sum(float(figure) for *_, figure in where(found.culprit).rows)
    assert in_slices == pytest.approx(
        sum(one.contribution for one in found.culprit.slices), abs=0.00501
    )


def test_the_headline_in_markdown_has_names_in_code_and_no_mention(tmp_path: Path) -> None:
    a = many(
        tmp_path, "a", {"contexts": (Document(id="1", text="@all <b>\nThe tower."), *DOCUMENTS[1:])}
    )
    b = many(tmp_path, "b", {"contexts": DOCUMENTS[1:]}, {"strict": TOWER_SAYS})
    first = forms.write(a, "md", tmp_path / "r.md", compared=b).read_text().splitlines()[0]
    assert (
        first == "### faithfulness fell 0.67, because retrieval lost `“@all <b>”` for 12 questions."
    )
    assert (
        render.markdown([heading(Sentence("fell, all in to = @me."))])
        == "### fell, all in to = `@me.`"
    )


def test_equal_runs_have_no_culprit(tmp_path: Path) -> None:
    a = many(tmp_path, "a")
    assert (
        differences(a, a).culprit.sentence
        == "No difference: inputs, settings and scores are the same."
    )


def test_a_lost_document_with_an_id_and_a_title_is_named_for_a_panel(tmp_path: Path) -> None:
    panel = {name: dict(GOOD["strict"]) for name in ("x", "y", "z")}
    stricter = {name: {"It is 90 metres high.": "not_found"} for name in panel}
    a = many(tmp_path, "a", says=panel)
    b = many(tmp_path, "b", {"contexts": DOCUMENTS[1:]}, says=stricter)
    found = differences(a, b).culprit
    assert (
        found.sentence == "faithfulness fell 0.33, because retrieval lost “Guide” for 12 questions."
    )
    assert [(one.name, one.change, one.samples) for one in found.documents] == [
        ("Guide", "lost", 12)
    ]


def test_answers_that_changed_with_a_document_are_not_said_to_change_because_of_it(
    tmp_path: Path,
) -> None:
    changed = {"contexts": DOCUMENTS[1:], "answer": "It is 90 metres high. Its keeper was a poet."}
    says = {"strict": dict.fromkeys(TOWER_SAYS, "not_found")}
    found = differences(many(tmp_path, "a"), many(tmp_path, "b", changed, says)).culprit
    (lost,) = found.causes
    assert "because" not in found.sentence or lost.parts[0].value < lost.parts[1].value


@pytest.mark.parametrize(
    ("before", "documents", "sentence"),
    [
        ((), DOCUMENTS, "because the questions or their history changed, in 12 of 12 questions."),
        (
            ("Which tower?",),
            DOCUMENTS[1:],
            "because retrieval lost “Guide” for 12 questions.",
        ),
    ],
    ids=["another conversation", "the same conversation, another document"],
)
def test_conversations_have_a_culprit(
    tmp_path: Path, before: tuple[str, ...], documents: tuple[Document, ...], sentence: str
) -> None:
    def made(
        name: str, asked: tuple[str, ...], contexts: tuple[Document, ...], says: object
    ) -> Path:
        samples = []
        for i in range(12):
            turns = [Turn(role="user", content=f"{turn} {i}") for turn in ("Hello.", *asked)]
            new = {
                "id": f"s{i}",
                "question": f"{i}?",
                "contexts": contexts,
                "history": tuple(turns),
            }
            samples.append(TOWER.model_copy(update=new))
        metric = Metric(name="grounded", claims_of="answer", against="contexts+history")
        # a mapping
        return run(tmp_path / name, samples, says, metrics=[metric])  # type: ignore[arg-type]

    a = made("a", ("Which tower?",), DOCUMENTS, GOOD)
    b = made("b", before, documents, {"strict": TOWER_SAYS})
    assert differences(a, b).culprit.sentence == f"grounded fell 0.67, {sentence}"


def test_samples_of_one_question_are_one_cluster(tmp_path: Path) -> None:
    """Twelve answers to one question fall alike, which is one observation."""
    a = many(tmp_path, "a", {"question": "The same?"})
    b = many(
        tmp_path, "b", {"question": "The same?", "contexts": DOCUMENTS[1:]}, {"strict": TOWER_SAYS}
    )
    assert differences(a, b).culprit.significant is False


@pytest.mark.parametrize(
    ("job", "metric", "reply"),
    [
        (
            partial(ce.rate, ask="faithfulness"),
            "rated_faithfulness",
            lambda ok: {"rating": "yes" if ok else "no"},
        ),
        (ce.grade, "context_relevance", lambda ok: {"grade": 3 if ok else 0}),
    ],
    ids=["rate", "grade"],
)
def test_ratings_and_grades_have_a_culprit_too(
    tmp_path: Path,
    job: Callable[..., ce.Run],
    metric: str,
    reply: Callable[[bool], dict[str, object]],
) -> None:
    contexts = {"a": "Guide\nIgnatius kept the tower.", "b": "Menu\nSoup and cake."}
    with testing.provider(
        lambda prompt: json.dumps({"reason": "So.", **reply("Ignatius" in prompt)})
    ) as judge:
        for name, text in contexts.items():
            rows = [
                {"id": f"s{i}", "question": f"{i}?", "answer": "It is.", "contexts": [text]}
                for i in range(12)
            ]
            job(
                rows,
                judges=judge.judge,
                out=tmp_path / name,
                options=ce.RunOptions(cache=tmp_path / "cache"),
            )
    found = differences(tmp_path / "a", tmp_path / "b").culprit
    assert found.sentence == f"{metric} fell 1.00, because retrieval lost “Guide” for 12 questions."


@pytest.mark.parametrize(
    ("changed", "significant", "sentence"),
    [
        (
            6,
            True,
            (
                "faithfulness fell 0.25 (adjusted p 0.031), with other answers (6 of 12); "
                "too unsure to name a cause."
            ),
        ),
        (5, False, "No difference beyond chance, with other answers (5 of 12)."),
    ],
)
def test_the_sentence_agrees_with_p_and_interval(
    tmp_path: Path, changed: int, significant: bool, sentence: str
) -> None:
    """Of a changed answer, 1 of 2 claims is contradicted. p is 2 of 2^changed: .031 for 6, .063 for
    5."""

    def made(name: str, wrong: int) -> Path:
        answers = [f"It is {90 if i < wrong else 80} metres high." for i in range(12)]
        samples = [
            TOWER.model_copy(
                update={
                    "id": f"s{i}",
                    "question": f"Question {i}?",
                    "answer": f"It is {i} years old. {answer}",
                }
            )
            for i, answer in enumerate(answers)
        ]
        return run(tmp_path / name, samples, {"strict": TOWER_SAYS}, metrics=["faithfulness"])

    pair = differences(made("a", 0), made("b", changed))
    assert (pair.culprit.sentence, pair.culprit.significant, pair.culprit.cause) == (
        sentence,
        significant,
        None,
    )
    blocks = list(front(pair))
    assert not any("may be chance" in note for note in next(tables(blocks)).notes)
    low, high = pair.metrics[0].difference.reported or (0, 0)
    assert (high < 0) == significant, "p and interval are those of one test"
    assert low < 0
    assert not pair.flips
    example = "Example: s0 Question 0?" in [
        "".join(block.parts) for block in blocks if isinstance(block, Line)
    ]
    assert example == significant, "nothing is explained that may be chance"


def test_documents_without_spaces_are_named_by_their_beginning(tmp_path: Path) -> None:
    old = (Document(id="1", text="本館は午前十時に開館します。"), *DOCUMENTS[1:])
    a = many(tmp_path, "a", {"contexts": old})
    b = many(tmp_path, "b", {"contexts": DOCUMENTS[1:]}, {"strict": TOWER_SAYS})
    assert "“本館は午前十時に開館します。”" in differences(a, b).culprit.sentence


def test_the_sentence_is_a_field_of_the_json(tmp_path: Path) -> None:
    a = many(tmp_path, "a")
    b = many(tmp_path, "b", {"contexts": DOCUMENTS[1:]}, {"strict": TOWER_SAYS})
    found = json.loads(differences(a, b).model_dump_json())["culprit"]
    assert {"sentence", "metric", "significant", "causes", "documents"} <= found.keys()


def test_both_orders_have_the_same_clusters(tmp_path: Path) -> None:
    """Twelve questions of one conversation in run a are one observation in either order."""
    greeting = (Turn(role="user", content="Hello."), Turn(role="assistant", content="Hello."))
    a = many(tmp_path, "a", {"history": greeting})
    b = many(tmp_path, "b", {}, {"strict": dict.fromkeys(TOWER_SAYS, "not_found")})
    assert differences(a, b).clusters == differences(b, a).clusters == 1


def test_a_repeated_document_is_no_other_document(tmp_path: Path) -> None:
    again = DOCUMENTS[0].model_copy(update={"id": "again"})
    a = many(tmp_path, "a", {"contexts": DOCUMENTS})
    b = many(tmp_path, "b", {"contexts": (*DOCUMENTS, again)})
    repeated = "with the same documents, some of them repeated (12 of 12)."
    for folders in ((a, b), (b, a)):
        said = differences(*folders).culprit.sentence
        assert said == f"No difference beyond chance, {repeated}"


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        (4, None),
        (5, "Answers with a contradicted claim: 0 in a, 5 in b (p 0.063, inside chance)."),
        (12, "Answers with a contradicted claim: 0 in a, 12 in b (p < 0.001)."),
    ],
)
def test_contradicted_answers_are_counted_where_they_stand_out(
    tmp_path: Path, samples: int, said: str | None
) -> None:
    """McNemar's exact p of 5 and 0 is 2 / 2^5 = 0.0625, of 4 and 0 it is 0.125."""
    a = many(tmp_path, "a", n=samples)
    b = many(tmp_path, "b", None, {"strict": dict.fromkeys(TOWER_SAYS, "contradicted")}, samples)
    shown = repr(differences(a, b))
    assert ("contradicted claim" in shown) == (said is not None)
    assert said is None or said in " ".join(shown.split())


@pytest.mark.parametrize(
    ("gold", "claims", "declined"),
    [("None.", True, False), ("None", False, False), ("Two.", False, True), ("Two.", True, False)],
)
def test_a_word_alone_is_an_answer_by_its_gold_answer_or_its_claims(
    gold: str, claims: bool, declined: bool
) -> None:
    """How many moons has Venus? None."""
    sample = Sample(id="1", question="How many?", answer="None.", reference_answers=(gold,))
    said = (Claim(id="1", of="answer", text="It has none.", grounding="exact"),) if claims else ()
    score = Score(value=None, unit="share", because="no_claims")
    result = SampleResult(
        sample=sample, claims=said, assessments=(), scores={} if claims else {"f": score}
    )
    assert Inputs(result, result).declined == (declined, declined)


def test_a_loss_of_documents_is_said_beside_samples_of_one_run(tmp_path: Path) -> None:
    """Twenty wrong answers more in run b move correctness, and lost pages move context_recall over
    the questions of both."""
    start = base(Random(11))
    a = Side(copy.deepcopy(start))
    b = Side(copy.deepcopy(start))
    duplicates(Random(1), a, b)
    lost_pages(Random(2), a, b)
    for letter, side in (("a", a), ("b", b)):
        write(tmp_path / letter, side)
    found = differences(tmp_path / "a", tmp_path / "b").culprit.sentence
    assert "20 samples that only run b has (20 repeat a question)" in found
    assert "There, context_recall fell" in found
    assert "retrieval lost" in found


def towers(count: int = 60) -> list[dict[str, object]]:
    """Answers that their contexts support."""
    return [
        {
            "id": f"q{i}",
            "question": f"How high is the tower number {i}?",
            "answer": f"The tower number {i} is {40 + i} metres high.",
            "contexts": [f"The tower number {i} is {40 + i} metres high and was built of stone."],
        }
        for i in range(count)
    ]


def scored(rows: list[dict[str, object]], out: Path) -> Path:
    ce.score(rows, judges=["local:lexical"], metrics=["faithfulness"], out=out)
    return out


def test_declined_questions_of_both_runs_are_counted_for_each(tmp_path: Path) -> None:
    first = towers()
    second = towers()
    for i in range(60):
        if i < 8:
            first[i]["answer"] = "I cannot answer this from the documents."
        if 4 <= i < 15:
            second[i]["answer"] = "I cannot answer this from the documents."
    a = scored(first, tmp_path / "a")
    b = scored(second, tmp_path / "b")
    said = "other answers (11 of 60; run a declines {} that run b answers, and run b {})"
    assert said.format(4, 7) in ce.compare(a, b).culprit.sentence
    assert said.format(7, 4) in ce.compare(b, a).culprit.sentence


def test_questions_that_changed_with_the_answers_are_named_beside_them(tmp_path: Path) -> None:
    second = towers()
    for i in range(60):
        second[i]["question"] = f"Please tell me: {second[i]['question']}"
        if i < 20:
            second[i]["answer"] = f"The tower number {i} is {900 + i} metres high."
    a = scored(towers(), tmp_path / "a")
    b = scored(second, tmp_path / "b")
    for runs in ((a, b), (b, a)):
        sentence = ce.compare(*runs).culprit.sentence
        assert "because the answers changed on the same documents, in 20 of 60" in sentence
        assert sentence.endswith("; the questions changed too, in 60 of 60.")


def test_questions_that_changed_elsewhere_are_no_part_of_the_cause(tmp_path: Path) -> None:
    second = towers()
    for i in range(60):
        if i < 20:
            second[i]["answer"] = f"The tower number {i} is {900 + i} metres high."
        elif i < 30:
            second[i]["question"] = f"Please tell me: {second[i]['question']}"
    a = scored(towers(), tmp_path / "a")
    b = scored(second, tmp_path / "b")
    assert "questions changed too" not in ce.compare(a, b).culprit.sentence


def silent_judge(messages: list[dict[str, str]]) -> str:
    """Leaves out the claims of silent questions that have the document."""
    text = messages[-1]["content"]
    stated = "was measured" in text.partition("<evidence>")[2].partition("</evidence>")[0]
    if stated and "Silent question" in text:
        return '{"verdicts":[]}'
    label = "supported" if stated and "broken" not in text else "not_found"
    verdict = {"id": "c1", "reason": "", "evidence": ["d1"], "label": label}
    return json.dumps({"verdicts": [verdict]})


def measured(
    out: Path, has_document: Callable[[int], bool], is_broken: Callable[[int], bool]
) -> Path:
    """A run over 60 questions of which every third is silent."""
    rows = [
        {
            "id": f"s{i}",
            "question": f"{'Silent q' if i % 3 == 0 else 'Q'}uestion {i}?",
            "answer": f"Tower {i} is {i + 20} m {'broken' if is_broken(i) else 'high'}.",
            "contexts": [f"Tower {i} was measured: {i + 20} m."] * has_document(i)
            + [f"Harbour {i} has a light and a pier."],
        }
        for i in range(60)
    ]
    ce.score(
        rows,
        judges=ce.Judge.from_callable("judge", silent_judge, model="scripted"),
        extractor="local:lexical",
        metrics="faithfulness",
        out=out,
        options=ce.RunOptions(cache=out.with_name(f"cache-{out.name}")),
    )
    return out


def test_why_a_metric_moved_is_said_beside_samples_without_a_score(tmp_path: Path) -> None:
    """The judge leaves out every third claim of run a, which has the document that run b lost."""
    folders = [
        measured(tmp_path / "a", lambda _: True, lambda _: False),
        measured(tmp_path / "b", lambda _: False, lambda _: False),
    ]
    said = differences(*folders).culprit.sentence
    assert said.startswith(
        "Run a has no faithfulness for 20 of 60 questions that have one in run b"
    )
    assert "Over the 40 others, faithfulness fell 1.00, because retrieval lost 40 documents" in said
    said = differences(*reversed(folders)).culprit.sentence
    assert "Over the 40 others, faithfulness rose 1.00, because retrieval gained 40 docum" in said


@pytest.mark.parametrize(
    ("has_document", "is_broken", "cause"),
    [
        (lambda i: i > 11 and i % 3 > 0, lambda _: False, "retrieval lost 8 documents for 8 q"),
        (
            lambda i: i % 3 > 0,
            lambda i: i < 12 or i % 3 == 0,
            "the answers changed on the same documents, in 8 of 40 questions.",
        ),
    ],
)
def test_what_changed_where_there_is_no_score_is_no_part_of_why_the_others_moved(
    tmp_path: Path,
    has_document: Callable[[int], bool],
    is_broken: Callable[[int], bool],
    cause: str,
) -> None:
    a = measured(tmp_path / "a", lambda _: True, lambda _: False)
    b = measured(tmp_path / "b", has_document, is_broken)
    for runs in ((a, b), (b, a)):
        said = differences(*runs).culprit.sentence.replace("gained", "lost")
        moved, _, because = said.partition("Over the 40 others, faithfulness ")[2].partition(", ")
        assert moved in ("fell 0.20", "rose 0.20")
        assert because.startswith(f"because {cause}")
