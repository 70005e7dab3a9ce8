"""In CI a test that failed once is tried again; one that fails twice, and a third such test, fail the suite."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.lengthy

FLAKY = """
import pathlib, pytest
@pytest.mark.parametrize("name", [{names}])
def test_once(name):
    path = pathlib.Path({folder!r}, name)
    seen = path.exists()
    path.touch()
    assert seen, "a canary in the output"
"""


def suite(folder: Path, text: str, ci: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(Path(__file__).parent / "conftest.py", folder / "conftest.py")
    (folder / "test_it.py").write_text(text)
    env = {**os.environ, "CI": ci, "PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT)}
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-ra",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        folder,
        folder,
    ]
    return subprocess.run(words, env=env, cwd=folder, capture_output=True, text=True, timeout=120)


def flaky(folder: Path, count: int) -> str:
    return FLAKY.format(names=", ".join(f"'t{index}'" for index in range(count)), folder=str(folder))


@pytest.mark.parametrize(("count", "ci", "code"), [(2, "1", 0), (3, "1", 1), (1, "", 1)])
def test_two_tests_may_pass_at_their_second_try(tmp_path: Path, count: int, ci: str, code: int) -> None:
    done = suite(tmp_path, flaky(tmp_path, count), ci)
    assert done.returncode == code, done.stdout
    assert "a canary in the output" in done.stdout


def test_who_fails_twice_fails(tmp_path: Path) -> None:
    assert suite(tmp_path, "def test_it(): assert 0", "1").returncode == 1


def test_a_skipped_test_of_an_engine_fails_in_ci(tmp_path: Path) -> None:
    text = "import pytest\n@pytest.mark.training\ndef test_it(): pytest.skip('no torch')"
    assert suite(tmp_path, text, "1").returncode == 1
    assert suite(tmp_path, text, "").returncode == 0
