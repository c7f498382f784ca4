"""Labels of several raters over the same items, as counts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from claimeval.types.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Label = TypeVar("Label", bound=Hashable)


class RatingTable(NamedTuple):
    """`table[i, c]` raters gave item i the label `labels[c]`."""

    table: Floats
    labels: tuple[Hashable, ...]


def label_scale(used: Sequence[Hashable], labels: Sequence[Hashable] | None) -> tuple[Hashable, ...]:
    """The labels in scale order: as given, or the used ones sorted (by value, or by text where kinds are mixed).

    UsageError where a used label is not on the given scale.
    """
    found = {label for label in used if label is not None}
    if labels is not None:
        strays = found - set(labels)
        if strays:
            raise UsageError(f"labels off the scale: {sorted(map(repr, strays))}; the scale is {list(labels)!r}")
        return tuple(labels)
    ordered: Any = found
    try:
        return tuple(sorted(ordered))
    except TypeError:
        return tuple(sorted(found, key=repr))


def count_labels(ratings: Sequence[Sequence[Label | None]], labels: Sequence[Hashable] | None = None) -> RatingTable:
    """Count the labels each item received; `ratings[i][j]` is rater j's label of item i, `None` if there is none."""
    import numpy as np

    given = [label for item in ratings for label in item]
    scale = label_scale(given, labels)
    items = np.repeat(np.arange(len(ratings)), [len(item) for item in ratings])
    codes = label_codes(given, scale)
    cells = (items * len(scale) + codes)[codes >= 0]
    table = np.bincount(cells, minlength=len(ratings) * len(scale)).reshape(len(ratings), len(scale))
    return RatingTable(table.astype(np.float64), scale)


def label_codes(labels: Sequence[Hashable | None], scale: Sequence[Hashable]) -> NDArray[np.int64]:
    """Positions on the scale; -1 for `None`."""
    import numpy as np

    position: dict[Hashable | None, int] = {label: index for index, label in enumerate(scale)}
    return np.fromiter((position.get(label, -1) for label in labels), np.int64, len(labels))
