"""`check`: a guardrail that judges one answer within a time limit, without a run."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from claimeval.api.data import Metrics, Read, samples_of
from claimeval.api.hints import with_hints
from claimeval.api.jobs import BEFORE_RUN, JudgeSpec, blocking, parse_spec
from claimeval.data.objects import unpacked
from claimeval.data.reasoning import AnswerReasoning
from claimeval.evaluation.claims import ClaimsJob, ClaimsOptions, make_job, with_numbering
from claimeval.execution import Executor
from claimeval.execution.runner import run_job
from claimeval.metrics.derived import select_metrics
from claimeval.metrics.rows import FIELDS, metric_names
from claimeval.metrics.scoring import without_lost
from claimeval.providers.specs import parse_judge
from claimeval.runs.jobs import Prepared
from claimeval.types.errors import DataError, UsageError
from claimeval.types.options import RunOptions
from claimeval.types.progress import Progress
from claimeval.types.records import Sample, SampleResult
from claimeval.types.requests import Completion, Failure, Outcome, Request


@with_hints
def check(
    answer: object,
    contexts: Sequence[object] = (),
    *,
    judge: JudgeSpec,
    question: str = "",
    reference_answers: str | Sequence[str] = (),
    history: Sequence[Mapping[str, str]] = (),
    metrics: Metrics = "faithfulness",
    extract_prompt: str | Path = "atomic",
    assess_prompt: str | Path = "three_way",
    answer_reasoning: AnswerReasoning | None = None,
    timeout: float = 30.0,
    options: RunOptions = RunOptions(),
) -> SampleResult:
    """Judge one answer before it is shown.

    One judge extracts the claims of the answer and assesses them. There is no run directory, but
    replies are cached. A score is defined only if the judge assessed every claim that it counts:
    `check(...).faithfulness` is None if calls failed or the time was up, and
    `["faithfulness"].because` has the reason.

    Args:
        answer: The answer: a text, or a response of LlamaIndex, which has its contexts, or a
            message of LangChain.
        contexts: Retrieved texts, or documents of LangChain, LlamaIndex or Haystack, in order; if
            empty, no claim is supported.
        judge: `provider:model`, `openai:model@URL`, a judge file, its content, or a `Judge`; there
            is no default.
        question: The question, which the judge reads to understand the answer.
        reference_answers: Gold answers, for metrics such as `correctness`.
        history: The messages before the question, with `role` and `content`. Judges read them with
            the question. They are evidence only for metrics of `answer` against `history` or
            `contexts+history`.
        metrics: As for `score`.
        extract_prompt: Name or path of the prompt that extracts claims.
        assess_prompt: Name or path of the prompt that assesses claims.
        answer_reasoning: As for `score`: `drop` or `keep` reasoning before the answer.
        timeout: Seconds for the whole check. Claims without a reply by then are unassessed
            (`timeout`). A local model finishes its current batch first.
        options: How the judge is asked, and what may be spent.

    Returns:
        The claims with spans, verdicts and explanations, and the scores.

    Raises:
        UsageError: Before any call, for what you can fix. A call that fails raises nothing.
        StoreError: The reply cache cannot be read or written.

    Examples:
        >>> answer = "It opened in 1888."
        >>> checked = ce.check(answer, ["The hall opened in 1888."], judge="local:lexical")
        >>> checked["faithfulness"].value
        1.0
    """
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        warnings.warn("check blocks the running event loop; use `await acheck(...)`", stacklevel=2)
    return blocking(acheck(**locals()))


@with_hints
async def acheck(
    answer: object,
    contexts: Sequence[object] = (),
    *,
    judge: JudgeSpec,
    question: str = "",
    reference_answers: str | Sequence[str] = (),
    history: Sequence[Mapping[str, str]] = (),
    metrics: Metrics = "faithfulness",
    extract_prompt: str | Path = "atomic",
    assess_prompt: str | Path = "three_way",
    answer_reasoning: AnswerReasoning | None = None,
    timeout: float = 30.0,
    options: RunOptions = RunOptions(),
) -> SampleResult:
    """Check as `check` does, in an asynchronous program. The arguments are the same.

    Examples:
        >>> import asyncio
        >>> answer = "It opened in 1888."
        >>> checking = ce.acheck(answer, ["The hall opened in 1888."], judge="local:lexical")
        >>> asyncio.run(checking)["faithfulness"].value
        1.0
    """
    deadline = asyncio.get_running_loop().time() + _seconds(timeout)
    sample = _sample(answer, contexts, question, reference_answers, history, answer_reasoning)
    selection = select_metrics(metric_names(metrics))
    for metric in selection.rows:
        if part := metric.missing_part(sample):
            raise UsageError(
                f"metric {metric.name!r} needs {FIELDS.get(part, part)}, which is missing; pass it"
                " to check"
            )
    if options.batch:
        raise UsageError(
            "options.batch: batches take hours, and check needs a reply now; leave it out"
        )
    if options.engine:
        raise UsageError("options.engine: check runs in this process; leave it out")
    if isinstance(judge, Sequence) and not isinstance(judge, str):
        raise UsageError(
            f"judge: {type(judge).__name__}; check asks one judge, and `score` asks a panel"
        )
    job_options = ClaimsOptions(
        judges=(parse_judge(parse_spec(judge)),),
        extract_prompt=str(extract_prompt),
        assess_prompt=str(assess_prompt),
    )
    claims = with_numbering(make_job(job_options, selection), [sample], ask=False)
    if inspect := BEFORE_RUN.get():
        inspect(Prepared(claims, claims.manifest, [sample], 1, None))
    job = _CheckJob(claims, deadline)
    progress = Progress(1, options.progress)
    # Each answer has the cap of its own call: under one name, earlier answers would have spent it.
    budget = f"check {uuid.uuid4().hex}"
    await run_job(
        job,
        [sample],
        lambda _: None,
        options,
        progress,
        run=budget,
        urgent=True,
    )
    assert job.result, "the only sample was evaluated"
    return without_lost(claims.metrics, job.result)


class _CheckJob:
    """Job that judges one answer until a deadline and keeps the result."""

    def __init__(self, claims: ClaimsJob, deadline: float) -> None:
        self._claims = claims
        self.asked = claims.asked
        self.result: SampleResult | None = None
        self._deadline = deadline

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return False: claims that cannot be judged are unassessed."""
        return False

    async def evaluate(self, item: Sample, executor: Executor) -> SampleResult:
        """Return the claims, verdicts and scores of the answer."""
        self.result = await self._claims.evaluate(item, _ExecutorUntil(executor, self._deadline))
        return self.result


