"""Runs that never ran, from the benchmarks' own generator."""

from __future__ import annotations

from types import ModuleType

import pytest

from benchmarks import _simulated


@pytest.fixture(scope="session")
def simulated() -> ModuleType:
    """The module `benchmarks/_simulated.py`."""
    return _simulated
