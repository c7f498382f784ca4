"""The grade job: judges grade documents by a question, or match them with reference contexts.

An item is a sample whose contexts are the documents to grade: its retrieved documents, or a pool
from a corpus, TREC runs and judgments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Literal, NamedTuple

from claimeval.data.test_collections import relevance_scale
from claimeval.evaluation import retrieval
from claimeval.evaluation.ask import CallAddress
from claimeval.evaluation.job import sample_of
from claimeval.evaluation.judgment import (
    EarlierVerdicts,
    JudgedSubjects,
    JudgingContext,
    Question,
    QuestionJob,
    judge,
    votes,
)
from claimeval.evaluation.kinds import JobKind
from claimeval.evaluation.manifest import Manifest, QuestionRecord, versions
from claimeval.evaluation.raters import Member, MemberVotes
from claimeval.evaluation.validity import check_grades, share_pairs
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.ir import Qrels, TrecRun
from claimeval.judging import grade, prompts
from claimeval.judging.panel import Panel
from claimeval.judging.prompts import Prompt
from claimeval.metrics.scoring import defined, undefined
from claimeval.providers import answers_any, specs
from claimeval.types.clusters import cluster_of
from claimeval.types.errors import DataError
from claimeval.types.estimates import Estimate
from claimeval.types.options import PanelOptions
from claimeval.types.records import (
    ASKED,
    Assessment,
    Document,
    Evidence,
    Reason,
    Record,
    Sample,
    SampleResult,
    Score,
)
from claimeval.types.requests import Judge
from claimeval.types.scales import MATCH, Scale


def samples_of_pool(
    pool: Mapping[str, Sequence[str]],
    queries: Mapping[str, str],
    documents: Mapping[str, Document],
) -> Iterator[Sample]:
    """Yield a sample for each query, with the query's pooled documents as contexts.

    Queries and documents without a text are included, so that they count as missing.
    """
    for query, ids in pool.items():
        contexts = tuple(documents.get(name) or Document(id=name, text="") for name in ids)
        yield Sample(id=query, question=queries.get(query, ""), contexts=contexts)


def pool(runs: Iterable[TrecRun], depth: int, judged: Qrels | None = None) -> dict[str, list[str]]:
    """Return the documents of each query: those that people judged, then the first `depth` of each
    run.

    Runs are ordered as in trec_eval. Judgments below 0 (pooled, not judged) are left out.
    """
    pooled: dict[str, dict[str, None]] = {}
    for query, grades in (judged or {}).items():
        pooled.setdefault(query, {}).update(
            dict.fromkeys(name for name, grade in grades.items() if grade >= 0)
        )
    for run in runs:
        for query, scores in run.items():
            # trec_eval orders by falling score and then by falling id, whatever the ranks of the
            # file say.
            ranked = sorted(scores, key=lambda name: (scores[name], name), reverse=True)
            pooled.setdefault(query, {}).update(dict.fromkeys(ranked[:depth]))
    return {query: list(names) for query, names in pooled.items() if names}


class PoolCounts(NamedTuple):
    """Sizes of a pool, in pairs of question and document."""

    pairs: int
    without_text: int
    """Pairs that cannot be graded because the question or the document has no text."""
    without_id: int
    """Pairs whose document has no id but its rank."""
    by_people: int
    """Pairs that people graded."""


def survey(samples: Iterable[Sample], human: Qrels = MappingProxyType({})) -> PoolCounts:
    """Count the pairs to grade.

    Raises DataError if grades could not be written to a qrels file, or those of people are no
    grades.
    """
    check_grades(human)
    queries: dict[str, set[str]] = {}
    pairs = without_text = without_id = by_people = 0
    for sample in samples:
        documents = queries.setdefault(sample.id, set())
        for document in sample.contexts or ():
            check_name(sample.id, "question")
            check_name(document.id, "document")
            if document.id in documents:
                raise DataError(
                    f"document {document.id!r} occurs twice for question {sample.id!r}; ids of"
                    " questions and of the documents of a question must be unique"
                )
            documents.add(document.id)
            pairs += 1
            without_text += not gradable(sample.question, document)
            by_people += share_pairs([(sample.id, document.id)], human)
        without_id += len(without_ids(sample))
    if not pairs:
        raise DataError("there is nothing to grade: no question has a document")
    if without_text == pairs:
        raise DataError(
            "no pair of question and document has both texts; check that the ids of the files are"
            " the same"
        )
    return PoolCounts(pairs, without_text, without_id, by_people)


def gradable(question: str, document: Document) -> bool:
    """Return whether both the question and the document have a text."""
    return bool(question.strip() and (document.text.strip() or (document.title or "").strip()))


def check_name(name: str, kind: str) -> None:
    """Raise DataError for an id that a TREC file cannot hold."""
    # Columns of a qrels file are parted by spaces, and a line that begins with # is a comment for
    # some readers.
    if name.split() != [name] or name.startswith("#"):
        raise DataError(
            f"the {kind} id {name!r} cannot be written to a qrels file: an id must not be empty,"
            " contain spaces or begin with #"
        )


NAME = "grade"
Against = Literal["question", "reference_contexts"]
"""Whether documents are graded by the question, or matched with the reference contexts."""
PROMPTS: Mapping[Against, str] = {"question": "steps", "reference_contexts": "same_content"}
"""The default prompts."""
USUAL_VOTES: Mapping[Against, str] = {"question": "median", "reference_contexts": "majority"}
"""The default votes."""
RELEVANT = "context_relevance"
GRADE = "context_grade"
PRECISION = "context_precision_ap"
"""`context_relevance`: the share of retrieved documents that are relevant. `context_grade`: their
mean grade. `context_precision_ap`: the mean of P@rank over the ranks of relevant documents, 0 if
there are none; ragas and DeepEval call it context precision. None of them counts missed documents.
With reference contexts instead of grades, the last one is `ap_retrieved` of `claimeval
retrieval`."""


@dataclass(frozen=True, kw_only=True)
class GradingOptions:
    """User settings of the grade job."""

    judges: Sequence[str | Judge]
    against: Against = "question"
    scale: str | Scale = "umbrela"
    """`umbrela` (0 to 3), `graded`, `binary`, a YAML file or a `Scale`; matches have a scale of
    their own."""
    prompt: str | None = None
    documents_per_call: int = 1
    measures: str = retrieval.MEASURES
    """The rank metrics of matches."""
    panel: PanelOptions = PanelOptions()
    cluster: str | None = None


@dataclass(frozen=True)
class GradeJob(QuestionJob):
    """Grade documents, or match them with reference contexts."""

    judges: tuple[Judge, ...]
    prompt: Prompt
    scale: Scale
    panel: Panel
    against: Against = "question"
    per_call: int = 1
    measures: str = retrieval.MEASURES
    cluster: str | None = None
    recorded_judges: frozenset[str] = frozenset()
    name = NAME
    about_answers = False

    @property
    def units(self) -> dict[str, str]:
        """The unit of each metric."""
        if self.against == "reference_contexts":
            return retrieval.units(retrieval.asked(self.measures))
        return units(self.scale)

    @property
    def manifest(self) -> Manifest:
        """All settings that affect numbers."""
        return Manifest(
            job=self.name,
            metrics=tuple(self.units),
            questions=self.records,
            judges=self.judges,
            prompts=(self.prompt.record,),
            panel=self.panel,
            settings={"against": self.against, "documents_per_call": self.per_call},
            cluster=self.cluster,
            versions=versions(*self.judges),
        )

    @cached_property
    def record(self) -> QuestionRecord:
        """The question about documents."""
        return QuestionRecord(
            name="grade" if self.against == "question" else "match",
            prompt=self.prompt.id,
            scale=self.scale,
            subjects="documents",
            panel=self.panel,
        )

    @property
    def records(self) -> tuple[QuestionRecord, ...]:
        """The question, as the only one."""
        return (self.record,)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompt of the question."""
        return (self.prompt,)

    @property
    def usual_votes(self) -> dict[str, str]:
        """The default vote of the question."""
        return {self.record.name: USUAL_VOTES[self.against]}

    @property
    def first_stage(self) -> GradeJob:
        """The job itself, whose requests do not depend on verdicts."""
        return self

    async def evaluate(self, item: Sample | SampleResult, executor: Executor) -> SampleResult:
        """Return the grades or matches of one sample's contexts; documents without a text are not
        sent."""
        sample = sample_of(item)
        context = JudgingContext(self, executor, EarlierVerdicts(item))
        judged: list[JudgedSubjects] = await gather_all(
            [judge(question, documents, context) for question, documents in self._asking(sample)]
        )
        new_calls = chain.from_iterable(subjects.calls for subjects in judged)
        calls = (*context.earlier.calls, *new_calls)
        assessments = votes(judged, self.records, calls)
        if self.against == "question":
            by_id = {vote.subject: vote for vote in assessments}
            assessments = tuple(
                by_id.get(document.id) or _without_text(document)
                for document in sample.contexts or ()
            )
        return self.scored(
            SampleResult(sample=sample, claims=(), assessments=assessments, calls=calls)
        )

    def _asking(self, sample: Sample) -> list[tuple[Question[Document], list[Document]]]:
        """Return the questions about a sample, each with its documents: how well they answer, or
        whether they have the content of a reference."""
        if self.against == "question":
            contexts = sample.contexts or ()
            with_text = [one for one in contexts if gradable(sample.question, one)]
            return [(self._question(sample.full_question, Evidence.of(ASKED)), with_text)]
        references = retrieval.references_in_text(sample).references
        return [
            (
                self._question(
                    references[name], Evidence.of("reference_contexts", document=number)
                ),
                pairs,
            )
            for number, (name, pairs) in enumerate(unmatched(sample).items(), 1)
        ]

    def _question(self, question: str, evidence: Evidence) -> Question[Document]:
        return Question(
            records=(self.record,),
            address=CallAddress("rate", "documents"),
            evidence=evidence,
            documents=lambda _: (),
            ask=lambda judge, documents, _: grade.ask(
                self.prompt,
                judge,
                question,
                documents,
                self.scale,
            ),
            read=lambda reply, request, documents: grade.read(
                reply, request, documents, self.scale
            ),
            # An engine of support takes one text as the claim.
            per_call=lambda judge: self.per_call if answers_any(judge) else 1,
        )

    def scored(self, result: SampleResult) -> SampleResult:
        """Return the result with the scores from its grades or matches."""
        if self.against == "question":
            scores = _scores(result.sample, result.assessments, self.scale)
            return result.model_copy(update={"scores": scores})
        return self._scored_matches(result)

    def _scored_matches(self, result: SampleResult) -> SampleResult:
        """Return the result with rank metrics, which are undefined if a pair is unassessed."""
        sample = result.sample
        matches = result.assessments
        if sample.contexts is None or not sample.reference_contexts:
            return result.model_copy(update={"scores": undefined(self.units, "missing_input")})
        if because := next((vote.unassessed for vote in matches if vote.unassessed), None):
            return result.model_copy(
                update={"scores": undefined(self.units, because), "details": {}}
            )
        matched = _matched(sample, matches)
        ranked = retrieval.assigned(matched)
        values = retrieval.value_of(
            ranked,
            list(matched.references),
            retrieval.asked(self.measures),
        )
        scores = defined(values, self.units)
        return result.model_copy(update={"scores": scores, "details": {"matched": list(ranked)}})


