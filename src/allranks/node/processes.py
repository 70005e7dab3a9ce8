"""Processes by facts that prove their identity: reads /proc, and signals through a pidfd.

Pids are those of this program's PID namespace. A process is never found by its name; `ownership` decides whose it is.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
from functools import lru_cache
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from allranks.core import Process
from allranks.core.procfs import boot_id, pid_namespace

_PIDFD_SEND_SIGNAL, _PIDFD_OPEN = 424, 434
"""System call numbers, the same on every architecture. Python 3.8 has no names for them, so they are always called
directly."""

_PR_SET_CHILD_SUBREAPER = 36
MACHINE_ID = "/etc/machine-id"
_TICKS = os.sysconf("SC_CLK_TCK")
_libc = ctypes.CDLL(None, use_errno=True)


class Stat(NamedTuple):
    """The fields of /proc/PID/stat that allranks uses. `exit_status` is what waitpid would say, once it is dead."""

    pid: int
    name: str
    state: str
    ppid: int
    session: int
    start_time: int
    exit_status: int
    cpu_ticks: int = 0

    @property
    def is_alive(self) -> bool:
        """A zombie has ended; only its parent has not asked yet."""
        return self.state not in ("Z", "X", "x")

    @property
    def cpu_seconds(self) -> float:
        """Its time in user and system mode."""
        return self.cpu_ticks / _TICKS


def read_stat(pid: int, thread: Optional[int] = None) -> Optional[Stat]:
    """Of a process, or of one of its threads. None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat" if thread is None else f"/proc/{pid}/task/{thread}/stat", "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    # The name may hold spaces and parentheses, but no later field can: proc(5).
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    if len(fields) < 20:
        return None
    exit_status = int(fields[49]) if len(fields) > 49 else 0
    ticks = int(fields[11]) + int(fields[12])
    return Stat(pid, name, fields[0], int(fields[1]), int(fields[3]), int(fields[19]), exit_status, ticks)


def pids() -> List[int]:
    """All that /proc shows now."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def table() -> Dict[int, Stat]:
    """Every process that /proc shows now, by pid."""
    found = (read_stat(pid) for pid in pids())
    return {stat.pid: stat for stat in found if stat is not None}


def descendants(pid: int, among: Optional[Dict[int, Stat]] = None) -> List[Stat]:
    """All below `pid`, parents before their children; without `pid` itself."""
    processes = table() if among is None else among
    children: Dict[int, List[Stat]] = {}
    for stat in processes.values():
        children.setdefault(stat.ppid, []).append(stat)
    found: List[Stat] = []
    waiting = [pid]
    while waiting:
        below = children.pop(waiting.pop(0), [])
        found += below
        waiting += [stat.pid for stat in below]
    return found


def open_files(pid: int) -> Optional[List[Tuple[str, str]]]:
    """(/proc/PID/fd/N, what it points to) for each open file of a process; None if they may not be read.

    A process may close a file while it is looked at: that one is left out, and all others are not.
    """
    folder = f"/proc/{pid}/fd"
    try:
        descriptors = os.listdir(folder)
    except OSError:
        return None
    found = []
    for name in descriptors:
        path = os.path.join(folder, name)
        try:
            found.append((path, os.readlink(path)))
        except OSError:
            continue
    return found


def start_time(pid: int) -> Optional[int]:
    """Clock ticks since boot; None if there is no such process."""
    stat = read_stat(pid)
    return None if stat is None else stat.start_time


def read_environ(pid: int) -> Optional[Dict[str, str]]:
    """The environment that the process was started with; None if it may not be read or is empty.

    A process may erase or replace it, so it proves nothing by itself.
    """
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            block = file.read(1 << 20)
    except OSError:
        return None
    pairs = (entry.decode("utf-8", "replace").partition("=") for entry in block.split(b"\0") if entry)
    return {name: value for name, _, value in pairs} or None


def owner(pid: int) -> Optional[int]:
    """The real user id of the process; None if there is no such process."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("Uid:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return None


# ---- identity ----


def identify(node: str, run_id: str, pid: Optional[int] = None) -> Process:
    """The process `pid` (this one by default) as what may be signalled later. Raises ProcessLookupError."""
    pid = os.getpid() if pid is None else pid
    began = start_time(pid)
    if began is None:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH), str(pid))
    return Process(node=node, pid=pid, start_time=began, boot_id=boot_id(), run_id=run_id)


