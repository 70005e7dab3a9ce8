"""A plain training loop; writes the CPU seconds of its steps to the file that it is given."""

import json
import os
import sys
import time
from pathlib import Path

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
data = torch.utils.data.TensorDataset(torch.randn(64 * 1024, 512))
batches = iter(torch.utils.data.DataLoader(data, batch_size=128))


def step() -> None:
    (batch,) = next(batches)
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(20):
    step()
begin = time.process_time()
for _ in range(int(os.environ["STEPS"])):
    step()
Path(sys.argv[1]).write_text(json.dumps({"cpu_seconds": time.process_time() - begin}))
