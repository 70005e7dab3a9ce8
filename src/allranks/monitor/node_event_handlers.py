"""How the events of a node, its supervisor and its torchrun change what is known of a run."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping

from allranks.core import Event
from allranks.monitor.clock_offsets import Lateness
from allranks.monitor.event_values import integer, listed, number
from allranks.monitor.rank_records import SLOWDOWNS, NodeState
from allranks.monitor.run_state import RunState

EARLIER_SECONDS = 1.0
"""Ranks that torchrun ends after a failure go within its next looks, 0.1 s each."""


BUSY_SHARE = 0.1
"""Of one core, between two samples: a call that computes uses all of a core, or what its neighbours leave it. A
thread that only wakes now and then beside a frozen one (torch's watchdog of NCCL, each 0.1 s) uses far less."""

STOPPED = frozenset("Tt")
"""Stopped by a signal (SIGSTOP and its like), stopped by a debugger."""

STANDING = STOPPED | frozenset("DZ")
"""The states of proc(5) in which the main thread runs nothing, whatever other threads do: stopped, traced, waiting for
a disk, dead."""

SAMPLES_GAP_SECONDS = 15.0
"""Three samples that did not come: their supervisor was away, perhaps stopped together with its ranks."""

GPUS_GAP_SECONDS = 60.0
"""Four looks at the GPUs that did not come: what they did meanwhile nobody knows."""


def on_torchrun_ended(run: RunState, event: Event) -> None:
    if event.node is None:
        return
    node = run.node(event.node)
    node.ended_at, node.ended_code = event.at, integer(event.data.get("code"))
    if node.ended_code:
        run.in_trouble(event.at)
    node.failures = [f for f in listed(event.data.get("failures")) if isinstance(f, Mapping)][:1024]
    for failure in node.failures:
        rank_number, code = integer(failure.get("rank")), integer(failure.get("code"))
        if rank_number is None:
            continue
        rank = run.rank(rank_number)
        rank.node = rank.node or event.node
        if rank.gone_code is None and code is not None:
            rank.gone_code = code
        if rank.gone_at is None:
            rank.gone_at = event.at
            rank.hear_end(run.arrived)
    _ended_well(run, node)


def _ended_well(run: RunState, node: NodeState) -> None:
    """torchrun takes a dead rank's code within 0.1 s, often before anybody else sees it, and tells only of failures:
    a rank of which it tells none, gone before any that failed and before our stop, has ended with 0."""
    failed = [integer(f.get("rank")) for f in node.failures]
    times = [run.ranks[n].gone_at or 0.0 for n in failed if n is not None and n in run.ranks]
    ends = times or ([node.stopping_at] if node.stopping_at is not None else [])
    if node.ended_code != 0 and not ends:
        return
    for rank in run.ranks.values():
        unknown = rank.node == node.name and rank.gone_at is not None and rank.code is None
        if unknown and (node.ended_code == 0 or (rank.gone_at or 0.0) < min(ends) - EARLIER_SECONDS):
            rank.gone_code = 0


def on_torchrun(run: RunState, event: Event) -> None:
    """A torchrun starts; after one that ended it is a restart, and what the last attempt left is no sign any more."""
    if event.node is None:
        return
    node = run.node(event.node)
    if node.ended_at is None:
        return
    node.ended_at = node.ended_code = node.swept_at = node.stopping_at = None
    node.failures = []
    run.trouble_at = run.doubt_at = run.stopping_at = run.step_at = run.last_move = None
    run.step, run.beat_gaps = -1, Lateness(run.beat_gaps.most)
    for rank in [r.rank for r in run.ranks.values() if r.node == event.node]:
        del run.ranks[rank]


CLOSED = re.compile(r"^closed$|closed the connection|reset by peer|broken pipe", re.IGNORECASE)
"""What `node/wire.py` says where the node's kernel ended the connection: that kernel lives. A reset instead of a
close comes where the dead process had not read everything."""


def on_supervisor(run: RunState, event: Event) -> None:
    on_node("joined_at")(run, event)
    process = event.data.get("process")
    if event.node is not None and isinstance(process, Mapping):
        run.node(event.node).boot_id = str(process.get("boot_id") or "")


def on_node(attribute: str) -> Any:
    def handler(run: RunState, event: Event) -> None:
        if event.node is None:
            return
        node = run.node(event.node)
        if attribute == "stopping_at" and node.stopping_at is not None:
            return  # the first stop is the one that ends ranks
        setattr(node, attribute, event.at)
        if attribute == "joined_at":
            node.lost_at, node.lost_why = None, ""  # it is back
        elif attribute == "lost_at":
            why = str(event.data.get("why") or "")
            node.lost_why = "closed" if CLOSED.search(why) else why
        elif attribute == "stopping_at" and run.stopping_at is None:
            run.stopping_at = event.at

    return handler


def on_sample(run: RunState, event: Event) -> None:
    if event.node is None:
        return
    node = run.node(event.node)
    away = node.sample_at is None or run.arrived - node.sample_at > SAMPLES_GAP_SECONDS
    node.sample, node.sample_at = dict(event.data), run.arrived
    _look_at_ranks(run, node, away)
    gpus = [gpu for gpu in listed(event.data.get("gpus")) if isinstance(gpu, Mapping)][:64]
    if gpus:
        _look_at_gpus(node, gpus, run.arrived)


def _look_at_ranks(run: RunState, node: NodeState, away: bool) -> None:
    """Which ranks are stopped, and which work though they do not beat."""
    entries = node.sample.get("ranks")
    for name, entry in entries.items() if isinstance(entries, Mapping) else ():
        rank = run.ranks.get(int(name)) if str(name).isdigit() else None
        if rank is None or rank.node != node.name or not isinstance(entry, Mapping):
            continue
        still = rank.stopped_at is not None and rank.stopped_at > (rank.beat_at or 0.0) and not away
        stopped = entry.get("state") in STOPPED
        rank.stopped_at = (rank.stopped_at if still else run.arrived) if stopped else None
        used = number(entry.get("cpu_seconds"))
        if used is None:
            continue
        before, rank.cpu = rank.cpu, (run.arrived, used)
        if before is None or before[0] < (rank.beat_at or 0.0) or entry.get("state") in STANDING:
            continue
        if used - before[1] >= BUSY_SHARE * (run.arrived - before[0]) > 0.0:
            rank.busy_at = run.arrived


def _look_at_gpus(node: NodeState, gpus: List[Mapping[str, Any]], at: float) -> None:
    """Since when each is slowed down. What was seen long ago is not carried over a gap in the looks."""
    if node.gpus_at is not None and at - node.gpus_at > GPUS_GAP_SECONDS:
        node.throttled = {}
    node.gpus, node.gpus_at = gpus, at
    for gpu in gpus:
        slowed = [str(t) for t in listed(gpu.get("throttle")) if str(t) in SLOWDOWNS]
        _since(node.throttled, gpu_name(gpu), bool(slowed), at)


def gpu_name(gpu: Mapping[str, Any]) -> str:
    return str(gpu.get("uuid") or gpu.get("index"))


def _since(kept: Dict[str, float], name: str, holds: bool, at: float) -> None:
    """Remembers since when something holds."""
    if holds:
        kept.setdefault(name, at)
    else:
        kept.pop(name, None)


def on_kernel(run: RunState, event: Event) -> None:
    """What the kernel said, or why nobody may read it: its silence then proves nothing."""
    if event.node is not None:
        node, lines = run.node(event.node), listed(event.data.get("lines"))
        node.kernel, node.kernel_at = [str(line)[:300] for line in lines][-20:], event.at
        node.kernel_unread = str(event.data.get("why") or "")[:200]
        run.answers += 1
