"""Samples of a node beside the heartbeats: why a rank is slow is in its node's CPU, memory, disks, NICs, GPUs.

A thread takes them, since a frozen file system blocks its callers. Files of /proc alone, and nvidia-smi where there
is one. Without it a sample of 8 ranks takes 0.8 ms of CPU, every 5 s (measured on 2 cores).
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import threading
import time
from collections import deque
from typing import Any, Deque, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from allranks.core import procfs
from allranks.core.node_events import Sample
from allranks.node import memory, processes

EVERY_SECONDS = 5.0
GPUS_EVERY_SECONDS = 15.0
"""nvidia-smi wakes the driver, which takes about 50 ms on a GPU node."""

GPU_SECONDS = 10.0
FROZEN_SECONDS = 25.0
"""By then both ways to ask nvidia-smi were ended, 10 s each: one that is still there hangs in the driver."""

UNEVEN = 0.2
"""The share by which samples come earlier or later at random: at even times, all looks at a GPU could meet the same
part of the run's steps."""

NICS = 8
REASONS = (
    "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown", "sw_power_cap",
)  # fmt: skip


class Sampler:
    """`take` gives the samples since the last call; `ranks` maps ranks to their pids and may change at any time."""

    def __init__(self, paths: Sequence[str], every_seconds: float = EVERY_SECONDS):
        self.paths, self.every_seconds = list(paths), every_seconds
        self.ranks: Mapping[int, int] = {}
        self._samples: Deque[Sample] = deque(maxlen=64)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="samples", daemon=True)
        self._smi = shutil.which("nvidia-smi")
        self._gpus = Gpus()
        self._cpu: Optional[Tuple[int, int, int]] = None
        self._nics: Dict[str, List[int]] = {}
        self._nics_at = 0.0
        self._disks = Disks(self.paths)
        self.groups = memory.Groups()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """At once; a look that hangs on a dead file system is left to end with the process."""
        self._over.set()

    def take(self) -> List[Sample]:
        return [self._samples.popleft() for _ in range(len(self._samples))]

    def _run(self) -> None:
        self._disks.sample()  # folders that are missing at the first sample existed at the start
        while not self._over.wait(self.every_seconds * (1 + UNEVEN * (os.urandom(1)[0] / 127.5 - 1))):
            self._samples.append(self.sample())

    def sample(self) -> Sample:
        """One look; values that could not be read are left out."""
        found: Dict[str, Any] = {**memory.machine(), "disks": self._disks.sample()}
        found["memory_groups"] = self.groups.sample([os.getpid(), *dict(self.ranks).values()])
        found["ranks"] = {str(rank): of_rank(pid) for rank, pid in dict(self.ranks).items()}
        found.update(self._load())
        found["nics"] = self._traffic()
        if self._smi:
            found.update(self._gpus.sample(self._smi))
        return Sample(**{key: value for key, value in found.items() if value not in (None, {}, [])})

    def _load(self) -> Dict[str, Any]:
        """`cpu`: the shares of all cores' time since the last look that were busy, and that waited for I/O."""
        before, self._cpu = self._cpu, cpu_times()
        if before is None or self._cpu is None or self._cpu[0] <= before[0]:
            return {}
        total = self._cpu[0] - before[0]
        busy, waiting = (round((now - then) / total, 3) for now, then in zip(self._cpu[1:], before[1:]))
        return {"cpu": {"busy": busy, "iowait": waiting, "load1": load()}}

    def _traffic(self) -> List[Dict[str, Any]]:
        """For each interface, the bytes per second since the last look, and its errors and drops in that time."""
        now, counters = time.monotonic(), nic_counters()
        before, self._nics = self._nics, counters
        seconds, self._nics_at = now - self._nics_at, now
        found = []
        for name in counters.keys() & before.keys():
            received, errors, sent = (new - old for new, old in zip(counters[name], before[name]))
            rates = {"received_bytes_per_second": int(received / seconds)}
            rates["sent_bytes_per_second"] = int(sent / seconds)
            if received or sent or errors:
                found.append({"name": name, **rates, "errors": errors})
        found.sort(key=lambda n: (-n["errors"], -n["received_bytes_per_second"]))
        return found[:NICS]


def places_of(job: Mapping[str, Any], own: str) -> List[str]:
    """The folders whose disks a run depends on: its output, its own, and the shared memory of loaders and NCCL."""
    output = dict(job.get("env") or {}).get("ALLRANKS_OUTPUT_DIR")
    return [*([str(output)] if output else []), own, "/dev/shm"]


