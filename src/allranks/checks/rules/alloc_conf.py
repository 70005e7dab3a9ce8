"""The allocator's settings contradict each other, or are misspelt.

## How it is found
PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF in `env`.

## Why it matters
`garbage_collection_threshold` frees whole segments and leaves expandable ones alone, so together with
`expandable_segments:True` it does nothing, although guides set both. If both variables are set, it depends on torch's
version which one counts. A key that torch does not know ends every rank at its first allocation.

## What to do
`expandable_segments:True` alone.

## Source
torch `c10/cuda/CUDACachingAllocator.cpp` (garbage_collect_cached_blocks skips expandable segments);
`torch.cuda` memory management documentation.

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus
from allranks.checks.phrases import listed

UNKNOWN_BLOCKS = False
applies = on_gpus

NAMES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
KEYS = (
    *("backend", "max_split_size_mb", "max_non_split_rounding_mb", "roundup_power2_divisions"),
    *("roundup_bypass_threshold_mb", "garbage_collection_threshold", "expandable_segments"),
    *("pinned_use_cuda_host_register", "pinned_num_register_threads"),
    *("pinned_use_background_threads", "pinned_reserve_segment_size_mb"),
    *("pinned_max_register_threads", "release_lock_on_cudamalloc", "release_lock_on_hipmalloc"),
    *("graph_capture_record_stream_reuse", "per_process_memory_fraction"),
    "throw_on_cudamalloc_oom",
)


def check(context: Context) -> Findings:
    for name in NAMES:
        value = context.run.env.get(name)
        if value is None:
            continue
        pairs = (part.partition(":") for part in str(value).replace(" ", "").split(",") if part)
        settings = {key: setting for key, _, setting in pairs}
        unknown = [key for key in settings if key not in KEYS and "[" not in str(value)]
        if unknown:
            yield context.block(
                f"env.{name}",
                saw=f"{name} holds {listed(unknown)}, which torch does not know",
                expected=f"keys such as {KEYS[6]}, {KEYS[1]}",
                why="every rank would end at its first allocation: 'Unrecognized CachingAllocator option'.",
                fix=f'{name}: "expandable_segments:True"',
            )
        elif (
            settings.get("expandable_segments", "").lower() == "true"
            and "garbage_collection_threshold" in settings
        ):
            yield context.note(
                f"env.{name}",
                saw=f"{name} sets expandable_segments and garbage_collection_threshold",
                expected="one of the two",
                why="collecting leaves expandable segments alone: the threshold does nothing.",
                fix=f'{name}: "expandable_segments:True"',
            )
