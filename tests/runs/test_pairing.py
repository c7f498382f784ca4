"""What makes two samples of two runs the same: an id that the data have, else the question."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

import claimeval as ce
from claimeval.data.labels import HumanLabel
from claimeval.evaluation.manifest import DataSource
from claimeval.runs.compare import SharedSamples
from claimeval.runs.directory import load_manifest
from claimeval.runs.gates import Baseline
from claimeval.runs.labels import LabelPlaces
from claimeval.runs.pairing import Asked, PairKeys, equal_questions, question_of
from claimeval.types.errors import UsageError
from claimeval.types.records import Sample, ScoredSample, Turn
from tests.command_line import call

Row = dict[str, Any]


def rows(n: int = 12) -> list[Row]:
    return [
        {
            "question": f"How high is tower {i}?",
            "answer": f"Tower {i} is {40 + i} metres high.",
            "contexts": [f"Tower {i} is {40 + i} metres high." if i % 3 else "Cats sleep."],
        }
        for i in range(n)
    ]


def numbered(of: Sequence[Row], name: str = "q{}") -> list[Row]:
    return [{"id": name.format(i), **row} for i, row in enumerate(of)]


def shuffled(of: Sequence[Row]) -> list[Row]:
    found = list(of)
    random.Random(1).shuffle(found)
    return found


def run(folder: Path, of: Sequence[Row]) -> Path:
    file = folder.with_suffix(".jsonl")
    file.write_text("".join(json.dumps(row) + "\n" for row in of))
    ce.score(file, judges=["local:lexical"], metrics=["faithfulness"], out=folder)
    return folder


@pytest.mark.parametrize(
    ("a", "b", "by"),
    [
        (rows(), shuffled(rows()), "question"),
        (rows(), numbered(rows()), "question"),
        (numbered(rows()), numbered(rows(), "run2-q{}"), "question"),
        (numbered(rows(), "{}"), numbered(shuffled(rows()), "{}"), "question"),
        (numbered(rows()), shuffled(numbered(rows())), "id"),
        (
            numbered(rows()),
            [{**row, "question": f"Please: {row['question']}"} for row in numbered(rows())],
            "id",
        ),
        (
            numbered(rows()),
            [*shuffled(numbered(rows()[:5], "x{}")), *numbered(rows())[5:]],
            "question",
        ),
    ],
    ids=[
        "rows in another order",
        "ids in one file only",
        "another prefix",
        "ids that number the rows",
        "ids in another order",
        "reworded questions",
        "a part of the ids renamed",
    ],
)
def test_every_pair_is_of_one_question(tmp_path: Path, a: list[Row], b: list[Row], by: str) -> None:
    before = run(tmp_path / "a", a)
    after = run(tmp_path / "b", b)
    found = ce.compare(before, after)
    assert (found.paired_by, found.against(1).shared) == (by, 12)
    assert found.metrics["faithfulness"].difference.value == 0
    assert found.metrics["faithfulness"].changed_samples == ()
    assert found.against(1).changed_texts == (12 if "Please" in str(b) else 0)
    front = call("compare", str(before), str(after)).stdout
    assert ("paired by question" in front) == (by == "question")


@pytest.mark.parametrize("gone", [0, 6, 10])
def test_numbers_that_a_missing_row_shifts_pair_no_other_questions(
    tmp_path: Path, gone: int
) -> None:
    left = [*rows()[:gone], *rows()[gone + 1 :]]
    before = run(tmp_path / "a", numbered(rows(), "{}"))
    after = run(tmp_path / "b", numbered(left, "{}"))
    found = ce.compare(before, after).against(1)
    assert (found.shared, found.changed_texts, found.only_a) == (11, 0, 1)


def test_a_swap_of_two_ids_among_reworded_questions_leaves_pairs_by_id(tmp_path: Path) -> None:
    reworded = [{**row, "question": f"Please: {row['question']}"} for row in rows()]
    other = [rows()[1], rows()[0], *reworded[2:]]
    before = run(tmp_path / "a", numbered(rows(), "{}"))
    after = run(tmp_path / "b", numbered(other, "{}"))
    assert ce.compare(before, after).paired_by == "id"


def test_rows_of_one_file_are_paired_by_their_numbers(tmp_path: Path) -> None:
    again = tmp_path / "b"
    first = run(tmp_path / "a", rows())
    ce.score(tmp_path / "a.jsonl", judges=["local:lexical"], metrics=["faithfulness"], out=again)
    assert ce.compare(first, again).paired_by == "id"


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        (rows(2), "made"),
        (numbered(rows(2)), "given"),
        ([Sample(question="How high?", answer="80 metres.", contexts=["80 metres."])], "made"),
        ([Sample(id="q1", question="How?", answer="80 metres.", contexts=["A."])], "given"),
    ],
)
def test_a_run_records_whether_its_ids_were_given(
    data: list[Any], ids: str, tmp_path: Path
) -> None:
    scored = ce.score(data, judges=["local:lexical"], metrics=["faithfulness"], out=tmp_path / "a")
    assert load_manifest(tmp_path / "a").data.ids == ids
    again = ce.rejudge(scored, judges=["local:lexical"], out=tmp_path / "b")
    assert again.manifest.data.ids == ids
    other = ce.score(scored, judges=["local:lexical"], metrics=["faithfulness"])
    assert other.manifest.data.ids == ids


def test_under_half_of_the_smaller_run_is_refused_with_both_counts(tmp_path: Path) -> None:
    other = [{**row, "question": f"Who built hall {i}?"} for i, row in enumerate(rows())]
    a = run(tmp_path / "a", rows())
    b = run(tmp_path / "b", [*other[:7], *rows()[7:]])
    with pytest.raises(UsageError, match="of the 12 of a and 12 of b, only 5 can be paired"):
        ce.compare(a, b)
    with pytest.raises(UsageError, match="only 5 can be paired"):
        ce.compare(a, b, a)
    call("compare", str(a), str(b), exits=2)
    half = run(tmp_path / "half", [*other[:6], *rows()[6:]])
    assert ce.compare(a, half).against(1).shared == 6


def test_a_baseline_without_pairs_is_refused_before_the_first_call(tmp_path: Path) -> None:
    """A run that ends with this error has no summary, and its calls are paid for."""
    before = run(tmp_path / "a", rows())
    asked: list[object] = []

    def paid(messages: object) -> str:
        asked.append(messages)
        return ""

    judge = ce.Judge.from_callable("paid", paid, model="paid")
    other = [{**row, "question": f"Who built hall {i}?"} for i, row in enumerate(rows())]
    gates = ce.Gates(max_drop={"faithfulness": 0.1}, baseline=before)
    with pytest.raises(UsageError, match="none can be paired"):
        ce.score(other, judges=judge, metrics=["faithfulness"], gates=gates)
    assert asked == []


def test_a_smaller_run_is_compared_over_its_samples(tmp_path: Path) -> None:
    a = run(tmp_path / "a", rows())
    b = run(tmp_path / "b", shuffled(rows())[:3])
    pair = ce.compare(a, b).against(1)
    assert (pair.shared, pair.only_a, pair.only_b) == (3, 9, 0)


def test_one_renamed_id_does_not_part_equal_questions_with_ids(tmp_path: Path) -> None:
    """By question, the four equal ones would be paired in their order, which is another one."""
    alike = [{**row, "question": "Summarize the document."} for row in rows()[:4]]
    named = numbered([*alike, *rows()[4:]])
    renamed = [*reversed(named[:4]), *named[4:11], {**named[11], "id": "new"}]
    before = run(tmp_path / "a", named)
    after = run(tmp_path / "b", renamed)
    found = ce.compare(before, after)
    pair = found.against(1)
    assert (found.paired_by, pair.shared, pair.changed_texts) == ("id", 11, 0)


def test_rows_without_ids_and_questions_are_not_paired_by_question(tmp_path: Path) -> None:
    """Nothing says what they ask, so that their numbers are all there is."""
    bare = [{name: row[name] for name in ("answer", "contexts")} for row in rows()]
    a = run(tmp_path / "a", bare)
    b = run(tmp_path / "b", shuffled(bare))
    assert ce.compare(a, b).paired_by == "row"
    assert "paired by row number" in call("compare", str(a), str(b)).stdout


def test_rows_without_ids_of_other_data_are_not_paired_by_their_numbers(tmp_path: Path) -> None:
    other = [{**row, "question": f"Who built hall {i}?"} for i, row in enumerate(rows())]
    a = run(tmp_path / "a", rows())
    b = run(tmp_path / "b", other)
    with pytest.raises(UsageError, match="of the 12 of a and 12 of b, none can be paired"):
        ce.compare(a, b)
    with pytest.raises(UsageError, match="none can be paired"):
        ce.compare(a, a, b)


def test_one_question_of_all_samples_pairs_none_of_them(tmp_path: Path) -> None:
    """Two documents are in both runs under their ids; by question, all six of b would be pairs."""
    alike = [{**row, "question": "Summarize the document."} for row in rows(18)]
    a = run(tmp_path / "a", numbered(alike)[:14])
    b = run(tmp_path / "b", numbered(alike)[12:])
    with pytest.raises(UsageError, match="of the 14 of a and 6 of b, only 2 can be paired"):
        ce.compare(a, b)


def test_turns_of_one_conversation_are_a_cluster_under_whatever_number(tmp_path: Path) -> None:
    """The conversations of each file are numbered by its rows, and number 1 of one file is another
    one than number 1 of the other."""
    chats = [
        {
            "messages": [
                {"role": "user", "content": f"Which tower does town {i} have?"},
                {"role": "assistant", "content": f"Town {i} has a tower."},
                {"role": "tool", "content": f"Town {i} has a tower of {40 + i} metres."},
                {"role": "user", "content": "How high is it?"},
                {"role": "assistant", "content": f"The tower has {40 + i} metres."},
            ]
        }
        for i in range(12)
    ]
    folders = []
    for name, of in (("a", chats), ("b", shuffled(chats))):
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in of))
        folder = tmp_path / name
        ce.score(file, judges=["local:lexical"], metrics=["faithfulness"], turns="all", out=folder)
        folders.append(folder)
    found = ce.compare(*folders).against(1)
    assert (found.paired_by, found.shared, found.clusters) == ("question", 24, 12)


def test_a_series_follows_questions(tmp_path: Path) -> None:
    runs = [
        run(tmp_path / "a", rows()),
        run(tmp_path / "b", shuffled(rows())),
        run(tmp_path / "c", numbered(rows())),
    ]
    (track,) = ce.compare(*runs).trend.tracks
    against = track.against[2]
    assert against is not None
    assert (against.n, against.increased, against.decreased) == (12, 0, 0)
    assert track.trend.slope.value == 0


def asked(question: str, *before: str, reply: str = "Yes.") -> Sample:
    turns = []
    for text in before:
        turns += [Turn(role="user", content=text), Turn(role="assistant", content=reply)]
    return Sample(id="x", question=question, history=tuple(turns))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (asked("How high?"), asked("  how\tHIGH? "), True),
        (asked("How high?"), asked("How high is it?"), False),
        (asked("Why?", "Is it old?"), asked("Why?", "Is it high?"), False),
        (asked("Why?", "Is it old?"), asked("Why?", "is it  old?", reply="No."), True),
        (asked("Why?"), asked("Why?", "Is it old?"), False),
    ],
)
def test_a_question_is_the_same_but_for_case_and_blanks(a: Sample, b: Sample, same: bool) -> None:
    assert (question_of(a) == question_of(b)) == same


@given(
    st.lists(st.sampled_from("uvwxyz"), min_size=1, max_size=9).flatmap(
        lambda asked: st.tuples(st.just(asked), st.permutations(asked))
    ),
    st.integers(min_value=0, max_value=9),
)
def test_no_pair_by_question_is_of_two_questions(
    orders: tuple[list[str], list[str]], dropped: int
) -> None:
    """Each question of the shorter run has a partner, whatever the order, and no sample has two."""
    read: Callable[[list[str]], list[ScoredSample]] = lambda order: [  # noqa: E731
        ScoredSample(sample=Sample(id=str(i), question=text), claims=(), assessments=())
        for i, text in enumerate(order)
    ]
    a, b = read(orders[0]), read(orders[1][dropped:])
    pairs = [pair for _, pair in SharedSamples(Path("b"), (a, b), "question")]
    assert all(pair.a.sample.question == pair.b.sample.question for pair in pairs)
    assert len(pairs) == len(b)
    for run_of_pair in (0, 1):
        assert len({pair[run_of_pair].id for pair in pairs}) == len(pairs)


def test_keys_by_id_are_the_ids() -> None:
    result = ScoredSample(sample=Sample(id="7", question="?"), claims=(), assessments=())
    assert PairKeys("id")(result) == "7"


@pytest.mark.parametrize("given_ids", [True, False])
def test_labels_are_about_the_question_that_they_name(tmp_path: Path, given_ids: bool) -> None:
    """The labels say what is right in the file in its order; by row, eight of twelve would differ
    from a judge that is always right."""
    labels = [
        {
            **({"id": str(i + 1)} if given_ids else {}),
            "question": row["question"].upper(),
            "label": "supported" if i % 3 else "not_found",
        }
        for i, row in enumerate(rows())
    ]
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps(label) + "\n" for label in labels))
    found = ce.agreement(run(tmp_path / "a", shuffled(rows())), labels=file)
    (judge,) = found.judges
    assert (judge.compared, judge.agreement) == (12, 1.0)


def test_a_label_keeps_its_id_where_its_question_is_nowhere_else(tmp_path: Path) -> None:
    place = LabelPlaces.of(run(tmp_path / "a", [*numbered(rows(3)), *numbered(rows(1), "again{}")]))
    asked = "How high is tower 0?"
    labels = [
        HumanLabel(sample="q1", label="supported"),
        HumanLabel(sample="q1", question="Who built it?", label="supported"),
        HumanLabel(sample="q0", question=asked, label="supported"),
        HumanLabel(sample="x", question=asked, label="supported"),
        HumanLabel(sample="y", question=asked, label="supported"),
        HumanLabel(sample="z", question=asked, label="supported"),
        HumanLabel(sample="x", question=asked, label="not_found"),
    ]
    found = [place(label).sample for label in labels]
    assert found == ["q1", "q1", "q0", "q0", "again0", "z", "q0"]


def test_labels_of_other_questions_are_of_no_row_with_their_number(tmp_path: Path) -> None:
    place = LabelPlaces.of(run(tmp_path / "a", rows(3)))
    labels = [
        HumanLabel(sample="1", question="Who built it?", label="supported"),
        HumanLabel(sample="", question="Who paid?", label="supported"),
        HumanLabel(sample="2", question="How high is tower 0?", label="supported"),
        HumanLabel(sample="3", question="How high is tower 0?", label="supported"),
        HumanLabel(sample="3", label="supported"),
    ]
    found = [place(label).sample for label in labels]
    assert found == ["Who built it?", "Who paid?", "1", "How high is tower 0?", "3"]


@pytest.mark.parametrize("columns", ["id,question,label", "question,label"])
@pytest.mark.parametrize("select", [False, True])
def test_an_experiment_finds_labels_by_question(
    tmp_path: Path, columns: str, *, select: bool
) -> None:
    """People say what the judge says, so that every label of another question would differ."""
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in shuffled(rows(30))))
    lines = [columns]
    for i, row in enumerate(rows(30)):
        number = f"{i + 1}," if columns.startswith("id") else ""
        lines.append(f"{number}{row['question']},{'yes' if i % 3 else 'no'}")
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(lines))
    arms = [{"name": name, "assess_prompt": name} for name in ("three_way", "binary")]
    design = {"data": str(data), "judges": "local:lexical", "metrics": "faithfulness", "arms": arms}
    found = ce.experiment(
        {**design, "baseline": "binary"}, labels=labels, select=select, anyway=select
    )
    assert found.table
    agreements = [arm.label_agreement for arm in found.table.arms]
    assert all(each and each.claims and each.same.value == 1 for each in agreements)
    if not select:
        assert [each and each.claims for each in agreements] == [30, 30]


def test_an_experiment_says_which_labels_are_of_none_of_its_samples(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    arms = "[{name: a}, {name: b, assess_prompt: binary}]"
    design = tmp_path / "design.yaml"
    design.write_text(
        f"data: data.jsonl\njudges: local:lexical\nmetrics: faithfulness\narms: {arms}\n"
        "baseline: a\n"
    )
    labels = tmp_path / "labels.csv"
    lines = [f"{row['question']},yes" for row in rows()]
    for others, said in ((4, "4 of 12 labels fit nothing"), (7, "7 of 12 labels fit nothing")):
        other = [f"Who built hall {i}?,no" for i in range(others)]
        labels.write_text("\n".join(["question,label", *other, *lines[others:]]))
        typed = ("experiment", str(design), "--labels", str(labels), "-o", str(tmp_path / said[0]))
        done = call(*typed, exits=2 if others > 6 else 0)
        assert said in done.stderr
        assert ("most labels are not about" in done.stderr) == (others > 6)
        assert (tmp_path / said[0]).exists() == (others < 6)


def test_labels_that_only_number_rows_are_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    numbered = [HumanLabel(sample=str(i), label="supported") for i in (2, 3)]
    asked = HumanLabel(sample="2", question="How high is tower 0?", label="supported")
    quoted = HumanLabel(sample="2", text="Tower 1 is high.", label="supported")
    place = LabelPlaces.of(run(tmp_path / "a", rows(3)))
    for label in (asked, quoted):
        place(label)
    assert "numbers" not in caplog.text
    for label in numbered:
        place(label)
    assert caplog.text.count("go to the rows with their numbers (first: 2)") == 1

    caplog.clear()
    named = [{**row, "id": f"s{i}"} for i, row in enumerate(rows(3))]
    place = LabelPlaces.of(run(tmp_path / "b", named))
    place(HumanLabel(sample="s1", label="supported"))
    assert "numbers" not in caplog.text


def test_a_label_file_of_other_rows_without_ids_is_refused(tmp_path: Path) -> None:
    """Its numbers are those of rows of the run, and were compared with their answers."""
    scored = run(tmp_path / "a", rows())
    lines = [f"{i},Who built hall {i}?,{'yes' if i % 2 else 'no'}" for i in range(1, 11)]
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(["id,question,label", *lines]))
    for door in (ce.agreement, ce.correct):
        with pytest.raises(UsageError, match="10 with the id or question of no sample of the run"):
            door(scored, labels)


def test_a_question_in_other_case_or_unicode_form_is_no_other_question(tmp_path: Path) -> None:
    """Its pairs say that it is the same, and so does the first line."""
    asked = [{**row, "question": row["question"].replace("tower", "Türm")} for row in rows()]
    written = [normalize("NFD", row["question"]).upper() for row in asked]
    other = [{**row, "question": text} for row, text in zip(asked, written, strict=True)]
    found = ce.compare(run(tmp_path / "a", asked), run(tmp_path / "b", shuffled(other))).against(1)
    assert "the same questions written otherwise (12 of 12)" in found.culprit.sentence
    assert "other questions" not in found.culprit.sentence


def repeated(n: int = 10) -> list[Row]:
    """Questions that are asked twice, with another answer each time."""
    found: list[Row] = []
    for i in range(n):
        for height in (40 + i, 90 + i):
            row = {
                "question": f"How high is tower {i}?",
                "answer": f"Tower {i} is {height} metres high.",
                "contexts": [f"Tower {i} is {40 + i} metres high."],
            }
            found.append(row)
    return found


def swapped(of: Sequence[Row]) -> list[Row]:
    """Return rows with both of each pair of neighbors in the other order."""
    found = list(of)
    found[::2], found[1::2] = of[1::2], of[::2]
    return found


def test_equal_questions_in_another_order_are_paired_by_their_answers(tmp_path: Path) -> None:
    before = run(tmp_path / "a", repeated())
    after = run(tmp_path / "b", swapped(repeated()))
    found = ce.compare(before, after)
    assert (found.paired_by, found.against(1).shared) == ("question", 20)
    assert found.metrics["faithfulness"].changed_samples == ()
    assert found.against(1).changed_texts == 0
    values = Baseline.of(before).paired(Asked.of(after)).values
    assert values["1"] != values["2"]
    for result in ce.Run.load(after).results:
        assert values[result.id]["faithfulness"] == result.scores["faithfulness"].value
    (track,) = ce.compare(before, after, after).trend.tracks
    against = track.against[2]
    assert against is not None
    assert (against.n, against.increased, against.decreased) == (20, 0, 0)


def test_equal_questions_with_other_answers_are_paired_by_their_contexts_else_in_order(
    tmp_path: Path,
) -> None:
    rows_of_a = [{**row, "contexts": [f"{row['answer']} So it is."]} for row in repeated()]
    shorter = [{**row, "answer": row["answer"].replace("metres", "m")} for row in rows_of_a]
    names: list[dict[str, int]] = []
    for rows_of_b in (swapped(shorter), shorter):
        keys = equal_questions(asked_by(rows_of_a), asked_by(rows_of_b))
        names.append(dict(keys.b))
    assert [names[0][f"{i}"] for i in (1, 2)] == [2, 1]
    assert [names[1][f"{i}"] for i in (1, 2)] == [1, 2]
    other = [{**row, "answer": "Yes, it is.", "contexts": None} for row in repeated()]
    in_order = equal_questions(asked_by(rows_of_a), asked_by(other)).b
    assert [in_order[f"{i}"] for i in (1, 2)] == [1, 2]


def asked_by(of: Sequence[Row]) -> Asked:
    """Return what rows ask, numbered from 1."""
    samples = [Sample(id=str(i), **row) for i, row in enumerate(of, 1)]
    results = [ScoredSample.model_construct(sample=sample, scores={}) for sample in samples]
    return Asked.of_results(results, DataSource(path=None, ids="made"))


ASKED = st.lists(
    st.tuples(st.sampled_from(["Who?", "When?", "Why?"]), st.sampled_from(["A.", "B.", "C."])),
    max_size=12,
)


@given(ASKED, ASKED)
def test_numbers_of_equal_questions_pair_equal_answers_and_each_sample_once(
    first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> None:
    of_a, of_b = (
        asked_by([{"question": question, "answer": answer} for question, answer in each])
        for each in (first, second)
    )
    numbers = equal_questions(of_a, of_b)
    keys_a = of_a.keys("question", numbers.a)
    keys_b = of_b.keys("question", numbers.b)
    assert len(set(keys_a.values())) == len(first)
    assert len(set(keys_b.values())) == len(second)
    by_key = {key: first[int(name) - 1] for name, key in keys_a.items()}
    pairs = [(by_key[key], second[int(name) - 1]) for name, key in keys_b.items() if key in by_key]
    assert all(a[0] == b[0] for a, b in pairs)
    assert len(pairs) == (Counter(q for q, _ in first) & Counter(q for q, _ in second)).total()
    assert sum(a == b for a, b in pairs) == (Counter(first) & Counter(second)).total()


def test_a_series_keeps_conversations_apart_that_have_the_same_number(tmp_path: Path) -> None:
    """The last run has the first conversation alone, under the number that the last conversation
    has in the second run."""
    chats = [
        {
            "messages": [
                {"role": "user", "content": f"Which tower does town {i} have?"},
                {"role": "assistant", "content": f"Town {i} has a tower."},
                {"role": "tool", "content": f"Town {i} has a tower of {40 + i} metres."},
                {"role": "user", "content": "How high is it?"},
                {"role": "assistant", "content": f"The tower has {40 + i} metres."},
            ]
        }
        for i in range(6)
    ]
    folders: list[Path] = []
    for name, of in (("a", chats), ("b", chats[::-1]), ("c", chats[:1])):
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in of))
        folder = tmp_path / name
        ce.score(file, judges=["local:lexical"], metrics=["faithfulness"], turns="all", out=folder)
        folders.append(folder)
    (track,) = ce.compare(*folders).trend.tracks
    against = track.against[1]
    assert against is not None
    assert (against.n, against.difference.clusters) == (6, 6)


def test_a_space_around_the_id_of_a_label_keeps_it_from_no_sample(tmp_path: Path) -> None:
    named = [{**row, "id": name} for row, name in zip(rows(2), ("s1", "s2 "), strict=True)]
    place = LabelPlaces.of(run(tmp_path / "a", named))
    samples = [
        place(HumanLabel(sample=name, label="supported")).sample for name in (" s1", "s2 ", " s3")
    ]
    # An id of the data that has the space is taken as it is.
    assert samples == ["s1", "s2 ", " s3"]
