"""One node's folders, and ranks started in them without torchrun."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.rank import Ranks


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Ranks]:
    with Ranks(tmp_path) as node:
        yield node
