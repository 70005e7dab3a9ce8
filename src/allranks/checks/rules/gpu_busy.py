"""A process that is not of this run uses one of its GPUs. The page is the cause's, in diagnose/symptoms/gpu_busy.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.checks.context import Context, Findings, on_gpus
from allranks.checks.phrases import listed
from allranks.core.quantities import in_bytes
from allranks.core.untrusted import listing, mapping, number

NEEDS = ("gpus.list",)
applies = on_gpus

UNSEEN_BYTES = 1 << 30
"""The driver itself reports up to some 600 MiB as used on an idle GPU (reserved pages, MPS, ECC)."""


def check(context: Context) -> Findings:
    for gpu in context.used_gpus:
        seen = [mapping(process) for process in listing(gpu.get("processes"))]
        computing = [process for process in seen if computes(process)]
        drawing = [process for process in seen if process not in computing]
        bytes_used = gpu.number("memory.used_bytes") or 0
        if computing:
            ours = next((process["run"] for process in computing if process.get("run")), None)
            yield context.block(
                gpu,
                saw=f"{gpu} is used by {listed(described(process) for process in computing)}",
                expected="no other process on a GPU of the run",
                why="the run would be out of memory, or share the GPU's time.",
                fix=f"allranks stop {ours}, or allranks clean {ours}"
                if ours
                else "ask its owner, or take other GPUs",
            )
        elif bytes_used > UNSEEN_BYTES and not drawing:
            yield context.warn(
                gpu,
                saw=f"{gpu} has {in_bytes(bytes_used)} in use, and no process is shown",
                expected="less than 1 GiB in use",
                why="a process of another container or user, or a dead one that the driver still holds.",
                fix=f"as root on {gpu.node}: nvidia-smi, and fuser -v /dev/nvidia{gpu.index}, show whose it is",
            )
        elif drawing:
            yield context.note(
                gpu,
                saw=f"{gpu} is also used for graphics: {listed(described(process) for process in drawing)}",
                expected="a GPU of its own",
                why="its memory is not all there for training.",
                fix="log out of the desktop, or leave this GPU out with CUDA_VISIBLE_DEVICES",
            )


def computes(process: Mapping[str, Any]) -> bool:
    """Desktops' programs are of type `C+G` too: they compute a little."""
    kind = str(process.get("type") or "C")
    return "C" in kind and ("G" not in kind or (number(process.get("used_bytes")) or 0) > UNSEEN_BYTES)


def described(process: Mapping[str, Any]) -> str:
    about = [str(process.get("name") or "a process")]
    about += [f"run {process['run']}"] if process.get("run") else []
    about += [f"uid {process['uid']}"] if process.get("uid") is not None and not process.get("run") else []
    used = number(process.get("used_bytes"))
    about += [in_bytes(used)] if used else []
    return f"pid {process.get('pid')} ({', '.join(about)})"
