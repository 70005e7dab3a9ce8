"""Odd but healthy: what comes to a run from outside, on one machine or on the rig's three nodes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from random import Random
from typing import Any

from benchmarks._healthy.odd import named_of

NODES = 3
SILENT = ("rank-silent", "node-lost", "supervisor-lost")


class Outside:
    """`act` does it to a run that trains, and returns when it is over."""

    may: tuple[str, ...] = ()
    apart = False
    rig = False
    """Whether it needs nodes of their own: disks, links, sshds."""

    lasts = (0.0, 0.0)
    code: int | None = 0
    """What `allranks run` ends with; None if it is not there any more."""

    def __init__(self, draw: Random):
        self.draw = draw
        self.wait = draw.uniform(2.0, 8.0)
        self.seconds = draw.uniform(*self.lasts)
        self.node = draw.randrange(NODES)
        """The first is the head."""
        self.prepare()

    @property
    def drawn(self) -> str:
        return f"after {self.wait:.0f} s" + (f", {self.seconds:.0f} s" if self.seconds else "")

    def prepare(self) -> None: ...
    def before(self, trial: Any) -> None:
        """Before the run begins."""

    def act(self, trial: Any) -> None: ...


class OfWorker(Outside):
    def prepare(self) -> None:
        self.node = self.draw.randrange(1, NODES)

    @property
    def drawn(self) -> str:
        return f"{super().drawn}, node {self.node}"


class OfHead(Outside):
    def prepare(self) -> None:
        self.node = 0


def held(pids: list[int], seconds: float) -> None:
    """Stopped by SIGSTOP, and continued."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in reversed(pids):
        os.kill(pid, signal.SIGCONT)


# ---- the controller ----


class ControllerKilled(Outside):
    """the controller is killed"""

    code = None

    def act(self, trial: Any) -> None:
        trial.controller.send_signal(self.draw.choice((signal.SIGKILL, signal.SIGHUP, signal.SIGPIPE)))
        time.sleep(10.0)


class LaptopAsleep(Outside):
    """the controller's machine sleeps"""

    lasts = (35.0, 60.0)

    def act(self, trial: Any) -> None:
        held([trial.controller.pid], self.seconds)


class ManyReaders(Outside):
    """ps, logs, watch, report and clean, again and again"""

    lasts = (15.0, 20.0)

    def act(self, trial: Any) -> None:
        until = time.monotonic() + self.seconds
        verbs = [
            ("ps",),
            ("logs", trial.id),
            ("clean", "-y"),
            ("report", trial.id),
            ("clean", trial.id, "-y"),
        ]
        verbs += [("checkpoints", trial.id), ("diagnose", trial.id), ("ps", "--json")]
        while time.monotonic() < until:
            trial.desk(*self.draw.choice(verbs))


class SecondRun(Outside):
    """a second run beside it, which fails"""

    apart = True

    def act(self, trial: Any) -> None:
        trial.second_run()


# ---- keeper, supervisors, torchrun ----


class KeeperStarved(OfHead):
    """the keeper has 3 % of a core"""

    lasts = (40.0, 60.0)

    def act(self, trial: Any) -> None:
        pid, until = trial.supervisor(0), time.monotonic() + self.seconds
        try:
            while time.monotonic() < until:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.97)
                os.kill(pid, signal.SIGCONT)
                time.sleep(0.03)
        finally:
            os.kill(pid, signal.SIGCONT)


class KeeperPaused(OfHead):
    """the head's supervisor, and the keeper in it, is stopped for a while"""

    lasts, may = (10.0, 24.0), SILENT

    def act(self, trial: Any) -> None:
        held([trial.supervisor(0)], self.seconds)


class SupervisorPaused(OfWorker):
    """another node's supervisor is stopped for a while"""

    lasts, may = (10.0, 24.0), SILENT

    def act(self, trial: Any) -> None:
        held([trial.supervisor(self.node)], self.seconds)


class TorchrunPaused(Outside):
    """a node's torchrun is stopped for a while"""

    lasts, apart = (20.0, 40.0), True

    def act(self, trial: Any) -> None:
        held([trial.torchrun(self.node)], self.seconds)


