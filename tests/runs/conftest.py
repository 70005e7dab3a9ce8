"""What the tests of whole runs share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.bundle import bundle_at_hand
from tests.harness.desk import Desk

__all__ = ["bundle_at_hand"]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The deep facts of one machine do not change between tests: a second run finds them, as a user's does."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def runner(home: Path, tmp_path: Path, cache: Path) -> Iterator[Desk]:
    """A command line of its own; what it started is stopped and cleaned, also after a failed test."""
    shutil.copytree(cache, home / "cache", dirs_exist_ok=True)
    with Desk(tmp_path, home=home) as runner:
        yield runner
    if (home / "cache").is_dir():
        shutil.copytree(home / "cache", cache, dirs_exist_ok=True)
