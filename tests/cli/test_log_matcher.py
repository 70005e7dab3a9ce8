"""The matcher for large logs is kept as a compiled database."""

from __future__ import annotations

import sys
from pathlib import Path

import hyperscan
import pytest

from allranks.cli import log_matcher

WORDS = ["apple", "pear [0-9]", "^plum"]
TEXT = b"an apple\na pear 7\nplum\n a plum\n"


def found(matcher: tuple[hyperscan.Database, hyperscan.Scratch]) -> list[int]:
    database, scratch = matcher
    ends: list[int] = []
    database.scan(TEXT, match_event_handler=lambda *match: ends.append(match[2]), scratch=scratch)
    return ends


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    return tmp_path


def test_a_database_that_was_kept_finds_the_same(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = found(log_matcher._matcher(hyperscan, "fruit", WORDS))
    assert len(expected) == 3 and len(list(place.rglob("*.fruit"))) == 1
    monkeypatch.setattr(hyperscan, "dumpb", None)  # it must not compile
    assert found(log_matcher._matcher(hyperscan, "fruit", WORDS)) == expected
    with pytest.raises(TypeError):
        log_matcher._matcher(hyperscan, "fruit", WORDS[1:])


def test_a_database_of_another_processor_is_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = found(log_matcher._matcher(hyperscan, "fruit", WORDS))

    def refuse(*_: object, **__: object) -> None:
        raise hyperscan.error("error code -4")

    monkeypatch.setattr(hyperscan, "loadb", refuse)
    assert found(log_matcher._matcher(hyperscan, "fruit", WORDS)) == expected
