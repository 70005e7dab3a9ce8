"""A plain training loop with heartbeats, block by block with everything of ours in torch and with all of it taken out.

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
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
data = torch.randn(512, 512).expand((2 * BLOCKS + 2) * STEPS, 512, 512)
batches = iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=None))
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
        (batch,) = next(batches)
        loss = model(batch).pow(2).mean()
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
