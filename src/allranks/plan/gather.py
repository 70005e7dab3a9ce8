"""What ZeRO-3 gathers in a step and how much is whole at once: DeepSpeed's parameter coordinator, replayed.

Source: DeepSpeed 0.19.8, `runtime/zero/partitioned_param_coordinator.py` (`_fetch_sub_module_impl`,
`release_sub_module`, `__params_to_release`) and `partition_parameters.py` (`AllGatherCoalescedHandle`).
Replayed for the steady state, when the trace is complete (from the third step on). Compared with counted
bytes of real runs in `tests/plan/test_gather_measured.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from allranks.plan.steps import (
    BACKWARD,
    DONE_BACKWARD,
    FORWARD,
    Node,
    Param,
    Steps,
    below,
    forward,
    last_inside,
)
from allranks.plan.zero import Zero

NONE, REENTRANT, NON_REENTRANT = "none", "reentrant", "non-reentrant"
"""Gradient checkpointing: off, or torch's two kinds (`use_reentrant`)."""


@dataclass(frozen=True)
class Gathered:
    """The gathers of a micro-step, in bytes.

    `received` is the size of all gathered tensors (padded to the ranks), `calls` the number of all-gathers. `peak` is
    the largest size of tensors that are whole at once, without persistent ones. `peak_copied` also counts the second
    copy: a coalesced gather copies its tensors before it frees its flat buffer. It covers the first two steps too, in
    which DeepSpeed does not know the order yet and each module fetches all of its own tensors. `persistent` is the size
    of the tensors that every rank always holds whole.
    """

    received: int
    calls: int
    peak: int
    peak_copied: int
    persistent: int


@dataclass
class _Event:
    kind: int
    node: Node
    holder: Node | None = None
    """In a recomputation: frozen tensors are released only after the backward of this module."""


def schedule(steps: Steps, checkpointing: str, holds_recomputed: bool) -> list[_Event]:
    """The step as events. `holds_recomputed` is the behavior of DeepSpeed ≥ 0.19.3: frozen tensors that a
    recomputation fetches stay until the innermost module that is in backward at that time is done. Under reentrant
    checkpointing that module is the whole model, so every layer stays."""
    events = [_Event(kind, node) for kind, node in forward(steps.root)]
    events += _backward(steps.root, steps.root, checkpointing, holds_recomputed)
    return events


def _backward(node: Node, outer: Node, checkpointing: str, holds: bool) -> Iterator[_Event]:
    if node.layer and checkpointing == REENTRANT:
        yield from _again(node, outer if holds else None)
    elif node.layer and checkpointing == NON_REENTRANT:
        yield from _recomputed_inside(node, holds)
        return
    yield _Event(BACKWARD, node)
    for inner in reversed(node.inside):
        yield from _backward(
            inner, node if not inner.layer else outer, NONE if node.layer else checkpointing, holds
        )
    yield _Event(DONE_BACKWARD, node)


def _recomputed_inside(layer: Node, holds: bool) -> Iterator[_Event]:
    """Non-reentrant checkpointing: the layer is computed again when its last module first needs a saved tensor."""
    chain = last_inside(layer)
    yield from (_Event(BACKWARD, node) for node in chain)
    yield from _again(layer, chain[-1] if holds else None)
    for inner in reversed(chain[-1].inside):  # groups
        yield from _backward(inner, chain[-1], NONE, holds)
    yield _Event(DONE_BACKWARD, chain[-1])
    for node in reversed(chain[:-1]):
        for inner in reversed(node.inside[:-1]):
            yield from _backward(inner, node, NONE, holds)
        yield _Event(DONE_BACKWARD, node)


def _again(layer: Node, holder: Node | None) -> Iterator[_Event]:
    """The layer's second forward pass. It releases groups like the first one."""
    for kind, node in forward(layer):
        yield _Event(kind, node, None if node.group else holder)


class _Ahead:
    """The number of elements that are used between a step and the next use of a tensor. DeepSpeed looks at a module's
    own tensors, so it does not see those inside a leaf. Only when it releases a leaf, it looks at everything inside
    each module."""

    def __init__(self, params: list[Param], order: list[Node], for_leaf: bool):
        self.uses: dict[int, list[int]] = {}
        self.before = [0]
        seen: dict[int, tuple[list[int], int]] = {}
        for step, node in enumerate(order):
            if id(node) not in seen:
                found = list(below(node)) if for_leaf else [] if node.leaf else list(node.params)
                seen[id(node)] = found, sum(params[index].elements for index in found)
            found, elements = seen[id(node)]
            self.before.append(self.before[-1] + elements)
            for index in found:
                self.uses.setdefault(index, []).append(step)

    def distance(self, index: int, at: int) -> float:
        uses = self.uses.get(index, ())
        following = bisect_left(uses, at)
        return self.before[uses[following]] - self.before[at] if following < len(uses) else float("inf")


