"""Runs that never ran, from the benchmarks' own generator."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def simulated():
    """The module `benchmarks/_simulated.py`."""
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "_simulated.py"
    spec = importlib.util.spec_from_file_location("allranks_simulated", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
