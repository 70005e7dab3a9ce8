"""Which of several ways to gather experts is recommended."""

from __future__ import annotations

from typing import Any

import pytest

from allranks.plan.experts import GAIN, _recommended
from allranks.plan.smaller_settings import USUAL_AT_ONCE


def row(
    at_once: int, seconds: float | None, fits: bool = True, gpu: int = 10, received: int = 7
) -> dict[str, Any]:
    return {
        "at_once": at_once, "fits": fits, "gpu_bytes": gpu,
        "seconds_per_step": seconds, "received_bytes_per_step": received,
    }  # fmt: skip


USUAL = USUAL_AT_ONCE


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [
        # The leaf, unless lockstep is faster by GAIN.
        ([row(0, 10.0), row(USUAL, 10.0)], 0),
        ([row(0, 10.0), row(USUAL, 12.0)], 0),
        ([row(0, 100 * GAIN - 0.01), row(USUAL, 100.0)], 0),
        ([row(0, 100 * GAIN), row(USUAL, 100.0)], 1),
        ([row(0, 100 * GAIN + 0.01), row(USUAL, 100.0)], 1),
        # The usual number, unless another one is faster by GAIN; of two that are as far from it, what needs less.
        ([row(USUAL, 100 * GAIN - 0.01), row(2 * USUAL, 100.0)], 0),
        ([row(USUAL, 100 * GAIN), row(2 * USUAL, 100.0)], 1),
        ([row(USUAL - 1, 9.0, gpu=5), row(USUAL + 1, 9.0, gpu=4)], 1),
        ([row(USUAL - 1, 9.0, gpu=3), row(USUAL + 1, 9.0)], 0),
        ([row(USUAL + 1, 9.0), row(USUAL + 3, 9.0, gpu=1)], 0),
        # What does not fit is not recommended; if nothing fits, what needs least.
        ([row(0, 1.0, False), row(USUAL, 9.0)], 1),
        ([row(0, 1.0, False, 9), row(USUAL, 9.0, False, 8)], 1),
        ([row(0, 1.0, False, 8), row(USUAL, 9.0, False, 9)], 0),
        # Without a time, what is received counts.
        ([row(0, None, received=100), row(USUAL, None, received=90)], 1),
        ([row(0, None, received=90), row(USUAL, None, received=90)], 0),
    ],
)  # fmt: skip
def test_the_fastest_that_fits_is_recommended(rows: list[dict[str, Any]], chosen: int) -> None:
    assert _recommended(rows, {row["at_once"] for row in rows if row["fits"]}) is rows[chosen]