class _ExecutorUntil(Executor):
    """Executor whose requests fail with `timeout` at the deadline."""

    def __init__(self, executor: Executor, deadline: float) -> None:
        self._executor = executor
        self._deadline = deadline

    async def ask(self, request: Request) -> Outcome:
        """Return the reply, or the failure."""
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._executor.ask(request)
        except TimeoutError:
            return Failure(reason="timeout", message="the time of check was up")

    def review(self, request: Request, completion: Completion, failure: Failure | None) -> None:
        """Pass the review on."""
        self._executor.review(request, completion, failure)


def _seconds(timeout: float) -> float:
    if not (isinstance(timeout, int | float) and timeout > 0):
        raise UsageError(f"timeout: {timeout!r}; it needs a number of seconds above 0")
    return timeout


def _texts(contexts: Sequence[object] | None) -> object:
    """Return contexts as the rows of a file have them."""
    # A text is a sequence too: each of its letters would be a document.
    if contexts is None or isinstance(contexts, str):
        what = "None" if contexts is None else "one text"
        raise UsageError(f"contexts: {what}; give a list of texts, as in [text]")
    unpacked_contexts: dict[str, object] = unpacked({"contexts": contexts})
    return unpacked_contexts["contexts"]


def _sample(
    answer: object,
    contexts: Sequence[object],
    question: str,
    reference_answers: str | Sequence[str],
    history: Sequence[Mapping[str, str]],
    answer_reasoning: AnswerReasoning | None,
) -> Sample:
    is_row = isinstance(answer, Mapping)
    fields = unpacked(answer if is_row else {"answer": answer})
    given = {
        "question": question,
        "contexts": _texts(contexts),
        "reference_answers": reference_answers,
        "history": list(history),
    }
    given = {name: value for name, value in given.items() if value}
    named = {name: name for name in given}
    row: dict[str, object] = {"id": "answer"}
    # The fields of a row keep their own names, which are recognized as in a file.
    if not is_row:
        row |= {"question": "", "contexts": []}
        named["answer"] = "answer"
    row |= {**fields, **given}
    try:
        (sample,) = samples_of([row], Read(named, answer_reasoning=answer_reasoning))
    except DataError as error:
        raise UsageError(str(error.__cause__ or error).removeprefix("sample 1, ")) from error
    if sample.answer is None or not (is_row or isinstance(fields["answer"], str)):
        raise UsageError(
            f"answer: {type(answer).__name__}; give one text, or a response of LlamaIndex or"
            " LangChain"
        )
    return sample if sample.contexts is not None else sample.model_copy(update={"contexts": ()})