def _matched(sample: Sample, matches: Iterable[Assessment]) -> retrieval.ReferenceMatches:
    """Return the references that each document has, by the texts or by the judges."""
    by_text = retrieval.references_in_text(sample)
    ranks = {name: rank for rank, name in enumerate(_names(sample), 1)}
    numbers = dict(enumerate(by_text.references, 1))
    by_rank = {rank: set(names) for rank, names in by_text.by_rank.items()}
    for vote in matches:
        if vote.positive:
            by_rank[ranks[vote.subject]].add(numbers[vote.document or 0])
    return by_text._replace(by_rank=by_rank)


def job_of(record: Manifest) -> GradeJob:
    """Return the job of a run, with its prompt."""
    (question,) = record.questions
    prompt = next(prompt for prompt in record.prompts if prompt.id == question.prompt)
    against: Against = "question" if question.name == "grade" else "reference_contexts"
    per_call = record.settings["documents_per_call"]
    assert isinstance(per_call, int), "a grade run says how many documents are in one call"
    return GradeJob(
        judges=record.judges,
        prompt=Prompt.of(prompt),
        scale=question.scale,
        panel=question.panel,
        against=against,
        per_call=per_call,
        measures=retrieval.MEASURES if against == "question" else ",".join(record.names),
        cluster=record.cluster,
    )


