"""Which processes of the caller are ranks of a job: by the environment in which launchers start them.

Only the variables in `NAMES` are ever taken from an environment: the rest may hold secrets.
"""

from __future__ import annotations

import os
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from allranks.node import processes
from allranks.node.processes import Stat

SIZES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)
"""(rank, world size, local rank), in the order in which they are believed. torchrun, DeepSpeed and accelerate set the
first; a script that srun or mpirun starts may set them itself, which its environment does not show."""

NAMES = (
    *dict.fromkeys(name for names in SIZES for name in names),
    *("LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"),
    *("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NNODES"),
    *("TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"),
)
TEXT = 256


class JobRank(NamedTuple):
    """One rank's process. `rank` and `world_size` are as its environment says; `env` holds `NAMES` alone."""

    pid: int
    start_time: int
    rank: int
    world_size: int
    local_rank: Optional[int]
    source: str
    env: Dict[str, str]

    @property
    def job(self) -> Tuple[str, ...]:
        return job_key(self.env, self.world_size)


class Found(NamedTuple):
    """`others` is how many Python processes of other users there are: they are counted and not read."""

    ranks: List[JobRank]
    others: int
    table: Dict[int, Stat]


def job_key(env: Mapping[str, str], world_size: int) -> Tuple[str, ...]:
    """The values that the ranks of one job share on all nodes. The address is left out: the head may call itself
    localhost."""
    return (
        str(world_size),
        env.get("MASTER_PORT", ""),
        env.get("TORCHELASTIC_RUN_ID", ""),
        env.get("SLURM_JOB_ID", ""),
    )


def identity(environ: Mapping[str, str]) -> Optional[Tuple[int, int, Optional[int], str]]:
    """(rank, world size, local rank, which variable says so); None if it is not a rank. A scheduler's step of one
    task may also be a user's shell."""
    for rank, size, local in SIZES:
        number, of = _whole(environ.get(rank)), _whole(environ.get(size))
        if number is not None and of is not None and number < of and (of > 1 or rank == "RANK"):
            return number, of, _whole(environ.get(local)), rank
    return None


def _whole(text: Optional[str]) -> Optional[int]:
    return int(text) if text is not None and text.isdigit() and len(text) < 8 else None


def kept(environ: Mapping[str, str]) -> Dict[str, str]:
    return {name: environ[name][:TEXT] for name in NAMES if name in environ}


def is_python(stat: Stat) -> bool:
    """By its program: a rank may call itself otherwise (setproctitle, `pt_main_thread`)."""
    return os.path.basename(program(stat.pid)).startswith(("python", "pypy"))


def program(pid: int) -> str:
    """The path of what it runs; empty if that cannot be read."""
    try:
        return os.readlink("/proc/%d/exe" % pid)
    except OSError:
        return ""


def find(pid: Optional[int] = None, slurm_job: str = "") -> Found:
    """The ranks of this user's jobs here. `pid` keeps the job of that process (a rank, or what is above or below one),
    `slurm_job` that of SLURM's job."""
    table, mine = processes.table(), callers()
    named: Dict[int, Tuple[Tuple[int, int, Optional[int], str], Dict[str, str]]] = {}
    others = 0
    for stat in table.values():
        if not stat.is_alive or stat.pid == os.getpid():
            continue
        if processes.owner(stat.pid) not in mine:
            others += stat.name.startswith(("python", "pt_main_thread"))
            continue
        environ = processes.read_environ(stat.pid)
        known = identity(environ) if environ else None
        if environ and known is not None:
            named[stat.pid] = (known, kept(environ))
    ranks = list(_tops(table, named))
    if slurm_job:
        ranks = [one for one in ranks if one.env.get("SLURM_JOB_ID") == slurm_job]
    if pid is not None:
        jobs = {
            one.job
            for one in ranks
            if pid == one.pid or pid in _line(table, one.pid) or one.pid in _line(table, pid)
        }
        ranks = [one for one in ranks if one.job in jobs]
    return Found(sorted(ranks, key=lambda one: (one.rank, one.pid)), others, table)


def callers() -> Set[int]:
    """The users whose processes are read: the caller, and with sudo also the user that called it, since a kernel may
    let only root read a process (kernel.yama.ptrace_scope)."""
    own = os.getuid()
    by = os.environ.get("SUDO_UID", "")
    return {own, int(by)} if own == 0 and by.isdigit() else {own}


def _line(table: Mapping[int, Stat], pid: int) -> List[int]:
    """The processes above one, nearest first."""
    found: List[int] = []
    stat = table.get(pid)
    while stat is not None and stat.ppid > 1 and stat.ppid not in found:
        found.append(stat.ppid)
        stat = table.get(stat.ppid)
    return found


def _tops(
    table: Mapping[int, Stat], named: Mapping[int, Tuple[Tuple[int, int, Optional[int], str], Dict[str, str]]]
) -> Iterator[JobRank]:
    """For each rank, the first of its processes that is Python; it and its children share an environment. A process
    above other ranks is their launcher, such as a pod's torchrun, whose own RANK is that of its node."""
    groups: Dict[Tuple[object, ...], List[int]] = {}
    for pid, (known, env) in named.items():
        groups.setdefault((known, job_key(env, known[1])), []).append(pid)
    above: Set[int] = set()
    chosen: List[Tuple[int, Tuple[object, ...]]] = []
    for key, pids in groups.items():
        pid = _first(table, pids)
        chosen.append((pid, key))
        above.update(_line(table, pid))
    for pid, key in chosen:
        (rank, size, local, source), env = named[pid]
        if pid in above and any(pid in _line(table, other) for other, theirs in chosen if theirs != key):
            continue
        if source != "RANK" and not is_python(table[pid]):
            continue
        yield JobRank(pid, table[pid].start_time, rank, size, local, source, env)


def _first(table: Mapping[int, Stat], pids: Sequence[int]) -> int:
    """The highest of them in its tree that is Python, else the highest; of several the oldest."""
    inside = set(pids)
    depth = {pid: sum(1 for one in _line(table, pid) if one in inside) for pid in pids}
    python = [pid for pid in pids if is_python(table[pid])]
    return min(python or pids, key=lambda pid: (depth[pid], table[pid].start_time, pid))
