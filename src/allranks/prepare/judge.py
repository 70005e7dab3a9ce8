"""Compares the inside of a prepared container with what the run file asked for. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from allranks.core import BLOCK, UNKNOWN, WARN, Facts, Finding
from allranks.spec import Run

GIB = 1 << 30


def from_inside(run: Run, facts: Facts) -> Iterator[Finding]:
    """Findings of one node's container: /dev/shm, the mounts. `facts` were read in it, its mounts' targets among
    the paths that were asked for."""
    container = run.container
    if container is None:
        return
    paths = facts.get("storage.paths")
    paths = paths if isinstance(paths, Mapping) else {}
    if container.shm_bytes is not None:
        yield from shared_memory(run, facts.node, container.shm_bytes, paths.get("/dev/shm"))
    for text in container.mounts:
        _, target, *options = text.split(":")
        found = paths.get(target)
        if isinstance(found, Mapping) and "unreadable" not in found:
            yield from mount(run, facts.node, target, "ro" in ",".join(options).split(","), found)


def shared_memory(run: Run, node: str, asked: int, found: Any) -> Iterator[Finding]:
    size = found.get("total_bytes") if isinstance(found, Mapping) else None
    where = replace(run.where("container.shm"), node=node)
    if not isinstance(size, int | float):
        saw = "the size of /dev/shm in the container could not be read"
        yield Finding("container-shm", UNKNOWN, where, saw=saw)
    elif size < asked:
        yield Finding(
            "container-shm",
            BLOCK,
            where,
            saw=f"/dev/shm in the container on {node} is {size / GIB:.2f} GiB; {asked / GIB:.2f} GiB were asked for",
            expected=f"{asked / GIB:.2f} GiB",
            why="data loaders end with 'Bus error', NCCL with 'Error while creating shared memory segment'.",
            fix="take ipc: host out of container.extra: with it the host's /dev/shm is used and the size has no effect",
        )


def mount(run: Run, node: str, target: str, read_only: bool, found: Mapping[str, Any]) -> Iterator[Finding]:
    where = replace(run.where("container.mounts"), node=node)
    if str(found.get("mount")).rstrip("/") != target.rstrip("/"):
        yield Finding(
            "container-mount",
            BLOCK,
            where,
            saw=f"{target} in the container on {node} is not a mount: it is on {found.get('mount')} "
            f"({found.get('type')})",
            expected="the node's folder",
            why="what is written there is lost with the container; what is read there is the image's.",
            fix="allranks clean removes the container; then run again",
        )
    elif not read_only and found.get("writable") is False and found.get("folder"):
        yield Finding(
            "container-mount",
            BLOCK if is_output(run, target) else WARN,
            where,
            saw=f"{target} in the container on {node} cannot be written: {found.get('reason')}",
            expected="a folder that the run's user may write, or :ro in the mount",
            why="the user inside is the one that logs in to the node, with the same rights.",
            fix=f"give that user the folder, or write {target}:ro",
        )


def is_output(run: Run, target: str) -> bool:
    """Whether checkpoints go below `target`."""
    return bool(run.save.to) and (str(run.save.to) + "/").startswith(target.rstrip("/") + "/")