def make_job(options: GradingOptions) -> GradeJob:
    """Return the job after checking all settings. Raises UsageError before any call is made."""
    spec = specs.parse_panel(options.judges)
    if options.against == "question":
        specs.require_answers(spec.judges, "how well documents answer a question")
    scale = MATCH
    if options.against == "question":
        scale = relevance_scale(options.scale) if isinstance(options.scale, str) else options.scale
    else:
        # A measure that is no mean over samples is refused now, and not after the grades are paid.
        retrieval.asked(options.measures)
    panel = specs.panel_settings(
        spec,
        options.panel.given,
        scale,
        usual=USUAL_VOTES[options.against],
    )
    return GradeJob(
        judges=spec.judges,
        prompt=prompts.load("rate", options.prompt or PROMPTS[options.against]),
        scale=scale,
        panel=panel,
        against=options.against,
        per_call=options.documents_per_call,
        measures=options.measures,
        cluster=options.cluster,
    )


def unmatched(sample: Sample) -> dict[str, list[Document]]:
    """Return the documents whose match with a reference is not known from the texts, by reference
    (`reference-1`, ...).

    Documents whose text contains a reference are left out, as are those ranked below the one that
    contains the reference in question.
    """
    matches = retrieval.references_in_text(sample)
    by_text = retrieval.assigned(matches)
    names = _names(sample)
    pairs: dict[str, list[Document]] = {}
    for reference in matches.references:
        # A document below the one that has the reference cannot get it: each counts once, at its
        # best rank.
        above = by_text.index(reference) if reference in by_text else len(by_text)
        pairs[reference] = [
            document.model_copy(update={"id": name})
            for rank, (document, name, same_text) in enumerate(
                zip(sample.contexts or (), names, by_text, strict=True), 1
            )
            if rank <= above
            and same_text.startswith("other-")
            and (document.text.strip() or document.title)
        ]
    return pairs


