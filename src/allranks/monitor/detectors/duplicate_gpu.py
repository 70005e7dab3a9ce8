"""Two living ranks report the same machine and the same GPU. The page is the symptom's."""

from __future__ import annotations

from typing import Iterator

from allranks.core import BLOCK, Event, Finding, Where
from allranks.diagnose.symptoms.duplicate_gpu import CAUSE as DUPLICATE_GPU
from allranks.monitor.run_state import RunState

AFTER = ("start",)


def after(run: RunState, event: Event) -> Iterator[Finding]:
    for kind, first, second in run.clashes[-4:]:
        if kind == "gpu" and second == event.rank:
            held, asking = run.rank(first), run.rank(second)
            yield Finding(
                id=DUPLICATE_GPU.id,
                verdict=BLOCK,
                where=Where(node=asking.node, rank=second),
                saw=f"rank {second} and rank {first} both use GPU {asking.bus_id or asking.uuid} of {asking.host}.",
                expected="one rank per GPU",
                why="NCCL stops with 'Duplicate GPU detected', or both share one GPU's memory and speed.",
                fix="start one process per GPU: check that no machine is listed twice, that gpus is not more "
                "than it has, and that the script calls torch.cuda.set_device(LOCAL_RANK) first.",
                evidence=(
                    f"rank {first}: node {held.node}, host {held.host}, {held.uuid or held.bus_id}",
                    f"rank {second}: node {asking.node}, host {asking.host}, {asking.uuid or asking.bus_id}",
                ),
            )
