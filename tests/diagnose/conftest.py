"""What is diagnosed in all tests of this room, kept as text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from allranks import diagnose
from tests.kept import kept


@pytest.fixture(autouse=True)
def _what_is_said(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`test_diagnose_symptoms` keeps the text of each symptom in a file of its own."""
    places = [(diagnose, "diagnose"), (diagnose, "conclude")]
    yield from kept(request, monkeypatch, places, ["test_diagnose_symptoms", "test_diagnose_cost"])
