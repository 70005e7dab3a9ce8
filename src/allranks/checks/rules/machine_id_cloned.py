"""Two machines have the same machine id.

## How it is found
/etc/machine-id of every machine, if the kernels' boot ids differ.

## Why it matters
It was copied with a disk image. DHCP servers give both the same address (they ask by machine id), logs of both
are mixed, and licences are counted once.

## What to do
`rm /etc/machine-id && systemd-machine-id-setup` on one of them, then a reboot.

## Source
machine-id(5); systemd-networkd's DHCP identifier.

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View

NEEDS = ("system.machine_id", "system.boot_id")
UNKNOWN_BLOCKS = False


def applies(context: Context) -> bool:
    return not context.run.same_host


def check(context: Context) -> Findings:
    seen: dict[str, View] = {}
    for view in context.machines:
        identity = view.text("system.machine_id")
        other = seen.setdefault(identity, view) if identity else view
        # Containers of one image share it rightly.
        if other is not view and not view.text("system.container"):
            yield context.note(
                view,
                saw=f"{view.name} and {other.name} have the machine id {identity}",
                expected="one id a machine",
                why="DHCP may give both one address, and their logs are mixed.",
                fix=f"on {view.name}: rm /etc/machine-id && systemd-machine-id-setup, then reboot",
            )
