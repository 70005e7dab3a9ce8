"""pdsh over ssh: one command for all nodes, `sh <folder>/%n.sh`; %n is a host's place in the list.

Tried with pdsh 2.34: it hands on no standard input and no environment, and substitutes `%n` in the remote
command. It ends when every supervisor has been started, so nothing of it can die later.
"""

from __future__ import annotations

import posixpath

from allranks.core import Node
from allranks.launch.engines import Launch, _ssh

PROGRAM = "pdsh"
SAYS = (
    *_ssh.SAYS,
    (r"command not found", "a program is missing there", "install it on that node"),
    (r'"error":', "its supervisor did not begin", "the message is its own"),
    (r"exited with exit code", "the start ended with an error", _ssh.TRY),
    (r"^pdsh@.*: (?!.*exited)", "it could not begin", "run the same pdsh by hand on the head"),
)


def path_of(node: Node) -> str:
    """By rank, which is the node's place in the list of hosts."""
    return f"engine/{node.rank}.sh"


def folder_of(launch: Launch) -> str:
    """Where the start scripts lie on every node. Raises BadInput for what one command cannot name."""
    folders = {posixpath.dirname(path) for path in launch.scripts.values()}
    program = launch.run.launch.with_
    if len(folders) > 1:
        raise launch.refuse(
            "launch.with",
            "the homes of allranks differ: " + ", ".join(sorted(folders)) + ".",
            f"{program} runs one command on all nodes.",
            "ALLRANKS_HOME with the same path on every node, or launch: {with: ssh}",
        )
    folder = folders.pop()
    if not folder.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise launch.refuse(
            "launch.with",
            f"the home of allranks is {folder}.",
            f"{program} hands its command to a shell, and pdsh replaces % in it.",
            "ALLRANKS_HOME with letters, digits, dots and dashes alone",
        )
    return folder


def command(launch: Launch) -> list[str]:
    folder = folder_of(launch)
    user, port = launch.one_login()
    login = f"{user}@" if user else ""
    hosts = ",".join(login + address for address in launch.plain_addresses())
    options = [*_ssh.OPTIONS, *(["-p", str(port)] if port else [])]
    return [
        *("env", f"PDSH_SSH_ARGS_APPEND={' '.join(options)}", PROGRAM, "-R", "ssh", "-S"),
        # Below the number of nodes the last ones would wait for the first, whose order waits for them.
        *("-f", str(len(launch.nodes))),
        *launch.run.launch.extra,
        *("-w", hosts, f"exec sh {folder}/%n.sh"),
    ]
