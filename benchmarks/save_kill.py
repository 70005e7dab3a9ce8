"""SIGKILL of a rank or of the whole run at seeded moments around saves: is a verified checkpoint always left?

Each try goes on from what the one before left. `KILLS=3` tries it with fewer.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from allranks.checkpoints import resuming
from benchmarks._operators import operators

TITLE = "Saves: SIGKILL at 100 seeded moments"
ON_REQUEST = True
ROOT = Path(__file__).resolve().parent.parent
RANK = Path(__file__).parent / "_kill_rank.py"
KILLS = int(os.environ.get("KILLS", "100"))
SEED = 1121
START_SECONDS = 240.0
KEPT = 5
VICTIMS = {"rank 0": (0,), "rank 1": (1,), "the whole run": (0, 1)}


@dataclass(frozen=True)
class Try:
    """`behind` counts steps from the last finished save to the newest verified checkpoint; `amid` says that the
    SIGKILL fell into a save, `half` that it left a half-written one."""

    victim: str
    behind: int
    amid: bool
    half: bool
    save_seconds: float


def measure() -> str:
    source = random.Random(SEED)
    tries: list[Try] = []
    with tempfile.TemporaryDirectory(prefix="kill-") as folder:
        out = Path(folder)
        (out / "run").mkdir()
        server = start(out)
        try:
            for number in range(KILLS):
                tries.append(one_kill(out, server, number, source))
        finally:
            server.stdin.close()  # what lives of the ranks ends with it
            server.wait(60)
    return told(tries)


def told(tries: list[Try]) -> str:
    victims = ", ".join(f"{n} × {victim}" for victim, n in sorted(Counter(t.victim for t in tries).items()))
    amid, half = sum(t.amid for t in tries), sum(t.half for t in tries)
    return (
        f"Two ranks under ZeRO-3 and gloo that save after every step, killed {len(tries)} times (seed {SEED}: "
        f"{victims}), at a moment drawn from one save and one step around it (a save takes "
        f"{statistics.median(t.save_seconds for t in tries):.3f} s here); {amid} fell into a save, {half} left a "
        f"half-written one. A verified checkpoint to go on from was left **{len(tries)} of {len(tries)}** times, at "
        f"most {max(t.behind for t in tries)} steps behind the last save that had ended (aim: ≤ 1 interval, here one "
        f"step). No half one was taken for whole: each try went on from exactly what the verdict after the one "
        "before had named, with its adapter, optimizer and random states loaded."
    )


def one_kill(out: Path, server: subprocess.Popen, number: int, source: random.Random) -> Try:
    """Raises RuntimeError where no verified checkpoint is left, or an older one than had been saved."""
    victim, wanted, part = source.choice(sorted(VICTIMS)), source.randint(2, 4), source.random()
    marks = out / f"try-{number}"
    marks.mkdir()
    expected = newest(out)
    pids = ask(server, str(marks))
    step = until(server, marks, "begun", 0)
    if step != expected:
        raise RuntimeError(f"it went on from step {step}, the newest verified one was {expected}")
    until(server, marks, "saved", step + 1)
    began = time.monotonic()
    until(server, marks, "saved", step + wanted)
    until(server, marks, "saving", step + wanted + 1)
    seconds = (time.monotonic() - began) / wanted
    time.sleep(part * 2 * seconds)  # from the beginning of a save to the middle of the one after
    for rank in VICTIMS[victim]:
        os.kill(pids[rank], signal.SIGKILL)  # not reaped before the next line is written, so it is this rank
    killed = [os.WIFSIGNALED(status) for status in ask(server, "")]
    if not all(killed[rank] for rank in VICTIMS[victim]):
        raise RuntimeError(f"{victim} had ended before:\n" + logs(marks))
    saved, saving, left = read(marks, "saved"), read(marks, "saving"), newest(out)
    half = any(path.name.startswith(".allranks-saving-") for path in (out / "run").iterdir())
    if left < saved:
        raise RuntimeError(f"step {saved} was saved, the newest verified checkpoint is of step {left}")
    thin(out, left)
    shutil.rmtree(marks)
    return Try(victim, saved - min(left, saved), saving > saved, half, seconds)


def ask(server: subprocess.Popen, line: str) -> list[int]:
    server.stdin.write(line + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


def until(server: subprocess.Popen, marks: Path, name: str, step: int) -> int:
    """Waits for a mark of at least this step; its step."""
    deadline = time.monotonic() + START_SECONDS
    while not (marks / name).exists() or read(marks, name) < step:
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"no rank came to {name} {step}:\n" + logs(marks))
        time.sleep(0.001)
    return read(marks, name)


def read(marks: Path, name: str) -> int:
    return int((marks / name).read_text())


def logs(marks: Path) -> str:
    return "".join(path.read_text()[-2000:] for path in sorted(marks.glob("log-*")))


def newest(out: Path) -> int:
    """The step of the newest checkpoint that is verified and can be gone on from; 0 before the first."""
    answer = resuming.find_resume(str(out / "run"), {})["found"]
    return int(answer["step"]) if answer else 0


def thin(out: Path, newest_step: int) -> None:
    for path in (out / "run").glob("checkpoint-*"):
        if int(path.name.rpartition("-")[2]) <= newest_step - KEPT:
            shutil.rmtree(path)


def start(out: Path) -> subprocess.Popen:
    binaries = Path(sys.executable).parent
    env = dict(
        os.environ, PATH=f"{binaries}{os.pathsep}{os.environ['PATH']}", PYTHONPATH=str(ROOT / "src"),
        OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", ALLRANKS_HOME=str(out / "home"),
        TORCH_EXTENSIONS_DIR=operators(), MASTER_ADDR="127.0.0.1", MASTER_PORT="29999",
    )  # fmt: skip
    with open(out / "log", "wb") as log:
        server = subprocess.Popen(
            [sys.executable, str(RANK), str(out)],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    for line in server.stdout:  # libraries may have something to say while they are imported
        if line.strip() == "ready":
            return server
    raise RuntimeError((out / "log").read_text()[-3000:])
