"""`nodes:` in each of its forms → the nodes of the run, in rank order.

Forms: `node[1-2]`, `user@host`, `localhost`, a number of nodes (SLURM, Ray), `$SLURM_JOB_NODELIST`, the
path of a hostfile, a list of strings and mappings, a mapping of one node, a mapping from names to nodes.
"""

from __future__ import annotations

import os
import re
from typing import Any

from allranks.core import BadInput
from allranks.core.file_kinds import is_file
from allranks.spec import launchers, validate
from allranks.spec import text as files
from allranks.spec.drafts import KEYS, NAMES, Draft, from_text
from allranks.spec.hostfile import read_hostfile
from allranks.spec.names import MAX_NAMES, expanded
from allranks.spec.problems import Problems, Wrong, shown
from allranks.spec.reading import MISSING, Reading, scalar
from allranks.spec.tree import Scalar, Sequence, Table, Tree

NODELIST = ("$SLURM_JOB_NODELIST", "${SLURM_JOB_NODELIST}", "$SLURM_NODELIST", "${SLURM_NODELIST}")
HOSTFILE_NAME = re.compile(r"(?i).*(?:host_?file|machine_?file|\.(?:txt|hosts|cfg|lst))")


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
                raise Wrong(f"{shown(written)}: this is a list.", do="an address, or {address: …, gpus: …}")
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
            raise Wrong(
                f"{raw} is not set.",
                "this is not a SLURM job.",
                "node names, or a number of nodes with a launcher that chooses them",
            )
        return from_text(listed, node)
    path = hostfile_path(raw, reading)
    if path is None:
        return from_text(raw, node)
    try:
        return read_hostfile(files.read(files.at_home(path), path), path, reading)
    except BadInput as error:
        reading.adopt(error, node, "nodes")
        return []


def counts_ranks(tree: Tree | None, reading: Reading) -> bool:
    """Whether it names a hostfile, or a table of hosts, that gives each node's number of ranks."""
    if not isinstance(tree, Scalar):
        return False
    own = Reading(reading.file, Problems())
    try:
        path = hostfile_path(tree.raw, own)
        drafts = read_hostfile(files.read(files.at_home(path), path), path, own) if path else []
    except (Wrong, BadInput):  # the reading of `nodes` reports it
        return False
    return bool(drafts) and all(draft.gpus for draft in drafts)


def counted(node: Scalar, launcher: str) -> list[Draft]:
    count = node.value
    if not launchers.find(launcher).chooses_nodes:
        choosing = [one.name for one in launchers.every() if one.chooses_nodes]
        raise Wrong(
            f"{node.raw} is a number, not machines.",
            f"only {' and '.join(choosing)} choose the machines themselves.",
            "nodes: node[1-3], or on this machine alone nodes: node-[0-2] with same_host: true",
        )
    if not 1 <= count <= MAX_NAMES:
        raise Wrong(f"{shown(node.raw)} nodes.", f"1 to {MAX_NAMES:,} are possible.")
    return [Draft(node, f"node-{n}") for n in range(count)]


def hostfile_path(raw: str, reading: Reading) -> str | None:
    """The path of a hostfile, None if `raw` names hosts."""
    if "\0" in raw or len(raw) > 4096:
        return None
    path = reading.path(raw)
    if raw.startswith("~") or "/" in raw:
        return path
    if is_file(path) and "[" not in raw and "," not in raw:
        return path
    if HOSTFILE_NAME.fullmatch(raw):
        raise Wrong(
            f"{shown(raw)}: no such file beside the run file.",
            "as a host's name it is unlikely.",
            "the right path, or {name: …, address: …} if it is a host",
        )
    return None


def named(key: str) -> list[Draft]:
    return [Draft(None, validate.name(name)) for name in expanded(key)]


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
