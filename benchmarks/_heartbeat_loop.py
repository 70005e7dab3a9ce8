"""A training loop with heartbeats, block by block with everything of ours in torch and with all of it taken out.

It trains two small layers in a plain loop, or where `MODEL` names one the demo's model with the demo's adapter and
batch under DeepSpeed ZeRO-3, as the demo does.

`DEVICE=cuda` trains `LAYERS` layers of `WIDTH` on a GPU, in bf16, and has NCCL reduce the gradients; seconds are
then those of the clock from one wait for the GPU to the next, since there the host only enqueues.

Prints JSON: CPU seconds of the process but for the heart's thread in each block with and without, the heart thread's
CPU seconds and the wall seconds of the same time, the steps that the heartbeats counted.
"""

import json
import os
import sys
import threading
import time
import warnings
from pathlib import Path

import torch

BLOCKS, STEPS = int(os.environ["BLOCKS"]), int(os.environ["STEPS"])
DEVICE = os.environ.get("DEVICE", "cpu")
WIDTH, LAYERS = int(os.environ.get("WIDTH", "512")), int(os.environ.get("LAYERS", "2"))
torch.manual_seed(0)
torch.set_num_threads(1)
COUNT = (2 * BLOCKS + 2) * STEPS


def two_layers():
    """(its batches, what trains on one)."""
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512))
    data = torch.utils.data.TensorDataset(torch.randn(512, 512).expand(COUNT, 512, 512))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def train(batch):
        loss = model(batch[0]).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return torch.utils.data.DataLoader(data, batch_size=None), train


def on_device():
    """The same with collectives, which the own time of a rank needs, and on a GPU with its events."""
    import torch.distributed as dist

    kind = torch.bfloat16 if DEVICE == "cuda" else torch.float32
    dist.init_process_group("nccl" if DEVICE == "cuda" else "gloo")
    layers = [torch.nn.Linear(WIDTH, WIDTH, device=DEVICE, dtype=kind) for _ in range(LAYERS)]
    model = torch.nn.Sequential(*layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.utils.data.TensorDataset(torch.randn(64, WIDTH, dtype=kind).expand(COUNT, 64, WIDTH))

    def train(batch):
        rows = batch[0].to(DEVICE, non_blocking=True).repeat(64, 1)
        loss = model(rows).pow(2).mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()

    return torch.utils.data.DataLoader(data, batch_size=None), train


class Rows(torch.utils.data.Dataset):
    """The demo's batch: four rows of 64 tokens."""

    def __len__(self):
        return COUNT

    def __getitem__(self, number):
        ids = torch.randint(0, 128, (4, 64), generator=torch.Generator().manual_seed(number))
        return {"input_ids": ids, "labels": ids}


def of_the_demo(path):
    import deepspeed
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    warnings.filterwarnings("ignore", "`torch.distributed", FutureWarning)
    deepspeed.init_distributed(dist_backend="gloo")
    base = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16)
    targets = ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]
    model = get_peft_model(
        base, LoraConfig(r=16, lora_alpha=32, target_modules=targets, task_type="CAUSAL_LM")
    )
    what_trains = [p for p in model.parameters() if p.requires_grad]
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 1,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 3, "overlap_comm": False},
    }
    optimizer = torch.optim.AdamW(what_trains, lr=1e-4)
    engine, _, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    engine.train()

    def train(batch):
        engine.backward(engine(**batch).loss)
        engine.step()

    return torch.utils.data.DataLoader(Rows(), batch_size=None), train


def chosen():
    if os.environ.get("MODEL"):
        return of_the_demo(os.environ["MODEL"])
    return on_device() if "DEVICE" in os.environ else two_layers()


rows, train = chosen()
batches = iter(rows)
hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks  # torch.optim forgets the name
OUR_HOOKS = dict(hooks)
PLACES = [(torch.Tensor, "backward"), (torch.utils.data.dataloader._BaseDataLoaderIter, "__next__")]
PLACES += [(sys.modules["torch.distributed.distributed_c10d"], "_rank_not_in_group")]
if os.environ.get("MODEL"):
    PLACES += [(sys.modules["deepspeed"].DeepSpeedEngine, name) for name in ("forward", "backward", "step")]
OURS = [(owner, name, getattr(owner, name)) for owner, name in PLACES]


def put_in() -> None:
    for owner, name, function in OURS:
        setattr(owner, name, function)
    hooks.update(OUR_HOOKS)


def take_out() -> None:
    for owner, name, function in OURS:
        setattr(owner, name, function.__wrapped__)
    hooks.clear()


def block() -> float:
    if DEVICE == "cuda":
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(STEPS):
            train(next(batches))
        torch.cuda.synchronize()
        return time.perf_counter() - began
    begin, heart = time.process_time(), heart_seconds()
    for _ in range(STEPS):
        train(next(batches))
    return time.process_time() - begin - (heart_seconds() - heart)


def heart_seconds() -> float:
    """CPU of the heart's thread: the first field of its schedstat, in nanoseconds (Documentation/scheduler)."""
    (heart,) = (thread for thread in threading.enumerate() if thread.name == "allranks-heart")
    return int(Path(f"/proc/self/task/{heart.native_id}/schedstat").read_text().split()[0]) / 1e9


block()
take_out()
block()
pairs = []
began, heart = time.monotonic(), heart_seconds()
for number in range(BLOCKS):
    spent = {}
    for ours in (number % 2 == 0, number % 2 == 1):
        put_in() if ours else take_out()
        spent[ours] = block()
    pairs.append((spent[True], spent[False]))
result = {"pairs": pairs, "heart": heart_seconds() - heart, "wall": time.monotonic() - began}
put_in()
print(json.dumps(result), flush=True)
