"""Bytes and durations read the same everywhere."""

from __future__ import annotations

import pytest

from allranks.core.quantities import in_bytes, in_seconds


@pytest.mark.parametrize(
    "count, text",
    [
        (0, "0 B"), (999, "999 B"), (1000, "0.977 KiB"), (1 << 10, "1.00 KiB"), (760 << 20, "760 MiB"),
        (999 << 20, "999 MiB"), (1023 << 20, "0.999 GiB"), (16 << 30, "16.0 GiB"), (1 << 30, "1.00 GiB"),
        (80 * 10**9, "74.5 GiB"), (1 << 60, "1,024 PiB"), (-(52 << 20), "-52.0 MiB"),
    ],
)  # fmt: skip
def test_bytes_have_three_digits(count: int, text: str) -> None:
    assert in_bytes(count) == text


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0, "0 s"), (0.0004, "0.0004 s"), (0.2124, "0.212 s"), (1, "1 s"), (1.5, "1.50 s"), (30, "30 s"),
        (9.996, "10.00 s"), (12.34, "12.3 s"),
        (59.94, "59.9 s"), (59.96, "1 min"), (252, "4 min 12 s"), (3599.6, "1 h"), (11_100, "3 h 05 min"),
        (48 * 3600, "2 d"), (51 * 3600, "2 d 3 h"), (-0.5, "−0.500 s"), (-90, "−1 min 30 s"),
    ],
)  # fmt: skip
def test_durations(seconds: float, text: str) -> None:
    assert in_seconds(seconds) == text
