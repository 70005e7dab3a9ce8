"""OpenMPI: mpirun starts one torchrun a node, or (a second file) one process a rank."""

from __future__ import annotations

from collections.abc import Mapping

from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import SCRIPT, File, ScriptJob
from allranks.launch.scripts._readme import readme
from allranks.launch.scripts._words import at_home, bash

SEQUENTIAL = "--map-by seq --bind-to none"
"""`seq` takes the hosts in the order of the hostfile, one process a line, so that a node keeps its number;
without `--bind-to none` each process, and all it starts, stays on one core."""


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.known_nodes(job, "mpi")
    _shell.no_sweep(job, "mpi")
    _shell.plain_addresses(job, "mpi")
    hosts = [host(job, place) for place in range(len(job.nodes))]
    files = {
        "mpirun.sh": File(mpirun(job, "hosts", len(job.nodes), "node.sh", "one torchrun a node"), SCRIPT),
        "hosts": File("".join(f"{line}\n" for line in hosts)),
        "node.sh": File(node_script(), SCRIPT),
        **_shell.node_scripts(job),
        **_shell.common_files(job),
    }
    how = "```sh\n./mpirun.sh          # one torchrun a node\n"
    if job.container is None:
        files |= per_rank(job, hosts)
        how += "./mpirun-ranks.sh    # or: one process a rank, without torchrun\n"
    how += "```\n"
    if job.container is not None:
        how += "\nOne process a rank is not written: each would be a container of its own, which NCCL cannot join up.\n"
    if job.run.secrets:
        how += "\nmpirun hands the secrets on by name (`-x`).\n"
    return {**files, **readme(job, "mpirun", how)}


def host(job: ScriptJob, place: int) -> str:
    """A line of the hostfile; slots are those of the sequential mapper: one process a line."""
    user = _shell.users(job, "mpi")[place]
    return job.nodes[place].address + (f" username={user}" if user is not None else "")


def mpirun(job: ScriptJob, hosts: str, count: int, script: str, says: str) -> str:
    interface = job.run.network.interface
    words = [f"-np {count}", f'--hostfile "$here/{hosts}"', SEQUENTIAL]
    if interface != "auto":
        words.append(f"--mca oob_tcp_if_include {bash(interface)} --mca btl_tcp_if_include {bash(interface)}")
    words += [f"-x {name}" for name in job.run.secrets]
    words += [bash(word) for word in _shell.extra(job, "mpi")]
    text = _shell.start(f"mpirun: {says}.")
    text += _shell.need_secrets(job)
    return text + "exec mpirun " + " \\\n  ".join([*words, f'bash "$here/{script}"']) + "\n"


def node_script() -> str:
    return _shell.start("Started by mpirun: runs the script of this node.") + (
        'exec bash "$here/node-${OMPI_COMM_WORLD_RANK:?mpirun starts this}.sh"\n'
    )


def per_rank(job: ScriptJob, hosts: list[str]) -> dict[str, File]:
    """The files of one process a rank."""
    lines = [line for line, node in zip(hosts, job.nodes, strict=True) for _ in range(node.gpus)]
    says = "one process a rank"
    return {
        "mpirun-ranks.sh": File(mpirun(job, "hosts-ranks", len(lines), "rank.sh", says), SCRIPT),
        "hosts-ranks": File("".join(f"{line}\n" for line in lines)),
        "rank.sh": File(rank_script(job), SCRIPT),
    }


def rank_script(job: ScriptJob) -> str:
    """What torchrun would set for a rank, from OpenMPI's number and the nodes' sizes."""
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
        f"  MASTER_ADDR={bash(job.run.cluster.head.address)} MASTER_PORT={job.run.network.port}\n"
        ")\n\n"
    )
    return text + _shell.command([at_home(job.python), "-u"])
