"""The rank map: which global rank runs on which node and GPU, and what is wrong with it.

torchrun numbers ranks node by node in node-rank order (torch 2.13, `torch.distributed.elastic`), so a
node's first rank is the number of ranks on the nodes before it, even if nodes have unequal slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.core import BLOCK, Finding, Node, Where
from allranks.spec import Run


def visible_devices(run: Run, node: Node) -> tuple[str, ...] | None:
    """The GPUs that CUDA_VISIBLE_DEVICES names for this node's ranks, or None if nothing limits them."""
    value = dict(node.env).get("CUDA_VISIBLE_DEVICES", run.env.get("CUDA_VISIBLE_DEVICES"))
    if value is None:
        return None
    return tuple(part.strip() for part in str(value).split(",") if part.strip())


def rank_map(run: Run, uses_gpu: bool) -> tuple[dict[str, Any], ...]:
    """One row per rank: {rank, local_rank, node, node_rank, gpu, address}. `gpu` is the device's index on its
    node (or its UUID where CUDA_VISIBLE_DEVICES holds one); None on CPU."""
    rows: list[dict[str, Any]] = []
    for node_rank, node in enumerate(run.cluster.nodes):
        devices = visible_devices(run, node)
        for local_rank in range(node.gpus):
            gpu: Any = local_rank if uses_gpu else None
            if uses_gpu and devices is not None and local_rank < len(devices):
                gpu = int(devices[local_rank]) if devices[local_rank].isdigit() else devices[local_rank]
            rows.append(
                {
                    "rank": len(rows),
                    "local_rank": local_rank,
                    "node": node.name,
                    "node_rank": node_rank,
                    "gpu": gpu,
                    "address": node.address,
                }
            )
    return tuple(rows)


def rank_findings(run: Run, rows: tuple[Mapping[str, Any], ...], uses_gpu: bool) -> list[Finding]:
    findings = _names_twice(run) + _addresses_twice(run)
    if uses_gpu:
        findings += _gpus_twice(run, rows) + _too_few_devices(run)
    return findings


def _names_twice(run: Run) -> list[Finding]:
    names = [node.name for node in run.cluster.nodes]
    return [
        Finding(
            id="node-twice",
            verdict=BLOCK,
            where=Where(node=name, file=run.file, line=run.line("nodes")),
            saw=f"is listed {names.count(name)} times",
            expected="each node once",
            why="two torchruns on one node take the same GPUs; NCCL stops with 'Duplicate GPU detected'.",
            fix=f"keep one entry for {name}",
        )
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]


def _addresses_twice(run: Run) -> list[Finding]:
    if run.same_host:
        return []
    by_address: dict[tuple[str, int | None], list[str]] = {}
    for node in run.cluster.nodes:
        by_address.setdefault((node.address, node.port), []).append(node.name)
    return [
        Finding(
            id="node-twice",
            verdict=BLOCK,
            where=Where(node=names[1], file=run.file, line=run.line("nodes")),
            saw=f"has the address of {names[0]}, {address}",
            expected="one node an address, or same_host: true",
            why="one host would be launched twice: two ranks per GPU, and NCCL stops with 'Duplicate GPU detected'.",
            fix=f"remove {names[1]}, or write same_host: true if that is meant",
        )
        for (address, _), names in by_address.items()
        if len(set(names)) > 1
    ]


def _gpus_twice(run: Run, rows: tuple[Mapping[str, Any], ...]) -> list[Finding]:
    """Equal indices on different hosts are normal; on one host two ranks would share a GPU."""
    seen: dict[tuple[str, Any], Mapping[str, Any]] = {}
    findings: list[Finding] = []
    for row in rows:
        first = seen.setdefault((row["address"], row["gpu"]), row)
        if first is row or (first["node"] == row["node"] and first["node_rank"] != row["node_rank"]):
            continue
        if first["node"] != row["node"] and not run.same_host:
            continue  # said once for the whole node by _addresses_twice
        findings.append(
            Finding(
                id="gpu-twice",
                verdict=BLOCK,
                where=Where(node=row["node"], rank=row["rank"], file=run.file, line=run.line("nodes")),
                saw=f"runs on GPU {row['gpu']} of {row['address']}, as rank {first['rank']} does",
                expected="one rank per GPU",
                why="NCCL stops with 'Duplicate GPU detected', and each rank has half of the memory.",
                fix=f'give {row["node"]} GPUs of its own: env: {{CUDA_VISIBLE_DEVICES: "…"}} under that node; '
                f"{run.cpu_form} to train on CPUs",
            )
        )
    return findings


def _too_few_devices(run: Run) -> list[Finding]:
    findings: list[Finding] = []
    for node in run.cluster.nodes:
        devices = visible_devices(run, node)
        if devices is not None and len(devices) < node.gpus:
            findings.append(
                Finding(
                    id="gpu-count",
                    verdict=BLOCK,
                    where=Where(node=node.name, file=run.file, line=run.line("env.CUDA_VISIBLE_DEVICES")),
                    saw=f"CUDA_VISIBLE_DEVICES names {len(devices)} GPUs, {node.gpus} ranks are asked for",
                    expected="one GPU per rank",
                    why=f"local ranks {len(devices)} and up end with 'invalid device ordinal'.",
                    fix=(f"gpus: {len(devices)}" if devices else run.cpu_form)
                    + f", or name {node.gpus} GPUs in CUDA_VISIBLE_DEVICES",
                )
            )
    return findings
