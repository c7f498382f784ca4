"""A judge's checks of claims: entailed by their text, covering it, atomic, and understood alone.

* `entailed`: the text with its question supports the claim;
* `covered`: all claims together support a sentence of the text that asserts something;
* `atomic`: the claim states one fact;
* `alone`: the claim gets the same verdict against the contexts with and without its text in view, for samples with
  contexts;
* `elements_right`, `elements_f1`: the judge lists the elements of the text and says whether each is verifiable and
  whether the claims cover it. A verifiable element should be covered, any other should not (Claimify,
  arXiv:2502.10855). The second metric is the mean F1 of covering the former and leaving out the latter;
* `judge_precision`, `judge_recall`, `judge_f1`: claims that all gold claims together support, and gold claims that all
  claims together support (Focus and Coverage of FEVERFact, arXiv:2502.04955).

The judge itself is checked on claims with known answers: `judge_sensitivity` is the share of planted faults that it
does not support, `judge_specificity` the share of true claims that it supports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from claimeval.evaluation.ask import CallAddress
from claimeval.evaluation.claims import extract_text
from claimeval.evaluation.judgment import JudgedSubjects, JudgingContext, Question, judge, one_each
from claimeval.evaluation.manifest import QuestionRecord
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import assess, prompts
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt
from claimeval.lexical.claims import sentence_kinds
from claimeval.metrics.extraction import macro_f1
from claimeval.metrics.scoring import undefined
from claimeval.providers import claims_per_call, reads_prompts
from claimeval.types.errors import parse_yaml
from claimeval.types.records import (
    NOT_APPLICABLE,
    Assessment,
    Call,
    Claim,
    Document,
    Evidence,
    Part,
    Reason,
    Sample,
    SampleResult,
    Score,
)
from claimeval.types.requests import Failure, Judge

CLAIMS, GOLD, SENTENCE, ELEMENT = "claims", "gold", "sentence", "element"
"""Names of the evidence made of claims and of gold claims, and of sentences and elements as subjects."""
COVERED, ATOMIC, ALONE, IN_TEXT = "covered", "atomic", "alone", "alone_in_text"
FOCUS, RECALL = "judge_precision", "judge_recall"
F1 = ("judge_f1", "judge_f1_macro")
VERIFIABLE, ELEMENT_COVERED = "verifiable", "element_covered"
ELEMENTS_RIGHT, ELEMENTS_F1 = "elements_right", "elements_f1"
ELEMENTS = "elements"
"""Key in a result's details for the numbers of elements: verifiable and covered, verifiable and not covered,
unverifiable and covered, unverifiable and not covered."""
_NO_METRICS = (IN_TEXT, VERIFIABLE, ELEMENT_COVERED)
SENSITIVITY, SPECIFICITY = "judge_sensitivity", "judge_specificity"
FAULTS = ("number", "negation", "recombined", "condition")
"""Kinds of planted faults, as in `planted_claims.yaml`."""

Name = Literal[
    "entailed",
    "covered",
    "atomic",
    "alone",
    "alone_in_text",
    "verifiable",
    "element_covered",
    "judge_precision",
    "judge_recall",
]


class Planted(Sample):
    """A text with claims whose correct verdicts are known."""

    planted: dict[str, tuple[str, ...]]
    """Claims by kind of fault; claims that follow from the text are under `intact`."""


@cache
def planted_samples() -> tuple[Planted, ...]:
    """Return the texts on which a judge is checked."""
    content = resources.files("claimeval.evaluation").joinpath("planted_claims.yaml").read_text(encoding="utf-8")
    return tuple(
        Planted(id=f"planted-{i}", question="", answer=claims.pop("text"), planted=claims)
        for i, claims in enumerate(parse_yaml(content), 1)
    )


@dataclass(frozen=True)
class ClaimChecks:
    """The questions to one judge about claims."""

    judge: Judge
    prompt: Prompt
    """Asks whether a text supports a claim, yes or no."""
    single_fact: Prompt | None
    """Asks whether a claim is a single fact; None for a judge that reads no prompts."""
    gold: bool
    """Whether the judge also matches claims with gold claims."""
    listing: Prompt | None = None
    """Asks for the elements of a text; None without elements."""
    sorting: Prompt | None = None
    """Asks which elements are verifiable; None without elements."""

    @classmethod
    def of(cls, judge: Judge, *, gold: bool, elements: bool) -> ClaimChecks:
        """Return the checks of a judge; a local one gets only questions about support."""
        single_fact = prompts.load("weigh", "single_fact") if reads_prompts(judge) else None
        of_elements = (prompts.load("extract", "elements"), prompts.load("weigh", "verifiable")) if elements else ()
        return cls(judge, prompts.load("assess", "binary"), single_fact, gold, *of_elements)

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the questions."""
        of_gold: tuple[Name, ...] = ("judge_precision", "judge_recall") if self.gold else ()
        of_words: tuple[Name, ...] = ("atomic", "alone", "alone_in_text") if self.single_fact else ()
        of_elements: tuple[Name, ...] = ("verifiable", "element_covered") if self.listing else ()
        return ("entailed", "covered", *of_words, *of_elements, *of_gold)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the scores."""
        names = (name for name in self.names if name not in _NO_METRICS)
        of_elements = (ELEMENTS_RIGHT, ELEMENTS_F1) if self.listing else ()
        return (*names, *of_elements, *(F1 if self.gold else ()), SENSITIVITY, SPECIFICITY)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts of the questions."""
        return tuple(
            prompt for prompt in (self.prompt, self.single_fact, self.listing, self.sorting) if prompt is not None
        )

    def prompt_of(self, name: Name) -> Prompt:
        """Return the prompt of a question."""
        if name == ATOMIC:
            assert self.single_fact, "only judges that read prompts are asked"
            return self.single_fact
        if name == VERIFIABLE:
            assert self.sorting, "only asked about elements"
            return self.sorting
        return self.prompt

    @property
    def records(self) -> tuple[QuestionRecord, ...]:
        """The records of the questions."""
        return tuple(map(self.record, self.names))

    def record(self, name: Name) -> QuestionRecord:
        """Return the record of a question."""
        prompt = self.prompt_of(name)
        assert prompt.scale, "loading checks it"
        panel = Panel(scale=prompt.scale)
        return QuestionRecord(name=name, prompt=prompt.id, scale=prompt.scale, subjects="claims", panel=panel)

    def question(self, name: Name, sample: Sample, evidence: Part, part: Part) -> Question[Claim]:
        """Return a question about claims; `alone_in_text` shows the question and the text, `alone` shows neither.

        Args:
            name: Name of the question.
            sample: The sample of the claims.
            evidence: The part that the claims are assessed against.
            part: The part that the claims were extracted from.
        """
        prompt = self.prompt_of(name)
        shown = {ALONE: "", IN_TEXT: f"{sample.full_question}\n\n{sample.text(part)}"}.get(name, sample.full_question)
        return Question(
            records=(self.record(name),),
            address=CallAddress(prompt.step, part),
            evidence=Evidence(part=evidence),
            documents=lambda evidence: sample.documents(evidence) or (),
            ask=lambda judge, claims, documents: assess.ask(
                prompt, judge, claims, assess.ShownDocuments(documents), shown
            ),
            read=lambda completion, request, _: one_each(
                assess.read(completion, request, computed=not reads_prompts(request.judge))
            ),
            per_call=claims_per_call,
        )

    async def planted(self, sample: Planted, executor: Executor, metrics: Sequence[str]) -> SampleResult:
        """Return the judge's sensitivity and specificity on claims with known verdicts, without other scores."""
        claims = tuple(
            Claim(id=f"{fault}-{i}", text=text, of="answer")
            for fault, texts in sample.planted.items()
            for i, text in enumerate(texts, 1)
        )
        judged = await self._judged("entailed", sample, "answer", "answer", claims, executor)
        shares: dict[str, Score] = {}
        for name, labels in ((SENSITIVITY, FAULTS), (SPECIFICITY, ("intact",))):
            assessments = [a for a in judged.assessments if a.subject.rpartition("-")[0] in labels]
            shares[name] = _share(assessments, len(assessments), supported=name == SPECIFICITY)
        return SampleResult(
            sample=Sample(id=sample.id, question="", answer=sample.answer, metadata={"planted": True}),
            claims=claims,
            assessments=judged.assessments,
            scores=undefined(dict.fromkeys(metrics, "share"), "not_asked") | shares,
            calls=judged.calls,
        )

    async def _judged(
        self, name: Name, sample: Sample, evidence: Part, part: Part, claims: Sequence[Claim], executor: Executor
    ) -> JudgedSubjects:
        context = JudgingContext(judges=(self.judge,), executor=executor)
        return await judge(self.question(name, sample, evidence, part), claims, context)

    async def ask_all(
        self, sample: Sample, part: Part, subjects: Mapping[Name, tuple[Part, Sequence[Claim]]], executor: Executor
    ) -> list[JudgedSubjects]:
        """Ask the questions, each about its subjects against its evidence.

        Args:
            sample: The sample of the claims.
            part: The part that the claims were extracted from.
            subjects: The evidence part and the claims of each question.
            executor: Answers the requests.
        """
        return await gather_all(
            [
                self._judged(name, sample, evidence, part, claims, executor)
                for name, (evidence, claims) in subjects.items()
            ]
        )