class _Coordinator:
    """DeepSpeed's bookkeeping: the tensors that are whole, those that are being gathered, and those that may be
    released."""

    def __init__(self, params: list[Param], events: list[_Event], zero: Zero, ranks: int):
        self.params, self.zero = params, zero
        self.sizes = [padded_bytes(param, ranks) for param in params]
        self.live: set[int] = set()
        self.held: dict[int, set[int]] = {}
        self.recent: dict[int, int] = {}
        self.group: dict[int, int] = {}
        self.at = 0
        self.available = self.calls = self.received = self.bytes = self.peak = self.peak_copied = 0
        order = [
            event.node for event in events if event.kind in (FORWARD, BACKWARD) and not event.node.slices
        ]
        self.queue = deque((index, step) for step, node in enumerate(order) for index in node.params)
        self.ahead, self.leaf_ahead = _Ahead(params, order, False), _Ahead(params, order, True)

    def _missing(self, index: int) -> bool:
        return not self.params[index].whole and index not in self.live

    def _gather(self, wanted: list[int]) -> None:
        size = sum(self.sizes[index] for index in wanted)
        self.received += size
        self.bytes += size
        tensors = sum(self.params[index].pieces for index in wanted)
        self.calls += tensors if self.zero.sequential else 1
        self.available += sum(self.params[index].elements for index in wanted)
        copied = size if tensors > 1 and not self.zero.sequential else 0
        for index in wanted:
            self.live.add(index)
            self.group[index] = copied
        self.peak = max(self.peak, self.bytes)

    def fetch(self, node: Node, holder: Node | None) -> None:
        missing = [index for index in node.params if self._missing(index)]
        if missing:
            self._gather(missing)
        for index in node.params:
            self.held.setdefault(index, set()).add(id(node))
            if holder is not None and self.params[index].frozen:
                self.held[index].add(id(holder))
            copied = self.group.pop(index, 0)
            if copied:
                self.peak_copied = max(self.peak_copied, self.bytes + copied)
                for other, size in list(self.group.items()):
                    if size == copied:
                        self.group[other] = 0
        self._prefetch(node)
        self.at += 1

    def slices(self, node: Node, ranks: int) -> None:
        """Fused experts send themselves: one slice is used and the next on its way. A slice of each tensor comes from
        one rank, and where two ranks' parts meet from two."""
        self.received += sum(node.slices)
        self.calls += node.pieces * (len(node.slices) + ranks - 1)
        self.peak = max(self.peak, self.bytes + sum(node.slices[:2]))

    def _prefetch(self, node: Node) -> None:
        """Drops what this module used from the queue, then fetches ahead: one bucket a module at most, but never
        less than one tensor, until `max_live` elements are whole."""
        due = sum(1 for index in node.params if self.recent.get(index, -1) < self.at)
        dropped: set[int] = set()
        while self.queue and len(dropped) < due:
            index, step = self.queue.popleft()
            self.recent[index] = step
            dropped.add(index)
        bucket = self.zero.prefetch_bucket
        room = min(self.zero.max_live - self.available, min(bucket, 1) if self.zero.sequential else bucket)
        wanted: list[int] = []
        ahead = 0
        while self.queue and ahead < room:
            index, step = self.queue.popleft()
            self.recent[index] = max(self.recent.get(index, -1), step)
            if self._missing(index) and index not in wanted:
                wanted.append(index)
                ahead += self.params[index].elements
        if wanted:
            self._gather(wanted)

    def release(self, node: Node, backward: bool, recomputed: list[int]) -> None:
        for index in node.params:
            self.held[index].discard(id(node))
            if self._may_go(index, self.leaf_ahead if node.leaf else self.ahead):
                self._let_go(index)
        for index in recomputed if backward else ():
            self.held[index].discard(id(node))
            self._let_go(index)

    def _may_go(self, index: int, ahead: _Ahead) -> bool:
        """Not while a prefetch has counted on it, nor if it is used again within `max_reuse` elements."""
        if self.params[index].whole or self.recent.get(index, -1) > self.at:
            return False
        return ahead.distance(index, self.at) >= self.zero.max_reuse

    def _let_go(self, index: int) -> None:
        if index in self.live and not self.held.get(index):
            self.live.discard(index)
            self.available -= self.params[index].elements
            self.bytes -= self.sizes[index]


def padded_bytes(param: Param, ranks: int) -> int:
    """A tensor's bytes once each rank's part has the same length."""
    return -(-(param.elements // param.pieces) // ranks) * ranks * param.width * param.pieces


def replay(steps: Steps, zero: Zero, ranks: int, checkpointing: str, holds_recomputed: bool) -> Gathered:
    """One micro-step in the steady state."""
    events = schedule(steps, checkpointing, holds_recomputed)
    coordinator = _Coordinator(steps.params, events, zero, ranks)
    recomputed: dict[int, list[int]] = {}
    for event in events:
        if event.node.slices:
            if event.kind in (FORWARD, BACKWARD):
                coordinator.slices(event.node, ranks)
        elif event.kind in (FORWARD, BACKWARD):
            coordinator.fetch(event.node, event.holder)
            if event.holder is not None:
                frozen = [index for index in event.node.params if steps.params[index].frozen]
                recomputed.setdefault(id(event.holder), []).extend(frozen)
        else:
            backward = event.kind == DONE_BACKWARD
            coordinator.release(event.node, backward, recomputed.pop(id(event.node), []) if backward else [])
    nodes = {id(event.node): event.node for event in events}.values()
    alone = max((_copied_alone(steps, node, zero, ranks) for node in nodes), default=0)
    return Gathered(
        received=coordinator.received,
        calls=coordinator.calls,
        peak=coordinator.peak,
        peak_copied=max(coordinator.peak, coordinator.peak_copied, alone),
        persistent=sum(padded_bytes(param, ranks) for param in steps.params if param.whole),
    )


def _copied_alone(steps: Steps, node: Node, zero: Zero, ranks: int) -> int:
    """A module's tensors gathered together, with the second copy of a coalesced gather."""
    parts = [steps.params[index] for index in node.params if not steps.params[index].whole]
    several = sum(param.pieces for param in parts) > 1
    return sum(padded_bytes(param, ranks) for param in parts) * (2 if several and not zero.sequential else 1)
