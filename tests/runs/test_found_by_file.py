"""A run file means its newest run, and no other file's run of the same name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from allranks.core import BadInput
from allranks.runs import index
from allranks.spec import load

TEXT = "name: x\nnodes: [a, b]\ngpus: 8\ntrain: {command: [train.py]}\n"
QUEUED = TEXT.replace("nodes: [a, b]", "nodes: 2") + "launch: {with: slurm}\n"


def file(folder: Path, text: str = TEXT) -> Path:
    folder.mkdir(parents=True)
    path = folder / "run.yaml"
    path.write_text(text)
    (folder / "train.py").touch()
    return path


@pytest.fixture
def head(home: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The runs that every head tells of."""
    runs: list[dict[str, Any]] = []

    class Head(dict):
        def __missing__(self, name: str) -> Any:
            async def call(*words: str) -> dict[str, Any]:
                return {"runs": runs}

            return SimpleNamespace(call=call)

        async def close(self) -> None:
            return None

    monkeypatch.setattr(index, "open_nodes", lambda run: Head())
    return runs


def test_two_files_of_one_name_have_their_own_runs(head: list[dict[str, Any]], tmp_path: Path) -> None:
    first, second = file(tmp_path / "first"), file(tmp_path / "second")
    for path, run_id in ((first, "x-1129-aaaa"), (second, "x-1129-bbbb")):
        index.remember(run_id, load(str(path)))
        head.insert(0, {"id": run_id, "name": "x"})
    assert asyncio.run(index.find(str(first))) == "x-1129-aaaa"
    assert asyncio.run(index.find(str(second))) == "x-1129-bbbb"
    head.insert(0, {"id": "x-1129-cccc", "name": "x"})  # another machine started it
    assert asyncio.run(index.find(str(first))) == "x-1129-cccc"


def test_a_run_of_another_file_is_named_and_not_taken(head: list[dict[str, Any]], tmp_path: Path) -> None:
    first, second = file(tmp_path / "first"), file(tmp_path / "second")
    index.remember("x-1129-aaaa", load(str(first)))
    head.append({"id": "x-1129-aaaa", "name": "x"})
    with pytest.raises(BadInput, match="x-1129-aaaa has this name, but was started from another file"):
        asyncio.run(index.find(str(second)))


def test_a_run_in_a_queue_is_found_by_its_file(
    head: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = file(tmp_path / "first", QUEUED), file(tmp_path / "second", QUEUED)
    monkeypatch.chdir(first.parent)
    index.remember_waiting("x-1129-aaaa", load("run.yaml"), "4242")
    monkeypatch.chdir(tmp_path)
    assert asyncio.run(index.find(str(first))) == "x-1129-aaaa"
    with pytest.raises(BadInput, match=r"second/run\.yaml: no run of it was started from this machine"):
        asyncio.run(index.find(str(second)))
