"""What a rank writes down for the ranks on standby: libraries alone, in their order, as far as nothing changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from allranks.worker import guard, rank_identity
from allranks.worker.heartbeat import Heartbeat
from allranks.worker.rank_journal import Journal
from allranks.worker.rank_reporter import Rank
from tests.harness import ROOT

FOUND_LATER = """
import third
try:
    import fifth
except ImportError:
    os.environ["HF_HOME"] = "/x"
    sys.path.append(sys.path[0] + "/more")
    import fifth
"""

RECORDS = """
import os, sys
sys.path[:0] = [{src!r}]
from allranks.worker import standby
sys.path[0] = {packages!r}
recorder = standby.Recorder({path!r})
recorder.folders = (*recorder.folders, {packages!r} + os.sep)
recorder.install()
"""


def recorded(tmp_path: Path, script: str, later: str = "") -> list[str]:
    """The names that a script's rank writes down, of the packages `first` and `second` and the script's own `mine`.
    `later` runs after it has joined."""
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "first.py").write_text("import second\n")
    (packages / "second.py").write_text("import os\nos.environ['SET_BY_A_LIBRARY'] = '1'\n")
    (packages / "third.py").write_text("import os\ndef start():\n    os.environ['SET_BY_A_FUNCTION'] = '1'\n")
    (tmp_path / "mine.py").write_text("import fourth\n")
    (packages / "fourth.py").write_text("")
    (packages / "more").mkdir()
    (packages / "more" / "fifth.py").write_text("")
    (tmp_path / "sets.py").write_text("import os\nos.environ['SET_BY_MY_MODULE'] = '1'\n")
    (packages / "torch" / "_late").mkdir(parents=True)
    for name in ("__init__.py", "early.py", "_late/__init__.py", "_late/deep.py"):
        (packages / "torch" / name).write_text("")
    path = tmp_path / "imports.json"
    head = RECORDS.format(src=f"{ROOT}/src", packages=str(packages), path=str(path))
    (tmp_path / "train.py").write_text(
        head + f"sys.path.append({str(tmp_path)!r})\n" + script + "\nrecorder.joins()\n" + later + "\n"
        "recorder.has_stepped()\n"
        "os.putenv('OF', 'a step')\n"
        "assert type(os.putenv).__name__ == type(os.unsetenv).__name__ == 'builtin_function_or_method', os.putenv\n"
        "import colorsys\n"
        "assert 'colorsys' not in recorder._begun, 'it notes nothing more'\n"
    )
    subprocess.run([sys.executable, str(tmp_path / "train.py")], check=True, cwd=tmp_path)
    names = ("first", "second", "third", "fourth", "fifth", "mine", "sets")
    found = [name for name, _ in json.loads(path.read_text())["modules"]]
    return [name for name in found if name in names or name.startswith("torch")]


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("import first, third", ["first", "second", "third"]),
        ("import mine", ["fourth"]),
        ("import third\nos.environ['HF_HOME'] = '/x'\nimport first", ["third"]),
        ("import third\ndel os.environ['PATH']\nimport first", ["third"]),
        ("import third\nos.putenv('A', 'b')\nimport first", ["third"]),
        ("import third\nthird.start()\nimport first", ["third"]),
        ("import third\nimport sets\nimport first", ["third"]),
        ("import third, first\nos.environ['LATE'] = '/x'", ["third", "first", "second"]),
        (FOUND_LATER, ["third"]),
    ],
)
def test_what_is_imported_ahead(tmp_path: Path, script: str, names: list[str]) -> None:
    """`second` sets a variable while it is imported, which happens again in a rank on standby. What the script sets,
    or a function that it calls, does not."""
    assert recorded(tmp_path, script) == names


@pytest.mark.parametrize(
    ("script", "later", "names"),
    [
        (
            "import torch.early",
            "import torch._late.deep",
            ["torch", "torch.early", "torch._late", "torch._late.deep"],
        ),
        ("import torch", "import first, torch.early", ["torch", "torch.early"]),
        ("import torch", "os.environ['LATE'] = '/x'\nimport torch.early", ["torch"]),
        ("import torch\nos.environ['HF_HOME'] = '/x'", "import torch.early", ["torch"]),
        (
            "import torch",
            "import torch.early\nos.environ['LATE'] = '/x'\nimport torch._late",
            ["torch", "torch.early"],
        ),
    ],
)
def test_after_joining_only_modules_of_torch_are_added(
    tmp_path: Path, script: str, later: str, names: list[str]
) -> None:
    """Another package may ask for the process group while it is imported."""
    assert recorded(tmp_path, script, later) == names


class Written(list[str]):
    """A journal on a disk that takes everything."""

    refused = ""

    def write(self, text: str) -> bool:
        self.append(text)
        return True


def test_the_heartbeat_asks_for_the_list_once_after_the_first_step(monkeypatch: Any) -> None:
    """The thread that trains writes no file. That it cannot be written costs no beat."""
    place = rank_identity.here({"ALLRANKS_RUN_ID": "r", "ALLRANKS_NODE": "n", "RANK": "0", "LOCAL_RANK": "0"})
    assert place is not None
    monkeypatch.setattr(guard, "TROUBLE", [])
    rank, asked, written = Rank(place), [], Written()

    def full_disk() -> None:
        asked.append(len(written))
        raise OSError("no space left")

    rank.at_first_step = full_disk
    heart = Heartbeat(rank, cast(Journal, written))
    heart.beat()
    assert asked == []
    rank.end_step(1)
    heart.beat()
    heart.beat()
    assert asked == [1] and len(written) == 3
    assert "no space left" in written[1] and "no space left" not in written[2]
