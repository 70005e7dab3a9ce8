"""Two looks at the ranks of this machine, some seconds apart, and what the kernel and the GPUs say meanwhile.

Everything is read: /proc, netlink, nvidia-smi. A rank is reported as it is; `monitor.witness` judges who waits for
whom.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence

from allranks.core.payloads import as_json
from allranks.core.untrusted import integer, number, text
from allranks.node import kernel_ring, memory, processes
from allranks.node.stall_evidence import sockets, wchan
from allranks.node.witness import job_ranks, stacks, tcp_info
from allranks.node.witness.job_ranks import JobRank

NICE = 10
"""The ranks come first: this reading may take a little longer."""

SECONDS = 3.0
LONGEST_SECONDS = 120.0
SHARES = (0.0, 0.13, 0.37, 0.61, 1.0)
"""When the stacks are read, as parts of the time: uneven, so that no even loop is met at the same place each time."""

CHILDREN = 6
CONNECTIONS = 48
DUMP_BYTES = 8 << 20
SMI_SECONDS = 4.0
KERNEL_SECONDS = 3600.0
KERNEL_BYTES = 2 << 20
DUMP_FILES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
DUMP_DEFAULT = "/tmp/nccl_trace_rank_"


def observe(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """`wanted` is `{"reader": text of stack_reader.py, "seconds", "pid", "slurm_job", "stacks"}`; with `stacks` false
    no memory is read."""
    os.nice(NICE)
    seconds = min(max(number(wanted.get("seconds")) or SECONDS, 0.2), LONGEST_SECONDS)
    found = job_ranks.find(integer(wanted.get("pid")), text(wanted.get("slurm_job")) or "")
    gpus = Gpus() if found.ranks else None
    below = {one.pid: _children(one, found.table) for one in found.ranks}
    pids = [one.pid for one in found.ranks] + [child["pid"] for rows in below.values() for child in rows]
    with_stacks = wanted.get("stacks") is not False
    reading = stacks.Reading(
        pids if with_stacks else [], [share * seconds for share in SHARES], str(wanted.get("reader") or "")
    )
    early = stacks.Spying({one.pid: one.start_time for one in found.ranks if one.pid in reading.why})
    began = time.monotonic()
    first = {one.pid: Moment(one.pid) for one in found.ranks}
    before = tcp_info.connections()
    time.sleep(seconds if found.ranks else 0.0)
    last = {one.pid: Moment(one.pid) for one in found.ranks}
    after = tcp_info.connections()
    took = time.monotonic() - began
    looks = reading.end()
    early.end(looks)
    unread = [one for one in found.ranks if looks.by.get(one.pid) != stacks.BY_MEMORY and with_stacks]
    stacks.Spying({one.pid: one.start_time for one in unread}).end(looks)
    ranks = []
    for one in found.ranks:
        moments = (first[one.pid], last[one.pid])
        told = _told(one, moments, looks, below[one.pid])
        told["connections"] = _connections(moments[1].inodes, before, after)
        ranks.append(told)
    return {
        "host": os.uname().nodename,
        "seconds": round(took, 3),
        "ranks": ranks,
        "others": found.others,
        "kernel": kernel(),
        "gpus": gpus.end() if gpus is not None else [],
    }


class Moment:
    """A process as it is now: state, where it waits, CPU seconds, its sockets."""

    def __init__(self, pid: int):
        stat = processes.read_stat(pid)
        self.state = stat.state if stat is not None else None
        self.start_time = stat.start_time if stat is not None else None
        self.wchan = wchan(pid)
        self.syscall = _word("/proc/%d/syscall" % pid)
        main = processes.read_stat(pid, thread=pid)
        self.main_cpu = main.cpu_seconds if main is not None else None
        self.cpu = stat.cpu_seconds if stat is not None else None
        opened = [path for _, path in processes.open_files(pid) or ()]
        self.inodes = [int(path[8:-1]) for path in opened if path.startswith("socket:[")]
        self.gpu = any(path.startswith(("/dev/nvidia", "/dev/kfd", "/dev/accel")) for path in opened)


def _told(
    one: JobRank, moments: Sequence[Moment], looks: stacks.Looks, children: List[Dict[str, Any]]
) -> Dict[str, Any]:
    first, last = moments
    for child in children:
        child["stack"] = next((frames for frames in looks.stacks.get(child["pid"], [])[::-1] if frames), None)
    return {
        **one._asdict(),
        "gone": last.state is None or last.start_time != one.start_time,
        "states": [first.state, last.state],
        "wchan": [first.wchan, last.wchan],
        "syscall": [first.syscall, last.syscall],
        "main_cpu": _between(first.main_cpu, last.main_cpu),
        "cpu": _between(first.cpu, last.cpu),
        "gpu": last.gpu,
        "sockets": [as_json(row) for row in sockets(one.pid) or ()],
        "stacks": looks.stacks.get(one.pid, []),
        "by": looks.by.get(one.pid),
        "why": looks.why.get(one.pid, "" if one.pid in looks.stacks else "not asked for"),
        "children": children,
        "output_age": stacks.within(stacks.HUNG_SECONDS, output_age, one.pid),
        "group": group(one.pid),
        "dump": stacks.within(stacks.HUNG_SECONDS, dump, one),
    }


def _between(first: Optional[float], last: Optional[float]) -> Optional[float]:
    return None if first is None or last is None else round(last - first, 3)


def _children(one: JobRank, table: Mapping[int, processes.Stat]) -> List[Dict[str, Any]]:
    """Its data loader's workers and other helpers, those that cannot run first."""
    below = [stat for stat in processes.descendants(one.pid, dict(table)) if stat.is_alive]
    below.sort(key=lambda stat: stat.state not in ("D", "T", "t"))
    return [{"pid": stat.pid, "name": stat.name, "state": stat.state} for stat in below[:CHILDREN]]


