"""Quality of the lexical support score, compared with plain K-precision, and its speed.

    python -m benchmarks.local_lexical [--data FOLDER] [--resamples 1000]

FOLDER (default: $CLAIMEVAL_DATA, or shared/data next to the checkout) has claims with human labels:

* wice: claims of Wikipedia against the article they cite (Kamoi et al. 2023, arXiv:2303.01432),
  whole pages and the authors' oracle chunks; supported against partially and not supported;
* expertqa: sentences of answers against the passages they cite (Malaviya et al. 2023,
  arXiv:2309.07852), where the data quote these; complete support against the rest;
* begin: replies against a piece of knowledge (Dziri et al. 2022, arXiv:2105.00071); fully
  attributable or not.

Four scorers judge the same claims in the same run:

* K-precision, the share of a claim's words that the evidence has; its threshold is the best one on
  the other folds;
* lexical, held out: each claim with coefficients fitted on the other four folds of all data sets
  (folds by source);
* lexical, other data: each claim with coefficients fitted without its data set (WiCE is one);
* lexical, shipped: the coefficients of the package, fitted on all of these claims, so these figures
  are in-sample.

The threshold of the lexical score is 0.5 everywhere. The features and the penalty were chosen on
these data sets too, which the held-out figures do not undo. Intervals are 95% percentile
bootstraps over sources.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.fit_local_lexical import Floats, Labeled, data_folder, fit, folds, load, measured
from claimeval import lexical
from claimeval.lexical import content_words as words
from claimeval.lexical.sentences import sentences
from claimeval.lexical.support import (
    ENGINE,
    NOTICE,
    Weights,
    coefficients_digest,
    label,
    prepare,
    score_claim,
)

Bools = NDArray[np.bool_]
Key = TypeVar("Key", int, str)


class Scored(NamedTuple):
    """A scorer's score of every claim, and from where on it says supported."""

    scores: Floats
    thresholds: Floats


def k_precision(rows: Sequence[Labeled], fold: NDArray[np.int64]) -> Scored:
    """Plain K-precision over all evidence together."""
    texts = (lexical.LexicalSample(row.claim, contexts=row.contexts) for row in rows)
    scores = np.array(
        [row.scores["k_precision"] or 0.0 for row in lexical.score(texts, ["k_precision"])]
    )
    supported = np.array([row.supported for row in rows])
    sets = np.array([row.data_set for row in rows])
    thresholds = np.zeros(len(rows))
    for data_set, left_out in {(a, b) for a, b in zip(sets.tolist(), fold.tolist(), strict=True)}:
        rest = (sets == data_set) & (fold != left_out)
        candidates = np.unique(scores[rest])
        quality = [
            balanced_accuracy(scores[rest] >= candidate, supported[rest])
            for candidate in candidates
        ]
        thresholds[(sets == data_set) & (fold == left_out)] = candidates[int(np.argmax(quality))]
    return Scored(scores, thresholds)


def by_weights(rows: Sequence[Labeled], weights: Callable[[int], Weights | None]) -> Scored:
    """The lexical support score; `weights` gives those for the claim of that number, None for the
    shipped ones."""
    scores = [
        score_claim(row.claim, row.evidence, weights=weights(number)).score
        for number, row in enumerate(rows)
    ]
    return Scored(np.array(scores), np.full(len(rows), 0.5))


def fitted_without(
    rows: Sequence[Labeled], values: Floats, keys: Sequence[Key]
) -> dict[Key, Weights]:
    """For every key, the weights fitted on the claims that have another."""
    return {
        left_out: fit(
            [row for row, key in zip(rows, keys, strict=True) if key != left_out], values[kept]
        )
        for left_out in set(keys)
        for kept in [np.array([key != left_out for key in keys])]
    }


def balanced_accuracy(said: Bools, supported: Bools) -> float:
    """The mean of the shares right among the supported and among the others; NaN without one of
    them."""
    if supported.all() or not supported.any():
        return float("nan")
    return float((said[supported].mean() + (~said[~supported]).mean()) / 2)


def auroc(scores: Floats, supported: Bools) -> float:
    """The chance that a supported claim scores higher than another, ties counting half; NaN without
    one of them."""
    yes = int(supported.sum())
    no = int((~supported).sum())
    if not yes or not no:
        return float("nan")
    return float((rankdata(scores)[supported].sum() - yes * (yes + 1) / 2) / (yes * no))


