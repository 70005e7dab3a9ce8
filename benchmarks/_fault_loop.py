"""A small gloo training with checkpoints that goes wrong in one way, on one rank, at one moment; or in two ways.

It leaves the moment in FAULT_DIR (all nodes see it): `reached` when the rank comes to the place, `at` when the script
itself causes the fault (`_fault_acts.py`); of the second one `reached-2` and `at-2`. Faults that come from outside wait
for `reached`. A fault while saving comes to the rank that saves, between two files of a checkpoint. `DEVICE=cuda:0`
trains on a GPU, `BACKEND=nccl` with NCCL; if several ranks share the GPU, gloo carries its tensors.
"""

import argparse
import datetime
import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from _fault_acts import ACTS, STATE

EVERYWHERE = -1
parser = argparse.ArgumentParser()
parser.add_argument("--fault", default="none")
parser.add_argument("--phase", default="steady", choices=["start", "first", "steady", "saving"])
parser.add_argument("--rank", type=int, default=1)
parser.add_argument("--step", type=int, default=25)
parser.add_argument("--second", default="")
parser.add_argument("--second-rank", type=int, default=1)
parser.add_argument("--steps", type=int, default=100000)
parser.add_argument("--seconds", type=float, default=0.1)
options = parser.parse_args()
device = os.environ.get("DEVICE", "cpu")
rank = int(os.environ["RANK"])
planted = [("", options.fault, options.rank), ("-2", options.second, options.second_rank)]
mine = [(tail, fault) for tail, fault, number in planted if fault and number in (rank, EVERYWHERE)]
writer = options.rank if options.phase == "saving" and "SAVE_TO" not in os.environ else 0
place = Path(os.environ["FAULT_DIR"])
output = Path(os.environ.get("ALLRANKS_OUTPUT_DIR") or os.environ.get("SAVE_TO") or place / "out")


def mark(name: str) -> None:
    draft = place / f".{name}-{rank}"
    draft.write_text(repr(time.time()))
    draft.rename(place / name)


def go_wrong(phase: str, step: int = 0) -> None:
    due = {"start": True, "first": step == 0, "steady": step == options.step, "saving": step >= options.step}
    if phase != options.phase or not due[phase]:
        return
    for tail, fault in mine:
        if (place / f"reached{tail}").exists() and options.rank != EVERYWHERE:
            continue
        mark(f"reached{tail}")
        if fault in ACTS:
            mark(f"at{tail}")
            ACTS[fault]()


def save(step: int) -> None:
    """A LoRA checkpoint as PEFT lays it down, file after file, and not atomically."""
    from safetensors.torch import save_file

    folder = STATE["folder"] = output / f"checkpoint-{step}"
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
        if "loader" in (fault for _, fault in mine) and index >= 4 * (options.step + 1):
            time.sleep(3600)
        own = index * int(os.environ["WORLD_SIZE"]) + rank
        return torch.full((16,), own % 97 / 16)


go_wrong("start")
limit = datetime.timedelta(seconds=float(os.environ.get("GROUP_SECONDS", "1800")))
dist.init_process_group(os.environ.get("BACKEND", "gloo"), timeout=limit)
torch.manual_seed(STATE.get("seed", 0))  # the same model on every rank
model = torch.nn.Linear(16, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
workers = int(os.environ.get("LOADER_WORKERS", "0"))
batches = iter(torch.utils.data.DataLoader(Numbers(), batch_size=4, num_workers=workers))
for step in range(options.steps):
    go_wrong("first", step)
    go_wrong("steady", step)
    time.sleep(STATE.get("slow", 0.0))
    loss = model(next(batches).to(device)).pow(2).mean()
    if STATE.get("poison"):
        loss = loss * float("nan")
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 9:
        if rank == writer:
            save(step + 1)
        elif "SAVE_TO" in os.environ:  # the file system that fails is the head's
            go_wrong("saving", step)
        dist.barrier()
    time.sleep(options.seconds)
dist.destroy_process_group()
