"""OpenMPI: mpirun starts one torchrun a node, or (a second file) one process a rank.

Each node is a context of its own (`-np N --host H … : …`), so that mpirun's ranks follow the run file's nodes.
The other ways were tried with OpenMPI 4.1.4 and do not hold: `--map-by ppr` numbers the machine that mpirun
runs on first; `--map-by seq` refuses that machine under an address; a rankfile ties each process to one core;
`username=` in a hostfile is read and not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from allranks.launch.scripts import _shell
from allranks.launch.scripts._job import SCRIPT, File, ScriptJob
from allranks.launch.scripts._phrases import at_home, bash
from allranks.launch.scripts._readme import readme


def render(job: ScriptJob) -> Mapping[str, File]:
    _shell.known_nodes(job, "mpi")
    _shell.no_sweep(job, "mpi")
    _shell.plain_addresses(job, "mpi", ports=True)
    contexts = [(1, node.address, f"node-{place}.sh") for place, node in enumerate(job.nodes)]
    files = {
        "mpirun.sh": File(mpirun(job, contexts, "one torchrun a node"), SCRIPT),
        "hosts": File(hostfile(job)),
        **_shell.node_scripts(job),
        **_shell.common_files(job),
    }
    how = "```sh\n./mpirun.sh          # one torchrun a node\n"
    if job.container is None:
        ranks = [(node.gpus, node.address, "rank.sh") for node in job.nodes]
        files["mpirun-ranks.sh"] = File(mpirun(job, ranks, "one process a rank"), SCRIPT)
        files["rank.sh"] = File(rank_script(job), SCRIPT)
        how += "./mpirun-ranks.sh    # or: one process a rank, without torchrun\n"
    how += "```\n"
    if job.container is not None:
        how += "\nOne process a rank is not written: each would be a container of its own, which NCCL cannot join up.\n"
    if job.run.secrets:
        how += "\nmpirun hands the secrets on by name (`-x`).\n"
    return {**files, **readme(job, "mpirun", how)}


def hostfile(job: ScriptJob) -> str:
    """OpenMPI's hostfile. A machine stands in it once, also where several nodes are one."""
    slots: dict[str, int] = {}
    for node in job.nodes:
        slots[node.address] = slots.get(node.address, 0) + node.gpus
    return "".join(f"{address} slots={count}\n" for address, count in slots.items())


def mpirun(job: ScriptJob, contexts: Iterable[tuple[int, str, str]], says: str) -> str:
    """The command. Without `--bind-to none` each process, and all it starts, stays on one core or socket;
    `--oversubscribe` lets mpirun count what torchrun starts no further."""
    interface = job.run.network.interface
    words = ['--hostfile "$here/hosts" --oversubscribe --bind-to none']
    login = ssh_options(job)
    if login:
        words.append(f"--mca plm_rsh_args {bash(' '.join(login))}")
    if interface != "auto":
        words.append(f"--mca oob_tcp_if_include {bash(interface)} --mca btl_tcp_if_include {bash(interface)}")
    words += [f"-x {name}" for name in job.run.secrets]
    words += [bash(word) for word in _shell.extra(job, "mpi")]
    starts = [f'-np {count} --host {bash(host)} bash "$here/{script}"' for count, host, script in contexts]
    text = _shell.start(f"mpirun: {says}.") + _shell.need_secrets(job)
    return text + "exec mpirun " + " \\\n  ".join([*words, " : \\\n  ".join(starts)]) + "\n"


def ssh_options(job: ScriptJob) -> list[str]:
    """What mpirun adds to each ssh: it splits the text at blanks, and here are a name and a number alone."""
    users, ports = set(_shell.users(job, "mpi")), {node.port for node in job.nodes}
    if len(users) > 1 or len(ports) > 1:
        raise job.refuse(
            "nodes",
            "nodes with several users or ssh ports.",
            "mpirun hands one set of options to every ssh.",
            "User and Port in ~/.ssh/config, and none here",
        )
    user, port = users.pop(), ports.pop()
    return [*(["-l", user] if user is not None else []), *(["-p", str(port)] if port is not None else [])]


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
