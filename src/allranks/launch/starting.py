"""Starts supervisors by a launcher's own program: builds its command, and reads failures from its output.

A launcher only starts one command on each node: `sh <start script>`, a file that the controller put into the run
directory. The order (job, key, secrets) reaches the waiting supervisor over the controller's own connection
(`node/engine_orders.py`). So hostile values, secrets and long environments are never in a launcher's command line.
`plan --render` takes the same words from the same `command`, with its own scripts.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from allranks.core import BLOCK, Finding, Node, Where
from allranks.plan import Plan
from allranks.spec import Run
from allranks.spec.launchers import Launcher

LAST_LINES = 8
CONNECT_SECONDS = 10
SSH_OPTIONS = ("-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_SECONDS}")
"""BatchMode, because no person can answer a question. 10 s is also the limit of allranks' own connections
(`transport/ssh.py`)."""

TRY = "on the head: ssh NODE true shows the same"
SSH_FAILURES = (
    (r"ssh: connect to host .*: Connection refused", "nothing listens on its SSH port", TRY),
    (r"ssh: connect to host .*: (Connection timed out|No route to host)", "it does not answer", TRY),
    (r"ssh: Could not resolve hostname", "its name does not resolve on the head", "add it to /etc/hosts"),
    (r"Host key verification failed", "the head does not know its host key", TRY),
    (r"Permission denied \(", "it accepts none of the head's keys", TRY),
    (r"Connection (closed|reset) by", "it closed the connection", TRY),
)
"""ssh's messages, for launchers that log in from the head."""


class StartFailed(Exception):
    """Another program that the launcher needs did not start on a node; `text` is the node's message."""

    def __init__(self, node: Node, saw: str, fix: str, text: str):
        super().__init__(saw)
        self.node, self.saw, self.fix, self.text = node, saw, fix, text


