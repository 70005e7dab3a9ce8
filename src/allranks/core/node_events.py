"""The events that a node's supervisor tells."""

from __future__ import annotations

from typing import Mapping, Optional, Sequence

from allranks.core.payloads import Payload


class Owned(Payload):
    pid: Optional[int] = None
    start_time: Optional[int] = None  # in clock ticks since the boot
    boot_id: str = ""
    node: str = ""
    run_id: str = ""
    container: Optional[str] = None
    scheduler_job: Optional[str] = None


class SupervisorStarted(Payload, kind="supervisor", by="supervisor"):
    """The supervisor works."""

    process: Optional[Owned] = None
    clock: Optional[float] = None


class TorchrunStarted(Payload, kind="torchrun", by="supervisor"):
    """A torchrun was started."""

    process: Optional[Owned] = None
    attempt: Optional[int] = None


class Failure(Payload):
    rank: Optional[int] = None
    local_rank: Optional[int] = None
    pid: Optional[int] = None
    code: Optional[int] = None


class TorchrunEnded(Payload, kind="torchrun-ended", by="supervisor"):
    """It has ended."""

    code: Optional[int] = None
    attempt: Optional[int] = None
    failures: Sequence[Failure] = ()  # the first one first
    why: str = ""  # if it could not be started (127)


class RankGone(Payload, kind="rank-gone", by="supervisor"):
    """The rank's process no longer exists."""

    pid: Optional[int] = None
    code: Optional[int] = None  # if it is known; negative: a signal


class LeaseLost(Payload, kind="lease-lost", by="supervisor"):
    """Nothing was heard from the keeper for too long: the node stops."""

    why: str = ""


class Stopping(Payload, kind="stopping", by="supervisor"):
    """The node's processes are asked to end."""

    why: str = ""
    grace_seconds: Optional[float] = None


class Signalled(Payload):
    pid: Optional[int] = None
    start_time: Optional[int] = None
    name: str = ""
    signal: str = ""
    why: str = ""


class Left(Payload):
    pid: Optional[int] = None
    start_time: Optional[int] = None
    name: str = ""
    state: str = ""


class Swept(Payload, kind="swept", by="supervisor"):
    """Nothing of the run lives here, after each end of a torchrun and each stop."""

    why: str = ""
    signalled: Sequence[Signalled] = ()
    left: Sequence[Left] = ()  # what no signal ends
    seconds: Optional[float] = None
    files: Sequence[str] = ()  # what was removed: shared memory, locks, the temporary folder


class SecretFound(Payload, kind="secret-found", by="supervisor"):
    """A file of the script's own holds a secret."""

    path: str = ""


class EventRefused(Payload, kind="refused", by="supervisor, keeper"):
    """A wrong field was left out, or its whole event was. Only the first of each rank or node is reported."""

    why: str = ""


class Dropped(Payload, kind="dropped", by="whose journal it is"):
    """Lines that a full disk refused."""

    events: int = 0
    why: str = ""


class Disk(Payload):
    path: str = ""
    total_bytes: Optional[int] = None
    free_bytes: Optional[int] = None
    free_inodes: Optional[int] = None
    frozen_seconds: Optional[float] = None  # it does not answer
    gone: bool = False  # the folder existed before and no longer does


class MemoryGroup(Payload):
    path: str = ""
    limit_bytes: Optional[int] = None
    used_bytes: Optional[int] = None  # without the cache, which is taken back
    oom_kills: Optional[int] = None


class Cpu(Payload):
    busy: Optional[float] = None
    iowait: Optional[float] = None
    load1: Optional[float] = None


class Nic(Payload):
    name: str = ""
    received_bytes_per_second: Optional[float] = None
    sent_bytes_per_second: Optional[float] = None
    errors: int = 0


class RankSample(Payload):
    state: Optional[str] = None  # the state letter of /proc/PID/stat
    cpu_seconds: Optional[float] = None


class GpuSample(Payload):
    uuid: str = ""
    index: Optional[int] = None
    utilization: Optional[float] = None  # percent
    throttle: Sequence[str] = ()  # nvidia-smi's clocks_event_reasons that are active
    temperature: Optional[float] = None  # degrees Celsius
    power_watts: Optional[float] = None
    memory_bytes: Optional[int] = None  # in use, by all processes


class Sample(Payload, kind="sample", by="supervisor"):
    """About every 5 s, what could be read of the node."""

    memory_total_bytes: Optional[int] = None
    memory_available_bytes: Optional[int] = None
    disks: Sequence[Disk] = ()
    memory_groups: Sequence[MemoryGroup] = ()  # of the ranks, with a limit, nearest first
    cpu: Optional[Cpu] = None  # shares of all cores since the last sample
    nics: Sequence[Nic] = ()
    ranks: Mapping[str, RankSample] = {}
    gpus: Sequence[GpuSample] = ()  # every 15 s
    gpus_frozen_seconds: Optional[float] = None  # nvidia-smi hangs and cannot be ended


class Child(Payload):
    pid: Optional[int] = None
    name: str = ""
    state: Optional[str] = None
    wchan: Optional[str] = None


class Socket(Payload):
    local: str = ""
    remote: str = ""
    state: str = ""
    unsent_bytes: int = 0
    unread_bytes: int = 0
    resent: int = 0  # how often TCP has sent the oldest unanswered bytes again


class ProcessSeen(Payload, kind="process", by="supervisor"):
    """An answer to `evidence`: a rank's process."""

    pid: Optional[int] = None
    state: Optional[str] = None
    wchan: Optional[str] = None  # the kernel function that it waits in
    children: Sequence[Child] = ()
    sockets: Optional[Sequence[Socket]] = None


class Kernel(Payload, kind="kernel", by="supervisor"):
    """The kernel's log of the last 15 minutes (after a rank's death, of the last seconds): out of memory, Xid, hung
    tasks, file servers, links; and each control group whose `oom_kill` count rose."""

    lines: Sequence[str] = ()
    why: str = ""  # if it could not be read


class Notice(Payload, kind="notice", by="supervisor"):
    """The machine goes away; the ranks get that long to save."""

    why: str = ""
    seconds: Optional[float] = None
