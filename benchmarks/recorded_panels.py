"""Panels of recorded judges compared with human labels, by vote and judge. Tables for
`docs/evidence/panels.md`.

    python -m benchmarks.recorded_panels [--data ../shared/data]

LLMJudge (33 assessors, grades 0 to 3, 2,623 query-passage pairs with NIST's grades): panels of the
first submission of the first 3, 5 and 7 teams, and of all 33. Weights of the weighted vote are
learned on one half of the queries and used on the other. Open QA (gpt-4 and text-davinci-003 on 804
answers): claimeval's reading of the raw texts, compared with the published verdicts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from claimeval.data.labels import HumanLabel, LabelFile
from claimeval.data.recorded import field_map
from claimeval.judging.panel import Panel
from claimeval.runs.agreement import measure
from claimeval.runs.directory import LABELS, RunResults
from claimeval.runs.import_replies import ImportedRun, import_judged, open_file
from claimeval.runs.labels import PANEL, RaterTable, join
from claimeval.runs.revote import Revote
from claimeval.statistics import NO_INTERVAL, IntervalEstimate, cohen_kappa, vote_weight
from claimeval.types.records import SampleResult

OPENQA: dict[str, Any] = {
    "id": "row",
    "question": "question",
    "answer": "answer",
    "reference_answers": "gold_answers",
    "claim": "answer",
    "against": "reference",
    "judges": {
        "gpt-4": "judges.gpt-4.raw",
        "davinci": "judges.text-davinci-003.raw",
        "gpt-4 as recorded": {"reply": "judges.gpt-4.recorded", "forms": ["word"]},
        "davinci as recorded": {"reply": "judges.text-davinci-003.recorded", "forms": ["word"]},
    },
    "forms": ["first_word", "answer", "statement"],
    "human_label": "human",
}
VOTES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("majority, ties abstain", {"vote": "majority"}),
    ("majority, ties conservative", {"vote": "majority", "tie": "conservative"}),
    ("median", {"vote": "median"}),
    ("mean, ties conservative", {"vote": "mean", "tie": "conservative"}),
    ("unanimous", {"vote": "unanimous"}),
    ("any", {"vote": "any"}),
    ("weighted, cross-fitted", {"vote": "weighted"}),
)


class Kappa(NamedTuple):
    """Agreement with people."""

    plain: IntervalEstimate
    quadratic: float | None
    labeled: float
    """Share of the items with a label."""

    def __str__(self) -> str:
        known = self.plain.value is not None and self.quadratic is not None
        spread = (
            f" ({self.plain.low:.3f} to {self.plain.high:.3f})"
            if self.plain.low is not None
            else ""
        )
        numbers = f"{self.plain.value:.3f}{spread} | {self.quadratic:.3f}" if known else "- | -"
        return f"{numbers} | {self.labeled:.1%}"


def against_people(
    said: Sequence[str | None], human: Sequence[str | None], clusters: Sequence[int]
) -> Kappa:
    """Kappa with people over the four grades; its interval resamples queries."""
    squared = cohen_kappa(
        said, human, weights="quadratic", labels="0123", clusters=clusters, resampling=NO_INTERVAL
    )
    share = sum(choice is not None for choice in said) / len(said)
    return Kappa(cohen_kappa(said, human, clusters=clusters), squared.value, share)


def voted(
    results: Sequence[SampleResult], found: ImportedRun, names: Sequence[str], settings: Panel
) -> list[SampleResult]:
    """The results under these judges and rules alone."""
    judges = [judge for judge in found.manifest.judges if judge.name in names]
    record = found.manifest.model_copy(
        update={"judges": tuple(judges), "panel": settings, "derived": ()}
    )
    return list(map(Revote(record), results))


def grades_of_panel(results: Iterable[SampleResult]) -> list[str | None]:
    return [
        None if assessment.tied else assessment.label
        for result in results
        for assessment in result.assessments
    ]


def panels(data: Path, folder: Path) -> None:
    """Prints the table of LLMJudge."""
    names: list[str] = json.loads((data / "llmjudge/judges.json").read_text(encoding="utf-8"))[
        "judges"
    ]
    mapping = {
        **{"id": "query_id", "question": "query_id", "claim": "doc_id", "claim_id": "doc_id"},
        **{
            "of": "passages",
            "against": "question",
            "judges": names,
            "replies": "grades",
            "forms": "number",
        },
        **{"grades": {"lowest": 0, "highest": 3, "positive_from": 2}, "human_label": "human"},
    }
    path = data / "llmjudge/judgments_visible.jsonl"
    found = import_judged(open_file(path, field_map(mapping)), str(path), folder)
    results = list(RunResults.of(folder))
    labels = list(LabelFile(folder / LABELS))
    joined = join(results, names, found.manifest.panel, labels)
    alone = {n: against_people(joined.raters[n], joined.human, joined.clusters) for n in names}
    first_of_team = list({name.partition("-")[0]: name for name in reversed(names)}.values())[::-1]
    for size, members in (
        (3, first_of_team[:3]),
        (5, first_of_team[:5]),
        (7, first_of_team[:7]),
        (33, names),
    ):
        print(f"\n### {size} judges\n\n| | kappa (95%) | squared | labeled |\n|---|---|---|---|")
        ranked = sorted(members, key=lambda name: alone[name].plain.value or 0.0)
        shown = members if size < 10 else [ranked[-1], ranked[len(ranked) // 2], ranked[0]]
        for name in shown:
            place = {
                ranked[-1]: "best",
                ranked[len(ranked) // 2]: "median",
                ranked[0]: "worst",
            }.get(name, "")
            print(f"| {name}{f' ({place})' if place else ''} | {alone[name]} |")
        for title, settings in VOTES:
            rule = found.manifest.panel.model_copy(update=settings)
            said = grades_of_panel(
                _cross_fitted(results, found, members, labels)
                if rule.vote == "weighted"
                else voted(results, found, members, rule)
            )
            print(f"| **{title}** | {against_people(said, joined.human, joined.clusters)} |")


def _in_first_half(query: str) -> bool:
    """Whether the last hexadecimal digit of the SHA-256 is even: stable over runs, machines and
    file order."""
    return int(hashlib.sha256(query.casefold().encode()).hexdigest()[-1], 16) % 2 == 0


def weights(joined: RaterTable, panel: Panel) -> dict[str, float]:
    """Return the vote weight of each judge from its accuracy on human labels; 0 for a judge worse
    than chance."""
    value = panel.scale.value
    words = {value(word) for word in panel.scale.words}
    weight_of = {}
    for judge, votes in joined.raters.items():
        if judge == PANEL:
            continue
        pairs = zip(votes, joined.human, strict=True)
        both = [(value(a), value(b)) for a, b in pairs if a is not None and b is not None]
        correct = sum(a == b for a, b in both)
        weight_of[judge] = max(0.0, vote_weight(correct, len(both), labels=max(2, len(words))))
    return weight_of


def _cross_fitted(
    results: Sequence[SampleResult],
    found: ImportedRun,
    members: Sequence[str],
    labels: Sequence[HumanLabel],
) -> list[SampleResult]:
    """A weighted vote whose weights come from the other half of the queries."""
    panel = found.manifest.panel
    halves = {
        side: [r for r in results if _in_first_half(r.sample.id) == side] for side in (True, False)
    }
    learned = {
        side: weights(join(half, tuple(members), panel, _of(labels, half)), panel)
        for side, half in halves.items()
    }
    return [
        voted(
            [r],
            found,
            members,
            panel.model_copy(
                update={"vote": "weighted", "weights": learned[not _in_first_half(r.sample.id)]}
            ),
        )[0]
        for r in results
    ]


def _of(labels: Sequence[HumanLabel], half: Sequence[SampleResult]) -> list[HumanLabel]:
    ids = {result.sample.id for result in half}
    return [label for label in labels if label.sample in ids]


def open_qa(data: Path, folder: Path) -> None:
    """Prints the table of Open QA."""
    path = data / "openqa/nq301_visible.jsonl"
    found = import_judged(open_file(path, field_map(OPENQA)), str(path), folder)
    joined: RaterTable = join(
        RunResults.of(folder),
        tuple(j.name for j in found.manifest.judges),
        found.manifest.panel,
        LabelFile(folder / LABELS),
    )
    print(
        "\n### Open QA, 804 answers\n\n| judge | read | accuracy | F1 | kappa (95%)"
        " |\n|---|---|---|---|---|"
    )
    for rater in measure(joined, found.manifest.panel).raters:
        if rater.rater not in found.counts.readings or rater.kappa.reported is None:
            continue
        numbers = [rater.accuracy.value, rater.f1.value, rater.kappa.value, *rater.kappa.reported]
        accuracy, f1, kappa, low, high = (number or 0.0 for number in numbers)
        read = found.counts.readings[rater.rater].read
        print(
            f"| {rater.rater} | {read} | {accuracy:.3f} | {f1:.3f} | {kappa:.3f} ({low:.3f} to"
            f" {high:.3f}) |"
        )


def main() -> None:
    """Prints all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    data = parser.parse_args().data
    with tempfile.TemporaryDirectory() as folder:
        panels(data, Path(folder) / "llmjudge")
        open_qa(data, Path(folder) / "openqa")


if __name__ == "__main__":
    main()
