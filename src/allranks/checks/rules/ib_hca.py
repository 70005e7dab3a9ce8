"""NCCL_IB_HCA names devices that are not there.

## How it is found
NCCL_IB_HCA of each node's ranks against the devices and active ports of that node.

## Why it matters
If none matches, NCCL falls back to TCP sockets without an error: only its INFO log says "NET/IB : No device
found", and the run is ten times slower. A value without `=` is a prefix: `mlx5_1` also takes mlx5_10 and mlx5_11.

## What to do
`NCCL_IB_HCA: "=mlx5_0,mlx5_1"` with the names of `ibstat -l`, per node if they differ, or leave it out.

## Source
NCCL user guide, NCCL_IB_HCA (prefixes, `=` exact, `^` without, `:port`).

Topic: network
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings
from allranks.checks.phrases import listed

NEEDS = ("infiniband.devices",)
applies = fabric.wants_infiniband


def check(context: Context) -> Findings:
    for view in context.machines:
        spec = context.environment(view).get("NCCL_IB_HCA")
        if not spec or not view.has("infiniband.devices"):
            continue
        taken = [one for one in fabric.active_ports(view) if fabric.chooses(spec, one[0], one[1])]
        names = list(view.map("infiniband.devices"))
        if not taken:
            yield context.warn(
                view,
                key="env.NCCL_IB_HCA",
                saw=f"NCCL_IB_HCA={spec} does not name an active port of {view.name}, which has "
                f"{listed(names) or 'none'}",
                expected="the names of active ports",
                why="NCCL falls back to TCP without an error.",
                fix="NCCL_IB_HCA: the names of ibstat -l, or take it out",
            )
        elif not spec.startswith(("=", "^")):
            wide = {device for device, *_ in taken} - {part.partition(":")[0] for part in spec.split(",")}
            if wide:
                yield context.note(
                    view,
                    key="env.NCCL_IB_HCA",
                    saw=f"NCCL_IB_HCA={spec} is a prefix and also takes {listed(sorted(wide))} on {view.name}",
                    expected="an exact list begins with =",
                    why="traffic also goes over ports that were not meant.",
                    fix=f'NCCL_IB_HCA: "={spec}"',
                )
