"""A plain training loop with heartbeats, block by block with everything of ours in torch and with all of it taken out.

It trains two small layers, or where `MODEL` names one the demo's model with the demo's adapter and batch.

Prints JSON: CPU seconds of the main thread in each block with and without, the heart thread's CPU seconds and the
wall seconds of the same time, the steps that the heartbeats counted.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path

import torch

BLOCKS, STEPS = int(os.environ["BLOCKS"]), int(os.environ["STEPS"])
torch.manual_seed(0)
torch.set_num_threads(1)
COUNT = (2 * BLOCKS + 2) * STEPS


def two_layers():
    """(a model, its batches, the loss of one)."""
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512))
    data = torch.utils.data.TensorDataset(torch.randn(512, 512).expand(COUNT, 512, 512))
    return (
        model,
        torch.utils.data.DataLoader(data, batch_size=None),
        lambda batch: model(batch[0]).pow(2).mean(),
    )


class Rows(torch.utils.data.Dataset):
    """The demo's batch: four rows of 64 tokens."""

    def __len__(self):
        return COUNT

    def __getitem__(self, number):
        ids = torch.randint(0, 128, (4, 64), generator=torch.Generator().manual_seed(number))
        return {"input_ids": ids, "labels": ids}


def of_the_demo(path):
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16)
    targets = ["q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"]
    model = get_peft_model(
        base, LoraConfig(r=16, lora_alpha=32, target_modules=targets, task_type="CAUSAL_LM")
    )
    return model, torch.utils.data.DataLoader(Rows(), batch_size=None), lambda batch: model(**batch).loss


model, rows, loss_of = of_the_demo(os.environ["MODEL"]) if os.environ.get("MODEL") else two_layers()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
batches = iter(rows)
iterator = torch.utils.data.dataloader._BaseDataLoaderIter
hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks  # torch.optim forgets the name
OURS = (torch.Tensor.backward, iterator.__next__, dict(hooks))


def put_in() -> None:
    torch.Tensor.backward, iterator.__next__ = OURS[:2]
    hooks.update(OURS[2])


def take_out() -> None:
    torch.Tensor.backward, iterator.__next__ = (function.__wrapped__ for function in OURS[:2])
    hooks.clear()


def block() -> float:
    begin = time.thread_time()
    for _ in range(STEPS):
        loss = loss_of(next(batches))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return time.thread_time() - begin


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
