"""The tune job: judge claims that people labeled with several prompts, one arm per prompt.

The job does not use the labels. `claimeval.runs.tune` then measures the agreement of its verdicts with them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from claimeval.evaluation.claims import ClaimsJob
from claimeval.evaluation.manifest import Manifest, versions
from claimeval.execution import Executor
from claimeval.execution.concurrently import gather_all
from claimeval.judging import prompts
from claimeval.judging.prompts import Prompt
from claimeval.types.errors import PromptError, parse_yaml
from claimeval.types.records import SampleResult
from claimeval.types.requests import Judge

_END_OF_SYSTEM = re.compile(r"(\{%-?\s*block\s+system\s*-?%\}.*?)(\s*)(\{%-?\s*endblock)", re.DOTALL)


class Candidate(NamedTuple):
    """A variant of the prompt that may agree better with people."""

    name: str
    sentences: tuple[str, ...]
    """Sentences added to the prompt; none for the prompt itself."""


@cache
def edits() -> dict[str, str]:
    """Return the sentences to try, by name."""
    texts: dict[str, str] = parse_yaml((prompts.folder() / "edits.yaml").read_text(encoding="utf-8"))
    return texts


def fixed_candidates() -> Iterator[Candidate]:
    """Yield the edits one by one, then in pairs, shortest first."""
    by_name = edits()
    for size in (1, 2):
        ordered = sorted(itertools.combinations(by_name, size), key=lambda names: sum(len(by_name[n]) for n in names))
        yield from (Candidate("+".join(names), tuple(by_name[name] for name in names)) for names in ordered)


def with_sentences(prompt: Prompt, candidate: Candidate) -> Prompt:
    """Return the prompt with the candidate's sentences at the end of its system message."""
    if not candidate.sentences:
        return prompt
    added = "\n" + "\n".join(re.sub("[{}]", _braced, sentence) for sentence in candidate.sentences)
    source, times = _END_OF_SYSTEM.subn(lambda match: match[1] + added + match[2] + match[3], prompt.source, count=1)
    if not times:
        raise PromptError(f"prompt {prompt.name} has no block system to add sentences to")
    name = prompt.name.partition("[")[0]
    return Prompt(f"{name}+{candidate.name}", prompt.step, source, prompt.parameters)


def _braced(match: re.Match[str]) -> str:
    return "{{ '" + match[0] + "' }}"


class PromptArm(NamedTuple):
    """A claims job with one candidate prompt."""

    name: str
    job: ClaimsJob


def arm(candidate: Candidate, job: ClaimsJob, name: str | None = None) -> PromptArm:
    """Return the arm that asks the job's judge with a candidate's prompt."""
    changed = replace(job, assess_prompt=with_sentences(job.assess_prompt, candidate))
    return PromptArm(candidate.name if name is None else name, changed)


@dataclass(frozen=True)
class TuneJob:
    """Judge the claims of each item with all arms; items in `reporting` with `report_arms` instead."""

    arms: tuple[PromptArm, ...]
    report_arms: tuple[PromptArm, ...] = ()
    reporting: frozenset[str] = frozenset()
    """Ids of the samples on which the chosen prompt is reported."""
    name = "tune"

    @property
    def _every_arm(self) -> dict[str, ClaimsJob]:
        return dict((*self.arms, *self.report_arms))

    @property
    def judges(self) -> tuple[Judge, ...]:
        """All judges, each once."""
        return tuple({job.judges[0].name: job.judges[0] for job in self._every_arm.values()}.values())

    @property
    def asked(self) -> tuple[Judge, ...]:
        """All judges that may get requests."""
        return self.judges

    @property
    def manifest(self) -> Manifest:
        """All settings that affect verdicts."""
        prompts_used = {job.assess_prompt.digest: job.assess_prompt.record for job in self._every_arm.values()}
        return Manifest(
            job=self.name,
            metrics=tuple(self._every_arm),
            judges=self.judges,
            prompts=tuple(prompts_used.values()),
            cluster=self.arms[0].job.cluster,
            versions=versions(*self.judges),
        )

    @property
    def first_stage(self) -> TuneJob:
        """The job itself."""
        return self

    def cannot_continue(self, stopped: Mapping[str, str]) -> bool:
        """Return whether a judge has stopped, so that arms can no longer be compared."""
        return any(judge.name in stopped for judge in self.judges)

    async def evaluate(self, item: SampleResult, executor: Executor) -> SampleResult:
        """Return the verdicts of all arms on the claims of an item; each assessment's question is the arm's name."""
        arms = self.report_arms if item.sample.id in self.reporting else self.arms
        results: Sequence[SampleResult] = await gather_all([job.evaluate(item, executor) for _, job in arms])
        scores = {name: result.scores[job.metrics[0].name] for (name, job), result in zip(arms, results, strict=True)}
        return SampleResult(
            sample=item.sample,
            claims=item.claims,
            assessments=tuple(
                a.model_copy(update={"question": name})
                for (name, _), result in zip(arms, results, strict=True)
                for a in result.assessments
            ),
            scores=scores,
            calls=tuple(call for result in results for call in result.calls),
        )
