"""Writes the recorded clusters: `python -m tests.recorded.compose`. See README.md for what they are."""

from __future__ import annotations

import json
import sys
from typing import Any

from allranks import spec
from allranks.node.facts import gpus as gpu_family
from allranks.plan import library_trial
from tests.recorded.parts import (
    GIB,
    HERE,
    HOME,
    QWEN,
    TAKEN_AT,
    TINY,
    TRAINER,
    dataset,
    disk,
    driver,
    imports,
    infiniband,
    interface,
    libraries,
    matrix,
    model,
    network,
    shm,
    smi,
    software,
    system,
)

NO_GPUS = {"list": [], "driver": None, "cuda": None, "reason": "no NVIDIA device on the PCI bus"}
CUDA = {"torch": "2.13.0", "triton": "3.6.0", "nvidia-nccl-cu12": "2.30.7"}
NOT_ASKED = {"variables": None}


def facts(name: str, values: dict) -> dict:
    values = {**values, "collection": {"seconds": 0.4, "families": {}}}
    return {"node": name, "taken_at": TAKEN_AT, "values": values, "unreadable": {}}


def named(nodes: list[dict]) -> dict[str, dict]:
    if len(nodes) == 1:
        return {"localhost": facts("localhost", nodes[0])}
    return {f"node-{number}": facts(f"node-{number}", values) for number, values in enumerate(nodes)}


def small(number: int, addresses: list[str], *, head: bool) -> dict[str, Any]:
    """A machine without GPUs that trains the tiny model."""
    return {
        "system": system(number, cpus=8, memory=32 * GIB),
        "network": network(number, addresses, head=head),
        "storage": {
            "paths": {HOME: disk(HOME), "/dev/shm": shm(16 * GIB)},
            "files": {},
            "model": model("/models/tiny", TINY, {"model.safetensors": 640_000}, 612_512),
            "dataset": dataset("/data", "keeping"),
        },
        "software": software(),
        "imports": imports(*TRAINER),
        "libraries": NOT_ASKED,
        "leftovers": {"runs": [], "others": []},
        "shared": {"folders": {}},
        "code": {"folders": {}},
        "extensions": {"folder": "/home/ubuntu/.cache/torch_extensions", "locks": []},
        "gpus": NO_GPUS,
        "driver": driver(None),
        "topology": {"matrix": {}, "nvlinks": {}},
        "infiniband": {"devices": {}, "verbs": []},
        "firewall": {
            "input": {"policy": "accept", "chains": 1, "rejects": False, "ports": [], "everything_from": []},
            "exports": [],
        },
        "ssh": {"reached": {}},
        "containers": {"engine": None},
    }


def with_gpus(
    found: dict[str, Any], count: int, number: int, cuda: str = "12.8", **about: Any
) -> dict[str, Any]:
    """The same machine with GPUs, their driver and a CUDA build of torch."""
    found["software"] = software(**CUDA)
    found["software"]["torch_cuda"] = cuda
    found["software"]["nvcc"] = {"path": "/usr/local/cuda/bin/nvcc", "version": cuda}
    found["gpus"] = gpu_family.parse(smi(count, number, **about))
    found["driver"] = driver(found["gpus"])
    found["libraries"] = libraries()
    found["topology"] = {"matrix": matrix(count, [], "PHB"), "nvlinks": {}}
    return found


def demo() -> dict[str, dict]:
    return named([small(0, ["127.0.0.1"] * 3, head=number == 0) for number in range(3)])


def cpu() -> dict[str, dict]:
    addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    return named([small(number, addresses, head=number == 0) for number in range(3)])


def a100() -> dict[str, dict]:
    addresses = ["10.18.122.130", "10.18.122.131", "10.18.122.132"]
    return named([a100_node(number, addresses) for number in range(3)])


