"""A plain torchrun job on nodes of the rig, for `benchmarks/live.py` and `tests/runs/test_live_on_rig.py`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.rig.rig import STATE, Rig, address, hardware

TRAINER = Path(__file__).resolve().parent / "_live_train.py"
SOURCE = TRAINER.parent.parent / "src"
START_SECONDS = 300.0
WRONG_HARDWARE = "02:00:0a:4d:ff:ff"
KINDS = ("stopped", "sleeping", "another collective", "in its data loader", "cut link", "gone")


class LiveJob:
    """`with LiveJob(rig, folder) as job`: one rank per node, started as a person starts it, without allranks."""

    def __init__(self, rig: Rig, folder: Path, *words: str, per_node: int = 1):
        self.rig, self.folder, self.words, self.per_node = rig, folder, words, per_node
        self.started: list[subprocess.Popen[bytes]] = []
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def __enter__(self) -> LiveJob:
        settings = ["GLOO_SOCKET_IFNAME=eth0", "OMP_NUM_THREADS=1", "HOME=/root"]
        for number in range(1, self.rig.count + 1):
            torchrun = [sys.executable, "-m", "torch.distributed.run", f"--nnodes={self.rig.count}"]
            torchrun += [f"--nproc-per-node={self.per_node}", f"--node-rank={number - 1}"]
            torchrun += [f"--master-addr={address(1)}", "--master-port=29500"]
            command = ["env", *settings, *torchrun, str(TRAINER), str(self.folder), *self.words]
            log = (self.folder / f"torchrun-{number}.log").open("wb")
            self.started.append(
                subprocess.Popen(
                    self.rig.inside(number, command), stdout=log, stderr=log, start_new_session=True
                )
            )
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the torchruns, and then whatever rank is left: by the folder on its command line."""
        for process in self.started:
            process.terminate()
        deadline = time.monotonic() + 3.0
        while time.monotonic() < deadline and any(process.poll() is None for process in self.started):
            time.sleep(0.05)
        for pid in [*self.pids().values(), *(process.pid for process in self.started)]:
            end(pid, str(self.folder))
        for process in self.started:
            process.kill()
            process.wait(30)

    def pids(self) -> dict[int, int]:
        """Each rank's process, as this machine numbers it."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "cmdline").read_bytes().split(b"\0")
                if str(self.folder).encode() not in words or b"torch.distributed.run" in words:
                    continue
                environ = (path / "environ").read_bytes().split(b"\0")
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                if b"torch.distributed.run" not in Path(f"/proc/{parent}/cmdline").read_bytes().split(b"\0"):
                    continue
            except OSError:
                continue
            rank = next((int(part[5:]) for part in environ if part.startswith(b"RANK=")), None)
            if rank is not None:
                found[rank] = int(path.name)
        return found

    def steps(self, rank: int = 0) -> list[float]:
        try:
            lines = (self.folder / f"steps-{rank}").read_text().splitlines()
        except OSError:
            return []
        return [float(line) for line in lines if line]

    def wait(self, more: int = 20) -> None:
        """Until that many steps more were taken."""
        before, deadline = len(self.steps()), time.monotonic() + START_SECONDS
        while len(self.steps()) < before + more:
            if time.monotonic() > deadline or any(process.poll() is not None for process in self.started):
                logs = "\n".join(path.read_text()[-800:] for path in self.folder.glob("torchrun-*.log"))
                raise RuntimeError(f"the job takes no steps: {logs}")
            time.sleep(0.1)

    def wait_for_standstill(self, seconds: float = 2.0, limit: float = 30.0) -> None:
        """Until no rank has taken a step for so long."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            before = [len(self.steps(rank)) for rank in range(self.rig.count * self.per_node)]
            time.sleep(seconds)
            if before == [len(self.steps(rank)) for rank in range(self.rig.count * self.per_node)]:
                return
        raise RuntimeError("the job does not stand still")

    def file(self, rank: int, kind: str) -> None:
        path = self.folder / f"fault-{rank}"
        if kind:
            path.write_text(kind)
        else:
            path.unlink(missing_ok=True)


def end(pid: int, mark: str) -> None:
    """Kills a process of ours: its command line holds `mark`, looked at after the pidfd was opened."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if mark.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except (OSError, ProcessLookupError):
        pass
    finally:
        os.close(handle)


def cut(rig: Rig, number: int, whole: bool = True) -> None:
    """A node's link to the other nodes drops all, without a word; the controller still reaches it. `whole` False: it
    is whole again."""
    for other in range(1, rig.count + 1):
        if other == number:
            continue
        for here, there in ((number, other), (other, number)):
            lladdr = WRONG_HARDWARE if whole else hardware(there)
            rig.run(here, ["ip", "neigh", "replace", address(there), "lladdr", lladdr, "dev", "eth0"])


def home_of() -> Path:
    """The person's home on the controller, with the way to the nodes."""
    home = STATE / "live-home"
    (home / ".ssh").mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copy(STATE / "ssh_config", home / ".ssh" / "config")
    shutil.copy(STATE / "known_hosts", home / ".ssh" / "known_hosts")
    return home


def diagnose(rig: Rig, *words: str, nice: bool = False) -> tuple[int, dict[str, Any], float]:
    """(exit code, the answer, seconds) of `allranks diagnose --live` from the controller. With `nice` it
    yields to the ranks, with which it shares this machine."""
    settings = [f"HOME={home_of()}", f"PYTHONPATH={SOURCE}"]
    yields = ["nice", "-n", "19"] if nice else []
    command = [
        "env",
        *settings,
        *yields,
        sys.executable,
        "-m",
        "allranks.cli",
        "diagnose",
        "--live",
        *words,
        "--json",
    ]
    began = time.monotonic()
    done = subprocess.run(rig.from_ctl(command), capture_output=True, timeout=120, check=False)
    took = time.monotonic() - began
    try:
        return done.returncode, json.loads(done.stdout), took
    except ValueError:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.decode()[-2000:]}") from None
