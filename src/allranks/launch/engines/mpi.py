"""OpenMPI's mpirun: one process a node, which becomes the supervisor's parent and ends.

Each node is a context of its own (`-np 1 --host H … : …`), as in the rendered script (`scripts/mpi.py` says
which other ways do not hold). mpirun ends when the supervisors have been started: they are daemons by then,
and neither its death nor that of an orted can end a run that trains. Within an allocation of a batch system
that OpenMPI knows, its processes belong to the job as mpirun's own do.

Tried with OpenMPI 4.1.4. As root it refuses to start without OMPI_ALLOW_RUN_AS_ROOT; whoever logs in as root
has decided that already.
"""

from __future__ import annotations

from allranks.core import Node
from allranks.launch.engines import Launch, _ssh

PROGRAM = "mpirun"
HINT = "`ssh NODE which orted` must work from the head; launch.extra takes --prefix and --mca"
SAYS = (
    *_ssh.SAYS,
    (r"(orted|prted): (command )?not found", "OpenMPI is not on its path", HINT),
    (r"(orted|prted).{0,40}No such file", "OpenMPI is not on its path", HINT),
    (r"was unable to reliably start", "its daemon (orted) could not be started", HINT),
    (
        r"[Dd]aemon has unexpectedly failed|lost communication with a remote daemon",
        "its daemon (orted) died",
        HINT,
    ),
    (r"not enough slots", "mpirun counts too few slots", "launch: {extra: [--oversubscribe]}"),
    (r"could not find an executable|unable to find the specified executable", "sh is not there", HINT),
    (
        r"None of the TCP networks specified|if_include",
        "the interface is not there",
        "network: {interface: NAME}",
    ),
    (r'"error":', "a supervisor did not begin", "the message is its own"),
)


def path_of(node: Node) -> str:
    return f"nodes/{node.name}/start.sh"


def command(launch: Launch) -> list[str]:
    user, port = launch.one_login()
    login = [*_ssh.OPTIONS, *(["-l", user] if user else []), *(["-p", str(port)] if port else [])]
    interface = interface_of(launch)
    words = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", PROGRAM]
    # A supervisor must not inherit one core, nor be counted against slots.
    words += ["--oversubscribe", "--bind-to", "none", "--mca", "plm_rsh_args", " ".join(login)]
    words += ["--mca", "oob_tcp_if_include", interface] if interface else []
    words += launch.run.launch.extra
    for place, (node, address) in enumerate(zip(launch.nodes, launch.plain_addresses(), strict=True)):
        words += [":"] if place else []
        words += ["-np", "1", "--host", address, "sh", launch.scripts[node.name]]
    return words


def interface_of(launch: Launch) -> str | None:
    """The interface for mpirun's own connections: what the plan found, where it is one name on all nodes."""
    every = launch.plan.environment.get("all", {})
    by_node = launch.plan.environment.get("nodes", {})
    found = {
        by_node.get(node.name, {}).get("GLOO_SOCKET_IFNAME") or every.get("GLOO_SOCKET_IFNAME")
        for node in launch.nodes
    }
    one = found.pop() if len(found) == 1 else None
    return str(one).lstrip("=") if one and one != "lo" else None
