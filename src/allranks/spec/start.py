"""The first run file: what `allranks init` writes, and the cluster of one machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from allranks.core import BadInput, Cluster, Node
from allranks.core.file_kinds import is_file
from allranks.core.text import fold
from allranks.spec import launchers
from allranks.spec.drafts import from_text, make_cluster
from allranks.spec.hostfile import cluster_from_hostfile
from allranks.spec.problems import Problems, Wrong, refused
from allranks.spec.reading import Reading
from allranks.spec.text import at_home, read
from allranks.spec.tree import Scalar, Sequence, Table, Tree, scalar_value

PLAIN = re.compile(r"[A-Za-z0-9_./~][A-Za-z0-9_./~@+-]*")
RANGE = re.compile(r"[A-Za-z0-9_.,@\[\]-]+")

HEAD = """\
# A run file. `allranks check {file}` looks at the nodes, `allranks run {file}` starts the run.
# A key behind a # shows its default, or an example.

"""

TAIL = """
# Who logs in, if ssh would not choose the right user by itself.
# user: ubuntu

# Training's Python on every node, or the container that it runs in.
# environment: {python: /shared/env/bin/python}
# container:
#   engine: docker
#   image: hiyouga/llamafactory:latest
#   mounts: ["/nfs:/nfs:ro"]
#   shm: 16GiB

# auto: the interface of each node's route to the head.
# network: {interface: auto, port: auto}

# auto, zero3, zero3-offload, none, or the path of a DeepSpeed JSON.
# deepspeed: auto

# Where and how often checkpoints are written, and how many stay.
# save: {to: /local/runs, every: 50, keep: 3, copy_to: /nfs/adapters}

# Variables of every rank, and the names of those whose values must appear in no file.
# env: {OMP_NUM_THREADS: "1"}
# secrets: [HF_TOKEN]
"""


def local_cluster(count: int = 1, gpus: int = 1) -> Cluster:
    """`count` nodes with `gpus` ranks each, all on this machine: node-0, node-1, …"""
    return Cluster(tuple(Node(f"node-{n}", "127.0.0.1", n, gpus) for n in range(count)))


def cluster_from_names(text: str, gpus: int = 1) -> Cluster:
    """The nodes of `node[1-2],user@node7` or of a SLURM node list. Raises BadInput."""
    problems = Problems()
    try:
        drafts = from_text(text, Scalar("nodes", None, text, text))
    except Wrong as wrong:
        raise refused(f"nodes: {wrong.saw}", wrong.why, wrong.do) from None
    cluster = make_cluster(drafts, Reading(None, problems), gpus, same_host=False)
    if problems.found:
        raise BadInput(problems.all())
    return cluster


def init_text(
    nodes: str | None = None,
    gpus: int | None = None,
    train: str | None = None,
    environ: Mapping[str, str] | None = None,
    local_nodes: int = 1,
    file: str = "run.yaml",
    gpus_here: int | None = None,
) -> str:
    """A commented run file that `loads` reads back.

    `nodes` is the path of a hostfile, or node names. Without it the text has the nodes of the allocation that a process
    with the variables `environ` is in, or else `local_nodes` nodes on this machine. `gpus` is the number of ranks of a
    node for which no other number is given. `train` is a LLaMA-Factory YAML or a script, `file` the name that the text
    will be saved under, `gpus_here` the number of GPUs of this machine, None if it is unknown. Raises BadInput.
    """
    launcher = None
    if nodes is not None and is_file(at_home(nodes)):
        cluster = cluster_from_hostfile(read(at_home(nodes), nodes), nodes, gpus or 1)
    elif nodes is not None and ("/" in nodes or nodes.startswith("~")):
        raise refused("file not found.", do="the path of a hostfile, or names such as node[1-3]", file=nodes)
    elif nodes is not None:
        cluster = cluster_from_names(nodes, gpus or 1)
    elif found := allocation(environ or {}):
        launcher, names, count = found
        cluster = cluster_from_names(names, gpus or count)
    else:
        cluster = local_cluster(local_nodes, gpus or (gpus_here or local_nodes) // local_nodes or 1)
    local = nodes is None and launcher is None
    parts = [
        HEAD.format(file=file),
        nodes_text(cluster, local),
        gpus_text(cluster, local, gpus_here, asked=gpus is not None),
        "\n",
        train_text(train),
    ]
    if launcher:
        parts.append(
            "\n# The allocation that this was written in. ssh if the site lets you log in to your nodes.\n"
        )
        parts.append(f"launch: {{with: {launcher}}}\n")
    return "".join(parts) + TAIL


def allocation(environ: Mapping[str, str]) -> tuple[str, str, int] | None:
    """The launcher whose allocation a process with these variables is in, its nodes, and the GPUs of one of them."""
    for launcher in launchers.every():
        found = launcher.allocation(environ)
        if found is not None:
            return (launcher.name, *found)
    return None


def nodes_text(cluster: Cluster, local: bool) -> str:
    users = {node.user for node in cluster.nodes}
    lines = ["# The machines, the head first: it leads the rendezvous and keeps the run."]
    if local:
        lines.append(
            "nodes: localhost" if len(cluster.nodes) == 1 else f"nodes: node-[0-{len(cluster.nodes) - 1}]"
        )
        if len(cluster.nodes) > 1:
            lines.append("same_host: true   # all of them are this machine")
    elif len({node.gpus for node in cluster.nodes}) == len(users) == 1 and all(
        is_bare(node) for node in cluster.nodes
    ):
        names = fold([node.name for node in cluster.nodes], keep_order=True)
        lines.append(f"nodes: {names if RANGE.fullmatch(names) and names[0] != '[' else quoted(names)}")
        lines += [f"user: {quoted(user)}" for user in users if user]
    else:
        lines.append("nodes:")
        lines += [f"  - {node_text(node)}" for node in cluster.nodes]
    return "\n".join(lines) + "\n"


def gpus_text(cluster: Cluster, local: bool, here: int | None, asked: bool) -> str:
    """The key `gpus`, if one number is that of every node. `here` are the GPUs of this machine."""
    counts = {node.gpus for node in cluster.nodes}
    if len(counts) != 1:
        return ""
    count = counts.pop()
    if local and here == 0:
        return (
            f"gpus: {{count: {count}, model: cpu}}   # this machine has no GPU: the ranks train on its CPU\n"
        )
    unsure = "; those of this machine could not be counted" if local and here is None and not asked else ""
    return f"gpus: {count}   # GPUs (ranks) of each node{unsure}\n"


def is_bare(node: Node) -> bool:
    """Whether a node's name says all of it."""
    same = node.address == node.name or (node.name, node.address) == ("localhost", "127.0.0.1")
    return same and not (node.interface or node.port or node.labels or node.env)