@dataclass(frozen=True)
class Start:
    """The input of a launcher's command. `scripts` are the nodes' start scripts, by node name.

    In a rendering `shell` is bash, a path may contain the scripts' own folder as a shell variable
    (`scripts/_phrases.py`), and `secrets` are the names of variables that the launcher passes on.
    """

    run: Run
    plan: Plan
    scripts: Mapping[str, str]
    nodes: tuple[Node, ...]
    program: str
    shell: str = "sh"
    secrets: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def users(self) -> list[str | None]:
        """The user who logs in on each node. These programs split `user@host` themselves, so a user with @ is
        refused."""
        found = [node.user or self.run.user for node in self.nodes]
        for user in found:
            if user is not None and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", user):
                raise self.run.refuse(
                    "user",
                    f"user {user}.",
                    f"{self.program} reads user@host and would split it at the wrong place.",
                    "User in ~/.ssh/config, and no user here",
                )
        return found

    def hosts(self) -> list[str]:
        """`user@address` of each node."""
        pairs = zip(self.users(), self.addresses(), strict=True)
        return [address if user is None else f"{user}@{address}" for user, address in pairs]

    def ssh_options(self, one_user: bool = False, secrets: Sequence[str] = ()) -> list[str]:
        """The options of every ssh; `secrets` are variables that ssh passes on. Raises BadInput if nodes need
        different options."""
        users, ports = set(self.users()), {node.port for node in self.nodes}
        if (one_user and len(users) > 1) or len(ports) > 1:
            raise self.run.refuse(
                "nodes",
                "nodes with several users or SSH ports." if one_user else "nodes with several SSH ports.",
                f"{self.program} hands one set of options to every ssh.",
                "User and Port in the head's ~/.ssh/config, and none in the run file",
            )
        user, port = users.pop() if one_user else None, ports.pop()
        options = [*SSH_OPTIONS, *(word for name in secrets for word in ("-o", f"SendEnv={name}"))]
        return [*options, *(["-l", user] if user else []), *(["-p", str(port)] if port else [])]

    def addresses(self, several: bool = False) -> list[str]:
        """The addresses, for programs that take them as a list with commas. Raises BadInput for an address that does
        not fit into such a list, and if several nodes are one machine, unless `several`."""
        addresses = [node.address for node in self.nodes]
        odd = [address for address in addresses if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", address)]
        twice = [] if several else [address for address in addresses if addresses.count(address) > 1]
        if odd or twice:
            raise self.run.refuse(
                "nodes",
                f"{odd[0]} as an address." if odd else f"{twice[0]} is the address of more than one node.",
                f"{self.program} takes a list of names, one per machine.",
                "a name for each machine in /etc/hosts or ~/.ssh/config, or start the run over SSH",
            )
        return addresses

    def folder(self) -> str:
        """The run directory."""
        head = self.nodes[0]
        return self.scripts[head.name][: -len(self.run.launcher.script_path(head)) - 1]

    def numbered_script(self) -> str:
        """The path of every node's script, with `%n` for the node's place. Raises BadInput if one command cannot name
        all paths."""
        paths = [self.scripts[node.name] for node in self.nodes]
        path = paths[0].removesuffix("0.sh") + "%n.sh"
        if paths != [path.replace("%n", str(place)) for place in range(len(paths))]:
            folders = ", ".join(sorted({posixpath.dirname(path) for path in paths}))
            raise self.run.refuse(
                "launch.with",
                f"the homes of allranks differ: {folders}.",
                f"{self.program} runs one command on all nodes.",
                "ALLRANKS_HOME with the same path on every node, or start the run over SSH",
            )
        folder = posixpath.dirname(path)
        is_variable = "\0" in path  # the folder of rendered scripts, which finds itself by its own path
        if not is_variable and not re.fullmatch(r"[A-Za-z0-9/._-]+", folder):
            raise self.run.refuse(
                "launch.with",
                f"the home of allranks is {folder}.",
                f"{self.program} hands its command to a shell, and pdsh replaces % in it.",
                "ALLRANKS_HOME with letters, digits, dots and dashes alone",
            )
        return path


def numbered_path(node: Node) -> str:
    """The path of a node's start script. It contains the node's rank, which is its place in the launcher's list of
    hosts."""
    return f"engine/{node.rank}.sh"


def without_secrets(run: Run) -> list[str]:
    """`env -u NAME …`, for programs that keep or pass on their whole environment. Secrets reach the nodes in another
    way."""
    return ["env", *(word for name in run.secrets for word in ("-u", name))]


def starting(run: Run, plan: Plan, scripts: Mapping[str, str]) -> Start:
    """The start of a run's supervisors by its own launcher."""
    return Start(run, plan, scripts, run.cluster.nodes, run.launch.with_, extra=run.launch.extra)


def start_script(argv: Sequence[str], home: str) -> str:
    """One node's start script. It sets `home`, since launchers pass on different parts of an environment."""
    return (
        "# Started by the run's launcher: the supervisor, which waits for its order.\n"
        f"export ALLRANKS_HOME={shlex.quote(home)}\n"
        f"exec {shlex.join(argv)}\n"
    )


def headed(words: Sequence[str]) -> list[str]:
    """The command on the head, with stderr in stdout and without stdin."""
    return ["sh", "-c", 'exec "$@" 2>&1 </dev/null', "sh", *words]


def blamed(line: str, launcher: Launcher) -> tuple[str, str] | None:
    """(meaning, fix) of a line of the launcher's output; None if the line does not report a failure."""
    return next(((means, fix) for pattern, means, fix in launcher.failures if re.search(pattern, line)), None)


def named(text: str, nodes: Iterable[Node]) -> Node | None:
    """The node whose name or address is in a line, as a whole word."""
    for node in nodes:
        words = "|".join(map(re.escape, (node.name, node.address)))
        if re.search(rf"(?<![\w.-])({words})(?![\w-]|\.\w)", text):
            return node
    return None


def failure(launcher: Launcher, lines: Sequence[str], nodes: Sequence[Node], code: int | None) -> Finding:
    """Why a launcher did not start the supervisors: the first line that matches one of its `failures`, and the node
    that the line names. `code` is the command's exit code; None while it still runs.
    """
    evidence = tuple(line.strip()[:300] for line in lines if line.strip(" \n-"))
    for number, line in enumerate(evidence):
        meant = blamed(line, launcher)
        if meant is not None:
            others = [line, *evidence[max(0, number - 2) : number + 3]]
            # The head starts the launcher, so its name is also in lines about other nodes. It is tried last.
            node = next((n for n in (named(text, [*nodes[1:], *nodes[:1]]) for text in others) if n), None)
            return said(launcher, node, f"{launcher.program}: {meant[0]} ({line})", meant[1], evidence)
    ended = "it went on without starting them" if code is None else f"it ended with exit code {code}"
    last = f": {evidence[-1]}" if evidence else ", and printed nothing"
    saw = f"{launcher.program} did not start every supervisor; {ended}{last}"
    return said(launcher, None, saw, "the lines below are its own", evidence)


def said(launcher: Launcher, node: Node | None, saw: str, fix: str, evidence: Sequence[str]) -> Finding:
    return Finding(
        id="engine-failed",
        verdict=BLOCK,
        where=Where(node=node.name if node else None),
        saw=saw,
        expected="one supervisor on each node",
        why="a run needs every node; what had been started was stopped again.",
        fix=fix,
        evidence=tuple(evidence[-LAST_LINES:]),
    )


def limit_seconds(text: str | None) -> int | None:
    """The seconds of `launch.time` (checked by `spec.validate.time_limit`): minutes, MM:SS, HH:MM:SS, D-HH[:MM[:SS]];
    None means no limit."""
    if text is None or not text[0].isdigit():
        return None
    days, dash, rest = text.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if dash:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    elif len(parts) == 3:
        hours, minutes, seconds = parts
    else:
        hours, (minutes, seconds) = 0, (*parts, 0)[:2]
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
