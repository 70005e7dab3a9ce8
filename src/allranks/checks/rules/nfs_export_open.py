"""A node serves a folder over NFS to everybody, or with root's rights.

## How it is found
The folders that a node of the run exports (`/var/lib/nfs/etab`, `/etc/exports`): clients, `no_root_squash`,
`insecure`.

## Why it matters
`/shared *(rw,no_root_squash)`, as in many guides, lets root of any machine that reaches this one write as root: it can
change the environment that all ranks run, or the model.

## What to do
Name the nodes' network in place of `*`, and leave `root_squash`, which is the default:
`/shared 10.0.0.0/24(rw,sync,no_subtree_check)`, then `exportfs -ra`.

## Source
exports(5): `root_squash` is the default, a client may be a network.

Topic: network
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings

NEEDS = ("firewall.exports",)
UNKNOWN_BLOCKS = False

EVERYBODY = ("*", "0.0.0.0/0", "::/0")


def check(context: Context) -> Findings:
    for view in context.machines:
        for entry in view.maps("firewall.exports"):
            options = str(entry.get("options") or "").split(",")
            everybody = entry.get("client") in EVERYBODY
            rooted = "no_root_squash" in options
            if "rw" in options and (everybody and rooted):
                yield context.warn(
                    view,
                    saw=f"{view.name} exports {entry.get('path')} to {entry.get('client')} with {','.join(options)}",
                    expected="the nodes' network, and root_squash",
                    why="root of any machine that reaches it can change what all ranks run.",
                    fix=f"in /etc/exports: {entry.get('path')} NETWORK(rw,sync,no_subtree_check), then exportfs -ra",
                )
