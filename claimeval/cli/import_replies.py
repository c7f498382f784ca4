"""`claimeval import-replies`: recorded replies of judges become verdicts, without a call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from claimeval.cli import options as o
from claimeval.cli import panel_options as p

Mapping = Annotated[
    Path | None,
    typer.Option(
        "--mapping",
        help="YAML file that says which fields hold sample, claim, replies and human label, and in which forms the "
        "replies say their verdict. Not needed for result files of RAGChecker, ragas and deepeval.",
        show_default=False,
    ),
]


def import_replies(
    file: Annotated[Path, typer.Argument(help="The recorded replies: .jsonl, .json, .csv or .parquet.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The run directory to write.", show_default=False)],
    mapping: Mapping = None,
    vote: p.Vote = None,
    tie: p.Tie = None,
    quorum: p.Quorum = None,
    families: p.Families = None,
    cluster: o.Cluster = None,
    overwrite: o.Overwrite = False,
    json: o.Json = False,
) -> None:
    """Turn recorded judge texts, or another tool's results, into a run that can be voted on, measured and re-judged.

    Nothing is guessed: a text that says both yes and no, or neither, is unassessed, and `unread.jsonl` in the run lists
    it. A mapping for rows such as {"row": 1, "question": "...", "answer": "...", "human": "Yes", "gpt": "Yes, ..."}:

    ```
    id: row
    question: question
    answer: answer
    claim: answer            # what was judged
    against: reference
    judges: {gpt-4: gpt}     # or: items_field: outputs, judge: model, reply: raw
    forms: [first_word, answer, statement]
    human_label: human
    ```

    Forms: `first_word`, `answer` ("Answer: No"), `brackets` ("[[Yes]]"), `statement`, `tag:answer`, `json:verdict`,
    `score` ("##final score: 2"), `word`, `number`. `docs/rejudging.md` has mappings for several published files.

    Example: `claimeval import-replies judged.jsonl --mapping judged.yaml --out runs/judged`
    """
    from claimeval.cli.importing import import_and_tell

    import_and_tell(
        file,
        mapping,
        out,
        panel=p.panel(vote=vote, tie=tie, quorum=quorum, families=families),
        overwrite=overwrite,
        cluster=cluster,
        as_json=json,
    )
