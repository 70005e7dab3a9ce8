"""A rank of `benchmarks/load.py` and of the loader's tests: loads MODEL under ZeRO-3, and writes what that took.

`torchrun … _load_rank.py MODEL OUT`: OUT/rank-N.json. `bytes_read` is /proc/self/io's `rchar`, what this process asked
the kernel for; mapped files are read besides, and count as `mapped`, by page faults that found them.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import time
from pathlib import Path


def main() -> None:
    import deepspeed
    import torch
    import transformers
    from transformers import AutoModelForCausalLM
    from transformers.integrations import HfDeepSpeedConfig

    deepspeed.init_distributed("gloo")
    rank = torch.distributed.get_rank()
    sent = counted(torch)
    config = HfDeepSpeedConfig(
        {"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": True}, "zero_optimization": {"stage": 3}}
    )
    torch.manual_seed(rank)
    torch.distributed.barrier()
    sent["bytes"] = 0
    before, began, read = peak(), time.monotonic(), chars()
    error = None
    dtype = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
    try:
        model = AutoModelForCausalLM.from_pretrained(sys.argv[1], **{dtype: torch.bfloat16})
    except Exception as failed:
        error, model = f"{type(failed).__name__}: {failed}", None
    seconds = time.monotonic() - began
    told = {
        "seconds": seconds, "peak_bytes": peak() - before, "read_bytes": chars() - read,
        "sent_bytes": sent["bytes"], "error": error, "config": bool(config), "notes": list(notes()),
    }  # fmt: skip
    if model is not None:
        told["digests"] = {name: digest(torch, one) for name, one in model.named_parameters()}
        told["shard_bytes"] = sum(
            one.ds_tensor.numel() * one.ds_tensor.element_size() for one in model.parameters()
        )
        told["buffers"] = {name: hashed(torch, one) for name, one in model.named_buffers()}
    Path(sys.argv[2], f"rank-{rank}.json").write_text(json.dumps(told))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def notes() -> list:
    """What allranks' loader says of itself."""
    activation = sys.modules.get("allranks.worker.activation")
    return getattr(getattr(activation, "ACTIVE", None), "notes", [])


def counted(torch) -> dict:
    """Counts the bytes that this rank hands to collectives: of the tensor that it gives, once each."""
    sent = {"bytes": 0}

    def cover(name: str, place: int) -> None:
        original = getattr(torch.distributed, name)

        def wrapped(*args, **kwargs):
            given = args[place] if len(args) > place else kwargs.get("input_tensor", kwargs.get("tensor"))
            sent["bytes"] += given.numel() * given.element_size()
            return original(*args, **kwargs)

        setattr(torch.distributed, name, wrapped)

    for name, place in (
        ("broadcast", 0),
        ("all_gather", 1),
        ("all_gather_into_tensor", 1),
        ("all_reduce", 0),
    ):
        cover(name, place)
    return sent


def digest(torch, parameter) -> str:
    """Of this rank's part, without the padding."""
    part = parameter.ds_tensor
    rank = torch.distributed.get_rank()
    count = max(0, min(part.numel(), parameter.ds_numel - rank * part.numel()))
    return hashed(torch, part[:count])


def hashed(torch, tensor) -> str:
    data = tensor.detach().contiguous().view(-1).view(torch.uint8).numpy()
    return hashlib.sha256(memoryview(data)).hexdigest()


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def chars() -> int:
    lines = Path("/proc/self/io").read_text().split("\n")
    return int(next(line for line in lines if line.startswith("rchar")).split()[1])


if __name__ == "__main__":
    main()
    os._exit(0)
