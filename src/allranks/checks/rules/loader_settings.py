"""The data loader is set so that ranks wait for data.

## How it is found
`dataloader_num_workers: 0` and `dataloader_pin_memory: false` that a user wrote, for a run on GPUs.

## Why it matters
Without workers each rank loads and collates its batch between two steps, while its GPU waits; without pinned
memory each copy to the GPU waits for the processor.

## What to do
`dataloader_num_workers: 2` to 4 per rank, and `dataloader_pin_memory: true`, as far as the machine has processors. The
report says how much of each step waits for data.

## Source
PyTorch `torch.utils.data`, "Multi-process data loading", "Memory pinning".

Topic: training
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.phrases import listed

UNKNOWN_BLOCKS = False


def applies(context: Context) -> bool:
    return context.uses_gpu and context.llamafactory


def check(context: Context) -> Findings:
    slow = []
    if context.arguments.get("dataloader_num_workers") == 0:
        slow.append("dataloader_num_workers: 0")
    if context.arguments.get("dataloader_pin_memory") is False:
        slow.append("dataloader_pin_memory: false")
    if slow:
        yield context.note(
            "train.llamafactory." + slow[0].partition(":")[0],
            saw=listed(slow),
            expected="2 to 4 workers a rank, and pinned memory",
            why="the GPU waits while its rank loads the next batch.",
            fix="dataloader_num_workers: 2, dataloader_pin_memory: true",
        )
