"""`read_report`: a report with citations and its sources as one sample."""

from __future__ import annotations

import logging
from pathlib import Path
from urllib.parse import urlsplit

from claimeval.api.hints import with_hints
from claimeval.evaluation.claims import ClaimsJob
from claimeval.evaluation.reports import ReportJob
from claimeval.runs.jobs import Prepared
from claimeval.types.errors import UsageError
from claimeval.types.options import RunOptions
from claimeval.types.paths import expanded
from claimeval.types.records import REPORT, Sample
from claimeval.types.requests import Judge

logger = logging.getLogger("claimeval")


@with_hints
def read_report(
    report: object, sources: str | Path, *, source_names: str | Path | None = None
) -> Sample:
    """Read a report with citations and the folder of its sources. Nothing is fetched.

    Marks (`[1]`, `[^1]`, links) are matched with the list of references, and its entries with the
    files: by address, else by title or file name, else by the number that a file name begins with.

    Args:
        report: The report, in Markdown or HTML.
        sources: The folder of its sources: .html, .pdf (extra `[report]`), .txt and .md.
        source_names: A table (CSV) with the columns `file` and `url`, or `title`, for sources that
            do not say their address, such as PDFs.

    Returns:
        The sample for `score`. Its `metadata["report"]` lists which sources are cited and not
        there, unreadable (under 200 characters) or never cited, and marks without an entry.

    Raises:
        UsageError: Something is no report or no folder, or a package is missing.
        DataError: A file cannot be read.

    Examples:
        >>> from pathlib import Path
        >>> Path("pages").mkdir()
        >>> Path("pages/hall.md").write_text("The hall opened in 1888.") and None
        >>> Path("report.md").write_text("It opened in 1888 [1].\\n\\n[1] hall.md\\n") and None
        >>> sample = ce.read_report("report.md", "pages")
        >>> [context.id for context in sample.contexts]
        ['hall.md']
    """
    from claimeval.data import reports

    if not isinstance(report, (str, Path)):
        raise UsageError(
            f"sources: they belong to a report in a file, not to {type(report).__name__}"
        )
    names = None if source_names is None else expanded(source_names)
    sample = reports.read_report(expanded(report), expanded(sources), names)
    found = reports.SourceFindings.model_validate(sample.metadata[REPORT])
    logger.info("%s", found.in_words)
    return sample


def job_of_report(job: ClaimsJob) -> ReportJob:
    """Return the job of a report with the settings of a claims job; UsageError for metrics that the
    passages of cited sources cannot give."""
    others = [
        row.name for row in job.metrics if (row.claims_of, row.against) != ("answer", "contexts")
    ]
    if others:
        raise UsageError(
            f"a cited report has no {others[0]}; it has the metrics of citations and faithfulness"
        )
    return ReportJob.of(job)


async def say_what_is_sent(prepared: Prepared, options: RunOptions) -> None:
    """Log how many tokens of the report and its sources go where, before the first call."""
    from claimeval.evaluation.forecast import forecast

    assert isinstance(prepared.job, ReportJob), "the job of a report"
    ahead = await forecast(prepared.items, prepared.job, None, options.prices)
    low = sum(line.prompt_tokens[0] for line in ahead.lines)
    high = sum(line.prompt_tokens[1] for line in ahead.lines)
    hosts = ", ".join(dict.fromkeys(host_of(judge) for judge in prepared.job.asked))
    # judges without prompts count no tokens
    tokens = f"{low:,} to {high:,} tokens of the report and of" if high else "The report and"
    logger.info("%s passages of its sources go to %s", tokens, hosts)


def host_of(judge: Judge) -> str:
    """Return where the requests of a judge go."""
    host = urlsplit(judge.endpoint or "").hostname
    return f"{judge.name} at {host}" if host else f"{judge.name} on this machine"
