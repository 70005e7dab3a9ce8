"""Building blocks of the recorded clusters: one function a family of facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


REQUIRES = {
    "llamafactory": [
        "accelerate<=1.11.0,>=1.3.0",
        "datasets<=4.0.0,>=2.16.0",
        "peft<=0.18.1,>=0.18.0",
        "torch>=2.4.0",
        "transformers!=4.52.0,!=4.57.0,<=5.6.0,>=4.55.0",
        "trl<=0.24.0,>=0.18.0",
    ],
    "peft": ["torch>=1.13.0", "transformers", "accelerate>=0.21.0"],
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
        "numa_balancing": 0,
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


SSHD = {"pid": 911, "uid": 0, "name": "sshd", "run": None, "age_seconds": 1_209_600.0}


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
        "listening": {"sockets": [{"port": 22, "held_by": [SSHD]}], "more": 0},
        "local_port_range": [32768, 60999],
        "reserved_ports": "",
        "local_ports_in_use": 12 if head else None,
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
        "requires": REQUIRES,
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


QWEN = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "head_dim": 128,
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "max_position_embeddings": 40960,
    "num_attention_heads": 32,
    "num_hidden_layers": 36,
    "num_key_value_heads": 8,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 151936,
}

KINDS = {
    "a100": {
        "NAME": "NVIDIA A100-SXM4-80GB",
        "ARCHITECTURE": "Ampere",
        "DEVICE": "20B210DE",
        "MEMORY": "81920 MiB",
        "POWER": "400.00 W",
        "CLOCK": "1410 MHz",
        "FABRIC": "N/A",
        "FABRIC_STATUS": "N/A",
        "GEN": "4",
        "MIG": "Disabled",
    },
    "h100": {
        "NAME": "NVIDIA H100 80GB HBM3",
        "ARCHITECTURE": "Hopper",
        "DEVICE": "233010DE",
        "MEMORY": "81559 MiB",
        "POWER": "700.00 W",
        "CLOCK": "1980 MHz",
        "FABRIC": "Completed",
        "FABRIC_STATUS": "Success",
        "GEN": "5",
        "MIG": "Disabled",
    },
    "t4": {
        "NAME": "Tesla T4",
        "ARCHITECTURE": "Turing",
        "DEVICE": "1EB810DE",
        "MEMORY": "15360 MiB",
        "POWER": "70.00 W",
        "CLOCK": "1590 MHz",
        "FABRIC": "N/A",
        "FABRIC_STATUS": "N/A",
        "GEN": "3",
        "MIG": "N/A",
    },
}

BUSES = ("07", "0F", "47", "4E", "87", "90", "B7", "BD")


def smi(count: int, machine: int = 0, name: str = "a100", **changes: str) -> str:
    """What `nvidia-smi -q -x` prints on a machine of this many GPUs."""
    template = (HERE / "smi" / "gpu.xml").read_text(encoding="utf-8")
    bodies = []
    for index in range(count):
        body = template.replace("@INDEX@", str(index)).replace("@BUS@", BUSES[index % 8])
        body = body.replace("@UUID@", f"GPU-{machine:08x}-0000-4000-8000-{index:012x}")
        bodies.append(body.replace("@SERIAL@", f"16512210{machine:02d}{index:03d}"))
    text = SMI_HEAD + "".join(bodies) + "</nvidia_smi_log>\n"
    words = {"DRIVER": "570.124.06", "CUDA": "12.8", **KINDS[name], **changes, "COUNT": str(count)}
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


SMI_HEAD = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Thu Oct  9 08:53:20 2025</timestamp>
	<driver_version>@DRIVER@</driver_version>
	<cuda_version>@CUDA@</cuda_version>
	<attached_gpus>@COUNT@</attached_gpus>
"""


def driver(gpus: dict | None) -> dict[str, Any]:
    """The driver's parts of a machine with these GPUs, or of one without any."""
    there = bool(gpus and gpus["list"])
    version = "570.124.06"
    return {
        "devices": [],
        "gpus_on_bus": len(gpus["list"]) if gpus else 0,
        "scheduler_job": None,
        "nvswitches": 0,
        "modules": ["nvidia", "nvidia_uvm"] if there else [],
        "module": {"version": version, "open": True} if there else None,
        "module_on_disk": version if there else None,
        "libraries": {"libcuda": [version] if there else [], "libnvidia-ml": [version] if there else []},
        "device_files": ["nvidia-uvm", "nvidia0", "nvidiactl"] if there else [],
        "fabric_manager": {"version": None, "state": None},
        "container_toolkit": None,
        "xids": [],
        "acs_redirects": [],
        "iommu": False,
        "kernel_arguments": {},
    }


def libraries() -> dict[str, Any]:
    """The names that torch 2.15's and NCCL 2.32's libraries hold, of those that matter here."""
    names = (HERE / "smi" / "variables.txt").read_text(encoding="utf-8").split()
    torch = [name for name in names if not name.startswith("NCCL_")]
    nccl = [name for name in names if name.startswith("NCCL_")]
    return {"variables": {"files": ["libtorch_cuda.so", "libnccl.so.2"], "torch": torch, "nccl": nccl}}


def infiniband(count: int) -> dict[str, Any]:
    devices = {}
    for rail in range(count):
        port = {
            "state": "ACTIVE",
            "physical": "LinkUp",
            "layer": "InfiniBand",
            "rate_gbits": 400.0,
            "rate": "4X NDR",
            "lid": f"0x{rail + 1:x}",
            "gids": [{"index": 0, "gid": f"fe80::{rail + 1}", "type": "IB/RoCE v1", "interface": None}],
            "counters": {"symbol_error": 0, "link_downed": 0, "port_rcv_errors": 0},
        }
        devices[f"mlx5_{rail}"] = {
            "pci": f"0000:{BUSES[rail % 8].lower()[0]}{rail}:00.0",
            "numa": rail // 4,
            "type": "MT4129",
            "firmware": "28.39.1002",
            "interfaces": [f"ib{rail}"],
            "ports": {"1": port},
        }
    return {"devices": devices, "verbs": [f"uverbs{rail}" for rail in range(count)]}


def matrix(gpus: int, nics: list[str], links: str) -> dict[str, dict[str, str]]:
    """GPU to GPU over NVLink (or the host bridge), each GPU near its own network device."""
    found: dict[str, dict[str, str]] = {}
    for row in range(gpus):
        found[f"GPU{row}"] = {f"GPU{other}": links for other in range(gpus) if other != row}
        for rail, nic in enumerate(nics):
            near = "PIX" if rail == row else "NODE" if rail // 4 == row // 4 else "SYS"
            found[f"GPU{row}"][nic] = near
            found.setdefault(nic, {})[f"GPU{row}"] = near
    return found
