"""The environment of each rank: allranks' own variables, then the run file's `env`, then the node's own `env`.

torchrun itself sets MASTER_ADDR, MASTER_PORT, RANK, LOCAL_RANK, WORLD_SIZE and LOCAL_WORLD_SIZE.
"""

from __future__ import annotations

from collections.abc import Mapping

from allranks.core import Facts, Node
from allranks.core.net import is_loopback
from allranks.spec import CPU, Run

TCP_FABRICS = ("tcp", "socket", "ethernet")


def environment(run: Run, uses_gpu: bool, facts: Mapping[str, Facts] | None = None) -> dict[str, dict]:
    """{"all": {NAME: value}, "nodes": {node: {NAME: value}}}. A node's ranks get both; the node's values win.

    Values are strings. The user's values win over those of allranks. Variables that are the same on every node are in
    `all`.
    """
    common: dict[str, str] = {"OMP_NUM_THREADS": "1"}
    if uses_gpu:
        common["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        common["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
        if run.network.fabric in TCP_FABRICS:
            common["NCCL_IB_DISABLE"] = "1"
    if run.gpus.model == CPU:
        common["CUDA_VISIBLE_DEVICES"] = ""  # A script that looks for a GPU by itself would take one.
    asked = {name: str(value) for name, value in run.env.items()}
    interfaces = {node.name: interface_of(run, node, facts) for node in run.cluster.nodes}
    nodes: dict[str, dict[str, str]] = {node.name: {} for node in run.cluster.nodes}
    shared = set(interfaces.values())
    if len(shared) == 1 and None not in shared:
        common.update(_interface_variables(next(iter(shared)), uses_gpu))
    else:
        for name, interface in interfaces.items():
            found = _interface_variables(interface, uses_gpu)
            nodes[name].update({key: value for key, value in found.items() if key not in asked})
    common.update(asked)
    for node in run.cluster.nodes:
        nodes[node.name].update({name: str(value) for name, value in node.env})
    return {
        "all": dict(sorted(common.items())),
        "nodes": {n: dict(sorted(e.items())) for n, e in nodes.items()},
    }


def _interface_variables(interface: str | None, uses_gpu: bool) -> dict[str, str]:
    """The variables that name the interface. NCCL reads its variable as a list of prefixes, or after `=` as one exact
    name; gloo takes exactly one name (NCCL user guide, NCCL_SOCKET_IFNAME; torch 2.13, ProcessGroupGloo)."""
    if interface is None:
        return {}
    variables = {"GLOO_SOCKET_IFNAME": interface}
    if uses_gpu:
        variables["NCCL_SOCKET_IFNAME"] = f"={interface}"
    return variables


def interface_of(run: Run, node: Node, facts: Mapping[str, Facts] | None = None) -> str | None:
    """The network interface a node's ranks talk over: the node's own, the run file's, `lo` where all nodes are
    this host's loopback, the one that the node's facts say leads to the head; None if nobody knows."""
    if node.interface:
        return node.interface
    if run.network.interface != "auto":
        return run.network.interface
    if all(is_loopback(other.address) for other in run.cluster.nodes):
        return "lo"
    known = (facts or {}).get(node.name)
    found = known.get("network.interface_to_head") if known else None
    return str(found) if found else None
