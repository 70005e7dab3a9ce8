"""Programs whose output waits in a buffer, so that it stands behind the exception that ended them. Real programs."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from allranks.diagnose import Evidence, parse
from allranks.diagnose.ranking import conclude
from tests.diagnose.test_earlier_runs import raised, told
from tests.diagnose.test_reached import DONE, is_healthy

TRAIN = """
def train():
    for step in range(LAST):
        print(f"step {step} loss {9 - step / 1000:.3f} lr 1e-4")
    {}["wings"]
"""
IN_PROCESS = """
import multiprocessing
from steps import train
if __name__ == "__main__":
    one = multiprocessing.get_context("spawn").Process(target=train)
    one.start()
    one.join()
"""
OF_MODULE = 'File "<frozen runpy>", line 198, in _run_module_as_main\n  File "/r/main.py", line 7, in go'
OF_PROCESS = (
    'File "/usr/lib/python3.11/multiprocessing/process.py", line 314, in _bootstrap\n'
    '  File "/r/main.py", line 7, in go'
)
STEP = "step 7 loss 0.25 lr 1e-4\n"
FEW, MANY = STEP * 40, STEP * (io.DEFAULT_BUFFER_SIZE // len(STEP) + 1)


@pytest.mark.parametrize("last", [60, 1500])
@pytest.mark.parametrize("main", ["from steps import train\ntrain()\n", IN_PROCESS])
@pytest.mark.parametrize("how", ["main.py", "-m"])
def test_a_program_that_prints_late_failed(tmp_path: Path, last: int, main: str, how: str) -> None:
    (tmp_path / "steps.py").write_text(TRAIN.replace("LAST", str(last)))
    (tmp_path / "main.py").write_text(main)
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, *(["main.py"] if how == "main.py" else ["-m", "main"])]
    merged = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    text = subprocess.run(command, cwd=tmp_path, env=plain, text=True, check=False, **merged).stdout
    assert text.count("step ") >= last
    seen = Evidence()
    for line in parse(text, "x.log"):
        seen.add(line)
    found = conclude(seen)  # its line depends on Python's version, so it is not kept with the others
    assert found.cause == "rank-crashed-first" and "KeyError: 'wings'" in found.evidence[0]


@pytest.mark.parametrize("frame", [OF_MODULE, OF_PROCESS])
def test_what_fits_into_the_buffer_may_be_late(frame: str) -> None:
    assert told(FEW + raised("KeyError: 'wings'", frame) + FEW).cause == "rank-crashed-first"
    assert is_healthy(FEW + raised("KeyError: 'wings'", frame) + MANY)
    assert is_healthy(FEW + raised("KeyError: 'wings'") + FEW)  # a program prints it that handled it


def test_an_exception_that_the_next_run_follows_ended_another_program() -> None:
    ended = raised("KeyError: 'wings'", OF_MODULE)
    assert is_healthy(ended + FEW + DONE)
    assert not is_healthy(ended + FEW + DONE.replace("INFO ", ""))  # the model could not be saved then
    assert is_healthy(ended + "run exited with 1, restart 1 in 2 s\n" + FEW + DONE)
    found = told(ended + FEW + raised("IndexError: pop", OF_MODULE))
    assert "IndexError" in found.evidence[0]


def test_a_frame_further_below_does_not_show_it() -> None:
    below = 'File "/r/main.py", line 7, in go\n  ' + OF_MODULE
    assert is_healthy(FEW + raised("KeyError: 'wings'", below) + FEW)


def test_an_exception_that_followed_from_another_one() -> None:
    first = raised("KeyError: 'wings'")
    chain = "\nDuring handling of the above exception, another exception occurred:\n\n"
    text = FEW + first + chain + raised("ValueError: no owl", OF_MODULE) + FEW
    assert told(text).cause == "rank-crashed-first"
