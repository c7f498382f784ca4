"""Nothing piles up while a run goes on."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from benchmarks.soak import IN_FLIGHT, soak


@pytest.mark.slow
def test_open_files_stay_as_many_as_calls_in_flight_need_and_nothing_is_left_unclosed(
    tmp_path: Path,
) -> None:
    soaked = soak(tmp_path, 2.0, calls_per_second=75.0, share=0.1)
    assert soaked.codes == [0]
    third = len(soaked.looks) // 3
    assert third > 10
    first = soaked.looks[:third]
    last = soaked.looks[-third:]
    assert median(look.files for look in last) <= median(look.files for look in first) + 3
    assert max(look.files for look in soaked.looks) <= 2 * IN_FLIGHT + 30
    assert not [word for word in ("Warning", "Traceback", "unclosed") if word in soaked.said], (
        soaked.said
    )
