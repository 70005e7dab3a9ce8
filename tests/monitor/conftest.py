"""Runs that never ran, from the benchmarks' own generator; and what the watch says in all tests, kept as text."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from allranks.core import Diagnosis, Finding
from allranks.monitor import Watch
from benchmarks import _simulated
from tests import said

APART = ("test_detectors",)
"""It keeps the text of each detector in a file of its own."""


@pytest.fixture(scope="session")
def simulated() -> ModuleType:
    """The module `benchmarks/_simulated.py`."""
    return _simulated


@pytest.fixture(autouse=True)
def _what_is_said(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a `Watch` says in a test, and its verdicts, are what the module's file of `said` holds: see
    tests/said.py. What is drawn at random is left out."""
    module = request.module.__name__.rpartition(".")[2]
    if module in APART or getattr(request.function, "is_hypothesis_test", False):
        yield
        return
    told: list[Finding | Diagnosis] = []

    def kept(function: Any) -> Any:
        @functools.wraps(function)
        def call(*words: Any, **keys: Any) -> Any:
            result = function(*words, **keys)
            found = result if isinstance(result, list) else [result]
            told.extend(one for one in found if isinstance(one, (Finding, Diagnosis)))
            return result

        return call

    for name in ("add", "tick", "verdict"):
        monkeypatch.setattr(Watch, name, kept(getattr(Watch, name)))
    yield
    path = Path(__file__).parent / "said" / f"{module}.txt"
    said.hold(path, said.lines(told))