def _names(sample: Sample) -> list[str]:
    """Return the ids of the contexts; repeated ids get their rank as a suffix."""
    ids = [document.id for document in sample.contexts or ()]
    uses = Counter(ids)
    return [name if uses[name] == 1 else f"{name}#{rank}" for rank, name in enumerate(ids, 1)]


def _without_text(document: Document) -> Assessment:
    return Assessment(
        subject=document.id,
        question="grade",
        against=ASKED,
        verdicts=(),
        unassessed="missing_input",
    )


def units(scale: Scale) -> dict[str, str]:
    """Return the unit of each score of graded documents."""
    return {
        RELEVANT: "share",
        PRECISION: "share",
        GRADE: f"grade {scale.steps[0]} to {scale.steps[-1]}",
    }


def _scores(sample: Sample, graded: Sequence[Assessment], scale: Scale) -> dict[str, Score]:
    """Return the scores of a sample; `contexts[i]` is rank i+1.

    If a document has no grade, the scores have bounds but no value, and the most frequent reason.
    The reason is `no_evidence` if nothing was retrieved, and `missing_input` if the contexts are
    unknown.
    """
    unit = units(scale)
    if sample.contexts is None:
        return undefined(unit, "missing_input")
    grades = [None if vote.label is None else int(vote.label) for vote in graded]
    if not grades:
        return undefined(unit, "no_evidence")
    ends = _ends(grades, scale)
    if None in grades:
        # A grade that is missing is no 0: a failed call would make the system look worse.
        because = Counter(vote.unassessed for vote in graded if vote.unassessed).most_common(1)[0][
            0
        ]
        return {
            metric: Score(value=None, unit=u, because=because, bounds=ends[metric])
            for metric, u in unit.items()
        }
    return defined({metric: ends[metric][0] for metric in unit}, unit)


def _ends(grades: Sequence[int | None], scale: Scale) -> dict[str, tuple[float, float]]:
    """Return the minimum and maximum of each score, over all grades that the documents without one
    may have."""
    relevant = [None if grade is None else grade >= scale.positive_from for grade in grades]
    return {
        RELEVANT: _share(relevant),
        PRECISION: precision(relevant),
        GRADE: _mean(grades, scale.steps[-1]),
    }


def _share(relevant: Sequence[bool | None]) -> tuple[float, float]:
    positive = relevant.count(True)
    unassessed = relevant.count(None)
    return positive / len(relevant), (positive + unassessed) / len(relevant)


def _mean(grades: Sequence[int | None], highest: int) -> tuple[float, float]:
    total = sum(grade for grade in grades if grade is not None)
    unassessed = grades.count(None)
    return total / len(grades), (total + highest * unassessed) / len(grades)


