"""A supervised node for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.node import SupervisedNode


@pytest.fixture
def field(home: Path, tmp_path: Path) -> Iterator[SupervisedNode]:
    with SupervisedNode(tmp_path) as field:
        yield field
