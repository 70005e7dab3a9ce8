"""Compares the ranks' stacks, collectives and processes at a stall, and finds the rank that differs from the rest.

The evidence counts in this order: a process that cannot run (stopped, waiting for storage); torch's flight recorder
(a rank that the others wait for, or in another operation); TCP connections without an answer; the stacks (one rank
outside the collective in which the others wait). If all ranks of one node differ in the same way, the node is named.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Dict, List, Optional

from allranks.core.node_events import ProcessSeen
from allranks.core.rank_events import Frame
from allranks.core.stack_places import BUILD, LOCK, doing, place_of, waits
from allranks.diagnose.symptoms.collective_mismatch import CAUSE as COLLECTIVE_MISMATCH
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.diagnose.symptoms.nfs_stale_or_io_error import CAUSE as NFS_STALE_OR_IO_ERROR
from allranks.diagnose.symptoms.op_build_waits import CAUSE as OP_BUILD_WAITS
from allranks.diagnose.symptoms.peer_node_network_broken import CAUSE as PEER_NODE_NETWORK_BROKEN
from allranks.monitor import sockets
from allranks.monitor.detectors.rank_silent import CAUSE as RANK_SILENT
from allranks.monitor.flight_recorders import by_flight
from allranks.monitor.rank_stacks import frames_of
from allranks.monitor.run_state import RunState
from allranks.monitor.suspect import Living, Odd, evidence, named, whole_node

ANSWER_SECONDS = 8.0
"""A heartbeat until the rank sees the question, 2.5 s until py-spy is tried, 5 s for py-spy, minus the overlap."""

STOPPED = {"T": "stopped by a signal", "t": "stopped by a debugger", "F": "frozen by its control group"}
STORAGE = "D"
FREEZER = re.compile(r"freezer|refrigerator")
"""The wait channel of a process that a control group has frozen: `do_freezer_trap` (v2), `__refrigerator` (v1)."""


def answered(run: RunState, asked: Optional[float], now: float) -> bool:
    """Whether the answers can be judged: nothing has moved since the question, and all ranks have answered or had
    enough time. Ranks answer up to a second apart. Each must have been heard after it reported its collective, still
    at the same step."""
    living = [r for r in run.ranks.values() if r.alive]
    if asked is None or any((r.moved_at or 0.0) > asked for r in living):
        return False
    if now - asked >= ANSWER_SECONDS:
        return True
    if any(r.rank not in run.stacks for r in living):
        return False
    told = [r for r in living if r.rank in run.flights]
    # A rank that answered by itself reports its collective next. A stopped rank cannot: only py-spy's stack comes
    # from it.
    owing = [r for r in living if r.rank not in run.flights and run.stacks[r.rank].by == "inside"]
    later = all((r.beat_at or 0.0) > run.flights_at[r.rank] for r in told)
    return not told or (later and not owing)


def odd_one(run: RunState) -> Optional[Odd]:
    """The rank that differs; None if no rank does, or if nothing shows which of two sides is wrong."""
    found = odd_or_sides(run)
    return found if found is not None and not found.rivals else None


def odd_or_sides(run: RunState) -> Optional[Odd]:
    """The rank that differs, or two sides of ranks in different collectives. The result is kept until another answer
    comes or a rank ends, so that a look at each second of a stall costs nothing."""
    living = {r.rank: r for r in run.ranks.values() if r.alive}
    memory = run.memory_of("compare")
    key = (run.answers, len(living), len(run.ranks))
    if memory.get("key") != key or run.answers == 0:
        memory["key"], memory["odd"] = key, _compared(run, living)
    return memory["odd"]


def _compared(run: RunState, living: Living) -> Optional[Odd]:
    doubtful = None
    for judge in (by_process, _by_lock, by_flight, _by_stack):
        found = judge(run, living)
        if found is not None and (found.proven or not waits(frames_of(run, found.rank))):
            return found  # the rank does something else, whatever its network does
        doubtful = doubtful or found  # a waiting rank may be in state D for a moment, too
    return _by_socket(run, living) or doubtful


# ---- a process that cannot run ----


def by_process(run: RunState, living: Living) -> Optional[Odd]:
    states = {n: _state(run.looks[n]) for n in sorted(living) if n in run.looks}
    for wanted in (STOPPED, STORAGE):
        found = [n for n, state in states.items() if state and state in wanted]
        node = whole_node(found, living)
        if found and (node is not None or len(found) <= max(1, len(living) // 3)):
            return _cannot_run(run, living, found, states[found[0]], node)
    return None


def _state(look: ProcessSeen) -> str:
    return "F" if FREEZER.search(look.wchan or "") else look.state or ""


def _cannot_run(run: RunState, living: Living, found: List[int], state: str, node: Optional[str]) -> Odd:
    number, where = found[0], run.looks[found[0]].wchan
    what = STOPPED.get(state, "waiting for storage or a driver")
    told = f"{what} (state {run.looks[number].state}" + (f", in {where})" if where else ")")
    reason = f"its {len(found)} processes are {told}" if node is not None else f"its process is {told}"
    if node is None and len(found) > 1:
        reason += f", and so {'is' if len(found) == 2 else 'are'} {named(found[1:])}"
    cause = RANK_SILENT.id if state in STOPPED else NFS_STALE_OR_IO_ERROR.id
    frame = place_of(frames_of(run, number))
    return Odd(number, cause, reason, frame, evidence(run, living, number), state in STOPPED, node)


# ---- the lock of an operator's build ----


def _by_lock(run: RunState, living: Living) -> Optional[Odd]:
    files = {n: [frame[0].replace("\\", "/") for frame in frames_of(run, n)] for n in sorted(living)}
    waiting = [n for n in files if any(map(LOCK.search, files[n]))]
    if not waiting:
        return None
    nodes = {living[n].node for n in waiting}
    builders = [n for n in files if n not in waiting and any(map(BUILD.search, files[n]))]
    near = [n for n in builders if living[n].node in nodes]
    number = near[0] if near else waiting[0]
    others = ", ".join(map(str, waiting[:8]))
    reason = (
        f"it compiles an operator of torch, for whose lock rank {others} waits"
        if near
        else f"rank {others} waits for the lock of an operator that no rank of its node compiles"
    )
    return _of_stack(run, living, number, OP_BUILD_WAITS.id, reason, not near)


# ---- TCP connections without an answer ----


def _by_socket(run: RunState, living: Living) -> Optional[Odd]:
    """A node that does not answer the connections of two others: its machine or its network is the reason."""
    node, found = sockets.unanswered(run)
    on_it = sorted(n for n, rank in living.items() if rank.node == node)
    if node is None or not on_it:
        return None
    lines = (*(one.text for one in found[:4]), *evidence(run, living, on_it[0]))
    reason = f"TCP connections of {len(found)} nodes with it are not answered"
    return Odd(on_it[0], PEER_NODE_NETWORK_BROKEN.id, reason, None, tuple(dict.fromkeys(lines)), False, node)


# ---- the stacks ----


def _by_stack(run: RunState, living: Living) -> Optional[Odd]:
    stacks = {n: frames_of(run, n) for n in sorted(living) if frames_of(run, n)}
    outside = [n for n, frames in stacks.items() if not waits(frames)]
    unheard = [n for n in sorted(living) if n not in stacks]
    if len(stacks) < 2 or (outside and unheard):
        return None
    node = whole_node(outside or unheard, living)
    if len(outside) == 1 or (outside and node is not None):
        reason = f"{doing(stacks[outside[0]])}; the others wait in a collective"
        # On a GPU a rank that reads the result of a queued collective also waits, but outside of torch.distributed.
        proven = not any(living[n].uuid or living[n].bus_id for n in outside)
        return _of_stack(run, living, outside[0], COLLECTIVE_TIMEOUT_STRAGGLER.id, reason, proven, node)
    if unheard:
        if len(unheard) > 1 and node is None:
            return None
        whose = "the stacks of its ranks" if node is not None else "its stack"
        reason = f"nothing could read {whose}; the others wait in a collective"
        return _of_stack(run, living, unheard[0], RANK_SILENT.id, reason, False, node)
    return _elsewhere(run, living, stacks, bool(outside))


def _elsewhere(run: RunState, living: Living, stacks: Dict[int, List[Frame]], outside: bool) -> Optional[Odd]:
    """The one rank at another place in the code than all others."""
    places = {n: (place_of(frames), doing(frames)) for n, frames in stacks.items()}
    counted = Counter(places.values()).most_common()
    if len(counted) != 2 or counted[0][1] < 2 or counted[1][1] != 1:
        return None
    odd = next(n for n, place in places.items() if place == counted[1][0])
    reason = f"{places[odd][1]}; the others: {counted[0][0][1]}"
    cause = COLLECTIVE_TIMEOUT_STRAGGLER.id if outside else COLLECTIVE_MISMATCH.id
    # Stages of a pipeline wait at different lines.
    return _of_stack(run, living, odd, cause, reason, False)


def _of_stack(
    run: RunState,
    living: Living,
    rank: int,
    cause: str,
    reason: str,
    proven: bool,
    node: Optional[str] = None,
) -> Odd:
    frame = place_of(frames_of(run, rank))
    return Odd(rank, cause, reason, frame, evidence(run, living, rank), proven, node)
