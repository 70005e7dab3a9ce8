"""Turns a plan into commands. Pure functions: they start and read nothing."""

from __future__ import annotations

from collections.abc import Sequence

from allranks.core import Cluster, Node


def torchrun(python: str, cluster: Cluster, node: Node, port: int, script: Sequence[str]) -> list[str]:
    """One node's torchrun, as `torch.distributed.run`, so that it is the one of that Python.

    It uses the static rendezvous with `--max-restarts 0`: a rank keeps its number, and the decision after a failure
    is made for the whole job, not by each node for itself.
    """
    return [
        python,
        "-m",
        "torch.distributed.run",
        f"--nnodes={len(cluster.training)}",
        f"--nproc-per-node={node.gpus}",
        f"--node-rank={node.rank}",
        f"--master-addr={cluster.head.address}",
        f"--master-port={port}",
        "--max-restarts=0",
        *script,
    ]
