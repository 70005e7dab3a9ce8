"""Which tests run when: one rule, by their marks. `docs/contributing/tests.md` says why.

`fast` and `slow` are what `make test` runs; `make test-all` adds `seldom`.
"""

from __future__ import annotations

from collections.abc import Collection

TIERS = ("fast", "slow", "seldom")
SELDOM = "seldom"
SLOW = ("training", "tensors", "rig", "browser", "lengthy", "legacy", "measured")


def tier_of(marks: Collection[str]) -> str:
    """The tier of a test that carries these marks."""
    if SELDOM in marks:
        return "seldom"
    return "slow" if any(name in marks for name in SLOW) else "fast"
