"""`claimeval demo`: the main job on the bundled samples, with the local scorer."""

from __future__ import annotations

from pathlib import Path

from claimeval.cli import options as o


def demo(out: o.Out = Path("runs/demo"), json: o.Json = False) -> None:
    """Score the bundled samples with the local word-matching scorer. Needs no key, no model and no network.

    The samples have planted mistakes (wrong numbers, swapped names, negations, inventions), so that there is something
    to see. The local scorer finds words, not meaning: name a real judge with `claimeval score` for numbers to rely on.
    """
    from claimeval.cli.running import score_and_print
    from claimeval.data.corpora import bundled

    score_and_print(bundled("demo.jsonl"), ("local:lexical",), out=out, overwrite=True, json_output=json)
