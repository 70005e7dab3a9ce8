"""The hardware of the machines: from facts if there are any, else from tables that name their sources.

allranks measures nothing here. A number from a table is marked `assumed`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from allranks.core import Facts, Node
from allranks.core.net import is_loopback
from allranks.core.untrusted import integer, mapping, mappings, number, text
from allranks.plan.environment import TCP_FABRICS, interface_of
from allranks.plan.ranks import rank_map
from allranks.spec import Run

GIB = 2**30


class Gpu(NamedTuple):
    """`memory_bytes` is the memory that a process can use (torch's `total_memory`); `flops` is the dense bf16 peak per
    second (fp16 if there is no bf16); `link` is the all-gather bus bandwidth between 8 GPUs of one node in bytes/s."""

    memory_bytes: int
    flops: float
    link: float


_NVLINK3, _NVLINK4, _NVLINK5, _NVLINK2, _PCIE4, _PCIE5, _PCIE3 = 230e9, 460e9, 840e9, 130e9, 20e9, 40e9, 10e9
"""8-GPU bus bandwidths: A100 228 and H100 460 GB/s are the health thresholds of AzNHC (Azure/azurehpc-health-
checks, `nd96amsr_a100_v4.conf`, `nd96isr_h100_v5.conf`); the others are scaled from NVIDIA's link rates."""

_GPUS: dict[str, Gpu] = {
    # Memory: the lowest "total capacity of … GiB" seen in torch's public out-of-memory messages for the model.
    # Peaks: NVIDIA's data sheets, dense (without sparsity).
    "A100 80GB": Gpu(int(79.15 * GIB), 312e12, _NVLINK3),
    "A800 80GB": Gpu(int(79.15 * GIB), 312e12, _NVLINK3 * 2 / 3),
    "A100 40GB": Gpu(int(39.39 * GIB), 312e12, _NVLINK3),
    "H100 NVL": Gpu(int(93.0 * GIB), 835e12, _PCIE5),
    "H100": Gpu(int(79.10 * GIB), 989e12, _NVLINK4),
    "H800": Gpu(int(79.10 * GIB), 989e12, _NVLINK4 * 4 / 9),
    "GH200": Gpu(int(94.5 * GIB), 989e12, _NVLINK4),
    "H200": Gpu(int(139.7 * GIB), 989e12, _NVLINK4),
    "H20": Gpu(int(95.0 * GIB), 148e12, _NVLINK4),
    "B200": Gpu(int(178.3 * GIB), 2250e12, _NVLINK5),
    "V100 32GB": Gpu(int(31.73 * GIB), 125e12, _NVLINK2),
    "V100 16GB": Gpu(int(15.77 * GIB), 125e12, _NVLINK2),
    "L40S": Gpu(int(44.3 * GIB), 362e12, _PCIE4),
    "L40": Gpu(int(44.3 * GIB), 181e12, _PCIE4),
    "L4": Gpu(int(22.0 * GIB), 121e12, _PCIE4),
    "A40": Gpu(int(44.3 * GIB), 150e12, _PCIE4),
    "A30": Gpu(int(23.5 * GIB), 165e12, _PCIE4),
    "A10G": Gpu(int(22.0 * GIB), 70e12, _PCIE4),
    "A10": Gpu(int(22.0 * GIB), 125e12, _PCIE4),
    "A6000": Gpu(int(47.4 * GIB), 155e12, _PCIE4),
    "6000 Ada": Gpu(int(47.4 * GIB), 364e12, _PCIE4),
    "RTX 5090": Gpu(int(31.3 * GIB), 209e12, _PCIE5),
    "RTX 4090": Gpu(int(23.5 * GIB), 165e12, _PCIE4),
    "RTX 3090": Gpu(int(23.5 * GIB), 71e12, _PCIE4),
    "T4": Gpu(int(14.56 * GIB), 65e12, _PCIE3),
}


class Network(NamedTuple):
    """The bandwidth out of one node, in bytes per second, and the source of the number."""

    name: str
    bytes_per_second: float
    source: str
    assumed: bool = True


ETHERNET_100 = Network("100 Gb Ethernet", 12.5e9, "line rate; one NIC reaches about 12 GB/s of it")
INFINIBAND_8X200 = Network(
    "8 × 200 Gb InfiniBand", 200e9, "line rate; AzNHC expects 185 Gb/s a NIC with GPUDirect"
)
LOOPBACK = Network("loopback", 2e9, "order of magnitude of gloo between processes of one host")


@dataclass(frozen=True)
class Hardware:
    """The GPU model, and the smallest host memory of all nodes; None if it is unknown. `networks` begins with the one
    that the run would use; the others are for comparison."""

    gpu_name: str | None
    gpu: Gpu | None
    host_bytes: int | None
    networks: tuple[Network, ...]
    without_tcp: Network | None = None
    """The network that the nodes could use if the run were not restricted to TCP: their InfiniBand ports, or a usual
    one."""

    @property
    def network(self) -> Network:
        return self.networks[0]


def gpu_named(name: str | None) -> Gpu | None:
    """The table's entry for a GPU's name (`A100-SXM4-80GB`, `NVIDIA H100 80GB HBM3`); the longest name that matches."""
    if not name:
        return None
    words = _words(name)
    for key in sorted(_GPUS, key=len, reverse=True):
        if all(word in words for word in _words(key)):
            return _GPUS[key]
    return None


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", name.lower().replace(" gb", "gb")))


def used_gpus(
    run: Run, node: Node, rows: Iterable[Mapping[str, Any]], gpus: Sequence[Mapping[str, Any]]
) -> set[int]:
    """The places in nvidia-smi's list `gpus` of this node's GPUs that ranks use. `rows` are the rank map's rows of the
    node, or of all nodes of its machine. A device that CUDA_VISIBLE_DEVICES names by a UUID that is not in the list (a
    MIG device) counts as the GPU of its local rank."""
    names = [str(gpu.get("uuid") or "") for gpu in gpus]
    order = cuda_order(gpus, dict(node.env).get("CUDA_DEVICE_ORDER", run.env.get("CUDA_DEVICE_ORDER")))
    found: set[int] = set()
    for row in rows:
        device = row.get("gpu")
        if isinstance(device, str) and device:  # CUDA takes the beginning of a UUID too
            alike = [place for place, name in enumerate(names) if name.startswith(device)]
            if len(alike) == 1:
                found.add(alike[0])
                continue
        index = device if isinstance(device, int) else row.get("local_rank")
        if isinstance(index, int) and 0 <= index < len(order):
            found.add(order[index])
    return found


def cuda_order(gpus: Sequence[Mapping[str, Any]], setting: str | None) -> list[int]:
    """The places of the GPUs in the order in which CUDA numbers them: that of the PCI bus, as in nvidia-smi, if
    CUDA_DEVICE_ORDER says so; otherwise the fastest first (CUDA programming guide, environment variables). CUDA does
    not say how it compares GPUs. This compares peaks, then memory."""
    places = list(range(len(gpus)))
    if setting == "PCI_BUS_ID" or len({str(gpu.get("name")) for gpu in gpus}) < 2:
        return places

    def speed(place: int) -> tuple[float, int]:
        known = gpu_named(text(gpus[place].get("name")))
        return (
            known.flops if known else 0.0,
            integer(mapping(gpus[place].get("memory")).get("total_bytes")) or 0,
        )

    return sorted(places, key=speed, reverse=True)


def hardware_of(run: Run, uses_gpu: bool, facts: Mapping[str, Facts] | None = None) -> Hardware:
    known = [facts[node.name] for node in run.cluster.nodes if facts and node.name in facts]
    gpu_name, gpu = _gpu(run, facts or {}) if uses_gpu else (None, None)
    totals = [_host_bytes(one) for one in known]
    hosts = [total for total in totals if total]
    return Hardware(
        gpu_name=gpu_name,
        gpu=gpu,
        host_bytes=min(hosts) if hosts and len(hosts) == len(run.cluster.nodes) else None,
        networks=_networks(run, facts),
        without_tcp=_fastest(run, facts or {}, tcp=False) or INFINIBAND_8X200,
    )


def _gpu(run: Run, facts: Mapping[str, Facts]) -> tuple[str | None, Gpu | None]:
    """The GPU of the run's ranks with the least memory: a display's small card beside them does not count."""
    rows, seen = rank_map(run, uses_gpu=True), []
    for node in run.cluster.nodes:
        if node.name in facts:
            gpus = mappings(facts[node.name].get("gpus.list"))
            places = used_gpus(run, node, (row for row in rows if row["node"] == node.name), gpus)
            seen += [gpus[place] for place in sorted(places)]
    name = str(seen[0].get("name")) if seen and seen[0].get("name") else run.gpus.model
    gpu = gpu_named(name)
    sizes = [integer(mapping(one.get("memory")).get("total_bytes")) for one in seen]
    least = min((size for size in sizes if size and size > 0), default=None)
    if least is None:
        return name, gpu
    # nvidia-smi counts what the driver keeps for itself; torch's total_memory is about 1 % less.
    return name, (gpu or Gpu(0, 0.0, 0.0))._replace(memory_bytes=int(least * 0.99))


def _host_bytes(one: Facts) -> int | None:
    total, limit = one.get("system.memory.total_bytes"), one.get("system.cgroup_memory_bytes")
    values = [value for value in (total, limit) if isinstance(value, int) and value > 0]
    return min(values) if values else None


def _networks(run: Run, facts: Mapping[str, Facts] | None) -> tuple[Network, ...]:
    compared = (ETHERNET_100, INFINIBAND_8X200)
    if len(run.cluster.nodes) > 1 and all(is_loopback(node.address) for node in run.cluster.nodes):
        return (LOOPBACK, *compared)
    tcp = run.network.fabric.lower() in TCP_FABRICS or run.env.get("NCCL_IB_DISABLE") == "1"
    found = _fastest(run, facts or {}, tcp=tcp)
    if found is not None:
        return (found, *compared)
    if run.network.fabric.lower() in ("ib", "infiniband", "roce", "rdma"):
        return (INFINIBAND_8X200, ETHERNET_100)
    return compared


def _fastest(run: Run, facts: Mapping[str, Facts], tcp: bool) -> Network | None:
    """The slowest node's best: its active InfiniBand or RoCE ports together, unless held to `tcp`; else its
    interface."""
    rates: list[tuple[float, str]] = []
    for node in run.cluster.nodes:
        one = facts.get(node.name)
        if one is None:
            return None
        ports = [] if tcp else _active_rates(one)
        if ports:
            rates.append((sum(ports) / 8 * 1e9, f"{len(ports)} active ports, {sum(ports):g} Gb/s by /sys"))
            continue
        # Not by a path with dots: a VLAN's name has one (`bond0.100`).
        interfaces = mapping(one.get("network.interfaces"))
        speed = mapping(interfaces.get(interface_of(run, node, facts) or "")).get("speed_mbits")
        if not isinstance(speed, (int, float)) or speed <= 0:
            return None
        rates.append((speed / 8 * 1e6, f"{speed / 1000:g} Gb/s by the driver"))
    if not rates:
        return None
    rate, source = min(rates)
    return Network("this network", rate, f"line rate: {source}", False)


def _active_rates(one: Facts) -> list[float]:
    rates: list[float] = []
    for device in mapping(one.get("infiniband.devices")).values():
        for port in map(mapping, mapping(mapping(device).get("ports")).values()):
            rate = number(port.get("rate_gbits"))
            if port.get("state") == "ACTIVE" and rate is not None:
                rates.append(rate)
    return rates
