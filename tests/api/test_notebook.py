"""The example notebook, cell by cell as Jupyter runs it: in one namespace, inside a running event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import allranks
from tests.harness import ROOT
from tests.harness.desk import Desk

NOTEBOOK = ROOT / "examples" / "notebook.ipynb"


def cells() -> list[dict[str, Any]]:
    return [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.fixture
def desk(tmp_path: Path, home: Path) -> Iterator[Desk]:
    with Desk(tmp_path, home=home) as desk:
        yield desk


@pytest.mark.lengthy
def test_the_notebook_runs(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    there: dict[str, Any] = {}
    file = desk.light("--steps", "3", gpus={"count": 1, "model": "cpu"})

    async def jupyter() -> None:
        for cell in cells():
            is_parameter = "parameters" in cell["metadata"].get("tags", ())
            text = f"FILE = {str(file)!r}" if is_parameter else "".join(cell["source"])
            exec(compile(text, NOTEBOOK.name, "exec"), there)

    asyncio.run(jupyter())
    assert there["planned"].world_size == 3 and there["looked"].passes
    state = there["state"]
    assert (state.state, state.step, state.id) == ("succeeded", 3, there["run"].id)
    assert sorted(there["loss"]) == [1, 2, 3]
    assert allranks.list_runs()[0].id == state.id and allranks.find_run(str(file)).id == state.id
    assert len(there["mistakes"]) == 1
    said = capsys.readouterr().out
    assert "gpuss" in said and said.count("\n") < 10, "nothing else is printed"


def test_the_notebook_keeps_no_output() -> None:
    assert [cell["outputs"] for cell in cells()] == [[]] * len(cells())