class MachinePaused(Outside):
    """all processes of the run stand still: a virtual machine is moved"""

    lasts, apart = (20.0, 50.0), True

    def act(self, trial: Any) -> None:
        held(trial.processes(), self.seconds)


# ---- clocks ----


class Clock(Outside):
    lasts, clocks = (15.0, 20.0), True
    most = 10800.0

    def prepare(self) -> None:
        self.off = self.draw.choice((-1, 1)) * self.draw.uniform(60.0, self.most)

    @property
    def drawn(self) -> str:
        return f"{super().drawn}, {self.off:+.0f} s"

    def whom(self, trial: Any) -> list[int]:
        raise NotImplementedError

    def act(self, trial: Any) -> None:
        for pid in self.whom(trial):
            trial.set_clock(pid, self.off)
        time.sleep(self.seconds)
        if self.draw.random() < 0.5:  # and back, or it stays
            for pid in self.whom(trial):
                trial.set_clock(pid, 0.0)
            time.sleep(10.0)


class HeadClock(Clock):
    """the head's clock is set"""

    def whom(self, trial: Any) -> list[int]:
        return [trial.supervisor(0)]


class WorkerClock(Clock):
    """another node's clock is set, that of its rank too"""

    def whom(self, trial: Any) -> list[int]:
        node = 1 + self.node % 2
        return [trial.supervisor(node), *trial.ranks_of(node)]


class AllClocks(Clock):
    """the clock of the one machine is set: of all, the controller's too"""

    def whom(self, trial: Any) -> list[int]:
        return [trial.controller.pid, *trial.processes()]


# ---- disks and memory files, shared by all nodes of one machine ----


DISK = "mount -t tmpfs -o size=8g,mode=700 small {0}"
FILL = (
    "set -- $(stat -f -c '%b %f %S' {0}); mount -o remount,size=$((($1 - $2) * $3)) {0} ||"
    " mount -o remount,size=$((($1 - $2) * $3 + 65536)) {0}"
)
"""Not a byte more fits. It is refused if something was written meanwhile."""
EMPTY = "mount -o remount,size=8g {0}"


def here(command: str) -> None:
    subprocess.run(["sh", "-c", command], check=True)


FULL = ("disk-filling", "journal-unwritten", "rank-silent")


class HomeFull(Outside):
    """the disk of all nodes' home is full for a while, or for good"""

    lasts, may = (70.0, 75.0), FULL

    def before(self, trial: Any) -> None:
        trial.desk.home.mkdir(parents=True, mode=0o700)
        here(DISK.format(trial.desk.home))

    def act(self, trial: Any) -> None:
        here(FILL.format(trial.desk.home))
        time.sleep(self.seconds)
        if self.draw.random() < 0.5:
            here(EMPTY.format(trial.desk.home))
            time.sleep(10.0)


class ShmFull(Outside):
    """/dev/shm is full"""

    lasts, may = (15.0, 20.0), ("disk-filling",)

    def act(self, trial: Any) -> None:
        Path("/dev/shm/filled-by-somebody").write_bytes(b"x" * (1 << 20))
        here(FILL.format("/dev/shm"))
        time.sleep(self.seconds)
        Path("/dev/shm/filled-by-somebody").unlink()


class NoShm(Outside):
    """/dev/shm is taken away, or was never there"""

    lasts, may = (15.0, 20.0), ("folder-gone", "disk-filling")

    def before(self, trial: Any) -> None:
        if self.draw.random() < 0.5:
            subprocess.run(["umount", "/dev/shm"], check=True)

    def act(self, trial: Any) -> None:
        subprocess.run(["umount", "-l", "/dev/shm"], check=False, stderr=subprocess.DEVNULL)
        time.sleep(self.seconds)


class FilesOverwritten(Outside):
    """another process overwrites the files in the run's folder"""

    lasts, may, code = (15.0, 20.0), ("event-refused",), None

    def act(self, trial: Any) -> None:
        folder = trial.run_folder(0)
        names = ["keeper/state.json", "nodes/*/processes.jsonl", "nodes/*/job.json", "nodes/*/stacks/*"]
        for pattern in names:
            for path in folder.glob(pattern):
                path.write_bytes(self.draw.choice((b"", b"{}", b"\xff" * 100)))
        time.sleep(self.seconds)


OUTSIDE: dict[str, type[Outside]] = named_of(globals(), Outside)
