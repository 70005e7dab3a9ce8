"""A small gloo training with checkpoints that goes wrong in one way, on one rank, at one moment.

It leaves the moment in FAULT_DIR (all nodes of the rig see it): `reached` when the rank comes to the place,
`at` when the script itself causes the fault. Faults that come from outside wait for `reached`. A fault while saving
comes to the rank that saves, between two files of a checkpoint. `DEVICE=cuda:0` trains on a GPU, `BACKEND=nccl` with
NCCL; if several ranks share the GPU, gloo carries its tensors.
"""

import argparse
import json
import os
import signal
import time
from pathlib import Path

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--fault", default="none")
parser.add_argument("--phase", default="steady", choices=["start", "first", "steady", "saving"])
parser.add_argument("--rank", type=int, default=1)
parser.add_argument("--step", type=int, default=25)
parser.add_argument("--steps", type=int, default=100000)
parser.add_argument("--seconds", type=float, default=0.1)
options = parser.parse_args()
device = os.environ.get("DEVICE", "cpu")
mine = int(os.environ["RANK"]) == options.rank
writer = options.rank if options.phase == "saving" and "SAVE_TO" not in os.environ else 0
place = Path(os.environ["FAULT_DIR"])
output = Path(os.environ.get("ALLRANKS_OUTPUT_DIR") or os.environ.get("SAVE_TO") or place / "out")


def mark(name: str) -> None:
    draft = place / f".{name}"
    draft.write_text(repr(time.time()))
    draft.rename(place / name)


def go_wrong(phase: str, step: int = 0) -> None:
    due = {"start": True, "first": step == 0, "steady": step == options.step, "saving": step >= options.step}
    if not mine or phase != options.phase or not due[phase] or (place / "reached").exists():
        return
    mark("reached")
    if options.fault not in INSIDE:
        return
    mark("at")
    INSIDE[options.fault]()


def mismatch() -> None:
    dist.broadcast(torch.zeros(3, device=device), src=options.rank)


def fail() -> None:
    raise ValueError("the label of sample 7 is -1")


def fill() -> None:
    """Takes all that is free of the disk, as another program of it would, and writes nothing: the next byte that this
    one saves does not fit."""
    with open(os.environ["FULL_DISK"] + "/taken", "wb") as file:
        size, taken = 1 << 33, 0
        while size >= 4096:
            try:
                os.posix_fallocate(file.fileno(), taken, size)
                taken += size
            except OSError:
                size //= 2


def eat() -> None:
    """Only inside a memory cgroup: without one this would eat the machine."""
    (Path(os.environ["OOM_GROUP"]) / "cgroup.procs").write_text("0")
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1 << 20)) * 16)


def eat_gpu() -> None:
    """All of the GPU's memory, and one allocation more. A CPU has none to run out of: there torch's error is raised as
    it stands in its sources (c10/cuda/CUDACachingAllocator.cpp)."""
    if device == "cpu":
        raise torch.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which "
            "9.00 GiB is free."
        )
    kept = []
    while True:
        kept.append(torch.ones(1 << 30, device=device))


INSIDE = {
    "sigkill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "sigstop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "exception": fail,
    "exit0": lambda: os._exit(0),
    "mismatch": mismatch,
    "sleep": lambda: time.sleep(3600),
    "loader": lambda: None,  # the data set sees to it
    "disk": fill,
    "oom": eat,
    "gpu-oom": eat_gpu,
}


def save(step: int) -> None:
    """A LoRA checkpoint as PEFT lays it down, file after file, and not atomically."""
    from safetensors.torch import save_file

    folder = output / f"checkpoint-{step}"
    folder.mkdir(parents=True, exist_ok=True)
    name = "base_model.model.layer.lora_{}.weight"
    tensors = {
        name.format("A"): model.weight.detach().clone(),
        name.format("B"): model.weight.detach().T.clone(),
    }
    config = {
        "peft_type": "LORA",
        "r": 1,
        "lora_alpha": 1,
        "target_modules": ["layer"],
        "base_model_name_or_path": "none",
    }
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    go_wrong("saving", step)
    (folder / "adapter_config.json").write_text(json.dumps(config))
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": step}))


class Numbers(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 10**7

    def __getitem__(self, index: int) -> torch.Tensor:
        if mine and options.fault == "loader" and index >= 4 * (options.step + 1):
            time.sleep(3600)
        own = index * dist.get_world_size() + dist.get_rank()
        return torch.full((16,), own % 97 / 16)


go_wrong("start")
dist.init_process_group(os.environ.get("BACKEND", "gloo"))
torch.manual_seed(0)  # the same model on every rank
model = torch.nn.Linear(16, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
batches = iter(torch.utils.data.DataLoader(Numbers(), batch_size=4))
for step in range(options.steps):
    go_wrong("first", step)
    go_wrong("steady", step)
    loss = model(next(batches).to(device)).pow(2).mean()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 9:
        if dist.get_rank() == writer:
            save(step + 1)
        elif "SAVE_TO" in os.environ:  # the file system that fails is the head's
            go_wrong("saving", step)
        dist.barrier()
    time.sleep(options.seconds)
dist.destroy_process_group()
