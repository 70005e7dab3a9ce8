"""Writes the recorded clusters: `python tests/recorded/compose.py`. See README.md for what they are."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

from allranks.node.facts import gpus as gpu_family

HERE = Path(__file__).resolve().parent
TAKEN_AT = 1_760_000_000.0
GIB = 1 << 30
HOME = "/home/ubuntu/.allranks"
PYTHON = "/opt/env/bin/python"

VERSIONS: dict[str, str | None] = {
    "torch": "2.13.0+cpu",
    "deepspeed": "0.19.8",
    "transformers": "5.6.0",
    "peft": "0.18.1",
    "accelerate": "1.11.0",
    "datasets": "4.0.0",
    "tokenizers": "0.22.2",
    "trl": "0.24.0",
    "llamafactory": "0.9.5",
    "tensorboard": "2.21.0",
    "safetensors": "0.8.0",
    "numpy": "2.4.6",
    "pyarrow": "26.0.1",
    "tensorboardX": None,
    "wandb": None,
    "swanlab": None,
    "mlflow": None,
    "ray": None,
    "triton": None,
    "flash_attn": None,
    "bitsandbytes": None,
    "ninja": "1.13.2",
    "mpi4py": None,
    "huggingface_hub": "1.33.0",
}


def disk(path: str, kind: str = "ext4", free: int = 400 * GIB, total: int = 1000 * GIB, **more: Any) -> dict:
    return {
        "path": path,
        "exists": True,
        "folder": True,
        "looked_at": path,
        "mount": "/",
        "type": kind,
        "source": "/dev/nvme0n1p2",
        "device": "259:2",
        "options": ["relatime", "rw"],
        "total_bytes": total,
        "free_bytes": free,
        "inodes": 65_536_000,
        "free_inodes": 60_000_000,
        "write_seconds": 0.004,
        "writable": True,
        **more,
    }


def shm(total: int) -> dict:
    return disk("/dev/shm", "tmpfs", total, total, mount="/dev/shm", source="tmpfs", device="0:25")


def system(number: int, *, cpus: int = 64, memory: int = 512 * GIB, name: str = "") -> dict:
    return {
        "allranks_home": HOME,
        "hostname": name or f"node-{number}",
        "time": TAKEN_AT,
        "kernel": "5.15.0-119-generic",
        "architecture": "x86_64",
        "boot_id": f"{number:08x}-0000-4000-8000-00000000b007",
        "machine_id": f"{number:032x}",
        "os_release": {"id": "ubuntu", "version": "22.04", "name": "Ubuntu 22.04.5 LTS"},
        "user": {"uid": 1000, "name": "ubuntu", "groups": [1000]},
        "python": {"version": "3.10.12", "executable": "/usr/bin/python3"},
        "cpus": {"online": cpus, "usable": cpus, "numa": 2, "model": "AMD EPYC 7742 64-Core Processor"},
        "memory": {
            "total_bytes": memory,
            "available_bytes": memory * 15 // 16,
            "swap_bytes": 0,
            "locked_bytes": 0,
            "shared_bytes": 64 << 20,
            "hugepages": 0,
            "hugepages_free": 0,
            "hugepage_bytes": 2 << 20,
        },
        "cgroup_memory_bytes": None,
        "limits": {
            "nofile": [1_048_576, 1_048_576],
            "memlock": [None, None],
            "nproc": [2_061_000, 2_061_000],
            "core": [0, None],
            "stack": [8 << 20, None],
        },
        "uptime_seconds": 864_000.0,
        "load": [0.1, 0.1, 0.1],
        "container": None,
        "clock": {"synchronized": True, "most_error_seconds": 0.004},
    }


def interface(*addresses: str, mtu: int = 1500, speed: int | None = 10_000, kind: str = "ethernet") -> dict:
    return {
        "mtu": mtu,
        "up": True,
        "loopback": kind == "loopback",
        "speed_mbits": speed,
        "kind": kind,
        "addresses": list(addresses),
    }


def network(number: int, addresses: list[str], *, head: bool, mtu: int = 1500, name: str = "eth0") -> dict:
    mine = addresses[number]
    peers = {f"node-{n}": address for n, address in enumerate(addresses)}
    loopback = all(address == "127.0.0.1" for address in addresses)
    device = "lo" if loopback else name
    return {
        "interfaces": {
            "lo": interface("127.0.0.1/8", "::1/128", mtu=65536, speed=None, kind="loopback"),
            name: interface(f"{'10.0.0.5' if loopback else mine}/24", mtu=mtu),
        },
        "routes": {
            peer: {"address": address, "source": mine, "interface": device} for peer, address in peers.items()
        },
        "interface_to_head": device,
        "resolved": {f"node-{number}": {"addresses": [mine]}},
        "ports": {"39500": {"free": True, "reason": None, "held_by": []}} if head else {},
        "local_port_range": [32768, 60999],
        "somaxconn": 4096,
    }


def software(**versions: str | None) -> dict:
    return {
        "python": {
            "version": "3.11.7",
            "implementation": "CPython",
            "executable": PYTHON,
            "prefix": "/opt/env",
        },
        "versions": {**VERSIONS, **versions},
        "launcher": "/opt/env/lib/python3.11/site-packages/llamafactory/launcher.py",
        "torch_cuda": None,
        "ninja": "/opt/env/bin/ninja",
        "compiler": {"path": "/usr/bin/c++", "version": "11.4.0"},
        "nvcc": None,
        "programs": {"srun": None, "mpirun": None, "pdsh": None, "ray": None},
    }


def imports(*modules: str) -> dict:
    found = {name: {"seconds": 2.5} for name in modules}
    return {
        "modules": found,
        "cached": False,
        "torch": {"version": "2.13.0", "gloo": True, "distributed": True},
    }


TRAINER = ("torch", "deepspeed", "transformers", "peft", "llamafactory.train.tuner")

TINY = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "first_k_dense_replace": 1,
    "hidden_size": 64,
    "intermediate_size": 128,
    "kv_lora_rank": 16,
    "max_position_embeddings": 512,
    "moe_intermediate_size": 32,
    "n_group": 2,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_attention_heads": 4,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 3,
    "num_key_value_heads": 4,
    "q_lora_rank": 32,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "tie_word_embeddings": False,
    "topk_group": 1,
    "torch_dtype": "bfloat16",
    "v_head_dim": 16,
    "vocab_size": 1024,
}


def model(path: str, config: dict, shards: dict[str, int], tensor_bytes: int) -> dict:
    files = {"config.json": 1800, "generation_config.json": 180, "tokenizer.json": 61_000, **shards}
    index = len(shards) > 1
    found: dict[str, Any] = {
        "path": path,
        "exists": True,
        "config": config,
        "config_trouble": None,
        "cut_short": [],
        "index": "model.safetensors.index.json" if index else None,
    }
    if index:
        files["model.safetensors.index.json"] = 8_900_000
        found.update(shards=len(shards), tensors=len(shards) * 500, missing=[], tensor_bytes=tensor_bytes)
    found["files"] = dict(sorted(files.items()))
    return found


def dataset(folder: str, name: str) -> dict:
    entry = {"file": f"{name}.json", "exists": True, "bytes": 48_000}
    return {"dir": folder, "info": True, "entries": {name: entry}, "unknown": [], "known": [name]}


def facts(name: str, values: dict) -> dict:
    values = {**values, "collection": {"seconds": 0.4, "families": {}}}
    return {"node": name, "taken_at": TAKEN_AT, "values": values, "unreadable": {}}


# ---- clusters ----


def small(number: int, addresses: list[str], *, head: bool) -> dict:
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
        "leftovers": {"runs": []},
        "gpus": {"list": [], "driver": None, "cuda": None, "reason": "no NVIDIA device on the PCI bus"},
    }


def demo() -> dict[str, dict]:
    found = {}
    for number in range(3):
        values = small(0, ["127.0.0.1"] * 3, head=number == 0)
        found[f"node-{number}"] = facts(f"node-{number}", values)
    return found


def cpu() -> dict[str, dict]:
    addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    return {f"node-{n}": facts(f"node-{n}", small(n, addresses, head=n == 0)) for n in range(3)}


def a100() -> dict[str, dict]:
    addresses = ["10.18.122.130", "10.18.122.131", "10.18.122.132"]
    return {f"node-{n}": facts(f"node-{n}", a100_node(n, addresses)) for n in range(3)}


def a100_node(number: int, addresses: list[str]) -> dict:
    shards = {f"model-{n:05d}-of-00163.safetensors": 8_200_000_000 + n for n in range(1, 164)}
    config = json.loads((HERE.parent.parent / "examples/deepseek-v3-24xa100.config.json").read_text())
    found = small(number, addresses, head=number == 0)
    found["system"] = system(number, cpus=256, memory=2048 * GIB)
    found["storage"]["model"] = model("/nfs/DeepSeek-V3-bf16", config, shards, 1_342_052_808_704)
    found["storage"]["dataset"] = dataset("/nfs/data", "all_creator_training")
    found["storage"]["paths"].update(
        {
            "/home/ubuntu/runs": disk("/home/ubuntu/runs", free=3000 * GIB, total=7000 * GIB),
            "/dev/shm": shm(1024 * GIB),
        }
    )
    found["software"] = software(torch="2.13.0", triton="3.6.0", **{"nvidia-nccl-cu12": "2.30.7"})
    found["software"]["torch_cuda"] = "12.8"
    found["software"]["nvcc"] = {"path": "/usr/local/cuda/bin/nvcc", "version": "12.8"}
    found["gpus"] = gpu_family.parse(smi(8, number))
    return found


def smi(count: int, machine: int = 0, gpu: str | None = None, **changes: str) -> str:
    """What `nvidia-smi -q -x` prints on a machine of this many GPUs."""
    buses = ("07", "0F", "47", "4E", "87", "90", "B7", "BD")
    template = gpu or (HERE / "smi" / "a100.xml").read_text(encoding="utf-8")
    words = {"DRIVER": "570.124.06", "CUDA": "12.8", "NAME": "NVIDIA A100-SXM4-80GB", **changes}
    bodies = []
    for index in range(count):
        body = template.replace("@INDEX@", str(index)).replace("@BUS@", buses[index % 8])
        body = body.replace("@UUID@", f"GPU-{machine:08x}-0000-4000-8000-{index:012x}")
        bodies.append(body.replace("@SERIAL@", f"16512210{machine:02d}{index:03d}"))
    text = HEAD + "".join(bodies) + "</nvidia_smi_log>\n"
    for word, value in {**words, "COUNT": str(count)}.items():
        text = text.replace(f"@{word}@", value)
    return text


HEAD = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Thu Oct  9 08:53:20 2025</timestamp>
	<driver_version>@DRIVER@</driver_version>
	<cuda_version>@CUDA@</cuda_version>
	<attached_gpus>@COUNT@</attached_gpus>
"""

CLUSTERS = {"demo": demo, "cpu": cpu, "a100": a100}


def composed(name: str) -> dict[str, str]:
    """File name → text of a cluster's facts."""
    nodes = copy.deepcopy(CLUSTERS[name]())
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