async def check_claims(
    checks: ClaimChecks, result: SampleResult, part: Part, gold: Sequence[str], executor: Executor
) -> SampleResult:
    """Return a result with the judge's verdicts on its claims, and the scores from them.

    Args:
        checks: The questions.
        result: The claims of a text, with their counts.
        part: The part that the text is.
        gold: The gold claims, if there are any.
        executor: Answers the requests.
    """
    text = result.sample.text(part) or ""
    asserting = [text[start:end] for (start, end), kind in sentence_kinds(text) if kind == "statement"]
    sentences = _subjects(asserting, SENTENCE)
    people = _subjects(gold, GOLD)
    made = {CLAIMS: _joined(result.claims, CLAIMS), GOLD: _joined(people, GOLD)}
    with_documents = {
        name: documents for name, documents in made.items() if documents and (name != GOLD or checks.gold)
    }
    sample = result.sample.model_copy(update={"evidence": {**result.sample.evidence, **with_documents}})
    contexts = sample.documents("contexts")
    claims_by_check: dict[Name, tuple[Part, Sequence[Claim]]] = {
        "entailed": (part, result.claims),
        "covered": (CLAIMS, sentences if result.claims else ()),
        "atomic": ("asked", result.claims),
        "alone": ("contexts", result.claims if contexts else ()),
        "alone_in_text": ("contexts", result.claims if contexts else ()),
        "judge_precision": (GOLD, result.claims if people else ()),
        "judge_recall": (CLAIMS, people if result.claims else ()),
    }
    elements, listed = await _elements(checks, result.sample, part, text, executor)
    if not isinstance(elements, Failure):
        claims_by_check |= {
            "verifiable": ("asked", elements),
            "element_covered": (CLAIMS, elements if result.claims else ()),
        }
    requested = {name: claims_by_check[name] for name in checks.names if claims_by_check.get(name, ("", ()))[1]}
    checked = await checks.ask_all(sample, part, requested, executor)
    by_name = {name: judged.assessments for name, judged in zip(requested, checked, strict=True)}
    totals = {"covered": len(sentences), "judge_recall": len(people)}
    scores: dict[str, Score] = {
        name: _share(by_name.get(name, ()), totals.get(name, len(claims_by_check[name][1])))
        for name in checks.names
        if name not in (ALONE, *_NO_METRICS)
    }
    if ALONE in checks.names:
        scores["alone"] = _equal(by_name.get("alone", ()), by_name.get("alone_in_text", ()))
    details = result.details
    if isinstance(elements, Failure):
        scores |= undefined(dict.fromkeys((ELEMENTS_RIGHT, ELEMENTS_F1), "share"), elements.reason)
    elif checks.listing:
        verdicts = by_name.get("verifiable", ()), by_name.get("element_covered", ())
        cells = _cells(elements, *verdicts)
        scores |= _element_scores(cells, len(elements), _reason((*verdicts[0], *verdicts[1])))
        counted = details["extraction"]
        assert isinstance(counted, dict), "the job counts words first"
        details = {**details, "extraction": {**counted, ELEMENTS: list(cells)}}
    if checks.gold:
        scores |= _f1(scores, people=bool(people))
    not_asked = undefined(dict.fromkeys((SENSITIVITY, SPECIFICITY), "share"), "not_asked")
    return result.model_copy(
        update={
            "sample": sample,
            "claims": (
                *result.claims,
                *(sentences if COVERED in requested else ()),
                *(people if checks.gold else ()),
                *(() if isinstance(elements, Failure) else elements),
            ),
            "details": details,
            "assessments": tuple(a for judged in checked for a in judged.assessments),
            "calls": (*result.calls, *listed, *(call for judged in checked for call in judged.calls)),
            "scores": {**result.scores, **scores, **not_asked},
        }
    )