def resampled(sources: Sequence[str], times: int) -> Iterator[NDArray[np.int64]]:
    """The claims of as many sources, drawn with replacement."""
    names = sorted(set(sources))
    members = [
        np.array([place for place, source in enumerate(sources) if source == name])
        for name in names
    ]
    generator = np.random.default_rng(0)
    for _ in range(times):
        yield np.concatenate(
            [members[draw] for draw in generator.integers(0, len(names), len(names))]
        )


def quality_table(
    rows: Sequence[Labeled], scorers: dict[str, Scored], resamples: int
) -> Iterator[str]:
    """Balanced accuracy and AUROC with intervals, and the AUROC beyond that of the first scorer."""
    yield (
        "| claims | scorer | balanced accuracy | AUROC | AUROC - K-precision"
        " |\n|---|---|---|---|---|"
    )
    first = next(iter(scorers.values()))
    for data_set in dict.fromkeys(row.data_set for row in rows):
        chosen = np.array([number for number, row in enumerate(rows) if row.data_set == data_set])
        supported = np.array([rows[number].supported for number in chosen])
        draws = [
            np.arange(len(chosen)),
            *resampled([rows[number].source for number in chosen], resamples),
        ]
        base = [auroc(first.scores[chosen][draw], supported[draw]) for draw in draws]
        for name, scored in scorers.items():
            scores, said = scored.scores[chosen], scored.scores[chosen] >= scored.thresholds[chosen]
            accuracy = [balanced_accuracy(said[draw], supported[draw]) for draw in draws]
            area = [auroc(scores[draw], supported[draw]) for draw in draws]
            beyond = [one - other for one, other in zip(area, base, strict=True)]
            cells = [
                interval(accuracy),
                interval(area),
                "" if scored is first else interval(beyond, sign="+"),
            ]
            title = f"{data_set} ({len(chosen)}, {supported.mean():.0%} supported)"
            yield f"| {title} | {name} | {' | '.join(cells)} |"


def interval(values: Sequence[float], sign: str = "") -> str:
    """The first value, and the percentile interval of the others."""
    low, high = np.nanpercentile(values[1:], [2.5, 97.5])
    return f"{values[0]:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"


def verdict_table(rows: Sequence[Labeled], scored: Scored) -> Iterator[str]:
    """How often the score is sure, and then right."""
    yield (
        "| claims | supported | of these right | not found | of these right | unsure"
        " |\n|---|---|---|---|---|---|"
    )
    for data_set in dict.fromkeys(row.data_set for row in rows):
        chosen = [number for number, row in enumerate(rows) if row.data_set == data_set]
        truth = np.array([rows[number].supported for number in chosen])
        verdict = np.array([label(float(scored.scores[number])) for number in chosen])
        yes = verdict == "supported"
        no = verdict == "not_found"
        cells = [
            yes.mean(),
            truth[yes].mean(),
            no.mean(),
            (~truth[no]).mean(),
            (~(yes | no)).mean(),
        ]
        yield f"| {data_set} | {' | '.join(f'{cell:.2f}' for cell in cells)} |"


AUXILIARY = re.compile(r"\b(?:is|was|are|were|has|had|have|will|can|could|would|should)\b")


def edits(
    sentence: str, others: Sequence[str], generator: random.Random
) -> Iterator[tuple[str, str]]:
    """The sentence as it is, and with one fact changed."""
    yield "copied", sentence
    if found := list(AUXILIARY.finditer(sentence)):
        place = generator.choice(found).end()
        yield '"not" inserted', f"{sentence[:place]} not{sentence[place:]}"
    if found := list(re.finditer(r"\b\d+\b", sentence)):
        number = generator.choice(found)
        yield (
            "number changed",
            f"{sentence[: number.start()]}{int(number[0]) + 3}{sentence[number.end() :]}",
        )
    opposites = dict(pair.split("/") for pair in words.model()["words"]["antonyms"].split())
    if found := [word for word in re.finditer(r"[a-z]+", sentence) if word[0] in opposites]:
        word = generator.choice(found)
        yield (
            "opposite (own list)",
            f"{sentence[: word.start()]}{opposites[word[0]]}{sentence[word.end() :]}",
        )
    names = _names(sentence)
    strangers = [name for other in others for name in _names(other) if name not in sentence]
    if names and strangers:
        pattern = rf"\b{re.escape(generator.choice(names))}\b"
        yield (
            "name of the same page",
            re.sub(pattern, generator.choice(strangers), sentence, count=1),
        )
    if len(names) > 1:
        one, other = generator.sample(names, 2)
        swap = {one: other, other: one}
        pattern = rf"\b(?:{re.escape(one)}|{re.escape(other)})\b"
        yield "two names swapped", re.sub(pattern, lambda match: swap[match[0]], sentence)


