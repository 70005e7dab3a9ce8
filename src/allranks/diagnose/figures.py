"""The figures that a training prints of itself: ranks, batch, parameters, memory; and which of them do not agree, with
each other or with a plan."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Mapping, Tuple

from allranks.diagnose.lines import Line
from allranks.diagnose.store import Store
from allranks.diagnose.symptom import Pattern

GIB = 1 << 30
BYTES_OF_A_PARAMETER = 2
"""Bytes per parameter of a model in bf16 or fp16."""

TOLERANCE = 0.1
"""ZeRO-3 keeps small parameters whole and pads each shard, so a rank has a few percent more than the even share."""

ADAPTER = 0.01
"""If less than this share of the parameters trains, the memory of gradients and optimizer is negligible."""

MOST = 10**15

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}


def _whole(name: str) -> Callable[[Store, Line, Any], None]:
    """Keeps the largest value of a figure: ranks and attempts repeat it, and smaller values belong to parts."""

    def keep(seen: Store, line: Line, match: Any) -> None:
        value = (
            float(match.group(1).replace(",", ""))
            * _UNITS[(match.group(2) or "") if match.re.groups > 1 else ""]
        )
        if 0 < value < MOST:
            seen.figures[name] = max(seen.figures.get(name, 0.0), value)

    return keep


_SUMMARY = ("examples", "epochs", "batch", "batch_of_a_rank", "accumulation", "steps")


def _training_begins(seen: Store, line: Line, match: Any) -> None:
    """A Trainer's summary follows. That of an earlier training in the same log no longer counts."""
    seen.words.discard("evaluation")
    for name in _SUMMARY:
        seen.figures.pop(name, None)


def _evaluation_begins(seen: Store, line: Line, match: Any) -> None:
    seen.words.add("evaluation")


def _examples(seen: Store, line: Line, match: Any) -> None:
    if "evaluation" not in seen.words:
        _whole("examples")(seen, line, match)


def _ranks_share(seen: Store, line: Line, match: Any) -> None:
    """Several ranks work on one sample, so the batch fits fewer of them."""
    seen.words.add("ranks-share")


def _launched(seen: Store, line: Line, match: Any) -> None:
    """The nodes, and the processes that the launcher starts on each."""
    ranks = int(match.group(1)) * int(match.group(2))
    if 0 < ranks <= 1_000_000:
        seen.figures["launched"] = float(ranks)


_COUNT = r"(\d[\d,]{0,24}(?:\.\d{1,6})?)"
FACTS: Tuple[Tuple[Pattern, Callable[..., None]], ...] = (
    (Pattern("Max_MA", r"\bMA (\d{1,6}(?:\.\d{1,6})?) GB"), _whole("allocated_gib")),
    (Pattern("Max_CA", r"\bMax_CA (\d{1,6}(?:\.\d{1,6})?) GB"), _whole("reserved_gib")),
    (Pattern("num_elems", rf"num_elems ?= ?{_COUNT}([KMBT]?)"), _whole("parameters")),
    (Pattern("all params", rf"all params: {_COUNT}"), _whole("parameters")),
    (Pattern("trainable params", rf"trainable params: {_COUNT}"), _whole("trainable")),
    (
        Pattern("Number of trainable parameters", rf"Number of trainable parameters ?= ?{_COUNT}"),
        _whole("trainable"),
    ),
    (Pattern("batch size per device", rf"batch size per device ?= ?{_COUNT}"), _whole("batch_of_a_rank")),
    (Pattern("Total train batch size", rf"Total train batch size .{{0,60}}= ?{_COUNT}"), _whole("batch")),
    (
        Pattern("Gradient Accumulation steps", rf"Gradient Accumulation steps ?= ?{_COUNT}"),
        _whole("accumulation"),
    ),
    (Pattern("Total optimization steps", rf"Total optimization steps ?= ?{_COUNT}"), _whole("steps")),
    (Pattern("Running training"), _training_begins),
    (Pattern("Running Evaluation"), _evaluation_begins),
    (Pattern("Running Prediction"), _evaluation_begins),
    (Pattern("Num examples", rf"Num examples ?= ?{_COUNT}"), _examples),
    (Pattern("Num Epochs", rf"Num Epochs ?= ?{_COUNT}"), _whole("epochs")),
    # DeepSpeed prints its configuration with dots
    (
        Pattern("train_micro_batch_size_per_gpu", rf"_per_gpu \.{{2,60}} {_COUNT}"),
        _whole("batch_of_a_rank"),
    ),
    (Pattern("gradient_accumulation_steps", rf"_steps \.{{2,60}} {_COUNT}"), _whole("accumulation")),
    (Pattern("train_batch_size", rf"(?<!_)train_batch_size \.{{2,60}} {_COUNT}"), _whole("batch")),
    (Pattern("educe bucket size", rf"Reduce bucket size {_COUNT}"), _whole("reduce_bucket")),
    (Pattern("refetch bucket size", rf"Prefetch bucket size {_COUNT}"), _whole("prefetch_bucket")),
    (
        Pattern(
            "parallel",
            r"(?i)\b(?:sequence|context|tensor|pipeline|model|ulysses|ring)[ _-](?:model[ _-])?parallel(?:ism)?[ _-]?"
            r"(?:size|degree|world[ _-]size)?[\"' :=.]{1,9}(?:[2-9]|[1-9]\d{1,3})\b",
        ),
        _ranks_share,
    ),
    (Pattern("num_local_procs", r"nnodes=(\d{1,6}), num_local_procs=(\d{1,6})"), _launched),
)