async def _elements(
    checks: ClaimChecks, sample: Sample, part: Part, text: str, executor: Executor
) -> tuple[tuple[Claim, ...] | Failure, tuple[Call, ...]]:
    """Return the elements of a text that the judge lists; none if it is not asked."""
    if checks.listing is None:
        return (), ()
    listed = await extract_text(sample, part, text, checks.judge, checks.listing, executor)
    if isinstance(listed.value, Failure):
        return listed.value, listed.calls
    elements = [
        element.model_copy(update={"id": f"{ELEMENT}-{i}", "of": ELEMENT, "extractor": checks.judge.name})
        for i, element in enumerate(listed.value, 1)
    ]
    return tuple(elements), listed.calls


Cells = tuple[int, int, int, int]


def _cells(elements: Sequence[Claim], sorted_: Sequence[Assessment], covered: Sequence[Assessment]) -> Cells:
    """Count the elements that have both verdicts; without claims none is covered."""
    is_covered = {a.subject: _yes(a) for a in covered} or dict.fromkeys((element.id for element in elements), False)
    counts = Counter((_yes(a), is_covered.get(a.subject)) for a in sorted_)
    return counts[True, True], counts[True, False], counts[False, True], counts[False, False]


def _element_scores(cells: Cells, listed: int, because: Reason) -> dict[str, Score]:
    """Return the share of elements that are rightly covered or left out, and the macro F1 of the text."""
    judged = sum(cells)
    if not judged:
        names = dict.fromkeys((ELEMENTS_RIGHT, ELEMENTS_F1), "share")
        return undefined(names, because if listed else "no_evidence")
    right = cells[0] + cells[3]
    share = Score.share(right / judged, hits=right, judged=judged, total=listed)
    return {ELEMENTS_RIGHT: share, ELEMENTS_F1: Score.share(macro_f1(cells))}


