"""Nodes as they are named on the command line: node names, a hostfile, a run file, or a run's id."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from allranks.core import BadInput, Cluster, Problem
from allranks.core.file_kinds import is_file
from allranks.core.net import is_loopback
from allranks.runs import index
from allranks.spec import cluster_from_hostfile, cluster_from_names, launchers, load
from allranks.spec import text as files
from allranks.transport import Nodes, open_nodes, reached

RUN_FILES = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Access:
    """How to reach nodes that no run file describes."""

    user: str | None = None
    transport: str = "asyncssh"
    accept_new_hosts: bool = False


def open_targets(text: str, access: Access) -> Nodes:
    """The nodes that `text` means. They are connected at the first call. Raises BadInput.

    A file is a run file (by its ending) or a hostfile. Otherwise a run's whole id means its nodes, and any other text
    is node names such as `node[1-3]` or `user@node7,node8`. The beginning of an id is not enough, since a node may
    have that name.
    """
    if not text.strip():
        raise BadInput(Problem("an empty name of a node (an unset variable?)", do="such as node[1-3]"))
    path = files.at_home(text)
    if is_file(path) and path.endswith(RUN_FILES):
        run = load(path)
        return open_nodes(run, access.accept_new_hosts)
    if is_file(path):
        return of_cluster(cluster_from_hostfile(files.read(path, text), text), access)
    if "/" in text or text.startswith("~") or text.endswith(RUN_FILES):
        raise BadInput(
            Problem(f"{text}: no such file", do="a hostfile, a run file, or names such as node[1-3]")
        )
    if is_run(text):
        return index.nodes_of(text)
    return of_cluster(cluster_from_names(text), access)


def is_run(text: str) -> bool:
    """Whether this is the whole id of a known run."""
    try:
        return bool(index.entry(text)) or Path(index.directory_here(text).marker).is_file()
    except BadInput:
        return False


def of_cluster(cluster: Cluster, access: Access) -> Nodes:
    """The nodes of a cluster. This machine is reached without SSH, as in a run file."""
    local = all(is_loopback(node.address) and node.port is None for node in cluster.nodes)
    launch = launchers.LOCAL if local and not access.user else launchers.DEFAULT
    return reached(cluster.nodes, launch, access.user, access.accept_new_hosts, transport=access.transport)
