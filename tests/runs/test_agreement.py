"""Judges against people: labels find their claims, and the numbers are worked by hand or equal
scikit-learn's."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, TypeGuard

import pytest

from claimeval.data.labels import HumanLabel
from claimeval.judging.panel import Panel, voting
from claimeval.runs.agreement import Agreement, labels_needed, may_be_chance, measure
from claimeval.runs.labels import StrayLabels, join
from claimeval.runs.views import Block, Line
from claimeval.runs.views.agreement import first, view
from claimeval.types.errors import UsageError
from claimeval.types.estimates import Estimate
from claimeval.types.records import Claim, Document, Evidence, Label, Sample, SampleResult
from claimeval.types.scales import BINARY, grade_scale
from tests.judging.panel.test_voting import grades_of, verdicts

JUDGES = ("a", "b")
ANSWER = "The tower is 63 metres high. It was built in 1901 by Ana Souto."
SENTENCES = ("The tower is 63 metres high.", "It was built in 1901", "by Ana Souto.")


CONTEXTS = Evidence(part="contexts")


def result(
    rows: dict[str, list[str]], settings: Panel | None = None, name: str = "s1"
) -> SampleResult:
    """Claims of three passages of the answer; per evidence a row of marks a claim."""
    settings = settings or Panel()
    claims = tuple(
        Claim(
            grounding="ungrounded",
            id=f"answer-{i}",
            text=f"Claim {i}.",
            of="answer",
            span=(at := ANSWER.index(text), at + len(text)),
        )
        for i, text in enumerate(SENTENCES, 1)
    )
    return SampleResult(
        sample=Sample(id=name, question="q", answer=ANSWER, contexts=(Document(id="1", text="x"),)),
        claims=claims,
        assessments=tuple(
            voting.vote(claim.id, Evidence(part=against), verdicts(marks), settings)
            for against, column in rows.items()
            for claim, marks in zip(claims, column, strict=False)
        ),
    )


def label(said: str, **fields: Any) -> HumanLabel:
    sample = fields.pop("sample", "s1")
    return HumanLabel(sample=sample, label=said, **fields)  # type: ignore[arg-type]  # of Label


ONE = result({"contexts": ["++", "+0", "-0"]})


def test_labels_find_claims_by_id_text_and_place() -> None:
    labels = [
        label("supported", claim_id="answer-1"),
        label("not_found", text="claim 2"),
        label("contradicted", text="in 1901 by Ana Souto."),
    ]
    joined = join([ONE], JUDGES, Panel(), labels)
    assert joined.human == ["supported", "not_found", "contradicted"]
    assert joined.raters["a"] == ["supported", "supported", "contradicted"]
    assert joined.raters["panel"] == ["supported", None, "not_found"]
    assert joined.strays.counted.unmatched == 0


def test_a_passage_holds_for_every_claim_that_stands_in_it() -> None:
    joined = join(
        [ONE], JUDGES, Panel(), [label("supported", text="It was built in 1901 by Ana Souto.")]
    )
    assert joined.human == ["supported", "supported"]


@pytest.mark.parametrize(
    "text", ["claim 2 [1].", "Claim 2【1†source】", "It was built [2] in 1901[3]"]
)
def test_citations_do_not_keep_a_label_from_its_claim(text: str) -> None:
    joined = join([ONE], JUDGES, Panel(), [label("not_found", text=text)])
    assert (joined.raters["a"], joined.strays.counted.unmatched) == (["supported"], 0)


def test_labels_that_fit_nothing_are_counted() -> None:
    labels = [
        label("supported", claim_id="answer-9"),
        label("supported", text="The tower is red."),
        label("supported", claim_id="answer-1", evidence=Evidence(part="reference")),
        label("supported", sample="other", claim_id="answer-1"),
    ]
    joined = join([ONE], JUDGES, Panel(), labels)
    strays = joined.strays.counted
    assert (strays.unmatched, joined.human) == (4, [])
    assert strays == StrayLabels(labels=4, no_sample=1, no_item=2, other_evidence=1, first="other")
    assert strays.words() == (
        "4 of 4 labels fit nothing: 1 with the id or question of no sample of the run, 2 about"
        " nothing that was judged in their sample, 1 about evidence that the run did not use"
        " (first: sample 'other')"
    )


@pytest.mark.parametrize(
    ("labels", "no_sample", "no_item", "other", "limited", "is_refused"),
    [
        (10, 3, 2, 0, False, False),  # half of them
        (10, 4, 2, 0, False, True),
        (10, 0, 2, 7, False, True),  # two of the three that could fit
        (10, 0, 1, 7, False, False),
        (10, 8, 0, 0, True, False),  # a run over the first samples of its data
        (10, 7, 2, 0, True, True),
        (0, 0, 0, 0, False, False),
    ],
)
def test_labels_of_which_most_fit_nothing_are_refused(
    labels: int, no_sample: int, no_item: int, other: int, limited: bool, is_refused: bool
) -> None:
    strays = StrayLabels(labels=labels, no_sample=no_sample, no_item=no_item, other_evidence=other)
    expected = (
        pytest.raises(UsageError, match="most labels are not about runs/a")
        if is_refused
        else nullcontext()
    )
    with expected:
        strays.check("runs/a", limited=limited)


def test_where_claims_have_several_evidences_labels_must_say_which() -> None:
    two = result({"contexts": ["++"], "reference": ["00"]})
    with pytest.raises(UsageError, match="give --evidence contexts or --evidence reference"):
        join([two], JUDGES, Panel(), [label("supported", claim_id="answer-1")])
    assert join(
        [two], JUDGES, Panel(), [label("supported", claim_id="answer-1")], "reference"
    ).raters["a"] == ["not_found"]
    said = [label("supported", claim_id="answer-1", evidence=CONTEXTS)]
    assert join([two], JUDGES, Panel(), said).raters["a"] == ["supported"]


def test_several_annotators_are_taken_together_and_kept_apart() -> None:
    labels = [
        *(
            label(said, claim_id="answer-1", annotator=who)
            for who, said in zip("xyz", ["supported"] * 2 + ["not_found"], strict=True)
        ),
        *(
            label(said, claim_id="answer-2", annotator=who)
            for who, said in zip("xy", ["supported", "not_found"], strict=True)
        ),
    ]
    joined = join([ONE], JUDGES, Panel(), labels)
    assert joined.human == ["supported", None]
    assert joined.annotators == {
        "x": ["supported", "supported"],
        "y": ["supported", "not_found"],
        "z": ["not_found", None],
    }


@pytest.mark.parametrize("order", [1, -1])
def test_an_annotator_who_contradicts_himself_on_a_claim_has_no_label_there(order: int) -> None:
    labels = [label("supported", claim_id="answer-1"), label("not_found", claim_id="answer-1")][
        ::order
    ]
    joined = join([ONE], JUDGES, Panel(), [*labels, label("supported", claim_id="answer-2")])
    assert joined.human == [None, "supported"]
    assert joined.labels.conflicting == 1
    assert joined.labels.words() == "left out: 1 that the same annotator labeled differently"


def test_annotators_who_differ_are_counted_and_vote_on_support_first() -> None:
    said = {
        "answer-1": [
            "supported",
            "supported",
            "supported",
            "not_found",
            "not_found",
            "contradicted",
            "contradicted",
        ],
        "answer-2": ["supported", "not_found"],
        "answer-3": ["supported", "supported", "supported"],
    }
    labels = [
        label(word, claim_id=claim, annotator=f"person {i}")
        for claim, words in said.items()
        for i, word in enumerate(words)
    ]
    joined = join([ONE], JUDGES, Panel(), labels)
    assert joined.human == [
        "not_found",
        None,
        "supported",
    ]  # four of seven do not support the first
    assert (joined.labels.differing, joined.labels.divided) == (2, 1)
    assert (
        joined.labels.words()
        == "left out: 1 on which annotators are evenly divided; annotators differ on 1 more, where"
        " the majority counts"
    )


def test_labels_of_one_sample_by_two_people_are_one_item() -> None:
    labels = [label("not_found", annotator="ann"), label("not_found", annotator="ben")]
    joined = join([ONE], JUDGES, Panel(), labels)
    assert (joined.human, joined.raters["a"]) == (["not_found"], ["contradicted"])


def test_a_label_of_a_whole_sample_is_held_against_all_its_claims() -> None:
    joined = join(
        [ONE, result({"contexts": ["++", "++", "+0"]}, name="s2")],
        JUDGES,
        Panel(),
        [label("not_found"), label("supported", sample="s2")],
    )
    assert joined.raters["a"] == ["contradicted", "supported"]
    assert joined.probabilities["a"] == [2 / 3, 1.0]
    assert joined.raters["b"] == ["not_found", "not_found"]


def test_under_a_two_way_scale_contradicted_is_not_supported() -> None:
    binary = Panel(scale=BINARY)
    joined = join([ONE], JUDGES, binary, [label("contradicted", claim_id="answer-1")])
    assert joined.human == ["not_found"]


def test_without_labels_every_claim_is_compared_between_judges() -> None:
    report = measure(join([ONE], JUDGES, Panel(), None), Panel())
    assert report.raters == ()
    assert [
        (p.first, p.second, p.items, p.raw.value)
        for p in report.pairs
        if "panel" not in (p.first, p.second)
    ] == [("a", "b", 3, 1 / 3)]
    assert report.alpha is not None


def test_without_labels_what_claims_have_to_do_with_the_question_is_compared_apart() -> None:
    both = result({"contexts": ["++", "+0", "-0"], "asked": ["+0", "+0", "+0"]})
    assert join([both], JUDGES, Panel(), None).raters == join([ONE], JUDGES, Panel(), None).raters
    apart = join([both], JUDGES, Panel(), None, "asked").raters
    assert (apart["a"], apart["b"]) == (["supported"] * 3, ["not_found"] * 3)


def report_of(human: str, judge: str, clusters: int = 2) -> Agreement:
    """One judge against people over claims of one sample each, `.` where somebody says nothing."""
    results = []
    labels = []
    for number, (person, said) in enumerate(zip(human, judge, strict=True)):
        name = f"s{number // clusters}-{number}"
        results.append(result({"contexts": [said.replace(".", "x")]}, name=name))
        words = {"+": "supported", "0": "not_found", "-": "contradicted"}
        if person != ".":
            labels.append(label(words[person], sample=name, claim_id="answer-1"))
    return measure(join(results, ("a",), Panel(), labels), Panel())


def test_binary_numbers_and_confusion_by_hand() -> None:
    """TP 3, FP 1, FN 1, TN 2; one without a verdict, one without a label."""
    (rater,) = report_of("++++00-+.", "+++0-0+.+").raters
    assert (rater.compared, rater.unassessed) == (7, 1)
    assert rater.accuracy.value == pytest.approx(5 / 7)
    assert rater.precision.value == 3 / 4
    assert rater.recall.value == 3 / 4
    assert rater.specificity.value == 2 / 3
    assert rater.f1.value == 3 / 4
    assert rater.balanced_accuracy.value == pytest.approx((3 / 4 + 2 / 3) / 2)
    chance = (4 * 4 + 3 * 3) / 49
    assert rater.kappa.value == pytest.approx((5 / 7 - chance) / (1 - chance))
    assert rater.auroc is None
    assert rater.labels == ("contradicted", "not_found", "supported")
    assert rater.confusion == ((0, 0, 1), (1, 1, 0), (0, 1, 3))
    assert rater.same.value == pytest.approx(4 / 7)


def test_probabilities_give_an_auroc() -> None:
    said = [("+", 0.9), ("+", 0.6), ("0", 0.7), ("0", 0.1)]
    results = []
    for number, (mark, p) in enumerate(said):
        voted = voting.vote("answer-1", CONTEXTS, verdicts(mark, probability=[p]))
        results.append(
            result({"contexts": [mark]}, name=str(number)).model_copy(
                update={"assessments": (voted,)}
            )
        )
    people = [
        label(who, sample=str(n), claim_id="answer-1")
        for n, who in enumerate(["supported"] * 2 + ["not_found"] * 2)
    ]
    (rater,) = measure(join(results, ("a",), Panel(), people), Panel()).raters
    assert rater.auroc is not None
    assert rater.auroc.value == 3 / 4  # of four pairs, 0.6 is under 0.7


def test_grades_are_compared_as_grades() -> None:
    settings = Panel(scale=grade_scale("grades", highest=3, positive_from=2, divided=False))
    given = [3, 2, 0, 1]
    people = [3, 1, 0, 0]
    results = [
        result({"contexts": ["+"]}, name=str(n)).model_copy(
            update={
                "assessments": (
                    voting.vote("answer-1", CONTEXTS, grades_of([grade], settings.scale), settings),
                )
            }
        )
        for n, grade in enumerate(given)
    ]
    labels = [
        HumanLabel(sample=str(n), claim_id="answer-1", grade=grade)
        for n, grade in enumerate(people)
    ]
    (rater,) = measure(join(results, ("a",), settings, labels), settings).raters
    assert rater.same.value == 0.5
    assert rater.accuracy.value == 3 / 4  # supported from 2 on
    observed = 1 + 1
    expected = sum((a - b) ** 2 for a in given for b in people) / 4
    assert rater.weighted_kappa is not None
    assert rater.weighted_kappa.value == pytest.approx(1 - observed / expected)


def test_a_judge_may_stand_in_for_annotators_whom_it_is_as_close_to_as_they_are_to_each_other() -> (
    None
):
    results = [result({"contexts": ["+0"]}, name=f"s{i}") for i in range(30)]
    people = ((one.sample.id, who) for one in results for who in "xy")
    labels = [
        label("supported", sample=name, claim_id="answer-1", annotator=who) for name, who in people
    ]
    always, never, _ = measure(join(results, JUDGES, Panel(), labels), Panel()).raters
    assert always.alt_test == Estimate(
        value=1, n=2, clusters=2, because="no interval was requested"
    )
    assert always.advantage == always.alt_test
    assert (
        never.alt_test
        == never.advantage
        == Estimate(value=0, n=2, clusters=2, because="no interval was requested")
    )
    few = measure(join(results[:29], JUDGES, Panel(), labels[:58]), Panel()).raters[0]
    assert (few.alt_test, few.advantage) == (None, None)


def test_agreement_by_the_values_of_a_field_has_the_confusion_of_each() -> None:
    topics = {"s1": "towers", "s2": "towers", "s3": None}
    results = [
        one.model_copy(
            update={
                "sample": one.sample.model_copy(
                    update={"metadata": {"topic": topic} if topic else {}}
                )
            }
        )
        for name, topic in topics.items()
        for one in [result({"contexts": ["++", "+0", "-0"]}, name=name)]
    ]
    labels = [
        label(said, claim_id=f"answer-{n}", sample=name)
        for name in topics
        for n, said in enumerate(("supported", "not_found", "contradicted"), 1)
    ]
    found = measure(
        join(results, JUDGES, Panel(), labels, by="metadata.topic"), Panel(), half_width=0.1
    )
    slices = {(one.value, one.rater): one for one in found.slices}
    assert set(slices) == {
        (value, rater) for value in ("towers", "-") for rater in ("a", "b", "panel")
    }
    of_a = slices["towers", "a"]  # supported, supported, contradicted on each of two samples
    assert of_a.labels == ("contradicted", "not_found", "supported")
    assert of_a.confusion == ((2, 0, 0), (0, 0, 2), (0, 0, 2))
    assert of_a.compared == 6
    assert of_a.same.value == pytest.approx(2 / 3)
    assert slices["-", "a"].compared == 3


def test_labels_needed_for_a_half_width_grow_with_its_square() -> None:
    known = Estimate(value=0.8, low=0.7, high=0.88, n=100, clusters=100)
    assert labels_needed(known, 0.1) == 0
    assert labels_needed(known, 0.05) == 300  # a quarter of the width: four times the labels
    assert labels_needed(Estimate(value=0.8, n=4, clusters=4), 0.05) is None


def test_one_judge_without_labels_is_said_to_have_nothing_to_compare() -> None:
    alone = measure(
        join([result({"contexts": ["+", "0", "-"]})], JUDGES[:1], Panel(), None), Panel()
    )
    (note,) = alone.notes
    assert note.startswith(
        "one judge and no human labels, so there is nothing to compare: label claims with"
    )
    both = measure(join([ONE], JUDGES, Panel(), None), Panel())
    assert both.notes == ()


def many(marks: list[list[str]], truths: list[Label], **fields: Any) -> Agreement:
    """The agreement of judges on as many questions as there are truths, with one claim each."""
    names = [f"s{i}" for i in range(len(truths))]
    results = [
        result({"contexts": ["".join(of_judge[i] for of_judge in marks)]}, name=name)
        for i, name in enumerate(names)
    ]
    for i, one in enumerate(results):
        sample = one.sample.model_copy(update={"question": f"q{i}"})
        results[i] = one.model_copy(update={"sample": sample})
    labels = [
        HumanLabel(sample=name, claim_id="answer-1", label=truth, **fields)
        for name, truth in zip(names, truths, strict=True)
    ]
    judges = ("a", "b", "c")[: len(marks)]
    return measure(join(results, judges, Panel(), labels), Panel())


def sentence(report: Agreement) -> str:
    return next("".join(one.parts) for one in first(report) if _is_sentence(one))


def _is_sentence(block: Block) -> TypeGuard[Line]:
    return isinstance(block, Line) and block.kind == "text"


def said_of_votes(report: Agreement) -> str:
    lines = ("".join(one.parts) for one in view(report) if isinstance(one, Line))
    return next(text for text in lines if "independent votes" in text)


def wrong(places: range) -> list[str]:
    return ["0" if i in places else "+" for i in range(60)]


def test_the_rater_that_agrees_most_may_do_so_by_chance_alone() -> None:
    """Of 60 labels, a and b err on 6 and 7 and the panel on none: exact McNemar has p = 0.03 and
    0.016, which of six pairs is no less than chance. A third that errs on 40 is behind."""
    truths: list[Label] = ["supported"] * 60
    report = many([wrong(range(6)), wrong(range(10, 17)), wrong(range(20, 60))], truths)
    assert {name: lead.value for name, lead in report.leads.items()} == pytest.approx(
        {"a": 6 / 60, "b": 7 / 60, "c": 40 / 60}
    )
    chance = [may_be_chance(report.leads[name]) for name in "abc"]
    assert chance == [True, True, False]
    said = ", the most of 4 raters, but 2 others may be lower by chance alone."
    assert said in sentence(report)


def test_a_panel_without_the_items_that_divide_its_judges_may_be_best_by_chance_alone() -> None:
    """The panel of two judges has no label where they differ, and no error where they agree."""
    truths: list[Label] = ["supported"] * 60
    report = many([wrong(range(6)), wrong(range(10, 17))], truths)
    said = "panel gives the label of people to 100.0% of 47 items"
    assert said in sentence(report)
    said = "the most of 3 raters, but 2 others may be lower by chance alone"
    assert said in sentence(report)


def test_labels_that_say_no_do_not_make_a_mistake_of_contradicted() -> None:
    """A judge that says contradicted of all that people say no to agrees with them."""
    marks = [["+", "-"] * 20]
    truths: list[Label] = ["supported", "not_found"] * 20
    report = many(marks, truths, says_no=True)
    (rater,) = report.raters
    assert (rater.same.value, rater.kappa_of_labels.value) == (1.0, 1.0)
    assert (rater.labels, rater.confusion) == (("not_found", "supported"), ((20, 0), (0, 20)))
    assert report.yes_or_no
    assert "so that `contradicted` of a judge is `not_found` here" in report.notes[0]
    told_apart = many(marks, truths)
    assert (told_apart.raters[0].same.value, told_apart.yes_or_no) == (0.5, False)


def test_one_label_that_tells_contradicted_apart_keeps_the_labels_of_the_judges() -> None:
    labels = [
        HumanLabel(sample="s1", claim_id="answer-1", label="not_found", says_no=True),
        HumanLabel(sample="s1", claim_id="answer-3", label="contradicted"),
    ]
    joined = join([ONE], JUDGES, Panel(), labels)
    assert joined.raters["a"] == ["supported", "contradicted"]


def test_votes_are_counted_by_labels_that_count_and_said_to_coincide_beyond_chance_alone() -> None:
    truths: list[Label] = ["supported"] * 60
    apart = many([wrong(range(0, 60, 4)), wrong(range(0, 60, 5))], truths)
    assert said_of_votes(apart).startswith("2 judges are worth 2.0 independent votes (95%")
    together = many([wrong(range(20)), wrong(range(25))], truths)
    assert said_of_votes(together).startswith("2 judges whose errors coincide are worth 1.1")
    divided = [
        label("supported", claim_id="answer-1", annotator="ada"),
        label("not_found", claim_id="answer-1", annotator="ben"),
    ]
    clear = HumanLabel(sample="s1", claim_id="answer-2", label="supported")
    report = measure(join([ONE], JUDGES, Panel(), [*divided, clear]), Panel())
    assert (report.items, report.labeled) == (2, 1)
