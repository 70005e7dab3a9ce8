from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from allranks.runs import hub_config
from tests.harness.bundle import bundle_at_hand
from tests.hub.folders import VARIABLES
from tests.hub.server import Server

__all__ = ["bundle_at_hand"]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of a user without any model, and with no variable of the Hub."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    hub_config.asked.cache_clear()
    return tmp_path


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as one:
        yield one


@pytest.fixture
def online(machine: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A machine whose Hub is a server of this test."""
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", server.base)
    return server
