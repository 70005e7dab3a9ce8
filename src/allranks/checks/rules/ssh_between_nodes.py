"""The head cannot start the other nodes over SSH, as this launcher does.

## How it is found
With a launcher that logs in from the head (pdsh, OpenMPI, DeepSpeed's): whether a command runs on every other node
over SSH from the head, without a question being asked.

## Why it matters
These launchers open SSH connections from the head. A password, an unknown host key or a closed port stops
the launch in the middle, with ranks running on some nodes.

## What to do
Put the head's public key into the other nodes' authorized_keys, and their host keys into its known_hosts
(compare the fingerprints). `StrictHostKeyChecking no` is not needed. Or use `launch: {with: ssh}`, which
needs SSH from this machine only.

## Source
pdsh(1) (PDSH_RCMD_TYPE=ssh), OpenMPI `plm_rsh_agent`, DeepSpeed `launcher/multinode_runner.py`.

Topic: network
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.spec.launchers import DEFAULT

NEEDS = ("ssh.reached",)


def applies(context: Context) -> bool:
    return context.run.launcher.logs_in_from_head and len(context.views) > 1


def check(context: Context) -> Findings:
    if context.head not in context.answered:
        return
    reached = context.head.map("ssh.reached")
    for node in context.run.cluster.nodes[1:]:
        reason = reached.get(node.name, "it was not tried")
        if reason is not None:
            yield context.block(
                context.head,
                key="launch.with",
                saw=f"{context.head.name} cannot run a command on {node.name} over SSH: {reason}",
                expected=f"SSH without a question, since launch.with is {context.run.launch.with_}",
                why="the launch would stop in the middle, with ranks running on some nodes.",
                fix=f"ssh {node.address} true on {context.head.name} shows the same; or launch: {{with: {DEFAULT}}}",
            )
