"""The phrases that checks share."""

from __future__ import annotations

import pytest

from allranks.checks.phrases import listed


@pytest.mark.parametrize(
    ("count", "most", "text"),
    [
        (0, 2, ""),
        (1, 2, "0"),
        (2, 2, "0, 1"),
        (3, 2, "0, 1 and 1 more"),
        (8, 8, "0, 1, 2, 3, 4, 5, 6, 7"),
        (10, 8, "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"),
    ],
)
def test_a_long_list_is_cut(count: int, most: int, text: str) -> None:
    assert listed(range(count), most) == text
    assert most != 8 or listed(range(count)) == text
