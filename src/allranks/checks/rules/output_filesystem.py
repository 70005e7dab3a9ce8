"""Checkpoints would go to a filesystem that is made for something else.

## How it is found
The type of the filesystem below the folder that checkpoints go to: network filesystems (NFS, CIFS, SSHFS),
a container's overlay, and tmpfs.

## Why it matters
On NFS every rank's shard of every save goes to one server: saves of hundreds of GB have frozen the head until SSH
timed out. An overlay is lost with its container and fills the host's image store (up to 53 GB per rank were
reported). tmpfs is memory: it counts against the ranks, and a reboot empties it.

## What to do
`save: {to: PATH}` on a local disk of the node, and `save: {copy_to: …}` for the shared storage: allranks copies only
the finished adapter there.

## Source
`/proc/self/mountinfo`; the experience of the runs that this project comes from.

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.filesystems import NETWORK
from allranks.checks.rules.disk_space import checkpoint_bytes, target
from allranks.core.quantities import in_bytes
from allranks.core.untrusted import mapping

NEEDS = ("storage.paths", "system.allranks_home")
UNKNOWN_BLOCKS = False

LOST = {"overlay": "is lost with its container", "tmpfs": "is memory, and empty after a reboot"}

SMALL_BYTES = 1 << 30
"""An adapter of this size is a matter of seconds for any NFS server."""


def check(context: Context) -> Findings:
    wanted = checkpoint_bytes(context)
    for view in context.machines:
        path = target(context, view)
        state = mapping(view.map("storage.paths").get(path))
        kind = str(state.get("type"))
        if kind in NETWORK and wanted > SMALL_BYTES:
            why = (
                f"each save is {in_bytes(wanted)} from all ranks to one server at once, and they wait for it."
            )
        elif kind in LOST and not (kind == "overlay" and not view.text("system.container")):
            why = f"what is written there {LOST[kind]}."
        else:
            continue
        yield context.warn(
            view,
            key="save.to",
            saw=f"checkpoints would go to {path} on {view.name}, which is {kind} ({state.get('source')})",
            expected="a disk of the node's own",
            why=why,
            fix="save: {to: a folder on a local disk, copy_to: the shared one}",
        )
