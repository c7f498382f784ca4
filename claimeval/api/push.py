"""`Run.push`: the scores and verdicts that it sends, each under a stable id, and the platforms that
receive them."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast, get_args

from claimeval.providers import reads_prompts
from claimeval.types.errors import UsageError, not_installed, unknown_name, visible
from claimeval.types.progress import Progress
from claimeval.types.records import REASONS, Assessment, Reason, Sample, SampleResult

if TYPE_CHECKING:
    from claimeval.api.run import Run

Platform = Literal["otlp", "mlflow", "langfuse", "phoenix"]
TRACE = "trace_id"
"""Metadata field with the id of a sample's trace."""
EXPLAINED = 4000
"""Characters of an explanation that are sent."""
ERROR = 300
"""Characters of a platform's error that a message quotes."""


class Pushed(NamedTuple):
    """Counts of the records that were sent, or would be in a dry run."""

    where: str
    """The address or run that received them."""
    records: Mapping[str, int]
    """Number of records, by kind."""
    left_out: Mapping[str, int]
    """Number of records that were not sent, by reason."""
    note: str
    """What the platform shows of them, what it cannot, and what a second push does."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of `Run.push` for the platform."""

    url: str | None = None
    experiment: str | None = None
    field: str = TRACE
    dry_run: bool = False
    progress: Callable[[Progress], None] | None = None

    def started(self, total: int, unit: str) -> Progress:
        """Return the progress of sending `total` records."""
        return Progress(total, self.progress, unit=unit)


class Outlet(Protocol):
    """A module of `claimeval.integrations` that is a platform."""

    def push(self, run: Run, settings: Settings) -> Pushed:
        """Send the run."""
        ...


class Finding(NamedTuple):
    """A score of a sample, or a verdict on one claim, document or answer."""

    id: str
    """Hash of settings, sample, name and subject, so the same for the same question."""
    sample: str
    name: str
    """The metric; for a verdict, the metric or question with the suffix `claim` or `verdict`."""
    value: float | None
    label: str | None
    because: Reason | None
    """Reason for a missing value."""
    explanation: str
    details: dict[str, str | int | float]
    """Counts of a score; subject, text and evidence of a verdict."""
    trace: str | None
    span: str | None
    response: str | None
    """The provider's id of the answer."""
    is_verdict: bool


def push(run: Run, to: str, settings: Settings) -> Pushed:
    """Send a run to a platform.

    Raises:
        UsageError: The platform is unknown, its package is not installed, or it refuses what is
            sent.
    """
    if to not in get_args(Platform):
        raise unknown_name("platform", to, get_args(Platform))
    # MLflow also takes folders and names of profiles
    if to != "mlflow" and settings.url and "://" not in settings.url:
        raise UsageError(
            f"url {settings.url!r} is not an http:// or https:// address; write it whole, as in"
            f" http://{settings.url}"
        )
    return cast(Outlet, importlib.import_module(f"claimeval.integrations.{to}")).push(run, settings)


