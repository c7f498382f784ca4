"""Run directories made by the pipeline with judges that say what a test wants."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from claimeval.evaluation.claims import ClaimsJob
from claimeval.evaluation.summary import SummaryBuilder
from claimeval.execution import Executor
from claimeval.judging.panel import Panel
from claimeval.metrics.rows import Metric, rows
from claimeval.runs.directory import RunResults, RunWriter, load_manifest
from claimeval.types.records import Claim, Document, Sample, SampleResult
from claimeval.types.requests import AssessTask, ExtractTask, Failure, Outcome, Request
from tests.scripted import completion, judge, plan

Says = Mapping[str, Mapping[str, str]]
"""Judge -> claim -> label; a claim that is not named is supported."""

DOCUMENTS = (
    Document(id="guide", title="Guide", text="The tower opened in 1902. It is 80 metres high."),
    Document(
        id="history",
        text="The tower burnt in 1920. Nobody was hurt. The keeper had left the day before.",
    ),
    Document(id="menu", text="The café below serves soup and cake."),
)
TOWER = Sample(
    id="tower",
    question="How high is the tower, and when did it open?",
    answer="The tower opened in 1902. It is 90 metres high. Its keeper was a poet.",
    contexts=DOCUMENTS,
    reference_answers=("The tower is 80 metres high and opened in 1902.",),
    reference_context_ids=("guide",),
    generator="openai:gpt-5-mini",
    metadata={"kind": "planted"},
)
"""Its answer has one claim of each label, if judges say TOWER_SAYS."""
BRIDGE = TOWER.model_copy(
    update={
        "id": "bridge",
        "question": "Where is the bridge?",
        "answer": "The bridge is old.",
        "metadata": {},
    }
)
_ALONE = Panel()
TOWER_SAYS = {"It is 90 metres high.": "contradicted", "Its keeper was a poet.": "not_found"}


class Rule(Executor):
    """Takes every sentence for a claim and labels claims as it is told, naming the document that
    shares most words."""

    def __init__(self, says: Says, failing: Sequence[str]) -> None:
        self._says = says
        self._failing = failing

    async def ask(self, request: Request) -> Outcome:
        """The reply as a model would write it."""
        task = request.task
        if request.judge.name in self._failing:
            return Failure(reason="timeout", message="no complete reply in 5 s")
        if isinstance(task, AssessTask):
            return completion(
                json.dumps(
                    {"verdicts": [self._verdict(task, i, request) for i in range(len(task.claims))]}
                )
            )
        assert isinstance(task, ExtractTask)
        said = [task.text[start:end] for start, end in task.sentences]
        claims = [
            {"claim": text, "sentences": [i], "quote": text} for i, text in enumerate(said, 1)
        ]
        return completion(json.dumps({"claims": claims}))

    def _verdict(self, task: AssessTask, place: int, request: Request) -> dict[str, object]:
        claim = task.claims[place].text
        words = set(claim.lower().split())
        shared = [len(words & set(document.text.lower().split())) for document in task.documents]
        best = shared.index(max(shared))
        label = self._says.get(request.judge.name, {}).get(claim, "supported")
        evidence = [f"d{best + 1}"] if shared[best] else []
        return {
            "id": f"c{place + 1}",
            "reason": f"{request.judge.name}: {label}",
            "evidence": evidence,
            "label": label,
        }


def make(
    folder: Path,
    samples: Sequence[Sample] = (TOWER,),
    says: Says | None = None,
    *,
    metrics: Sequence[str | Metric] = ("faithfulness", "coverage"),
    failing: Sequence[str] = (),
    assess_prompt: str = "three_way",
    panel: Panel = _ALONE,
    derived: tuple[str, ...] = (),
    data: str = "/somewhere/towers.jsonl",
    notes: tuple[str, ...] = (),
    revise: Callable[[SampleResult], SampleResult] = lambda result: result,
) -> Path:
    """Writes a run directory; the judges are those that `says` names, by default one that says
    TOWER_SAYS.

    `revise` may change a result before it is written.
    """
    says = {"strict": TOWER_SAYS} if says is None else says
    settings: ClaimsJob = plan(
        "faithfulness", judges=[judge(name) for name in says], assess_prompt=assess_prompt
    )
    settings = replace(
        settings, metrics=rows(metrics), extractor=judge("taker"), panel=panel, derived=derived
    )
    record = settings.manifest.of_data(data).model_copy(update={"notes": notes})
    tallies = SummaryBuilder(record)
    writer = RunWriter(folder, record)
    for sample in samples:
        result = revise(asyncio.run(settings.evaluate(sample, Rule(says, failing))))
        tallies.add(result)
        writer.add(result)
    writer.finish(tallies.summary())
    return folder


def many(folder: Path, samples: int) -> Path:
    """Writes a run of the same sample under many ids, with contexts of 4,000 characters that
    differ."""
    (result,) = RunResults.of(make(folder / "one", [TOWER], metrics=["faithfulness"]))
    record = load_manifest(folder / "one")
    tallies = SummaryBuilder(record)
    writer = RunWriter(folder / "many", record)
    for i in range(samples):
        text = " ".join(
            f"The {i * n % 9973}th stone was laid on day {n * n % 365}." for n in range(110)
        )
        contexts = (DOCUMENTS[0], DOCUMENTS[1].model_copy(update={"text": text}))
        sample = result.sample.model_copy(update={"id": f"sample-{i:05}", "contexts": contexts})
        copy = result.model_copy(update={"sample": sample})
        tallies.add(copy)
        writer.add(copy)
    writer.finish(tallies.summary())
    return folder / "many"


def with_spans(*spans: tuple[int, int] | None) -> Callable[[SampleResult], SampleResult]:
    """A revision that puts the claims of the answer at these places."""

    def revise(result: SampleResult) -> SampleResult:
        others = [claim for claim in result.claims if claim.of != "answer"]
        claims: list[Claim] = [
            claim.model_copy(update={"span": span})
            for claim, span in zip(result.claims_of("answer"), spans, strict=True)
        ]
        return result.model_copy(update={"claims": (*claims, *others)})

    return revise