def _connections(
    inodes: Sequence[int], before: Mapping[int, tcp_info.Connection], after: Mapping[int, tcp_info.Connection]
) -> List[Dict[str, Any]]:
    """By inode: the bytes that went meanwhile, and the milliseconds since the last ones."""
    rows = []
    for inode in inodes:
        now, then = after.get(inode), before.get(inode)
        if now is None:
            continue
        then = then or now
        moved = now.sent_bytes - then.sent_bytes + now.received_bytes - then.received_bytes
        rows.append({"inode": inode, "moved": moved, **now._asdict()})
    rows.sort(key=lambda row: (-row["moved"], row["sent_ago_ms"]))
    return rows[:CONNECTIONS]


# ---- what else there is to see of a process ----


def _word(path: str) -> Optional[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(40).split(" ", 1)[0].strip() or None
    except OSError:
        return None


def output_age(pid: int) -> Optional[float]:
    """Seconds since the file was written that its output goes to; None for a pipe or a terminal."""
    ages = []
    for number_of in (1, 2):
        try:
            status = os.stat("/proc/%d/fd/%d" % (pid, number_of))
        except OSError:
            continue
        if status.st_mode & 0o170000 == 0o100000:
            ages.append(time.time() - status.st_mtime)
    return round(max(0.0, min(ages)), 1) if ages else None


def group(pid: int) -> Dict[str, Any]:
    """The state of its control group of version 2: frozen, kills for memory, memory in use and its limit."""
    try:
        with open("/proc/%d/cgroup" % pid, encoding="utf-8", errors="replace") as file:
            row = next((line for line in file.read().splitlines() if line.startswith("0::")), "")
    except OSError:
        return {}
    parts = [part for part in row[3:].split("/") if part not in ("", "..")]
    folder = os.path.join("/sys/fs/cgroup", *parts)
    told = {
        "frozen": memory.counts(os.path.join(folder, "cgroup.events")).get("frozen") == 1,
        "oom_kills": memory.counts(os.path.join(folder, "memory.events")).get("oom_kill"),
        "memory": _word(os.path.join(folder, "memory.current")),
        "limit": _word(os.path.join(folder, "memory.max")),
        "throttled": memory.counts(os.path.join(folder, "cpu.stat")).get("nr_throttled"),
    }
    return {name: value for name, value in told.items() if value}


def dump(one: JobRank) -> Optional[Dict[str, str]]:
    """The recorder's dump, if the rank has written one since it began: it is not asked to write one."""
    names = [one.env[name] for name in DUMP_FILES if name in one.env] + [DUMP_DEFAULT]
    try:
        began = os.stat("/proc/%d" % one.pid).st_mtime
    except OSError:
        return None
    for name in names:
        path = "%s%d" % (name, one.rank)
        try:
            status = os.stat(path)
            if status.st_uid != os.getuid() or status.st_mtime < began or status.st_size > DUMP_BYTES:
                continue
            with open(path, "rb") as file:
                data = file.read(DUMP_BYTES)
        except OSError:
            continue
        return {"file": path, "data": base64.b64encode(data).decode("ascii")}
    return None


# ---- the machine ----


def kernel() -> Dict[str, Any]:
    """The kernel's lines of the last hour, by its own clock, about memory, disks, links and GPUs."""
    lines: List[str] = []
    try:
        descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return {"lines": [], "why": "/dev/kmsg: %s" % error.strerror}
    try:
        since, left = time.clock_gettime(time.CLOCK_MONOTONIC) - KERNEL_SECONDS, KERNEL_BYTES
        while left > 0:
            try:
                record = os.read(descriptor, 8192).decode("utf-8", "replace")
            except BrokenPipeError:
                continue  # the ring has overwritten it
            except OSError:
                break
            left -= len(record)
            stamp = record.partition(";")[0].split(",")
            line = kernel_ring.line_of(record)
            if line and len(stamp) > 2 and stamp[2].isdigit() and int(stamp[2]) / 1e6 >= since:
                lines.append(line)
    finally:
        os.close(descriptor)
    return {"lines": lines[-kernel_ring.KERNEL_LINES :], "why": ""}


class Gpus:
    """nvidia-smi in a thread: a driver that hangs blocks its callers."""

    QUERY = "index,uuid,utilization.gpu,memory.used,memory.total,ecc.errors.uncorrected.volatile.total"

    def __init__(self) -> None:
        self.rows: List[List[str]] = []
        self.why = ""
        self.program = shutil.which("nvidia-smi")
        self.thread = threading.Thread(target=self._query, daemon=True)
        if self.program:
            self.thread.start()

    def _query(self) -> None:
        words = [str(self.program), "--query-gpu=" + self.QUERY, "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=SMI_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            self.why = "nvidia-smi did not answer within %.0f s" % SMI_SECONDS
            return
        except OSError as error:
            self.why = "nvidia-smi: %s" % error.strerror
            return
        text = done.stdout.decode("utf-8", "replace")
        self.rows = [[cell.strip() for cell in row.split(",")] for row in text.splitlines()[:32]]

    def end(self) -> List[Dict[str, Any]]:
        if not self.program:
            return []
        self.thread.join(SMI_SECONDS)
        if self.thread.is_alive() or self.why:
            return [{"why": self.why or "nvidia-smi hangs"}]
        names = ("index", "uuid", "busy_percent", "memory_mib", "memory_total_mib", "ecc")
        return [dict(zip(names, row)) for row in self.rows if len(row) == len(names)]