@contextmanager
def sending(platform: str, address: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn a missing package and errors of the platform into a UsageError of one line."""
    try:
        yield
    except ImportError as error:
        raise not_installed(f"pushing to {platform} needs {error.name}", platform) from error
    # SDKs raise errors of their own, `errors`, for an address that does not answer; others are
    # bugs.
    except Exception as error:
        if isinstance(error, UsageError) or not isinstance(error, (OSError, *errors)):
            raise
        raise UsageError(
            f"{platform} at {address}: {visible(str(error), ERROR) or type(error).__name__}"
        ) from error


def findings(run: Run, field: str = TRACE) -> Iterator[Finding]:
    """Yield the scores of each sample and the verdicts on its claims."""
    identity = run.manifest.identity
    rows = {row.name: (row.claims_of, row.against) for row in run.manifest.rows}
    for result in run:
        sample = result.sample
        content = hashlib.sha256(f"{identity}{sample.model_dump_json()}".encode())
        all_findings = [*_scores(result, rows), *_verdicts(result, rows)]
        for subject, name, value, label, because, text, details in all_findings:
            key = content.copy()
            key.update(f"{name}\n{subject}".encode())
            yield Finding(
                key.hexdigest()[:32],
                sample.id,
                name,
                value,
                label,
                because,
                text[:EXPLAINED],
                details,
                _metadata_id(sample, field),
                _metadata_id(sample, "span_id") if field != "span_id" else None,
                _metadata_id(sample, "response_id"),
                bool(subject),
            )


def is_judged_by_model(run: Run) -> bool:
    """Return whether a language model judged, which platforms keep apart from what code counts."""
    return any(map(reads_prompts, run.manifest.judges))


_Row = tuple[str, str, float | None, str | None, Reason | None, str, dict[str, str | int | float]]


def _scores(result: SampleResult, rows: Mapping[str, tuple[str, str]]) -> Iterator[_Row]:
    for name, score in result.scores.items():
        counts = {"hits": score.hits, "judged": score.judged, "total": score.total}
        details: dict[str, str | int | float] = {
            key: value for key, value in counts.items() if value is not None
        }
        failed = result.failed_claims(*rows[name]) if name in rows else ()
        lines = [score.in_words(name), *(claim.text for claim in failed)]
        yield (
            "",
            name,
            score.value,
            None,
            score.because,
            "\n".join(lines),
            {"unit": score.unit, **details},
        )


def _verdicts(result: SampleResult, rows: Mapping[str, tuple[str, str]]) -> Iterator[_Row]:
    claims = {claim.id: claim for claim in result.claims}
    metrics: dict[tuple[str, str], str] = {}
    for name, parts in rows.items():
        metrics.setdefault(parts, name)
    for assessment in result.whole:
        claim = claims.get(assessment.subject)
        details: dict[str, str | int | float] = {
            "subject": assessment.subject,
            "evidence": str(assessment.evidence),
        }
        name = f"{assessment.question}.verdict"
        if claim:
            parts = (claim.of, assessment.against)
            name = f"{metrics.get(parts, f'{claim.of}_against_{assessment.against}')}.claim"
            details["claim"] = claim.text
            if claim.span:
                details["start"], details["end"] = claim.span
        value = None if assessment.label is None else float(assessment.support == "supported")
        yield (
            f"{assessment.subject}\n{assessment.evidence}",
            name,
            value,
            assessment.label,
            assessment.unassessed,
            _explanations(assessment, details),
            details,
        )


def _explanations(assessment: Assessment, details: Mapping[str, str | int | float]) -> str:
    reasons = [
        f"{verdict.judge}: {verdict.explanation}"
        for verdict in assessment.verdicts
        if verdict.explanation
    ]
    why = [REASONS[assessment.unassessed]] if assessment.unassessed else []
    return "\n".join([str(details.get("claim", details["subject"])), *why, *reasons])


def _metadata_id(sample: Sample, field: str) -> str | None:
    """Return an id from the metadata of a sample; `id` is the id of the sample."""
    value = sample.id if field == "id" else sample.metadata.get(field.removeprefix("metadata."))
    return None if value is None or value == "" else str(value)


def claims_by_score(
    rows: Iterable[Finding],
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the verdicts on the claims of each score, by sample and metric."""
    verdicts: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for finding in rows:
        if finding.is_verdict:
            row = {
                "label": finding.label,
                "unassessed": finding.because,
                "explanation": finding.explanation,
            }
            named = {
                name: value
                for name, value in {**finding.details, **row}.items()
                if value is not None
            }
            verdicts.setdefault((finding.sample, finding.name.rpartition(".")[0]), []).append(named)
    return verdicts


def with_trace(rows: Iterable[Finding], platform: str, field: str) -> list[Finding]:
    """Return the findings with a trace. Raises UsageError if there are none."""
    traced = [row for row in rows if row.trace]
    if not traced:
        raise UsageError(
            f"no sample has a trace for {platform} in metadata.{field}; name the field that holds"
            " its id with --field"
        )
    return traced