def precision(relevant: Sequence[bool | None]) -> tuple[float, float]:
    """Return the minimum and maximum `context_precision_ap` of a ranking, in which None may be
    relevant or not.

    The value is the mean of (relevant up to rank k) / k over the relevant ranks k, as
    `ir.ap_retrieved`, 0 without any. One more relevant document can raise or lower it, so each end
    is computed by the number of relevant documents.
    """
    return min(_means(relevant, min)), max(_means(relevant, max))


def _means(relevant: Sequence[bool | None], better: Callable[[float, float], float]) -> list[float]:
    sums = {0: 0.0}
    for rank, graded in enumerate(relevant, 1):
        extended: dict[int, float] = {}
        for count, total in sums.items():
            if graded is not True:
                # One more relevant document raises the mean at the top and lowers it at the end, so
                # all counts are followed.
                extended[count] = better(extended.get(count, total), total)
            if graded is not False:
                more = total + (count + 1) / rank
                extended[count + 1] = better(extended.get(count + 1, more), more)
        sums = extended
    return [total / count if count else 0.0 for count, total in sums.items()]


def qrels(results: Iterable[SampleResult]) -> dict[str, dict[str, int]]:
    """Return the grades by sample and document, without unassessed documents.

    A document without an id has the id of its sample and its rank (`q7-rank-2`): a mere rank would
    match the ids 1, 2, 3 of other files.
    """
    judged: dict[str, dict[str, int]] = {}
    for result in results:
        sample = result.sample
        # The rank 1 of this file would be the document 1 of another.
        made = {one.id: f"{sample.id}-rank-{one.id}" for one in without_ids(sample)}
        for vote in result.whole:
            if vote.question == "grade" and vote.label is not None:
                name = made.get(vote.subject, vote.subject)
                judged.setdefault(sample.id, {})[name] = int(vote.label)
    return judged


def without_ids(sample: Sample) -> list[Document]:
    """Return the documents whose id is only their rank."""
    return [document for document in sample.contexts or () if document.id_is_rank]


KIND = JobKind(NAME, resume=job_of, qrels=lambda record, results: qrels(results))


class GradeCounts(Record):
    """Counts of the grades of a run, or of one judge."""

    pairs: int
    graded: int
    grades: dict[int, int]
    """How often each grade was given."""
    unassessed: dict[Reason, int]
    """Pairs without a grade, by reason; they are not in the qrels."""

    @property
    def failures(self) -> int:
        """Unassessed pairs whose reason is neither missing input nor a tie."""
        return sum(
            n for reason, n in self.unassessed.items() if reason not in ("missing_input", "tie")
        )


class Grades(NamedTuple):
    """Counts of the grades of a run, by the panel and by each judge."""

    counts: GradeCounts
    members: dict[str, GradeCounts]
    """The counts of each judge."""
    alpha: Estimate | None
    """Krippendorff's ordinal alpha of the judges; None for a single judge."""


def summarize_grades(results: Iterable[SampleResult], record: Manifest) -> Grades:
    """Return how often the panel and each judge gave each grade, and the agreement of the
    judges."""
    votes = MemberVotes(record.questions[0])
    grades: Counter[str] = Counter()
    unassessed: Counter[Reason] = Counter()
    unasked: Counter[Reason] = Counter()
    for result in results:
        cluster = cluster_of(result.sample, record.cluster)
        for vote in result.whole:
            votes.add(vote.verdicts, cluster)
            if vote.label is not None:
                grades[vote.label] += 1
            elif vote.unassessed:
                unassessed[vote.unassessed] += 1
                if not vote.verdicts:
                    unasked[vote.unassessed] += 1
    members = votes.members()
    nothing = Member(words={}, unassessed={})
    by_judge = {judge.name: members.judges.get(judge.name, nothing) for judge in record.judges}
    return Grades(
        _counts(grades, unassessed),
        {
            name: _counts(member.words, Counter(member.unassessed) + unasked)
            for name, member in by_judge.items()
        },
        members.alpha,
    )


def _counts(words: Mapping[str, int], unassessed: Counter[Reason]) -> GradeCounts:
    graded = sum(words.values())
    return GradeCounts(
        pairs=graded + unassessed.total(),
        graded=graded,
        grades=dict(sorted((int(word), count) for word, count in words.items() if count)),
        unassessed=dict(unassessed.most_common()),
    )