def still(process: Process) -> bool:
    """Whether that very process lives: same boot, same start time, no zombie."""
    stat = read_stat(process.pid)
    if stat is None or not stat.is_alive:
        return False
    return stat.start_time == process.start_time and boot_id() == process.boot_id


def signal(process: Process, number: int) -> bool:
    """Signals that very process; False if it is gone or is another by now. Raises PermissionError.

    The pidfd is opened first and the identity read after it. A pidfd never stands for another process, so what was
    read is what is signalled.
    """
    if process.pid <= 1:
        return False
    try:
        handle = open_pidfd(process.pid)
    except ProcessLookupError:
        return False
    if handle is None:
        return _signal_without_pidfd(process, number)
    try:
        if not still(process):
            return False
        _send(handle, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)


def _signal_without_pidfd(process: Process, number: int) -> bool:
    """For kernels before 5.3 (RHEL 8) and sandboxes that forbid pidfds: reads and signals at once.

    To hit another process, this one would have to end, and the whole range of pids be used up, between two lines.
    """
    if not still(process):
        return False
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        return False
    return True


def open_pidfd(pid: int) -> Optional[int]:
    """A descriptor that stands for the process and becomes readable when it ends.

    None if this kernel or sandbox has none. Raises ProcessLookupError.
    """
    try:
        return _checked(_libc.syscall(_PIDFD_OPEN, pid, 0))
    except OSError as error:
        # pidfd_open(2) knows no EPERM: that one comes from a seccomp filter.
        if error.errno in (errno.ENOSYS, errno.EPERM, errno.EINVAL):
            return None
        raise


def _send(handle: int, number: int) -> None:
    _checked(_libc.syscall(_PIDFD_SEND_SIGNAL, handle, number, None, 0))


def _checked(result: int) -> int:
    if result >= 0:
        return result
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number))


def adopt_orphans() -> bool:
    """From here on a descendant whose parent ends becomes our child, not init's (child subreaper)."""
    return _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def reap_children() -> bool:
    """Takes the exit codes of all dead children, adopted ones too; whether some still live."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def exit_code(stat: Stat) -> Optional[int]:
    """The code of a process that has ended, negative for a signal, as `subprocess` counts; None if alive."""
    if stat.is_alive:
        return None
    number = stat.exit_status & 0x7F
    return -number if number else stat.exit_status >> 8 & 0xFF


def record_of(process: Process) -> Dict[str, Any]:
    """A `Process` as it is stored: with what says whether a later reader can see it at all."""
    return {**process.as_json(), **here()}


def here() -> Dict[str, str]:
    """The marks of this machine and PID namespace among others that share a home folder."""
    return {"pid_namespace": pid_namespace(), "host": os.uname().nodename, "machine": machine_id()}


@lru_cache(maxsize=1)
def machine_id() -> str:
    """A digest of /etc/machine-id, which machine-id(5) asks not to pass on as it is. Empty if there is none, or only
    one that systemd made for this boot, as on nodes without a disk."""
    if os.path.ismount(MACHINE_ID):
        return ""
    try:
        with open(MACHINE_ID, "rb") as file:
            content = file.read(256).strip()
    except OSError:
        return ""
    return hashlib.sha256(b"allranks " + content).hexdigest()[:16] if content else ""


def can_be_seen(record: Mapping[str, Any]) -> bool:
    """Whether a stored process would be visible to us, were it alive: same host, same PID namespace.

    A run directory may be in a home folder that nodes share, or be mounted into containers. Machines that were made
    from one image may have one name: another boot of this machine is then told from another machine by its id.
    """
    machine, own = record.get("machine"), machine_id()
    if machine and own and machine != own and record.get("boot_id") != boot_id():
        return False
    same_host = record.get("host") in (None, os.uname().nodename)
    return same_host and record.get("pid_namespace") in (None, "", pid_namespace())


def lives(record: Mapping[str, Any]) -> Optional[bool]:
    """Whether a stored process lives; None if that cannot be told from here, or nothing whole is stored."""
    pid, began, boot = (record.get(name) for name in ("pid", "start_time", "boot_id"))
    if not (isinstance(pid, int) and isinstance(began, int) and pid > 1 and boot and can_be_seen(record)):
        return None
    return still(Process("", pid, began, str(boot), ""))
