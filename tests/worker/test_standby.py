"""What a rank writes down for the ranks on standby: libraries alone, in their order, as far as nothing changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness import ROOT

RECORDS = """
import os, sys
sys.path[:0] = [{src!r}]
from allranks.worker import standby
sys.path[0] = {packages!r}
recorder = standby.Recorder({path!r})
recorder.folders = (*recorder.folders, {packages!r} + os.sep)
recorder.install()
"""


def recorded(tmp_path: Path, script: str) -> list[str]:
    """The names that a script's rank writes down, of the packages `first` and `second` and the script's own `mine`."""
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "first.py").write_text("import second\n")
    (packages / "second.py").write_text("import os\nos.environ['SET_BY_A_LIBRARY'] = '1'\n")
    (packages / "third.py").write_text("import os\ndef start():\n    os.environ['SET_BY_A_FUNCTION'] = '1'\n")
    (tmp_path / "mine.py").write_text("import fourth\n")
    (packages / "fourth.py").write_text("")
    (tmp_path / "sets.py").write_text("import os\nos.environ['SET_BY_MY_MODULE'] = '1'\n")
    path = tmp_path / "imports.json"
    head = RECORDS.format(src=f"{ROOT}/src", packages=str(packages), path=str(path))
    (tmp_path / "train.py").write_text(
        head + f"sys.path.append({str(tmp_path)!r})\n" + script + "\nrecorder.joins()\n"
        "assert os.putenv is not None and 'allranks' not in getattr(os.putenv, '__module__', '')\n"
        "assert recorder not in sys.meta_path\n"
    )
    subprocess.run([sys.executable, str(tmp_path / "train.py")], check=True, cwd=tmp_path)
    names = ("first", "second", "third", "fourth", "mine", "sets")
    found = [name for name, _ in json.loads(path.read_text())["modules"]]
    return [name for name in found if name in names]


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
    ],
)
def test_what_is_imported_ahead(tmp_path: Path, script: str, names: list[str]) -> None:
    """`second` sets a variable while it is imported, which happens again in a rank on standby. What the script sets,
    or a function that it calls, does not."""
    assert recorded(tmp_path, script) == names
