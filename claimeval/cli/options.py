"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer


def _go_before_others(prices: Path | None) -> Path | None:
    """Lets a file of prices go before those in the environment, as long as this process lives."""
    from claimeval.providers.prices import VARIABLE

    if prices:
        others = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = f"{prices}{os.pathsep}{others}" if others else str(prices)
    return prices


Data = Annotated[
    Path,
    typer.Argument(help="The samples: .jsonl, .json, .csv or .parquet. `claimeval doctor` explains the fields."),
]
DataOrRun = Annotated[
    Path, typer.Argument(help="The samples: .jsonl, .json, .csv, .parquet, or the directory of a run over them.")
]
Judges = Annotated[
    list[str],
    typer.Option(
        "--judge",
        "-j",
        help="Who assesses the claims: `openai:MODEL`, `mistral:MODEL`, `local:lexical`, `openai:MODEL@URL` for any "
        "OpenAI-compatible server, or a YAML file. Repeat for a panel.",
    ),
]
JudgesOrNone = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        help="Who assesses the claims: `openai:MODEL`, `mistral:MODEL`, `local:lexical`, `openai:MODEL@URL` for any "
        "OpenAI-compatible server, or a YAML file. Repeat for a panel.",
        show_default=False,
    ),
]
Extractor = Annotated[
    str | None,
    typer.Option(help="Who takes the claims from the texts; the first judge unless said.", show_default=False),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        "-m",
        help="Comma-separated: `faithfulness`, `correctness`, `coverage`, `context_recall`, `reference_support`, "
        "`on_topic`, `vital`; a custom one, `NAME=OF:AGAINST`, as in `on_policy=answer:policy`; or one derived from "
        "their verdicts: `f1`, `factscore@10`, `long_form_f1@64`, `contradiction_rate`, `faithful_but_incorrect`, the "
        "groups `ragchecker`, `nuggets`, `by_topic`, and more (docs/claim-metrics.md). Names in other tools: "
        "docs/names-in-other-tools.md. Default: those of the first four that the file has the fields for; with "
        "`--per-document` also all that single documents show.",
        show_default=False,
    ),
]
ExtractPrompt = Annotated[str, typer.Option(help="Prompt for taking claims: `atomic`, `bullets`, or a .j2 file.")]
AssessPrompt = Annotated[
    str | None,
    typer.Option(
        help="Prompt for assessing them: `three_way`, `binary`, `tags`, `partial`, or a .j2 file. Default: `partial` "
        "for metrics that count partial support (`nuggets`), `three_way` for all others.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="The run directory. Default: `runs/DATA-SETTINGS`, the same for the same command.",
        show_default=False,
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a run of other settings in the same --out.")]
Cache = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the store of replies; `$CLAIMEVAL_CACHE` or `~/.cache/claimeval` unless said.",
        show_default=False,
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Calls in flight per model. Unless said, begins with a few and finds what the provider bears.",
        show_default=False,
    ),
]
Rpm = Annotated[
    int | None,
    typer.Option(
        "--rpm",
        min=1,
        help="Requests a minute per model. Unless said, goes by what the provider's replies say.",
        show_default=False,
    ),
]
Tpm = Annotated[
    int | None,
    typer.Option(
        "--tpm",
        min=1,
        help="Tokens a minute per model. Unless said, goes by what the provider's replies say.",
        show_default=False,
    ),
]
MaxCalls = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Requests the run may send, earlier parts of the same run included. When it is reached the run stops with "
        "exit code 3; with a higher one the same command goes on.",
        show_default=False,
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="US dollars the run may cost, earlier parts of the same run included, as in `2.50`. Before a call is sent "
        "the most that it can cost is set aside, so the cap is never passed. `claimeval plan` says what to expect.",
        show_default=False,
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        callback=_go_before_others,
        help="YAML file of prices in US dollars per million tokens, a line a model: "
        "`openai:gpt-5-mini: {input: 0.25, output: 2.00}`, or with `@URL` after the name for one server alone. "
        "Goes before the file in `$CLAIMEVAL_PRICES` and the table in the package.",
        show_default=False,
    ),
]
Timeout = Annotated[float, typer.Option(min=0.001, help="Seconds an attempt may take from sending to the last byte.")]
References = Annotated[
    str | None,
    typer.Option(
        help="`any`: one of several gold answers is enough; `together`: they are right only together. Default: what "
        "the data say, else `any`.",
        show_default=False,
    ),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N samples.", show_default=False)]
Field = Annotated[
    list[str] | None,
    typer.Option(
        "--field",
        help="FIELD=NAME: where a field of the samples stands in the file, as in `answer=draft_llm_answer`.",
        show_default=False,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Samples that agree in this field (`generator`, or one of their metadata) belong together: intervals and "
        "tests draw them together. Unless said, those with the same question (or what the run was scored with).",
        show_default=False,
    ),
]
FailUnder = Annotated[
    list[str] | None,
    typer.Option(
        help="METRIC=VALUE: exit with 1 when the mean is lower, as in `faithfulness=0.9`.", show_default=False
    ),
]
FailOver = Annotated[
    list[str] | None,
    typer.Option(
        help="METRIC=VALUE: exit with 1 when the mean is higher, as in `hallucination=0.1`.", show_default=False
    ),
]
MaxMissing = Annotated[
    float,
    typer.Option(
        min=0, max=1, help="Exit with 1 when a larger share of samples or claims was lost to failures of judges."
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Make no call; use stored replies only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output, for scripts.")]
