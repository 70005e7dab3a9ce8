"""Runs the jobs of `benchmarks/jobs/` and keeps what they print.

A job is a folder: `job.sh`, which starts it in its own folder, the files that it needs, and `case.json` with what went
wrong in it (`Job`). It runs in a copy, with a neutral path: what its tracebacks quote must not tell the answer.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import _marked

JOBS = Path(__file__).parent / "jobs"
SECONDS = 240.0
MARK = "ALLRANKS_BENCH_JOB"
"""An environment variable with the copy's path: so the processes of a job are known, whatever they became."""

BASIC = ("HOME", "USER", "LANG", "TMPDIR")


class Job(NamedTuple):
    """`accept`: other causes that are right answers, too. `rank`: the rank that caused it, if the log lets a reader
    find it. `why`: what was done."""

    id: str
    kind: str
    label: str
    accept: tuple[str, ...]
    rank: int | None
    why: str

    @property
    def folder(self) -> Path:
        return JOBS / self.id


def jobs(named: str = "") -> list[Job]:
    """All of them, or those of a list such as `a01,b`, by the beginnings of their names."""
    starts = tuple(name for name in named.split(",") if name)
    found = []
    for path in sorted(JOBS.glob("*/case.json")):
        if not starts or path.parent.name.startswith(starts):
            case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            found.append(Job(**{**case, "id": path.parent.name, "accept": tuple(case["accept"])}))
    return found


def logs_of(job: Job, work: Path, tiny: Path) -> Path:
    """Runs a job to its end. Returns the folder `logs` that it wrote, else the file with all that it printed."""
    copy = work / "exp"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(job.folder, copy, ignore=shutil.ignore_patterns("case.json"))
    environment = {name: os.environ[name] for name in BASIC if name in os.environ}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TINY": str(tiny),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        MARK: str(copy),
    }
    printed = work / "log.txt"
    with printed.open("wb") as file:
        process = subprocess.Popen(
            ["bash", "job.sh"],
            cwd=copy,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            print(f"{job.id} took longer than {SECONDS:.0f} s", file=sys.stderr)
        finally:
            end(str(copy))
            process.wait(30)
    logs = copy / "logs"
    return logs if logs.is_dir() else printed


def end(copy: str) -> None:
    """Kills what is left of a job, and what that started meanwhile."""
    for _ in range(3):
        if not _marked.kill(MARK, copy):
            return
        time.sleep(0.2)