def node_text(node: Node) -> str:
    values = {"name": quoted(node.name)}
    if not is_bare(node) and node.address != node.name:
        values["address"] = quoted(node.address)
    values["gpus"] = str(node.gpus)
    if node.interface:
        values["interface"] = quoted(node.interface)
    if node.user:
        values["user"] = quoted(node.user)
    if node.env:
        values["env"] = braces((name, quoted(value)) for name, value in node.env)
    return braces(values.items())


def braces(items: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in items) + "}"


def train_text(train: str | None) -> str:
    lines = ["# What is trained: a script that torchrun starts, or LLaMA-Factory's own keys or YAML."]
    if train is None:
        lines += ["train:", "  command: [train.py]", "  # llamafactory: sft.yaml"]
    elif train.endswith((".yaml", ".yml")):
        lines.append(f"train: {{llamafactory: {quoted(train)}}}")
    else:
        lines.append(f"train: {{command: [{quoted(train)}]}}")
    return "\n".join(lines) + "\n"


def flow(node: Tree) -> str:
    """A tree as YAML in brackets, on one line, that reads back as the same tree."""
    if isinstance(node, Table):
        return "{" + ", ".join(f"{quoted(k)}: {flow(e.node)}" for k, e in node.entries.items()) + "}"
    if isinstance(node, Sequence):
        return "[" + ", ".join(flow(item) for item in node.items) + "]"
    if node.value is None:
        return "null"
    return quoted(node.raw) if isinstance(node.value, str) else node.raw


def quoted(text: str) -> str:
    """A string as YAML that reads back as the same string, also inside [ ] and { }."""
    if PLAIN.fullmatch(text) and scalar_value(text) == text:
        return text
    letters = []
    for letter in text:
        if letter in '"\\':
            letters.append("\\" + letter)
        elif letter.isprintable():
            letters.append(letter)
        else:
            code = ord(letter)
            letters.append(
                f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
            )
    return '"' + "".join(letters) + '"'
