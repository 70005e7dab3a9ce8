"""What functions return in the tests of a module, kept as text without a word in the tests: see tests/said.py."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from allranks.core import Diagnosis, Finding
from tests import said


def kept(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    places: Iterable[tuple[Any, str]],
    apart: Iterable[str] = (),
) -> Iterator[None]:
    """The body of an autouse fixture: each finding and diagnosis that the functions at `places` return, alone or in a
    list, is in the file of the test's module. Modules in `apart` are left out, and so is what is drawn at random."""
    module = request.module.__name__.rpartition(".")[2]
    if module in apart or getattr(request.function, "is_hypothesis_test", False):
        yield
        return
    temporary = str(request.getfixturevalue("tmp_path")) if "tmp_path" in request.fixturenames else ""
    told: list[Finding | Diagnosis] = []

    def noted(function: Any) -> Any:
        @functools.wraps(function)
        def call(*words: Any, **keys: Any) -> Any:
            result = function(*words, **keys)
            found = result if isinstance(result, list) else [result]
            told.extend(one for one in found if isinstance(one, (Finding, Diagnosis)))
            return result

        return call

    for owner, name in places:
        monkeypatch.setattr(owner, name, noted(getattr(owner, name)))
    yield
    path = Path(request.module.__file__ or "").parent / "said" / f"{module}.txt"
    lines = said.lines(told)
    said.hold(path, (one.replace(temporary, "") if temporary else one for one in lines))
