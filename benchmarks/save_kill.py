"""SIGKILL of a rank or of the whole run at seeded moments around saves: is a verified checkpoint always left?

Each try goes on from what the one before left. `KILLS=3` tries it with fewer.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from allranks.checkpoints import resuming

TITLE = "Saves: SIGKILL at 100 seeded moments"
ON_REQUEST = True
ROOT = Path(__file__).resolve().parent.parent
RANK = Path(__file__).parent / "_kill_rank.py"
KILLS = int(os.environ.get("KILLS", "100"))
SEED = 1121
START_SECONDS = 240.0
KEPT = 5


def measure() -> str:
    source = random.Random(SEED)
    lost: list[int] = []
    victims: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="kill-") as folder:
        out = Path(folder)
        (out / "run").mkdir()
        for _ in range(KILLS):
            victim = source.choice(("rank 0", "rank 1", "the whole run"))
            victims[victim] = victims.get(victim, 0) + 1
            lost.append(one_kill(out, victim, source.uniform(0.0, 1.0)))
    told = ", ".join(f"{count} × {victim}" for victim, count in sorted(victims.items()))
    return (
        f"Two ranks under ZeRO-3 that save after every step, killed {KILLS} times at seeded moments (seed {SEED}): "
        f"{told}. A verified checkpoint to go on from was left **{KILLS} of {KILLS}** times, at most "
        f"{max(lost)} steps behind the last save that had ended (aim: ≤ 1 interval, here one step); none that was "
        f"taken for whole failed to load, since each try went on from the one before."
    )


def one_kill(out: Path, victim: str, after: float) -> int:
    """Steps between the last finished save and the newest verified checkpoint. Raises where none is left."""
    for name in ("begun", "saved"):
        (out / name).unlink(missing_ok=True)
    expected = newest(out)
    process = start(out)
    try:
        wait_for(out / "saved", process, out)
        begun = int((out / "begun").read_text())
        if begun != expected:
            raise RuntimeError(f"it went on from step {begun}, the newest verified one was {expected}")
        time.sleep(after)
        kill(process, victim)
        process.wait(60)
    finally:
        if process.poll() is None:  # not reaped, so its children are still its own
            kill(process, "the whole run")
            process.wait()
    saved, left = int((out / "saved").read_text() or 0), newest(out)
    if left < saved:
        raise RuntimeError(f"step {saved} was saved, the newest verified checkpoint is of step {left}")
    thin(out, left)
    return max(0, saved - left)


def newest(out: Path) -> int:
    """The step of the newest checkpoint that is verified and can be gone on from; 0 before the first."""
    answer = resuming.look(str(out / "run"), {})["found"]
    return int(answer["step"]) if answer else 0


def thin(out: Path, newest_step: int) -> None:
    for path in (out / "run").glob("checkpoint-*"):
        if int(path.name.rpartition("-")[2]) <= newest_step - KEPT:
            shutil.rmtree(path)


def kill(process: subprocess.Popen, victim: str) -> None:
    """The ranks have sessions of their own: they are found as torchrun's children, by their environment."""
    ranks = ranks_of(process)
    wanted = ranks if victim == "the whole run" else {r: p for r, p in ranks.items() if f"rank {r}" == victim}
    if not wanted:
        raise RuntimeError(f"{victim} is no child of torchrun")
    for pid in wanted.values():
        os.kill(pid, signal.SIGKILL)
    if victim == "the whole run":
        process.kill()


def ranks_of(process: subprocess.Popen) -> dict[str, int]:
    """{rank: pid} of torchrun's children; empty once it has ended."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) != process.pid:
                continue
            words = (stat.parent / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        rank = next((word[5:].decode() for word in words if word.startswith(b"RANK=")), None)
        if rank is not None:
            found[rank] = int(stat.parent.name)
    return found


def wait_for(path: Path, process: subprocess.Popen, out: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not (path.exists() and re.fullmatch(r"\d+", path.read_text())):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("it did not come to its first save:\n" + (out / "log").read_text()[-3000:])
        time.sleep(0.02)


def start(out: Path) -> subprocess.Popen:
    binaries = Path(sys.executable).parent
    env = dict(
        os.environ, PATH=f"{binaries}{os.pathsep}{os.environ['PATH']}", PYTHONPATH=str(ROOT / "src"),
        OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", ALLRANKS_HOME=str(out / "home"),
        TORCH_EXTENSIONS_DIR=str(binaries.parent / "torch_extensions"),
    )  # fmt: skip
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--rdzv-backend=c10d"]
    command += ["--rdzv-endpoint=127.0.0.1:0", str(RANK), str(out)]
    with open(out / "log", "wb") as log:
        return subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
