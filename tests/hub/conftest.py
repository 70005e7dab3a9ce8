from __future__ import annotations

from pathlib import Path

import pytest

from tests.hub.folders import VARIABLES


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a user without any model, and with no variable of the Hub."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path
