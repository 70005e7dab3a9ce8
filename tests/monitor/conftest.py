"""Runs that never ran, from the benchmarks' own generator; and what the watch says in all tests, kept as text."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from allranks.monitor import Watch
from benchmarks import _simulated
from tests.kept import kept


@pytest.fixture(scope="session")
def simulated() -> ModuleType:
    """The module `benchmarks/_simulated.py`."""
    return _simulated


@pytest.fixture(autouse=True)
def _what_is_said(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`test_detectors` and `test_mixed_ends` keep their own files."""
    places = [(Watch, name) for name in ("add", "tick", "verdict")]
    yield from kept(request, monkeypatch, places, ["test_detectors", "test_mixed_ends"])