class Disks:
    """Free space, asked by its own thread: statvfs on a dead NFS server never returns."""

    def __init__(self, paths: Sequence[str]):
        self.paths = paths
        self._known: List[Dict[str, Any]] = []
        self._seen: Set[str] = set()
        self._asked: Optional[threading.Thread] = None
        self._at = ""
        self._since = 0.0

    def sample(self, wait_seconds: float = 0.5) -> List[Dict[str, Any]]:
        """The results of the last look that returned; a path that does not answer has `frozen_seconds` instead."""
        if self._asked is None or not self._asked.is_alive():
            self._asked = threading.Thread(target=self._read_disks, name="disks", daemon=True)
            self._since = time.monotonic()
            self._asked.start()
        self._asked.join(wait_seconds)
        if not self._asked.is_alive():
            return self._known
        frozen = {"path": self._at, "frozen_seconds": round(time.monotonic() - self._since, 1)}
        return [*(d for d in self._known if d["path"] != self._at), frozen]

    def _read_disks(self) -> None:
        found = []
        for path in self.paths:
            self._at = path
            try:
                seen = os.statvfs(path)
            except FileNotFoundError:
                # One that never was there is not missed: a script makes its output folder when it saves.
                found += [{"path": path, "gone": True}] if path in self._seen else []
                continue
            except OSError:
                continue
            self._seen.add(path)
            found.append(
                {
                    "path": path,
                    "total_bytes": seen.f_blocks * seen.f_frsize,
                    "free_bytes": seen.f_bavail * seen.f_frsize,
                    # btrfs and some network file systems count no inodes and say 0 of 0
                    "free_inodes": seen.f_favail if seen.f_files else None,
                }
            )
        self._known = found


class Gpus:
    """nvidia-smi, asked by its own thread: one that hangs in the driver (state D) does not end when it is killed, and
    must not be waited for. While it is there, no other one is started."""

    def __init__(self) -> None:
        self._seen: Optional[List[Dict[str, Any]]] = None
        self._asked: Optional[threading.Thread] = None
        self._since = float("-inf")

    def sample(self, program: str, wait_seconds: float = 0.5) -> Dict[str, Any]:
        """`gpus` if a look has ended since the last call, `gpus_frozen_seconds` if one does not end."""
        if self._asked is None:
            if time.monotonic() - self._since < GPUS_EVERY_SECONDS * (1 - UNEVEN):
                return {}
            self._seen, self._since = None, time.monotonic()
            self._asked = threading.Thread(target=self._read_gpus, args=(program,), name="gpus", daemon=True)
            self._asked.start()
        self._asked.join(wait_seconds)
        if not self._asked.is_alive():
            self._asked = None
            return {"gpus": self._seen}
        seconds = time.monotonic() - self._since
        return {"gpus_frozen_seconds": round(seconds, 1)} if seconds >= FROZEN_SECONDS else {}

    def _read_gpus(self, program: str) -> None:
        self._seen = gpus(program)


def cpu_times() -> Optional[Tuple[int, int, int]]:
    """(all, busy, waiting for I/O) ticks of all cores since boot: the first line of /proc/stat, proc(5)."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    if len(ticks) < 5:
        return None
    return sum(ticks), sum(ticks) - ticks[3] - ticks[4], ticks[4]


def load() -> Optional[float]:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None


def nic_counters() -> Dict[str, List[int]]:
    """Per interface [received bytes, errors and drops of both ways, sent bytes]: /proc/net/dev, without lo."""
    try:
        rows = procfs.net_dev()
    except OSError:
        return {}
    found = {}
    for name, words in rows.items():
        if name != "lo" and len(words) >= 12 and all(word.isdigit() for word in words[:12]):
            n = [int(word) for word in words[:12]]
            found[name] = [n[0], n[2] + n[3] + n[10] + n[11], n[8]]
    return found


def of_rank(pid: int) -> Dict[str, Any]:
    """`{state, cpu_seconds}`; empty if it is gone."""
    stat = processes.read_stat(pid)
    return {} if stat is None else {"state": stat.state, "cpu_seconds": round(stat.cpu_seconds, 2)}


ASKED = ("uuid", "index", "utilization.gpu", "temperature.gpu", "power.draw", "memory.used")


def gpus(program: str) -> Optional[List[Dict[str, Any]]]:
    """`{uuid, index, utilization, temperature, power_watts, memory_bytes, throttle}` of each GPU; None where
    nvidia-smi does not say."""
    for prefix in ("clocks_event_reasons", "clocks_throttle_reasons"):  # drivers before 535 know the second
        query = [*ASKED, *(f"{prefix}.{name}" for name in REASONS)]
        argv = [program, f"--query-gpu={','.join(query)}", "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=GPU_SECONDS, check=False
            )
        except (OSError, subprocess.SubprocessError):
            return None
        if done.returncode == 0:
            return gpu_rows(done.stdout.decode("utf-8", "replace"))
    return None


def gpu_rows(text: str) -> List[Dict[str, Any]]:
    found = []
    for row in (line.split(", ") for line in text.strip().splitlines()):
        if len(row) != len(ASKED) + len(REASONS) or not row[1].isdigit():
            continue
        active = [name for name, said in zip(REASONS, row[len(ASKED) :]) if said.strip() == "Active"]
        used, celsius, watts, mebibytes = map(_figure, row[2 : len(ASKED)])
        read = {"utilization": used, "temperature": celsius, "power_watts": watts}
        read["memory_bytes"] = None if mebibytes is None else int(mebibytes) << 20
        found.append({"uuid": row[0], "index": int(row[1]), **read, "throttle": active})
    return found


def _figure(said: str) -> Optional[float]:
    """A number as nvidia-smi prints it; None of `[N/A]`, `[Not Supported]` and whatever else."""
    try:
        value = float(said)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
