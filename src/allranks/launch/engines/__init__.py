"""The engines: other ways of starting the supervisors than a login on each node. One module an engine.

An engine only starts one command on each node: `sh <start script>`, a file that the controller put into the
run directory. Nothing of the run stands in its words: the order (job, key, secrets) comes to the waiting
supervisor by the controller's own connection (`node/engine_orders.py`). So hostile values, secrets and long
environments never meet a launcher's command line.

A module has:

    PROGRAM                     what must be on the head's path
    path_of(node) -> str        where a node's start script lies, below the run directory
    command(launch) -> [words]  runs on the head, and ends when every supervisor has been started
    SAYS                        (regular expression, what it means, what to do) of a line of its output

SLURM brings the nodes too (`runs/allocation.py`). Ray, which may have to be started first, has `begin` in place of
`command`: it gives the words and their standard input.
"""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType

from allranks.core import BLOCK, BadInput, Finding, Node, Problem, Where
from allranks.plan import Plan
from allranks.spec import Run

STARTED_FROM_HEAD = ("pdsh", "mpi", "deepspeed")
"""The engines whose command runs on the head, over nodes that the controller reaches over SSH."""

LAST_LINES = 8


@dataclass(frozen=True)
class Launch:
    """What an engine's command needs. `scripts` are the nodes' start scripts there, by node name."""

    run: Run
    plan: Plan
    scripts: dict[str, str]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self.run.cluster.nodes

    def refuse(self, key: str, saw: str, why: str, do: str) -> BadInput:
        return BadInput(Problem(saw, why=why, do=do, file=self.run.file, line=self.run.line(key)))

    def one_login(self) -> tuple[str | None, int | None]:
        """The user and SSH port of all nodes but the head. Raises BadInput where they differ."""
        users = {node.user or self.run.user for node in self.nodes}
        ports = {node.port for node in self.nodes}
        if len(users) > 1 or len(ports) > 1:
            raise self.refuse(
                "nodes",
                "nodes with several users or SSH ports.",
                f"{self.run.launch.with_} hands one set of options to every ssh.",
                "User and Port in the head's ~/.ssh/config, and none in the run file",
            )
        return users.pop(), ports.pop()

    def plain_addresses(self) -> list[str]:
        """The addresses, which these programs take as lists with commas. Raises BadInput for an odd one."""
        addresses = [node.address for node in self.nodes]
        odd = [address for address in addresses if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", address)]
        twice = [address for address in addresses if addresses.count(address) > 1]
        if odd or twice:
            raise self.refuse(
                "nodes",
                f"{odd[0]} as an address." if odd else f"{twice[0]} is the address of more than one node.",
                f"{self.run.launch.with_} takes a list of names, one a machine.",
                "a name for each machine in /etc/hosts or ~/.ssh/config, or launch: {with: ssh}",
            )
        return addresses


def find(name: str) -> ModuleType | None:
    """The engine of `launch.with`; None where the supervisors need none (ssh, local)."""
    if name not in (*STARTED_FROM_HEAD, "slurm", "ray"):
        return None
    return importlib.import_module(f"{__name__}.{name}")


def start_script(argv: Sequence[str], home: str) -> str:
    """One node's start script. `home` is said, since what launchers hand on of an environment differs."""
    return (
        "# Started by the run's launcher: the supervisor, which waits for its order.\n"
        f"export ALLRANKS_HOME={shlex.quote(home)}\n"
        f"exec {shlex.join(argv)}\n"
    )


def headed(words: Sequence[str]) -> list[str]:
    """The command on the head with its errors in its output, and without a standard input to wait for."""
    return ["sh", "-c", 'exec "$@" 2>&1 </dev/null', "sh", *words]


def blamed(line: str, engine: ModuleType) -> tuple[str, str] | None:
    """What a line of the engine's output means and what to do; None where it says nothing of a failure."""
    return next((tuple(said) for pattern, *said in engine.SAYS if re.search(pattern, line)), None)


def named(text: str, nodes: Iterable[Node]) -> Node | None:
    """The node that a line speaks of, by its name or address as a whole word."""
    return next(
        (
            node
            for node in nodes
            if any(
                re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-]|\.\w)", text)
                for word in (node.name, node.address)
            )
        ),
        None,
    )


def failure(engine: ModuleType, lines: Sequence[str], nodes: Sequence[Node], code: int | None) -> Finding:
    """Why an engine did not start the supervisors: the first line that its SAYS know, the node it speaks of.

    `code` is the command's exit code; None while it still runs.
    """
    evidence = tuple(line.strip()[:300] for line in lines if line.strip(" \n-"))
    for number, line in enumerate(evidence):
        meant = blamed(line, engine)
        if meant is not None:
            others = [line, *evidence[max(0, number - 2) : number + 3]]
            # The head starts it: its name stands in lines that speak of another node.
            node = next((n for n in (named(text, [*nodes[1:], *nodes[:1]]) for text in others) if n), None)
            return said(engine, node, f"{engine.PROGRAM}: {meant[0]} ({line})", meant[1], evidence)
    ended = "it went on without starting them" if code is None else f"it ended with exit code {code}"
    last = f": {evidence[-1]}" if evidence else ", and printed nothing"
    saw = f"{engine.PROGRAM} did not start every supervisor; {ended}{last}"
    return said(engine, None, saw, "the lines below are its own", evidence)


def said(engine: ModuleType, node: Node | None, saw: str, fix: str, evidence: Sequence[str]) -> Finding:
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
