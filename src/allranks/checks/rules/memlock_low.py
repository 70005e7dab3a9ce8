"""The limit of locked memory is too low for InfiniBand.

## How it is found
The soft limit of locked memory (RLIMIT_MEMLOCK) of the run's user, on nodes with active InfiniBand ports.

## Why it matters
InfiniBand pins the memory that it sends from. With the usual 8 MiB or 64 KiB NCCL ends with "ibv_reg_mr
failed: Cannot allocate memory" or "ibv_create_cq failed".

## What to do
`* - memlock unlimited` in /etc/security/limits.conf and a new login; for a service
`LimitMEMLOCK=infinity`; for a container `--ulimit memlock=-1`.

## Source
NCCL user guide, "Troubleshooting, RDMA"; getrlimit(2).

Topic: nodes
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings
from allranks.core.quantities import in_bytes
from allranks.core.untrusted import number

NEEDS = ("system.limits", "infiniband.devices")
applies = fabric.wants_infiniband

LEAST = 1 << 30
"""NCCL registers some hundred MiB a communicator; every guide says unlimited."""


def check(context: Context) -> Findings:
    container = context.run.container
    if container is not None and container.engine == "docker":
        yield from in_docker(context, container.extra.get("ulimit"))
        return  # the limit of the host's user does not count there
    for view in context.machines:
        pair = view.list("system.limits.memlock")
        soft = number(pair[0]) if pair else None
        # Root is not held to it (CAP_IPC_LOCK).
        root = view.number("system.user.uid") == 0
        if soft is not None and soft < LEAST and fabric.active_ports(view) and not root:
            hard = number(pair[1]) if len(pair) > 1 else None
            yield context.block(
                view,
                saw=f"the user of the run may lock {in_bytes(soft)} of memory on {view.name}",
                expected="unlimited, as InfiniBand pins what it sends",
                why="NCCL would end with 'ibv_reg_mr failed: Cannot allocate memory'.",
                fix="* - memlock unlimited in /etc/security/limits.conf, then log in again"
                if hard is not None
                else "ulimit -l unlimited in the shell that starts the supervisor",
            )


def in_docker(context: Context, ulimit: object) -> Findings:
    """allranks gives the ranks `--ulimit=memlock=-1` there, unless the run file sets `ulimit` itself."""
    if ulimit is None or not any(fabric.active_ports(view) for view in context.machines):
        return
    given = [str(one) for one in (ulimit if isinstance(ulimit, (list, tuple)) else [ulimit])]
    memlock = next(
        (one.partition("=")[2].partition(":")[0] for one in given if one.startswith("memlock=")), ""
    )
    if memlock == "-1" or (memlock.isdigit() and int(memlock) >= LEAST):
        return
    yield context.warn(
        key="container.extra",
        saw=f"container.extra sets ulimit {', '.join(given)}, so allranks does not set that of memlock",
        expected="memlock=-1, as InfiniBand pins what it sends",
        why="with docker's own limit NCCL may end with 'ibv_reg_mr failed: Cannot allocate memory'.",
        fix="container: {extra: {ulimit: [memlock=-1, …]}}",
    )
