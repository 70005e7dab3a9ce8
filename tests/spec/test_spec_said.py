"""What the run files and commands of this room's tables are read as, whole: `tests/spec/said` has a line for each.

The tables' own tests say what matters of each; here nothing changes unseen. `ALLRANKS_GOLDEN=write pytest
tests/spec/test_spec_said.py` writes them again.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from allranks.core import BadInput
from allranks.spec import Run, Typed, load_typed, loads
from tests import said
from tests.spec import test_pasted, test_spec_load, test_spec_messages, test_spec_nodes

LEFT = ("text", "typed", "lines")
SMALL = "nodes: node[1-2]\ngpus: 8\n"


def pasted(line: str) -> Run:
    return load_typed(Typed(words=tuple(shlex.split(line))))


def commanded(command: str) -> Run:
    return loads(f"{SMALL}train: {{command: {json.dumps(command)}}}\n", "r.yaml")


TABLES: dict[str, tuple[list[str], Callable[[str], Run]]] = {
    "pasted": ([*test_pasted.UNDERSTOOD, *test_pasted.PASTEABLE, *test_pasted.CONSOLE], pasted),
    "refused": (list(test_pasted.REFUSED), pasted),
    "shell": ([*test_pasted.SHELL, *test_spec_load.COMMANDS, *test_spec_load.DROPPED], commanded),
    "wrong-commands": (list(test_spec_load.WRONG_COMMANDS), commanded),
    "nodes": (
        list(test_spec_nodes.FORMS),
        lambda nodes: loads(f"nodes: {nodes}\ngpus: 8\ntrain: {{command: a.py}}\n", "r.yaml"),
    ),
    "messages": (
        list(test_spec_messages.CASES),
        lambda more: loads(test_spec_messages.GOOD + more, "r.yaml"),
    ),
}


def differences(value: Any, usual: Any = None) -> Any:
    """A dataclass as a mapping, without what every run has: its defaults."""
    if isinstance(value, dict):
        return {str(key): differences(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [differences(inner) for inner in value]
    if not dataclasses.is_dataclass(value):
        return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
    found = {}
    for one in dataclasses.fields(value):
        inner = getattr(value, one.name)
        default = one.default_factory() if callable(one.default_factory) else one.default
        if one.name not in LEFT and inner != default:
            found[one.name] = differences(inner)
    return found


def outcome(text: str, read: Callable[[str], Run]) -> str:
    try:
        run = read(text)
    except BadInput as error:
        return str(error)
    return json.dumps({**differences(run), "text": run.text}, ensure_ascii=False)


@pytest.mark.parametrize("table", TABLES)
def test_what_is_read(table: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    texts, read = TABLES[table]
    lines = [f"{text!r}: {outcome(text, read)}".replace(str(home), "") for text in texts]
    said.hold(Path(__file__).parent / "said" / f"{table}.txt", lines)