def a100_node(number: int, addresses: list[str]) -> dict:
    shards = {f"model-{n:05d}-of-00163.safetensors": 8_200_000_000 + n for n in range(1, 164)}
    config = json.loads((HERE.parent.parent / "examples/deepseek-v3-24xa100.config.json").read_text())
    found = with_gpus(small(number, addresses, head=number == 0), 8, number)
    found["system"] = system(number, cpus=256, memory=2048 * GIB)
    found["network"]["interfaces"]["eth0"] = interface(f"{addresses[number]}/24", mtu=9000, speed=100_000)
    found["storage"]["model"] = model("/nfs/DeepSeek-V3-bf16", config, shards, 1_342_052_808_704)
    found["storage"]["dataset"] = dataset("/nfs/data", "all_creator_training")
    found["storage"]["paths"]["/home/ubuntu/runs"] = disk(
        "/home/ubuntu/runs", free=3000 * GIB, total=7000 * GIB
    )
    found["storage"]["paths"]["/dev/shm"] = shm(1024 * GIB)
    found["driver"]["nvswitches"] = 6
    found["driver"]["fabric_manager"] = {"version": "570.124.06", "state": "active"}
    found["topology"] = {
        "matrix": matrix(8, [], "NV12"),
        "nvlinks": {str(index): [25.0] * 12 for index in range(8)},
    }
    return found


def h100() -> dict[str, dict]:
    addresses = ["10.20.0.1", "10.20.0.2"]
    return named([h100_node(number, addresses) for number in range(2)])


def h100_node(number: int, addresses: list[str]) -> dict:
    shards = {f"model-{n:05d}-of-00004.safetensors": 4_000_000_000 + n for n in range(1, 5)}
    found = with_gpus(small(number, addresses, head=number == 0), 8, number, name="h100")
    found["system"] = system(number, cpus=192, memory=2048 * GIB)
    found["network"]["interfaces"]["eth0"] = interface(f"{addresses[number]}/24", mtu=9000, speed=100_000)
    for rail in range(8):
        found["network"]["interfaces"][f"ib{rail}"] = interface(
            f"10.21.{rail}.{number + 1}/24", mtu=4092, speed=None, kind="infiniband"
        )
    found["storage"]["model"] = model("/models/qwen3-8b", QWEN, shards, 16_381_470_720)
    found["storage"]["paths"]["/dev/shm"] = shm(1024 * GIB)
    found["driver"].update(nvswitches=4, fabric_manager={"version": "570.124.06", "state": "active"})
    found["driver"]["modules"].append("nvidia_peermem")
    found["infiniband"] = infiniband(8)
    nics = [f"mlx5_{rail}" for rail in range(8)]
    found["topology"] = {
        "matrix": matrix(8, nics, "NV18"),
        "nvlinks": {str(index): [26.562] * 18 for index in range(8)},
    }
    return found


def t4() -> dict[str, dict]:
    found = with_gpus(small(0, ["127.0.0.1"], head=True), 1, 0, name="t4")
    found["system"] = system(0, cpus=16, memory=64 * GIB, name="workstation")
    return named([found])


def mig() -> dict[str, dict]:
    found = with_gpus(small(0, ["127.0.0.1"], head=True), 1, 0, name="h100", MIG="Enabled")
    found["gpus"]["list"][0]["mig_devices"] = 7
    return named([found])


def laptop() -> dict[str, dict]:
    found = small(0, ["127.0.0.1"], head=True)
    found["system"] = system(0, cpus=8, memory=16 * GIB, name="laptop")
    found["storage"]["paths"] = {
        HOME: disk(HOME, free=60 * GIB, total=500 * GIB),
        "/dev/shm": shm(8 * GIB),
    }
    return named([found])


CLUSTERS = {"demo": demo, "cpu": cpu, "a100": a100, "h100": h100, "t4": t4, "laptop": laptop, "mig": mig}


def composed(name: str) -> dict[str, str]:
    """File name → text of a cluster's facts."""
    nodes = CLUSTERS[name]()
    about = library_trial.digest(spec.load(HERE / name / "run.yaml"), None)
    for node in nodes.values():
        node["values"]["imports"]["configuration"] = {
            "digest": about,
            "answer": {"refused": False, "skipped": {}},
        }
    return {f"{node}.json": json.dumps(one, indent=1, sort_keys=True) + "\n" for node, one in nodes.items()}


def main() -> int:
    for name in CLUSTERS:
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        for file, text in composed(name).items():
            (folder / file).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
