"""A module that opens what lies beside the run file, and imports from there, as under torchrun by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.runner import SCRIPTS, Runner

pytestmark = pytest.mark.training

MODULE = """
import os, runpy, sys
from pkg import other
if os.environ["RANK"] == "1":
    open("by-rank-1.txt", "w").write(open("beside.txt").read() + other.WORD)
sys.argv[0] = LOOP
runpy.run_path(LOOP, run_name="__main__")
"""


def test_a_module_of_this_machine_starts_in_the_run_files_folder(runner: Runner, tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "other.py").write_text("WORD = ' and imported'\n")
    (package / "train.py").write_text(f"LOOP = {str(SCRIPTS / 'loop.py')!r}\n{MODULE}")
    (tmp_path / "beside.txt").write_text("read")
    file = runner.file(train={"command": "python -m pkg.train --steps 3"}, nodes="node-[0-1]")
    run = runner.json("run", file, code=0)["runs"][0]
    assert (run["state"], run["step"]) == ("succeeded", 3)
    assert (tmp_path / "by-rank-1.txt").read_text() == "read and imported"
    # Nothing of the run's own is in the user's folder.
    ours = {"pkg", "beside.txt", "by-rank-1.txt", file.name, runner.home.name}
    assert {path.name for path in tmp_path.iterdir()} <= ours
