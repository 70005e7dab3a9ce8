"""Readers of the user's input: run file, hostfile, node ranges, inventories. Nothing here connects to a node.

The names below are loaded when they are first used, so that importing the types of `run` does not import the YAML
reader.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from allranks.spec.run import CPU, Run
from allranks.spec.sections import LEAF, LOCKSTEP, Container, Environment, Gpus, Launch, Network, Save, Train

if TYPE_CHECKING:
    from allranks.spec.hostfile import cluster_from_hostfile
    from allranks.spec.json_schema import json_schema
    from allranks.spec.names import expand, slurm_list
    from allranks.spec.runfile import load, loads
    from allranks.spec.start import cluster_from_names, init_text, local_cluster
    from allranks.spec.typed import Typed
    from allranks.spec.typed import load as load_typed

LATER = {
    "cluster_from_hostfile": "hostfile",
    "cluster_from_names": "start",
    "expand": "names",
    "init_text": "start",
    "json_schema": "json_schema",
    "load": "runfile",
    "loads": "runfile",
    "local_cluster": "start",
    "slurm_list": "names",
    "Typed": "typed",
    "load_typed": "typed",
}

RENAMED = {"load_typed": "load"}

__all__ = [
    "CPU", "LEAF", "LOCKSTEP", "Container", "Environment", "Gpus", "Launch", "Network", "Run", "Save", "Train",
    "Typed", "cluster_from_hostfile", "cluster_from_names", "expand", "init_text", "json_schema", "load",
    "load_typed", "loads", "local_cluster", "slurm_list",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{LATER[name]}"), RENAMED.get(name, name))
    globals()[name] = value
    return value
