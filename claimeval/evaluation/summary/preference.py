"""Whether judges favour answers of their own family: who is of which, and the difference in differences."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping

from claimeval.evaluation.summary.records import SameFamily, SelfPreference
from claimeval.types.estimates import Estimate
from claimeval.types.families import Families
from claimeval.types.records import Sample


class Preferences:
    """Collects what each family of judges makes of the answers of each family of generators."""

    def __init__(self, judges: Mapping[str, str], families: Families) -> None:
        """`judges` are names and models. A model of unknown family is a family of its own."""
        self._families = families
        self._family = {name: families.family_of(model) or model for name, model in judges.items()}
        self._values: dict[str, dict[str, array[float]]] = {}
        self._generators: dict[str, list[str]] = {}
        self._questions: dict[str, array[int]] = {}

    def add(self, sample: Sample, metric: str, values: Mapping[str, float | None], cluster: int) -> None:
        """Add a sample's value of a metric by each judge; a sample without a generator does not count.

        Args:
            sample: The sample.
            metric: Name of the metric.
            values: The value of each judge by name.
            cluster: Number of the sample's cluster.
        """
        if sample.generator is None:
            return
        columns = self._values.setdefault(metric, {family: array("d") for family in self._family.values()})
        for family, column in columns.items():
            given = [v for judge, v in values.items() if self._family[judge] == family and v is not None]
            column.append(sum(given) / len(given) if given else math.nan)
        self._generators.setdefault(metric, []).append(self._families.family_of(sample.generator) or sample.generator)
        self._questions.setdefault(metric, array("q")).append(cluster)

    def estimates(self) -> Iterator[SelfPreference]:
        """Per metric and family of judges that also generated; nothing below two families on either side."""
        from claimeval.statistics import self_preference

        for metric, columns in self._values.items():
            generators = self._generators[metric]
            if len(columns) < 2 or len(set(generators)) < 2:
                continue
            scores = {f: [None if math.isnan(v) else v for v in column] for f, column in columns.items()}
            found = self_preference(scores, generators, clusters=self._questions[metric])
            for family in sorted(set(columns) & set(generators)):
                estimate = Estimate.of(found[family])
                yield SelfPreference(metric=metric, family=family, **estimate.model_dump())


class Kinship:
    """Counts the samples whose answer is by the family of a judge, of the extractor or of the author of the gold."""

    def __init__(self, judges: Mapping[str, str], extractor: tuple[str, str] | None, families: Families) -> None:
        self._families = families
        self._people = [("judge", name, model) for name, model in judges.items()]
        self._people += [("extractor", *extractor)] if extractor else []
        self._found: Counter[tuple[str, str, str]] = Counter()

    def add(self, sample: Sample) -> None:
        """One sample; one that names no generator counts for nobody."""
        if sample.generator is None:
            return
        author = sample.reference_author
        people = [*self._people, ("reference_author", author, author)] if author else self._people
        for role, name, model in people:
            if self._families.are_same_family(model, sample.generator):
                self._found[role, name, self._families.family_of(sample.generator) or sample.generator] += 1

    def summary(self) -> tuple[SameFamily, ...]:
        """Who is of the family of some generator, in the order of judges, extractor, authors."""
        order = {"judge": 0, "extractor": 1, "reference_author": 2}
        return tuple(
            SameFamily(role=role, name=name, family=family, samples=n)  # type: ignore[arg-type]  # the roles above
            for (role, name, family), n in sorted(self._found.items(), key=lambda found: order[found[0][0]])
        )
