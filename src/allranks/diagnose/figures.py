"""The figures that a training prints of itself: ranks, batch, parameters, memory; and which of them do not agree."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

from allranks.diagnose.lines import Line
from allranks.diagnose.store import Store
from allranks.diagnose.symptom import Pattern

GIB = 1 << 30
BYTES_OF_A_PARAMETER = 2
"""Of a model held in bf16 or fp16."""

TOLERANCE = 0.1
"""ZeRO-3 keeps small parameters whole and pads each shard: a few percent more than the even share."""

MOST = 10**15

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}


def _whole(name: str) -> Callable[[Store, Line, Any], None]:
    """Keeps the largest value of a figure: ranks and attempts repeat it, and smaller ones are of parts."""

    def keep(seen: Store, line: Line, match: Any) -> None:
        value = (
            float(match.group(1).replace(",", ""))
            * _UNITS[(match.group(2) or "") if match.re.groups > 1 else ""]
        )
        if 0 < value < MOST:
            seen.figures[name] = max(seen.figures.get(name, 0.0), value)

    return keep


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
)


def figures(seen: Store) -> Dict[str, float]:
    """The figures that were printed: sizes in GiB, else counts. `world_size` only if all agree."""
    found = dict(seen.figures)
    sizes = {size for group in seen.world_sizes.values() for size in group}
    if len(sizes) == 1:
        found["world_size"] = float(next(iter(sizes)))
    return found


def disagreements(seen: Store) -> List[str]:
    """What of it cannot be true of one and the same run, in words."""
    found = figures(seen)
    told: List[str] = []
    sizes = sorted({size for group in seen.world_sizes.values() for size in group})
    ranks = found.get("world_size")
    batch, each = found.get("batch"), found.get("batch_of_a_rank", 0.0) * found.get("accumulation", 1.0)
    if batch and each:
        fits = batch / each
        if fits != int(fits):
            told.append(
                f"a total batch of {batch:,.0f} is not a multiple of {each:,.0f}, a rank's batch times accumulation"
            )
        elif ranks and fits != ranks:
            told.append(f"a total batch of {batch:,.0f} fits {fits:,.0f} ranks, not {ranks:,.0f}")
    parameters, allocated = found.get("parameters"), found.get("allocated_gib")
    if parameters and allocated and ranks and "zero3" in seen.words:
        share = parameters * BYTES_OF_A_PARAMETER / GIB / ranks
        if share > 1 and abs(allocated - share) > TOLERANCE * share:
            fits = round(parameters * BYTES_OF_A_PARAMETER / GIB / allocated)
            told.append(
                f"MA {allocated:,.2f} GB fits {fits:,} ranks, not {ranks:,.0f}: "
                f"a shard of {parameters:,.0f} parameters in 16 bits is {share:,.2f} GiB there"
            )
    if len(sizes) > 1:
        told.append("world sizes differ: " + ", ".join(f"{size:,}" for size in sizes[:8]))
    return told


NAMES = (
    ("world_size", "world size"), ("parameters", "parameters"), ("trainable", "trainable"), ("batch", "batch"),
    ("batch_of_a_rank", "of a rank"), ("accumulation", "accumulation"), ("steps", "steps"), ("allocated_gib", "MA GB"),
    ("reserved_gib", "Max CA GB"),
)  # fmt: skip


def in_words(seen: Store) -> str:
    found = figures(seen)
    return ", ".join(f"{label} {found[name]:,.10g}" for name, label in NAMES if name in found)
