"""OpenMPI's mpirun: one process per node, which starts the supervisor and ends.

Each node is a separate context (`-np 1 --host H … : …`), so that mpirun uses the order of the run file. The other
ways do not work with OpenMPI 4.1.4: `--map-by ppr` gives the first number to the machine that mpirun runs on;
`--map-by seq` refuses that machine under an address; a rankfile ties each process to one core; `username=` in a
hostfile is ignored.

mpirun ends when the supervisors have been started. They are daemons then, so the death of mpirun or of an orted
cannot end the run. In an allocation of a batch system that OpenMPI knows, its processes belong to the job. As root,
mpirun needs OMPI_ALLOW_RUN_AS_ROOT; allranks sets it, because a user who logs in as root has made that decision
already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import SCRIPT, File, ScriptJob
from allranks.launch.scripts._phrases import HERE, at_home, bash
from allranks.launch.scripts._readme import readme
from allranks.launch.starting import SSH_FAILURES, Start
from allranks.spec.launchers import Launcher


def command(start: Start, hostfile: str | None = None, ranks: str | None = None) -> list[str]:
    """One process per node. With `ranks`, the path of a script, one process per GPU."""
    interface = interface_of(start)
    addresses = start.addresses(several=True)
    words = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "mpirun"]
    words += ["--hostfile", hostfile] if hostfile else []
    # A supervisor must not be bound to one core, or be counted against slots.
    words += ["--oversubscribe", "--bind-to", "none"]
    words += ["--mca", "plm_rsh_args", " ".join(start.ssh_options(one_user=True))]
    for option in ("oob_tcp_if_include", "btl_tcp_if_include") if interface else ():
        words += ["--mca", option, str(interface)]
    words += [word for name in start.secrets for word in ("-x", name)]
    words += start.extra
    for place, (node, address) in enumerate(zip(start.nodes, addresses, strict=True)):
        words += [":"] if place else []
        count, script = (node.gpus, ranks) if ranks else (1, start.scripts[node.name])
        words += ["-np", str(count), "--host", address, start.shell, script]
    return words


def interface_of(start: Start) -> str | None:
    """The interface for mpirun's own connections: the plan's, if it is the same on all nodes."""
    every = start.plan.environment.get("all", {})
    by_node = start.plan.environment.get("nodes", {})
    found = {
        by_node.get(node.name, {}).get("GLOO_SOCKET_IFNAME") or every.get("GLOO_SOCKET_IFNAME")
        for node in start.nodes
    }
    one = found.pop() if len(found) == 1 else None
    return str(one).lstrip("=") if one and one != "lo" else None


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.known_nodes(job, "mpi")
    _shell.no_sweep(job, "mpi")
    start = job.start("mpi")
    files = {
        "mpirun.sh": mpirun(job, "one torchrun per node", command(start, f"{HERE}/hosts")),
        "hosts": File(hostfile(job)),
        **_shell.node_scripts(job),
        **_shell.common_files(job),
    }
    how = "```sh\n./mpirun.sh          # one torchrun per node\n"
    if job.container is None:
        words = command(start, f"{HERE}/hosts", ranks=f"{HERE}/rank.sh")
        files["mpirun-ranks.sh"] = mpirun(job, "one process per rank", words)
        files["rank.sh"] = File(rank_script(job), SCRIPT)
        how += "./mpirun-ranks.sh    # or: one process per rank, without torchrun\n"
    how += "```\n"
    if job.container is not None:
        how += "\nNot one process per rank: each would be a separate container, which NCCL cannot connect.\n"
    if job.run.secrets:
        how += "\nmpirun hands the secrets on by name (`-x`).\n"
    return {**files, **readme(job, "mpirun", how)}


def mpirun(job: ScriptJob, says: str, words: Iterable[str]) -> File:
    text = _shell.start(f"mpirun: {says}.") + _shell.need_secrets(job)
    return File(text + _shell.exec_line(words), SCRIPT)


def hostfile(job: ScriptJob) -> str:
    """OpenMPI's hostfile. It lists each machine once, even if several nodes are on it."""
    slots: dict[str, int] = {}
    for node in job.nodes:
        slots[node.address] = slots.get(node.address, 0) + node.gpus
    return "".join(f"{address} slots={count}\n" for address, count in slots.items())


def rank_script(job: ScriptJob) -> str:
    """A script that sets the variables of a rank as torchrun would, from OpenMPI's number and the nodes' sizes."""
    sizes = " ".join(str(node.gpus) for node in job.nodes)
    text = _shell.start("Started by mpirun: one rank.") + (
        "self=$here/rank.sh\n"
        "rank=${OMPI_COMM_WORLD_RANK:?mpirun starts this}\n"
        f"sizes=({sizes})\n"
        "node=0 local=$rank\n"
        'while [ "$local" -ge "${sizes[node]}" ]; do local=$((local - sizes[node])); node=$((node + 1)); done\n'
    )
    text += _shell.SOURCE_COMMON + (
        "environment+=(\n"
        '  "RANK=$rank" "LOCAL_RANK=$local" "GROUP_RANK=$node" "LOCAL_WORLD_SIZE=${sizes[node]}"\n'
        f"  WORLD_SIZE={sum(node.gpus for node in job.nodes)}\n"
        f"  MASTER_ADDR={bash(job.run.cluster.head.address)} MASTER_PORT={job.run.network.rendezvous_port}\n"
        ")\n\n"
    )
    return text + _shell.command([at_home(job.python), "-u"], together=1)


HINT = "`ssh NODE which orted` must work from the head; launch.extra takes --prefix and --mca"
FAILURES = (
    *SSH_FAILURES,
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
        "the interface is missing",
        "network: {interface: NAME}",
    ),
    (r'"error":', "a supervisor did not start", "read its message"),
)

LAUNCHER = Launcher(
    name="mpi",
    says="OpenMPI's mpirun on the head, over SSH.",
    logs_in_from_head=True,
    program="mpirun",
    packages={"Debian": ("openmpi-bin",), "RedHat": ("openmpi",)},
    command=command,
    failures=FAILURES,
    render=render,
)
