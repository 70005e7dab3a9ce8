"""`/dev/shm` is small or full, or `shm` is set although it has no effect.

## How it is found
The size of `/dev/shm` on every node and how much of it is free, for the data loader's workers and NCCL's shared-memory
transport; and `container.shm` together with a container that shares the host's IPC. If the container has its own
`/dev/shm`, a full one on the host does not matter.

## Why it matters
Docker's default is 64 MiB: data loader workers end with "Bus error" or "unable to write to file
</torch_…>", and NCCL with "Error while creating shared memory segment". With `--ipc host` the host's
`/dev/shm` is used, and `--shm-size` does nothing, although many guides give both.

## What to do
`container: {shm: 16GiB}` without `--ipc host`, or `mount -o remount,size=16G /dev/shm` on the host. If it is full, an
earlier program left its files there: `ls -l /dev/shm` shows whose they are, `lsof /dev/shm` which are still in use.

## Source
docker run reference (`--shm-size`, `--ipc`); NCCL user guide, "Running NCCL inside containers"; PyTorch
`multiprocessing` best practices.

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.core.quantities import in_bytes
from allranks.core.untrusted import mapping, number
from allranks.spec.sections import Container

NEEDS = ("storage.paths",)
UNKNOWN_BLOCKS = False

LEAST_A_RANK = 64 << 20
"""NCCL takes some 10 MiB a local peer pair and channel set; torch's loaders a batch a worker. Docker's whole default is
64 MiB, with which eight ranks fail."""

ON_GPUS = 1 << 30
REMOUNT = "as root: mount -o remount,size=16G /dev/shm"


def check(context: Context) -> Findings:
    for view, ranks in context.ranks_by_machine:
        shm = mapping(view.map("storage.paths").get("/dev/shm"))
        size, free = number(shm.get("total_bytes")), number(shm.get("free_bytes"))
        least = max(LEAST_A_RANK * ranks, ON_GPUS if context.uses_gpu else 0)
        if size is not None and size < least:
            yield context.warn(
                view,
                key="container.shm",
                saw=f"/dev/shm of {view.name} is {in_bytes(size)}",
                expected=f"{in_bytes(least)} for {ranks} ranks",
                why="data loaders end with 'Bus error', NCCL with 'Error while creating shared memory segment'.",
                fix="container: {shm: 16GiB}" if context.run.container else REMOUNT,
            )
        elif free is not None and free < least and not own_shm(context):
            yield context.warn(
                view,
                saw=f"/dev/shm of {view.name} has {in_bytes(free)} free of {in_bytes(size or 0)}",
                expected=f"{in_bytes(least)} free for {ranks} ranks",
                why="data loaders end with 'Bus error', NCCL with 'Error while creating shared memory segment'.",
                fix=f"ls -l /dev/shm on {view.name}: remove what an ended program left, or make it larger",
            )
    yield from void(context)


def own_shm(context: Context) -> bool:
    """Whether the ranks' /dev/shm is the container's own: by default a container shares the host's."""
    container = context.run.container
    return container is not None and ipc(container) != "host" and bool(container.shm_bytes or ipc(container))


def ipc(container: Container) -> str | None:
    extra = {str(key).lstrip("-"): str(value) for key, value in container.extra.items()}
    return extra.get("ipc")


def void(context: Context) -> Findings:
    container = context.run.container
    if container is None or not container.shm_bytes:
        return
    if ipc(container) == "host":
        yield context.note(
            "container.shm",
            saw=f"container.shm is {in_bytes(container.shm_bytes)}, and the container shares the host's IPC",
            expected="one of the two",
            why="with --ipc host the host's /dev/shm is used, and --shm-size does nothing.",
            fix="take shm out, or ipc: host",
        )
