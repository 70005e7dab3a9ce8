"""What a rank of a real training says of its own: its batches, and its time before it waits for the others."""

from __future__ import annotations

from statistics import median

import pytest

from tests.worker.test_training_ranks import data, steps, torchrun

pytestmark = [pytest.mark.training, pytest.mark.timeout(300)]

LOOP = """
import contextlib, time
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
dist.init_process_group("gloo")
rank = dist.get_rank()
rows = torch.randn(96, 8, generator=torch.Generator().manual_seed(0))
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for batch in DataLoader(rows, batch_size=4):  # the data's mean, the same on every rank
    pass
sampler = DistributedSampler(rows, shuffle=False)
plain, wrapped = model, None
for number, batch in enumerate(DataLoader(rows, batch_size=2, sampler=sampler)):
    if number == 8:
        wrapped = torch.nn.parallel.DistributedDataParallel(model)
    last = wrapped is None or number % 2 == 1
    with contextlib.nullcontext() if last else wrapped.no_sync():
        if rank == 1:
            time.sleep(0.3 if wrapped is None else 0.15)
        loss = (wrapped or plain)(batch).pow(2).mean()
        loss.backward()
    if wrapped is None:
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
    if last:
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(loss.detach())  # for the log
def traced(x):
    if dist.distributed_c10d._rank_not_in_group(None):
        return x
    dist.all_reduce(x)
    return x * dist.get_rank()
torch.compile(traced, backend="eager", fullgraph=True)(torch.ones(3))
dist.destroy_process_group()
"""


def test_a_slow_rank_is_seen_before_the_collective_and_its_batch_is_its_own(node):
    torchrun(node, LOOP, ranks=2)
    assert data(node, "exception") == []  # dynamo finds nothing of ours that it cannot trace
    told = [data(node, "settings", rank) for rank in (0, 1)]
    digests = [settings["data_digest"] for (settings,) in told]
    assert digests[0] != digests[1]
    assert {settings["samples"] for (settings,) in told} == {96}
    quick, slow = steps(node, 0), steps(node, 1)
    assert len(quick) == len(slow) == 16
    accumulated = slice(9, 16)  # DistributedDataParallel with two micro-batches a step
    for kind in (slice(0, 8), accumulated):
        own = [median(row[6] for row in rows[kind]) for rows in (quick, slow)]
        took = median(row[2] for row in quick[kind])
        assert own[1] >= 0.29 and took >= 0.29, (own, took)
        assert own[0] < took / 2 and own[0] < own[1] / 2, (own, took)
