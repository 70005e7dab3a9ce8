"""GPUDirect RDMA is not available: data goes through host memory.

## How it is found
On nodes with active InfiniBand ports: whether the `nvidia_peermem` module is loaded, or the open kernel
module with a kernel that can share buffers by DMA-BUF (5.12 and later).

## Why it matters
Without it every message is copied through host memory: a NIC reaches 185 Gb/s with GPUDirect (A100) and about half
without it, and the processor is busy with the copies.

## What to do
`modprobe nvidia_peermem` (and in /etc/modules-load.d), or the open kernel modules of the driver.

## Source
NVIDIA "GPUDirect RDMA": nvidia-peermem, DMA-BUF; AzNHC's thresholds per NIC with GPUDirect (185 and 375 Gb/s).

Topic: gpus
"""

from __future__ import annotations

from allranks.checks import fabric, versions
from allranks.checks.context import Context, Findings

NEEDS = ("infiniband.devices", "driver.modules", "driver.module", "system.kernel")
UNKNOWN_BLOCKS = False
applies = fabric.wants_infiniband


def check(context: Context) -> Findings:
    for view in context.machines:
        if not all(view.has(fact) for fact in NEEDS):
            continue
        modules = view.list("driver.modules")
        has_peermem = "nvidia_peermem" in modules or "nv_peer_mem" in modules
        new_kernel = versions.at_least(view.text("system.kernel"), (5, 12))
        has_dmabuf = view.get("driver.module.open") is True and new_kernel
        if fabric.active_ports(view) and not has_peermem and not has_dmabuf:
            yield context.warn(
                view,
                saw=f"{view.name} has InfiniBand and neither nvidia_peermem nor DMA-BUF",
                expected="GPUDirect RDMA",
                why="every message between nodes is copied through host memory, at about half the speed.",
                fix=f"as root on {view.name}: modprobe nvidia_peermem",
            )
