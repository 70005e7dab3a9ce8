"""The nodes that a run file or a hostfile names, before ranks and defaults are known, and the cluster they make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from allranks.core import Cluster, Node
from allranks.core.net import is_loopback
from allranks.spec import validate
from allranks.spec.keys import declared, key
from allranks.spec.names import expanded
from allranks.spec.problems import Wrong, shown
from allranks.spec.reading import GPU_COUNT, SCALAR, Reading, integer, read_env, read_labels, text


@dataclass
class Draft:
    """A node before ranks and defaults are known. `at` is its place in the file."""

    at: Any
    name: str = key(
        None,
        "The node's name in all output.",
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
    labels: Mapping[str, str] = key(read_labels, "Labels of your own, such as its rack.", {})
    env: Mapping[str, str] = key(read_env, "Variables of its ranks, over those in `env`.", {})


KEYS = declared(Draft, "nodes[].")
NAMES = tuple(one.name for one in KEYS)


def from_text(raw: str, at: Any) -> list[Draft]:
    """`user@node[1-2],node7` → drafts. The user holds for the names of its own comma-free part."""
    if not raw.strip():
        raise Wrong("it is empty.", do="such as node[1-2]")
    if re.search(r"\s", raw.strip()) and "," not in raw:
        raise Wrong(
            f"{shown(raw)} holds spaces.", "spaces do not separate names here.", "a list: [node-1, node-2]"
        )
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


def node_name(host: str) -> str:
    """A host as the name of a node. A name is part of paths, so that an IPv6 address is written with dashes."""
    if ":" in host:
        return validate.name("ip6-" + re.sub(r"[:%]", "-", host))
    return host if len(host) <= validate.MAX_NAME else validate.name(host.split(".")[0])


def make_cluster(drafts: list[Draft], reading: Reading, gpus: int, same_host: bool) -> Cluster:
    """Fills in ranks and defaults, and refuses a node that is listed twice."""
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
                f"nodes: {node.name} is here twice (node ranks {names[node.name].rank} and {node.rank}).",
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
                "the right address, or same_host: true if several nodes on one machine are meant",
            )


def refuse_hidden(drafts: list[Draft], nodes: list[Node], reading: Reading) -> None:
    """A node that is named `localhost` among other machines cannot be found by them."""
    if all(is_loopback(node.address) for node in nodes):
        return
    for draft, node in zip(drafts, nodes, strict=True):
        if is_loopback(node.address):
            reading.wrong(
                draft.at,
                f"nodes: {node.name} is {node.address}, but the run has other machines, too.",
                "there this address leads to those machines themselves.",
                f"give {node.name} a name or an address that the other machines can reach",
            )