def figures(seen: Store) -> Dict[str, float]:
    """The figures that were printed: sizes in GiB, else counts. `world_size` only if all agree."""
    found = dict(seen.figures)
    sizes = {size for group in seen.world_sizes.values() for size in group}
    if len(sizes) == 1:
        found["world_size"] = float(next(iter(sizes)))
    return found


def disagreements(seen: Store) -> List[str]:
    """The figures that cannot be true of one and the same run, in words."""
    found = figures(seen)
    told = _of_steps(found) if "ranks-share" in seen.words else [*_of_batch(found), *_of_steps(found)]
    if "zero3" in seen.words:
        told += _of_memory(found)
    ranks, launched = found.get("world_size"), found.get("launched")
    if ranks and launched and ranks != launched:
        told.append(f"the launcher starts {launched:,.0f} processes, the world size is {ranks:,.0f}")
    # On one node groups of ranks have sizes, too: tensor-parallel ranks, or an inference server.
    of_nodes = {next(iter(sizes)) for sizes in seen.world_sizes.values() if len(sizes) == 1}
    if len(of_nodes) > 1:
        told.append("world sizes differ: " + ", ".join(f"{size:,}" for size in sorted(of_nodes)[:8]))
    return told


def _of_batch(found: Mapping[str, float]) -> List[str]:
    batch, ranks = found.get("batch"), found.get("world_size")
    each = found.get("batch_of_a_rank", 0.0) * found.get("accumulation", 1.0)
    if not batch or not each:
        return []
    fits = batch / each
    if fits != int(fits):
        why = "a rank's batch times accumulation"
        return [f"a total batch of {batch:,.0f} is not a multiple of {each:,.0f}, {why}"]
    if ranks and fits != ranks:
        return [f"a total batch of {batch:,.0f} fits {fits:,.0f} ranks, not {ranks:,.0f}"]
    return []


def _of_steps(found: Mapping[str, float]) -> List[str]:
    """Steps that the examples do not fill. The last epoch may be a part of one, and each epoch may end with a smaller
    batch or without it."""
    if not all(found.get(name) for name in ("examples", "epochs", "batch", "steps")):
        return []
    examples, epochs, batch, steps = (found[name] for name in ("examples", "epochs", "batch", "steps"))
    least, most = (epochs - 1) * max(1, examples // batch - 1), epochs * (math.ceil(examples / batch) + 1)
    if least <= steps <= most:
        return []
    even = epochs * examples / batch
    return [
        f"{steps:,.0f} steps do not fit {examples:,.0f} examples in {epochs:,.0f} epochs with a batch of {batch:,.0f}: "
        f"that takes about {even:,.0f}"
    ]


def _of_memory(found: Mapping[str, float]) -> List[str]:
    """Less memory than a ZeRO-3 shard needs; or more, although only an adapter trains."""
    parameters, allocated, ranks = (found.get(name) for name in ("parameters", "allocated_gib", "world_size"))
    if not parameters or not allocated or not ranks:
        return []
    share = parameters * BYTES_OF_A_PARAMETER / GIB / ranks
    adapter = found.get("trainable", parameters) < ADAPTER * parameters
    over = TOLERANCE * share
    if share <= 1 or not (allocated < share - over or (adapter and allocated > share + over)):
        return []
    fits = round(parameters * BYTES_OF_A_PARAMETER / GIB / allocated)
    return [
        f"MA {allocated:,.2f} GB fits {fits:,} ranks, not {ranks:,.0f}: "
        f"a shard of {parameters:,.0f} parameters in 16 bits is {share:,.2f} GiB there"
    ]


Planned = Mapping[str, Tuple[float, float]]
"""The least and the most of a figure that a plan allows."""


def against(seen: Store, planned: Planned) -> List[str]:
    """The figures that do not follow the plan, in words."""
    found, told = figures(seen), []
    for name, label in NAMES:
        if name in found and name in planned:
            least, most = planned[name]
            if not least <= found[name] <= most:
                wanted = f"{least:,.10g}" if least == most else f"{least:,.4g} to {most:,.4g}"
                told.append(f"{label} {found[name]:,.12g}, planned {wanted}")
    return told


NAMES = (
    ("world_size", "world size"), ("launched", "processes launched"), ("parameters", "parameters"),
    ("trainable", "trainable"), ("examples", "examples"), ("epochs", "epochs"), ("batch", "batch"),
    ("batch_of_a_rank", "of a rank"), ("accumulation", "accumulation"), ("steps", "steps"),
    ("reduce_bucket", "reduce bucket"), ("prefetch_bucket", "prefetch bucket"), ("allocated_gib", "MA GB"),
    ("reserved_gib", "Max CA GB"),
)  # fmt: skip


def in_words(seen: Store) -> str:
    found = figures(seen)
    return ", ".join(f"{label} {found[name]:,.12g}" for name, label in NAMES if name in found)