def _subjects(texts: Sequence[str], name: str) -> tuple[Claim, ...]:
    return tuple(Claim(id=f"{name}-{i}", text=text, of=name) for i, text in enumerate(texts, 1))


def _joined(claims: Sequence[Claim], name: str) -> tuple[Document, ...]:
    return (Document(id=name, text="\n".join(claim.text for claim in claims)),) if claims else ()


def _share(assessments: Sequence[Assessment], total: int, *, supported: bool = True) -> Score:
    """Return the share of subjects that are supported (or not); 0 if there was nothing to assess them against."""
    if not total:
        return Score.undefined("no_evidence")
    if not assessments:
        return Score.share(0.0, hits=0, judged=total, total=total)
    labels = [_yes(a) for a in assessments]
    judged = [label for label in labels if label is not None]
    hits = judged.count(supported)
    if not judged:
        return Score.undefined(_reason(assessments), total=total)
    return Score.share(hits / len(judged), hits=hits, judged=len(judged), total=total)


def _yes(assessment: Assessment) -> bool | None:
    return None if assessment.support is None else assessment.support == "supported"


def _reason(assessments: Sequence[Assessment]) -> Reason:
    reasons = Counter(a.unassessed for a in assessments if a.unassessed)
    return reasons.most_common(1)[0][0] if reasons else "not_in_cache"


def _equal(alone: Sequence[Assessment], in_text: Sequence[Assessment]) -> Score:
    """Return the share of claims with equal verdicts, among those with both."""
    second = {a.subject: _yes(a) for a in in_text}
    pairs = [(_yes(a), second.get(a.subject)) for a in alone]
    both = [(label, second_label) for label, second_label in pairs if label is not None and second_label is not None]
    if not pairs:
        return Score.undefined("missing_input")
    if not both:
        return Score.undefined(_reason((*alone, *in_text)), total=len(pairs))
    equal = sum(label == second_label for label, second_label in both)
    return Score.share(equal / len(both), hits=equal, judged=len(both), total=len(pairs))


def _f1(scores: Mapping[str, Score], *, people: bool) -> dict[str, Score]:
    if not people:
        return undefined(dict.fromkeys(F1, "share"), "missing_input")
    precision, recall = scores[FOCUS].value, scores[RECALL].value
    if recall is None or (precision is None and scores[FOCUS].because not in NOT_APPLICABLE):
        return undefined(dict.fromkeys(F1, "share"), scores[FOCUS].because or scores[RECALL].because or "no_evidence")
    denominator = (precision or 0.0) + recall
    value = 2 * (precision or 0.0) * recall / denominator if denominator else 0.0
    return dict.fromkeys(F1, Score.share(value))
