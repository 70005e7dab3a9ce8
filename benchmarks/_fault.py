"""What a kind of fault is made of, and whom a trial of it comes to. The kinds themselves: `_faults.py`."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks._fault_nodes import Nodes

HEAD = 1
"""The place of the head in node1 … node3; the keeper runs there, and the run's output lies there."""

OTHERS = (2, 3)
NODES = (HEAD, *OTHERS)
LOOP = Path(__file__).parent / "_fault_loop.py"
ACTS = Path(__file__).parent / "_fault_acts.py"

Inject = Callable[["Nodes", dict[str, Any], int], object]
"""Makes the fault on the node of that number. `run` is what `ps` says of it, with its `controller`."""


@dataclass(frozen=True)
class Right:
    """A right statement: one of these ids or causes; with `words`, a pattern that what was seen must match; with
    `line`, naming the line of the script that holds this text."""

    ids: tuple[str, ...]
    words: str = ""
    line: str = ""

    def fits(self, data: dict[str, Any]) -> bool:
        """Whether a finding or a diagnosis, as JSON, is this statement."""
        if (data.get("id") or data.get("cause")) not in self.ids:
            return False
        told = [data.get("saw"), *(data.get("evidence") or ()), data.get("why")]
        where = data.get("where") or {}
        return bool(re.search(self.words, "\n".join(str(one) for one in told if one))) and (
            not self.line or where.get("line") == line_of(self.line)
        )


def line_of(text: str) -> int:
    """The number of the line of the training's files that holds `text`; 0 where none or more than one does."""
    lines = [part for path in (LOOP, ACTS) for part in enumerate(path.read_text().splitlines(), 1)]
    found = [number for number, line in lines if text in line]
    return found[0] if len(found) == 1 else 0


def right(*ids: str, words: str = "", line: str = "") -> tuple[Right, ...]:
    return (Right(ids, words, line),)


@dataclass(frozen=True)
class Fault:
    """`right` are the right statements of it; `inject` is None where the script makes it itself (`_fault_acts.py`).

    It comes to one of `nodes`, which the seed draws, and to `also`. `rank` says whether a rank is to be named, or the
    node alone; `everywhere`: it comes to all ranks, and any place or none is right. `limit` is the promised time.
    `goes_on`: the run must not be disturbed; `stands`: it stands still or trains on, and does not end for minutes;
    `lost`: the keeper goes with it, and what is told of the run is told without it; `cut`: the node is there and cannot
    be heard, so it ends its ranks itself, later; `off`: it is not there. `count`: of so many nodes. `rig`: it needs
    nodes with networks of their own; else nodes that are this machine do. `before` and `after` are shell lines on its
    node, in which, as in `env`, {folder} is the trial's and {name} that folder's name."""

    right: tuple[Right, ...]
    limit: float
    inject: Inject | None = None
    rank: bool = True
    everywhere: bool = False
    goes_on: bool = False
    stands: bool = False
    lost: bool = False
    cut: bool = False
    off: bool = False
    rig: bool = False
    core: bool = False
    phases: tuple[str, ...] = ("steady",)
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    plain: bool = True
    nodes: tuple[int, ...] = NODES
    also: tuple[int, ...] = ()
    count: int = len(NODES)
    only_alone: bool = False

    @property
    def pairs(self) -> bool:
        """Whether another fault can come at the same step."""
        alone = self.goes_on or self.lost or self.cut or self.everywhere or self.only_alone
        return not alone and "steady" in self.phases


def victim(fault: Fault, name: str, phase: str, seed: int, per_node: int) -> tuple[int, int]:
    """(node, rank) of a trial. Seeds after each other go round the fault's nodes, so three of them come to all."""
    nodes = random.Random(f"{name} {phase} {per_node}").sample(fault.nodes, len(fault.nodes))
    node = nodes[seed % len(nodes)]
    local = random.Random(f"{name} {phase} {per_node} {seed}").randrange(per_node)
    return node, (node - 1) * per_node + local


@dataclass(frozen=True)
class Drawn:
    """One trial of the second series. Of two faults `seconds` come at the same step."""

    kinds: tuple[str, ...]
    phase: str
    step: int
    places: tuple[int, ...]


def draw(faults: dict[str, Fault], seed: int) -> Drawn:
    """Kind, moment and place by the seed alone, from all kinds; in one of four trials two come at once."""
    dice = random.Random(f"series of {seed}")
    if dice.random() < 0.25:
        kinds: Sequence[str] = dice.sample([name for name, fault in faults.items() if fault.pairs], 2)
        phase = "steady"
    else:
        kinds = [dice.choice(list(faults))]
        phase = dice.choice(faults[kinds[0]].phases)
    places: list[int] = []
    for name in kinds:
        places.append(dice.choice([node for node in faults[name].nodes if node not in places] or [HEAD]))
    return Drawn(tuple(kinds), phase, dice.randrange(3, 60), tuple(places))