def _names(sentence: str) -> list[str]:
    tokens = words.tokens(sentence)
    names = words.names(tokens)
    return list(dict.fromkeys(token.text for token in tokens if token.key in names))


def edit_table(rows: Sequence[Labeled]) -> Iterator[str]:
    """Sentences copied from their page, whole and with one fact edited: does the score let them
    pass?"""
    yield (
        "| sentence of the page | claims | supported | unsure | not found | flagged"
        " |\n|---|---|---|---|---|---|"
    )
    generator = random.Random(0)
    verdicts: dict[str, list[str]] = {}
    flagged: dict[str, int] = {}
    for row in rows:
        if row.data_set != "WiCE dev, whole pages":
            continue
        page = "\n".join(row.contexts[0].split("\n")[:40])
        found = [page[start:end] for start, end in sentences(page)]
        found = [
            sentence
            for sentence in found
            if 8 <= len(sentence.split()) <= 40 and sentence.endswith(".")
        ]
        evidence = prepare([page])
        for sentence in generator.sample(found, min(4, len(found))):
            for kind, claim in edits(sentence, found, generator):
                result = score_claim(claim, evidence)
                verdicts.setdefault(kind, []).append(label(result.score))
                flagged[kind] = flagged.get(kind, 0) + bool(result.flags)
    for kind, said in verdicts.items():
        cells = [
            f"{said.count(verdict) / len(said):.2f}"
            for verdict in ("supported", "unsure", "not_found")
        ]
        yield f"| {kind} | {len(said)} | {' | '.join(cells)} | {flagged[kind] / len(said):.2f} |"


def speed(rows: Sequence[Labeled], rounds: int = 5) -> str:
    """Claims per second of processor time, reading the evidence included; the best of the
    rounds."""
    pages = [" ".join(row.contexts[0].split(" ")[:300]) for row in rows if len(row.contexts) == 1]
    claims = [row.claim for row in rows if len(row.contexts) == 1]
    answers = [(pages[start : start + 5], claims[start : start + 6]) for start in range(0, 300, 6)]
    count = sum(len(asked) for _, asked in answers)
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for documents, asked in answers:
            evidence = prepare(documents)
            for claim in asked:
                score_claim(claim, evidence)
        best = min(best, time.process_time() - start)
    of_what = "reading included: 6 claims on 5 documents of 300 words at a time"
    return f"{count / best:,.0f} claims a second of processor time, {of_what}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--resamples", type=int, default=1000)
    options = parser.parse_args()
    rows = load(options.data)
    fold = folds(rows)
    values = measured(rows)
    families = [row.data_set.split(",")[0] for row in rows]

    by_fold = fitted_without(rows, values, fold.tolist())
    by_family = fitted_without(rows, values, families)
    scorers = {
        "K-precision": k_precision(rows, fold),
        "lexical, held out": by_weights(rows, lambda number: by_fold[int(fold[number])]),
        "lexical, other data": by_weights(rows, lambda number: by_family[families[number]]),
        "lexical, shipped (in-sample)": by_weights(rows, lambda _: None),
    }
    print(f"{ENGINE}, coefficients {coefficients_digest()[:12]}: {NOTICE}\n")
    print(*quality_table(rows, scorers, options.resamples), sep="\n")
    print("\nVerdicts, held out (supported from 0.75, not found up to 0.25):\n")
    print(*verdict_table(rows, scorers["lexical, held out"]), sep="\n")
    print(
        "\nSentences copied from the first lines of their WiCE page and edited by rule, shipped"
        " coefficients:\n"
    )
    print(*edit_table(rows), sep="\n")
    print(f"\n{speed(rows)}")


if __name__ == "__main__":
    main()
