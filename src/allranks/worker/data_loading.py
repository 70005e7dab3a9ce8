"""How long the training waits for its data, and how many tokens come."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from allranks.worker import digest, guard
from allranks.worker.rank_reporter import Rank


def on_dataloader(rank: Rank, module: Any) -> None:
    """torch.utils.data.dataloader: measures every `iter` (it starts the workers) and every `next`."""
    loader = module.DataLoader
    loader.__iter__ = guard.around(
        loader.__iter__, lambda args, kwargs: time.perf_counter(), lambda began: fetching_began(rank, began)
    )
    iterator = module._BaseDataLoaderIter
    original = iterator.__next__
    waiting: "set[int]" = set()  # the threads that are in here
    main = threading.main_thread().ident

    def __next__(self: Any) -> Any:
        thread = threading.get_ident()
        if thread in waiting:  # a data set that reads from a DataLoader of its own
            return original(self)
        waiting.add(thread)
        if thread == main:
            about_to_fetch(rank)
        began = time.perf_counter()
        try:
            batch = original(self)
        finally:
            waiting.discard(thread)
        if rank.step is None:
            first(rank, batch, self)
        # Another thread that reads ahead does not delay the step.
        fetched(rank, batch, time.perf_counter() - began if thread == main else 0.0)
        return batch

    iterator.__next__ = guard.dressed(__next__, original)


@guard.guarded
def about_to_fetch(rank: Rank) -> None:
    if rank.evaluation is not None:
        rank.evaluation.fetches()
    if rank.own is not None:
        rank.own.works()


@guard.guarded
def first(rank: Rank, batch: Any, iterator: Any) -> None:
    """The digest of each batch before the first step is kept until the next one."""
    if (rank.place.world_size or 1) > 1 and rank.is_here:
        rank.first_batch = rank.first_batch or digest.FirstBatch()
        rank.first_batch.take(batch, getattr(iterator, "_dataset", None))


def fetching_began(rank: Rank, began: float) -> None:
    if not rank.is_in("evaluating") and threading.current_thread() is threading.main_thread():
        rank.fetched(time.perf_counter() - began, 0)


@guard.guarded
def fetched(rank: Rank, batch: Any, seconds: float) -> None:
    if rank.is_in("evaluating"):
        return
    size, tokens = measure(batch)
    if size is not None:
        rank.batch_size = size
    rank.fetched(seconds, tokens)


def measure(batch: Any) -> "tuple[int | None, int]":
    """(rows, tokens) of a batch: of its `input_ids`, padding included; rows alone where it has none."""
    values: Any = batch if isinstance(batch, Mapping) or hasattr(batch, "keys") else None
    ids: Any = values["input_ids"] if values is not None and "input_ids" in values else None
    if ids is not None and hasattr(ids, "numel"):
        return (ids.shape[0] if ids.dim() > 1 else None), ids.numel()
    first: Any = batch
    if values is not None:
        first = next(iter(values.values()), None)
    elif isinstance(batch, (list, tuple)) and batch:
        first = batch[0]
    return (first.shape[0] if hasattr(first, "dim") and first.dim() > 0 else None), 0
