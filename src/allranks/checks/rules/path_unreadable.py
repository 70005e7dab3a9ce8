"""A folder or file of the run does not answer.

## How it is found
Every folder that the run writes to, and every small file that its settings name, on every node: whether the
node got an answer about it within its limit.

## Why it matters
A mount whose server is gone does not answer: `ls` hangs. A rank that touches it sleeps in the kernel (state D),
and not even SIGKILL ends it. allranks does not call a thing fine if it could not look at it.

## What to do
`findmnt -T PATH` names the server. Bring it back, or unmount lazily (`umount -l`) and use another folder.

## Source
The node's own wait; nfs(5), option `hard`, which is the default.

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.core import UNKNOWN
from allranks.core.untrusted import mapping

NEEDS = ("storage.paths", "storage.files")


def check(context: Context) -> Findings:
    for view in context.machines:
        for kind in ("paths", "files"):
            for path, state in view.map(f"storage.{kind}").items():
                reason = mapping(state).get("unreadable")
                if reason:
                    yield context.say(
                        UNKNOWN,
                        view,
                        saw=f"{path} on {view.name} does not answer: {reason}",
                        expected="an answer within seconds",
                        why="a rank that touches it would sleep in the kernel, where no signal reaches it.",
                        fix=f"findmnt -T {path} on {view.name}; bring its server back, or use another folder",
                    )
