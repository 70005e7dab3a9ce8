"""Recorded-looking runs for the tests of this room."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from types import ModuleType

import pytest

from allranks.core import Event, event_from_json
from tests.harness.bundle import bundle_at_hand
from tests.output import journals as recorded

__all__ = ["bundle_at_hand"]


@pytest.fixture(scope="session")
def journals() -> ModuleType:
    return recorded


@pytest.fixture(scope="session")
def events(journals):
    """`events("killed")` → that run's events, made once."""

    @functools.cache
    def of(kind: str) -> tuple[Event, ...]:
        return tuple(event_from_json(json.loads(json.dumps(e))) for e in journals.KINDS[kind]().events)

    return of


@pytest.fixture(scope="session")
def made(journals):
    """Runs by their kind, made once."""
    return functools.lru_cache(maxsize=None)(lambda kind: journals.KINDS[kind]())


@pytest.fixture
def run_directory(made, tmp_path):
    """`run_directory("killed")` → the folder of such a run, this test's own."""

    def of(kind: str) -> Path:
        return made(kind).write(tmp_path / kind)

    return of
