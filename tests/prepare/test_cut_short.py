"""A preparation that is interrupted: nothing of it goes on, and the next one does not wait for it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from allranks.prepare import ops
from allranks.prepare.progress import WATCH
from allranks.transport import NodeProgram
from allranks.transport.local import LocalTransport

WAIT_SECONDS = 60.0

TORCH = """
import os
def _get_build_directory(name, verbose):
    folder = os.path.join(os.environ["TORCH_EXTENSIONS_DIR"], name)
    os.makedirs(folder, exist_ok=True)
    return folder
"""

BUILDER = """
import json, os, subprocess, time
class Builder:
    name = "slow"
    def load(self, verbose):
        folder = os.path.join(os.environ["TORCH_EXTENSIONS_DIR"], self.name)
        lock = os.path.join(folder, "lock")
        while os.path.exists(lock):
            time.sleep(0.05)
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
        if os.path.exists(os.path.join(folder, "hang")):
            compiler = subprocess.Popen(["sleep", "1000"])
            with open(os.path.join(folder, "compiler.new"), "w") as file:
                file.write(str(compiler.pid))
            os.rename(file.name, os.path.join(folder, "compiler"))
            compiler.wait()
        os.remove(lock)
        return json
"""


@pytest.fixture
def extensions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """torch's folder of the operator that `slow_builder` makes, and both modules in the place of the real ones."""
    (tmp_path / "torch" / "utils").mkdir(parents=True)
    for folder in ("torch", "torch/utils"):
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "torch" / "utils" / "cpp_extension.py").write_text(TORCH)
    (tmp_path / "slow_builder.py").write_text(BUILDER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    folder = tmp_path / "extensions" / "slow"
    folder.mkdir(parents=True)
    return folder


async def build(extensions: Path) -> None:
    program = NodeProgram(LocalTransport("here"), sys.executable)
    env = {"TORCH_EXTENSIONS_DIR": str(extensions.parent)}
    await ops.compile_ahead(program, sys.executable, [("slow_builder", "Builder")], env)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def ends(pid: int) -> bool:
    end = time.monotonic() + WAIT_SECONDS
    while lives(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not lives(pid)


def test_an_interrupted_build_leaves_no_compiler_and_no_lock_that_is_waited_for(extensions: Path) -> None:
    (extensions / "hang").touch()

    async def interrupted() -> int:
        task = asyncio.ensure_future(build(extensions))
        end = time.monotonic() + WAIT_SECONDS
        while not (extensions / "compiler").exists() and not task.done() and time.monotonic() < end:
            await asyncio.sleep(0.02)
        assert not task.done(), task.exception()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return int((extensions / "compiler").read_text())

    assert ends(asyncio.run(interrupted()))
    assert (extensions / "lock").exists()
    (extensions / "hang").unlink()
    asyncio.run(asyncio.wait_for(build(extensions), WAIT_SECONDS))
    assert not (extensions / "lock").exists()


NINJA = """
rule make
  command = echo made >> made && touch $out
build slow.so: make source
"""

COUNTING = """
import os, subprocess, types
class Builder:
    name = "slow"
    def load(self, verbose):
        folder = os.path.join(os.environ["TORCH_EXTENSIONS_DIR"], self.name)
        with open(os.path.join(folder, "asked"), "a") as file:
            file.write("asked\\n")
        subprocess.run(["ninja", "-C", folder], check=True, stdout=subprocess.DEVNULL)
        return types.SimpleNamespace(__file__=os.path.join(folder, "slow.so"))
"""


def test_only_what_ninja_holds_for_current_is_not_built_again(
    extensions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (extensions.parent.parent / "slow_builder.py").write_text(COUNTING.replace("\\\\", "\\"))
    monkeypatch.setitem(ops.OPERATORS, "Builder", "slow")
    (extensions / "build.ninja").write_text(NINJA)
    (extensions / "source").write_text("1")
    (extensions / "slow.so").touch()  # of that name, and older than its source

    def asked() -> int:
        asyncio.run(build(extensions))
        return len((extensions / "asked").read_text().splitlines())

    assert asked() == 1 and (extensions / "made").exists()
    assert asked() == 1, "nothing has changed: torch is not even imported"
    stamp = time.time() + 5
    os.utime(extensions / "source", (stamp, stamp))
    assert asked() == 2, "the source is newer"
    os.utime(extensions / "source", (1, 1))
    assert asked() == 2
    (extensions / "build.ninja").write_text(NINJA.replace("echo made", "echo anew"))
    assert asked() == 3, "the flags are others: another environment has written the build file"
    monkeypatch.setenv("CXXFLAGS", "-O0")
    assert asked() == 4, "torch would write other flags"


def test_a_lock_of_somebody_elses_build_stays(extensions: Path) -> None:
    (extensions / "lock").touch()
    env = {"TORCH_EXTENSIONS_DIR": str(extensions.parent)}
    asked = {**ops.asked([("slow_builder", "Builder")], env), "operators": ["slow"], "lock_seconds": -1}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", ops.BUILD],
            input=json.dumps({**asked, "seconds": WAIT_SECONDS}),
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
        )
        assert done.returncode == 1 and "is older than a build takes" in done.stderr
        assert (extensions / "lock").exists()


@pytest.mark.lengthy
@pytest.mark.parametrize("how", ["output closed", "time over"])
def test_a_program_that_nobody_waits_for_ends_with_what_it_started(how: str) -> None:
    script = WATCH + (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        "print(child.pid, flush=True)\n"
        f"watch({0.1 if how == 'time over' else 1000})\n"
        "child.wait()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", "import contextlib\n" + script], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    if how == "output closed":
        process.stdout.close()
    assert process.wait(WAIT_SECONDS) == -9
    assert ends(child)
    process.stdout.close()
