"""A module that opens what lies beside the run file, and imports from there, as under torchrun by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.desk import LIGHT, Desk

MODULE = """
import os, sys
from pkg import other
seen = [open("beside.txt").read(), other.WORD, *sys.argv[1:], os.environ["CUDA_VISIBLE_DEVICES"]]
open("by-rank-%s.txt" % os.environ["RANK"], "w").write(" ".join(seen))
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.lengthy
def test_a_module_of_this_machine_starts_in_the_run_files_folder(runner: Desk, tmp_path: Path) -> None:
    write(tmp_path, {"pkg/__init__.py": "", "pkg/other.py": "WORD = 'imported'\n", "pkg/train.py": MODULE})
    write(tmp_path, {"beside.txt": "read"})
    train = {"command": "python -m pkg.train --steps 3"}
    file = runner.file(train=train, nodes="node-[0-1]", env={"PYTHONPATH": str(LIGHT)})
    done = runner("run", file, "--json")
    assert done.returncode == 3, (done.stdout[-3000:], done.stderr[-3000:])
    # It trains nothing, and joins no process group.
    assert json.loads(done.stdout)["runs"][0]["state"] == "unproven"
    for rank in (0, 1):
        assert (tmp_path / f"by-rank-{rank}.txt").read_text() == "read imported --steps 3 "
    # Nothing of the run's own is in the user's folder.
    users = {"pkg", "beside.txt", "by-rank-0.txt", "by-rank-1.txt", file.name, runner.home.name}
    assert {path.name for path in tmp_path.iterdir()} == users
