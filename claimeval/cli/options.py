"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
        help="Model that assesses the claims: `openai:MODEL`, `mistral:MODEL`, `local:lexical`, `openai:MODEL@URL` for "
        "any OpenAI-compatible server, or a YAML file. Repeat for a panel.",
    ),
]
JudgesOrNone = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        help="Model that assesses the claims: `openai:MODEL`, `mistral:MODEL`, `local:lexical`, `openai:MODEL@URL` for "
        "any OpenAI-compatible server, or a YAML file. Repeat for a panel.",
        show_default=False,
    ),
]
Extractor = Annotated[
    str | None,
    typer.Option(help="Model that extracts the claims. Default: the first judge.", show_default=False),
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
ExtractPrompt = Annotated[str, typer.Option(help="Prompt that extracts claims: `atomic`, `bullets`, or a .j2 file.")]
AssessPrompt = Annotated[
    str | None,
    typer.Option(
        help="Prompt that assesses claims: `three_way`, `binary`, `tags`, `partial`, or a .j2 file. Default: `partial` "
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
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a run with other settings in the same --out.")]
Cache = Annotated[
    Path | None,
    typer.Option(
        help="Directory of the reply cache. Default: `$CLAIMEVAL_CACHE`, else `~/.cache/claimeval`.",
        show_default=False,
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Maximum parallel calls per model. Default: adaptive; starts low and rises until the "
        "provider pushes back.",
        show_default=False,
    ),
]
Rpm = Annotated[
    int | None,
    typer.Option(
        "--rpm",
        min=1,
        help="Maximum requests per minute and model. Default: the limits that the provider reports.",
        show_default=False,
    ),
]
Tpm = Annotated[
    int | None,
    typer.Option(
        "--tpm",
        min=1,
        help="Maximum tokens per minute and model. Default: the limits that the provider reports.",
        show_default=False,
    ),
]
MaxCalls = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Maximum requests of the run, its interrupted parts included. At the limit the run stops with exit "
        "code 3; run the same command with a higher limit to resume.",
        show_default=False,
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Maximum cost of the run in US dollars, its interrupted parts included, as in `2.50`. The maximum cost of "
        "each call is reserved before it is sent, so the run never exceeds the limit. `claimeval plan` forecasts the "
        "cost.",
        show_default=False,
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        help="YAML file of prices in US dollars per million tokens, a line a model: "
        "`openai:gpt-5-mini: {input: 0.25, output: 2.00}`, or with `@URL` after the name for one server alone. "
        "Takes precedence over the file in `$CLAIMEVAL_PRICES` and the table in the package.",
        show_default=False,
    ),
]
Timeout = Annotated[
    float,
    typer.Option(
        min=0.001, help="Maximum seconds of an attempt, from sending the request to the last byte of the reply."
    ),
]
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
        help="FIELD=NAME: column that holds a field of the samples, as in `answer=draft_llm_answer`.",
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
    typer.Option(help="METRIC=VALUE: exit with 1 if the mean is lower, as in `faithfulness=0.9`.", show_default=False),
]
FailOver = Annotated[
    list[str] | None,
    typer.Option(
        help="METRIC=VALUE: exit with 1 if the mean is higher, as in `hallucination=0.1`.", show_default=False
    ),
]
MaxMissing = Annotated[
    float,
    typer.Option(
        min=0, max=1, help="Exit with 1 if judge failures leave a larger share of samples or claims without a result."
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Make no calls; use cached replies only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output, for scripts.")]
