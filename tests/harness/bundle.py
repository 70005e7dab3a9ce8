"""The nodes' program at hand in every new home of this machine: sending, unpacking and compiling it would take four
times as long as what most tests ask of it. Tests of the sending itself leave this out."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from allranks.node import bundle
from allranks.transport.local import LocalTransport


def compiled(folder: Path) -> Path:
    """A home's `bundles` with this code's bundle, unpacked and compiled; made once for all workers of a run."""
    folder.mkdir(exist_ok=True)
    made = folder / "home"
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            shutil.rmtree(made, ignore_errors=True)
            env = {**os.environ, "ALLRANKS_HOME": str(made)}
            made.mkdir(mode=0o700)
            calls = (bundle.receive_command(), bundle.build()), (bundle.command("version"), b"")
            for words, given in calls:
                subprocess.run(
                    [sys.executable, *words], input=given, env=env, check=True, capture_output=True
                )
            quiet = [sys.executable, "-m", "compileall", "-q", str(made / "bundles")]
            subprocess.run(quiet, check=True, capture_output=True)
            (folder / "made").touch()
    return made / "bundles"


def linked(source: str, target: str) -> None:
    """One more name for a module, which no test of these rooms changes; a copy of anything else."""
    (os.link if source.endswith((".py", ".pyc")) else shutil.copy2)(source, target)


@pytest.fixture(autouse=True, scope="module")
def bundle_at_hand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """To be imported by a folder's conftest.py."""
    run = tmp_path_factory.getbasetemp()
    folder = (run.parent if "PYTEST_XDIST_WORKER" in os.environ else run) / "allranks-bundle"
    start = LocalTransport._start

    async def started(self: LocalTransport, argv: Sequence[str]) -> Any:
        home = Path(os.environ.get("ALLRANKS_HOME", "/no-home"))
        if home.is_dir() and not (home / "bundles").exists():
            shutil.copytree(compiled(folder), home / "bundles", copy_function=linked)
        return await start(self, argv)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalTransport, "_start", started)
        yield
