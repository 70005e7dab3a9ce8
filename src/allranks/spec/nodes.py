"""`nodes:` in each of its forms → the nodes of the run, in rank order.

Forms: `node[1-2]`, `user@host`, `localhost`, a number of nodes (SLURM, Ray), `$SLURM_JOB_NODELIST`, the
path of a hostfile, a list of strings and mappings, a mapping of one node, a mapping from names to nodes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allranks.core import BadInput, Cluster, Node
from allranks.core.net import is_loopback
from allranks.spec import text as files
from allranks.spec import validate
from allranks.spec.keys import declared, key
from allranks.spec.names import MAX_NAMES, expanded
from allranks.spec.problems import Wrong, shown
from allranks.spec.reading import (
    GPU_COUNT,
    MISSING,
    SCALAR,
    Reading,
    integer,
    read_env,
    read_labels,
    scalar,
    text,
)
from allranks.spec.tree import Scalar, Sequence, Table, Tree

PLACED_BY_LAUNCHER = ("slurm", "ray")
"""Launchers that choose the nodes themselves, so that a number of them is enough."""

NODELIST = ("$SLURM_JOB_NODELIST", "${SLURM_JOB_NODELIST}", "$SLURM_NODELIST", "${SLURM_NODELIST}")
HOSTFILE_NAME = re.compile(r"(?i).*(?:host_?file|machine_?file|\.(?:txt|hosts|cfg|lst))")


@dataclass
class Draft:
    """A node before ranks and defaults are known. `at` is its place in the file."""

    at: Any
    name: str = key(
        None,
        "The node's name in everything that is said.",
        form="a name or a range",
        unset="its address",
        schema=SCALAR,
    )
    address: str | None = key(
        None,
        "How it is reached.",
        None,
        form="a host, an ssh alias, an address",
        unset="its name",
        schema=SCALAR,
    )
    gpus: int | None = key(GPU_COUNT, "Its GPUs (ranks).", None, unset="`gpus`")
    interface: str | None = key(
        text(validate.interface, pattern=validate.INTERFACE),
        "Its network interface.",
        None,
        form="one exact name",
        unset="`network.interface`",
    )
    port: int | None = key(
        integer(1, 65535, "port", 22, "a TCP port is 1 to 65,535."),
        "Its ssh port.",
        None,
        unset="ssh's own choice",
    )
    user: str | None = key(
        text(validate.user, pattern=validate.USER),
        "Who logs in there.",
        None,
        form="a user's name",
        unset="`user`",
    )
    labels: Mapping[str, str] = key(read_labels, "Words of yours, such as its rack.", {})
    env: Mapping[str, str] = key(read_env, "Variables of its ranks, over those in `env`.", {})


KEYS = declared(Draft, "nodes[].")
NAMES = tuple(one.name for one in KEYS)


def read_nodes(tree: Tree, reading: Reading, launcher: str) -> list[Draft]:
    """The drafts of all nodes; what is wrong goes to `reading`."""
    if isinstance(tree, Sequence):
        drafts = []
        for item in tree.items:
            found = reading.value(item, "nodes", lambda item, key, reading: one_item(item, reading))
            drafts += [] if found is MISSING else found
        return drafts
    if isinstance(tree, Table):
        return read_table(tree, reading)
    found = reading.value(tree, "nodes", lambda tree, key, reading: read_scalar(tree, reading, launcher))
    return [] if found is MISSING else found


def one_item(item: Tree, reading: Reading) -> list[Draft]:
    if isinstance(item, Table):
        return from_mapping(item, reading)
    return from_text(scalar(item, "node-1, user@node-1 or {name: node-1, address: 10.0.0.1}").raw, item)


def read_table(tree: Table, reading: Reading) -> list[Draft]:
    """One node with its keys, or names with their nodes."""
    keys = tree.entries.keys()
    if keys & {"name", "address"} or (keys and keys <= set(NAMES)):
        found = reading.value(tree, "nodes", lambda _, key, reading: from_mapping(tree, reading))
        return [] if found is MISSING else found
    drafts: list[Draft] = []
    for written, entry in tree.entries.items():
        node = entry.node
        try:
            names = named(written)
            if isinstance(node, Table):
                drafts += from_mapping(node, reading, names)
            elif isinstance(node, Scalar):
                drafts += with_addresses(names, None if node.value is None else node.raw, entry)
            else:
                raise Wrong(
                    f"{shown(written)}: a list stands here.", do="an address, or {address: …, gpus: …}"
                )
        except Wrong as wrong:
            reading.refuse(entry, "nodes", wrong)
    return drafts


def read_scalar(tree: Tree, reading: Reading, launcher: str) -> list[Draft]:
    node = scalar(tree, "such as node[1-2]")
    if type(node.value) is int:
        return counted(node, launcher)
    raw = node.raw
    if raw in NODELIST:
        listed = os.environ.get("SLURM_JOB_NODELIST") or os.environ.get("SLURM_NODELIST")
        if not listed:
            raise Wrong(f"{raw} is not set.", "this is no SLURM job.", "node names, or launch: {with: slurm}")
        return from_text(listed, node)
    path = hostfile_path(raw, reading)
    if path is None:
        return from_text(raw, node)
    from allranks.spec.hostfile import read_hostfile

    try:
        return read_hostfile(files.read(files.at_home(path), path), path, reading)
    except BadInput as error:
        reading.adopt(error, node, "nodes")
        return []


def counted(node: Scalar, launcher: str) -> list[Draft]:
    count = node.value
    if launcher not in PLACED_BY_LAUNCHER:
        raise Wrong(
            f"{node.raw} is a number, not machines.",
            f"only {' and '.join(PLACED_BY_LAUNCHER)} choose the machines themselves.",
            "nodes: node[1-3], or on this machine alone nodes: node-[0-2] with same_host: true",
        )
    if not 1 <= count <= MAX_NAMES:
        raise Wrong(f"{shown(node.raw)} nodes.", f"1 to {MAX_NAMES:,} are possible.")
    return [Draft(node, f"node-{n}") for n in range(count)]


def hostfile_path(raw: str, reading: Reading) -> str | None:
    """The path of a hostfile, None where `raw` names hosts."""
    if "\0" in raw or len(raw) > 4096:
        return None
    path = reading.path(raw)
    if raw.startswith("~") or "/" in raw:
        return path
    if files.is_file(path) and "[" not in raw and "," not in raw:
        return path
    if HOSTFILE_NAME.fullmatch(raw):
        raise Wrong(
            f"{shown(raw)}: no such file beside the run file.",
            "as a host's name it is unlikely.",
            "the right path, or {name: …, address: …} if it is a host",
        )
    return None


def from_text(raw: str, at: Any) -> list[Draft]:
    """`user@node[1-2],node7` → drafts. The user holds for the names of its own comma-free part."""
    if not raw.strip():
        raise Wrong("it is empty.", do="such as node[1-2]")
    if re.search(r"\s", raw.strip()) and "," not in raw:
        raise Wrong(f"{shown(raw)} holds spaces.", "they separate nothing here.", "a list: [node-1, node-2]")
    drafts = []
    for name in expanded(raw):
        user, _, host = name.rpartition("@")
        if "@" in name:
            validate.user(user)
        host = validate.host(host)
        short = node_name(host)
        own = None if short == host and not is_address(host) else host
        drafts.append(Draft(at, short, own, user=user or None))
    return drafts


def named(key: str) -> list[Draft]:
    return [Draft(None, validate.name(name)) for name in expanded(key)]


def node_name(host: str) -> str:
    """A host as the name of a node. A name is part of paths, so that an IPv6 address is written with dashes."""
    if ":" in host:
        return validate.name("ip6-" + re.sub(r"[:%]", "-", host))
    return host if len(host) <= validate.MAX_NAME else validate.name(host.split(".")[0])


def from_mapping(tree: Table, reading: Reading, names: list[Draft] | None = None) -> list[Draft]:
    """`{name, address, gpus, interface, port, user, labels, env}`; name and address may be ranges."""
    reading.unknown_keys(tree, "nodes.", NAMES if names is None else NAMES[1:])
    if names is None:
        written = tree.get("name")
        if written is not None:
            names = named(scalar(written, "a name").raw)
        elif tree.get("address") is None:
            raise Wrong("a node without a name.", do="{name: node-0, address: 10.18.122.130}")
        else:
            names = []
    address = tree.get("address")
    raw = None if address is None else scalar(address, "a host or an address").raw
    drafts = with_addresses(names, raw, tree)
    read = {
        one.field: reading.value(tree.get(one.name), f"nodes.{one.name}", one.read)
        for one in KEYS
        if one.read is not None
    }
    values = {field: value for field, value in read.items() if value is not MISSING}
    for draft in drafts:
        vars(draft).update(values)
    return drafts


def with_addresses(names: list[Draft], raw: str | None, at: Any) -> list[Draft]:
    """Names and addresses side by side. Without an address the name is one, unless all are this machine."""
    if raw is None:
        for draft in names:
            draft.at = at
        return names
    found = from_text(raw, at)
    if not names:
        return found
    if len(found) != len(names):
        raise Wrong(
            f"{len(names):,} names and {len(found):,} addresses.",
            "each node has one of each.",
            "ranges of one length",
        )
    for draft, other in zip(names, found, strict=True):
        draft.at, draft.address, draft.user = at, other.address or other.name, other.user
    return names


def make_cluster(drafts: list[Draft], reading: Reading, gpus: int, same_host: bool) -> Cluster:
    """Ranks, defaults and the proof that no node stands there twice."""
    nodes = []
    for rank, draft in enumerate(drafts):
        address = draft.address or ("127.0.0.1" if same_host else draft.name)
        try:
            validate.host(address)
        except Wrong as wrong:
            reading.refuse(draft.at, "nodes", wrong)
        nodes.append(
            Node(
                name=draft.name,
                address="127.0.0.1" if address == "localhost" else address,
                rank=rank,
                gpus=draft.gpus or gpus,
                interface=draft.interface,
                port=draft.port,
                user=draft.user,
                labels=tuple(draft.labels.items()),
                env=tuple(draft.env.items()),
            )
        )
    refuse_doubles(drafts, nodes, reading, same_host)
    refuse_hidden(drafts, nodes, reading)
    return Cluster(tuple(nodes))


def is_address(host: str) -> bool:
    """Whether a host is an address itself, which `same_host` must not replace."""
    return bool(re.fullmatch(r"[0-9.]+", host)) or ":" in host


def refuse_doubles(drafts: list[Draft], nodes: list[Node], reading: Reading, same_host: bool) -> None:
    names: dict[str, Node] = {}
    places: dict[tuple[str, int | None], Node] = {}
    for draft, node in zip(drafts, nodes, strict=True):
        if node.name in names:
            reading.wrong(
                draft.at,
                f"nodes: {node.name} stands here twice (node ranks {names[node.name].rank} and {node.rank}).",
                "two ranks would share each GPU of one machine.",
                f"one line for it, with gpus: {names[node.name].gpus + node.gpus} if that was meant",
            )
            continue
        names[node.name] = node
        machine = "this machine" if is_loopback(node.address) and node.port is None else node.address.lower()
        first = places.setdefault((machine, node.port), node)
        if first is not node and not same_host:
            reading.wrong(
                draft.at,
                f"nodes: {first.name} and {node.name} both have the address {node.address}."
                if first.address == node.address
                else f"nodes: {first.name} ({first.address}) and {node.name} ({node.address}) are one machine.",
                "two ranks would share each GPU of one machine.",
                "the right address, or same_host: true where several nodes on one machine are meant",
            )


def refuse_hidden(drafts: list[Draft], nodes: list[Node], reading: Reading) -> None:
    """A node that is named `localhost` among other machines cannot be found by them."""
    if all(is_loopback(node.address) for node in nodes):
        return
    for draft, node in zip(drafts, nodes, strict=True):
        if is_loopback(node.address):
            reading.wrong(
                draft.at,
                f"nodes: {node.name} is {node.address}, and other nodes are other machines.",
                "each of them would look for it on itself.",
                "the name or address that the others reach it by",
            )
