"""The ranks' stacks, collectives and processes at a stall, laid side by side: which rank is unlike the rest.

Order of trust: a process that cannot run (stopped, waiting for storage); torch's flight recorder (a rank
behind, or in another operation); the stacks (one rank outside the collective that the others wait in).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from allranks.watch.machine import remarks
from allranks.watch.state import RankState, RunState

Frame = Tuple[str, Optional[int], str]

STOPPED = {"T": "stopped by a signal", "t": "stopped by a debugger"}
STORAGE = "D"
SAME_SIZES = re.compile(r"all_?reduce|broadcast|(^|:)_?reduce", re.IGNORECASE)
"""Collectives whose sizes must be the same on all ranks; an all-gather's or all-to-all's may differ."""

WAITING = re.compile(
    r"(^|/)torch/distributed/|(^|/)deepspeed/(comm|runtime/comm)/|(^|/)torch/nn/parallel/distributed\.py$"
)
"""Files whose functions wait for other ranks."""

LOCK = re.compile(r"(^|/)torch/utils/file_baton\.py$")
BUILD = re.compile(r"(^|/)torch/utils/cpp_extension\.py$")
"""torch compiles an operator in one process; all others wait in `FileBaton.wait` until its lock is gone."""

LOADING = re.compile(r"(^|/)torch/utils/data/")
LIBRARY = re.compile(
    r"(^|/)(site-packages|dist-packages|lib/python3[^/]*|lib/python3\.\d+)/|^<|\.zip/allranks/|/allranks/inside/"
)
"""Code that is not the user's own."""


class Odd(NamedTuple):
    """The rank that the others wait for. `cause` is an id of the symptoms' or the detectors' catalogue."""

    rank: int
    cause: str
    reason: str
    frame: Optional[Frame]
    evidence: Tuple[str, ...]
    proven: bool


def odd_one(run: RunState) -> Optional[Odd]:
    """None where no rank differs, or where two differ and nothing says which of them is wrong."""
    living = {r.rank: r for r in run.ranks.values() if r.alive}
    for judge in (_by_process, _by_lock, by_flight, _by_stack):
        found = judge(run, living)
        if found is not None:
            return found
    return None


# ---- a process that cannot run ----


def _by_process(run: RunState, living: Mapping[int, RankState]) -> Optional[Odd]:
    stuck = [(n, str(run.looks[n].get("state"))) for n in sorted(living) if n in run.looks]
    for wanted in (STOPPED, STORAGE):
        found = [(n, state) for n, state in stuck if state in wanted]
        if found and len(found) <= max(1, len(living) // 3):
            number, state = found[0]
            where = run.looks[number].get("wchan")
            what = STOPPED.get(state, "waiting for storage or a driver") + f" (state {state}"
            reason = f"its process is {what}" + (f", in {where})" if where else ")")
            frame = place_of(frames_of(run, number))
            cause = "rank-silent" if state in STOPPED else "nfs-stale-or-io-error"
            return Odd(number, cause, reason, frame, _evidence(run, living, number), state in STOPPED)
    return None


# ---- the lock of an operator's build ----


def _by_lock(run: RunState, living: Mapping[int, RankState]) -> Optional[Odd]:
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
    frame = place_of(frames_of(run, number))
    return Odd(number, "op-build-waits", reason, frame, _evidence(run, living, number), not near)


# ---- the flight recorder ----


def by_flight(run: RunState, living: Mapping[int, RankState]) -> Optional[Odd]:
    for group, places in groups(run, living).items():
        behind = _behind(places)
        if behind is not None:
            ahead = _most(places, behind)[0]
            reason = (
                f"its last collective of group {group} is number {places[behind][0]}, the others' {ahead}"
            )
            return _of_flight(run, living, behind, "collective-timeout-straggler", reason)
        other = _other(places)
        if other is not None:
            common = _most(places, other)
            reason = f"it is in {_named(places[other])}, the others in {_named(common)}"
            proven = places[other][1] != common[1]  # sizes alone may be told in more than one way
            return _of_flight(run, living, other, "collective-mismatch", reason, proven)
    return None


def _of_flight(
    run: RunState, living: Mapping[int, RankState], rank: int, cause: str, reason: str, proven: bool = True
) -> Odd:
    frames = frames_of(run, rank)
    if cause != "collective-mismatch" and frames:
        reason = f"{doing(frames)}; {reason}"
    return Odd(rank, cause, reason, place_of(frames), _evidence(run, living, rank), proven)


def groups(run: RunState, living: Mapping[int, RankState]) -> Dict[str, Dict[int, Tuple[Any, str, str]]]:
    """By process group: each rank's newest (sequence, operation, sizes)."""
    found: Dict[str, Dict[int, Tuple[Any, str, str]]] = {}
    for rank, data in run.flights.items():
        if rank not in living:
            continue
        rows = data.get("groups")
        for row in rows if isinstance(rows, list) else [data]:
            if isinstance(row, Mapping):
                name = str(row.get("operation"))
                sizes = str(row.get("sizes")) if SAME_SIZES.search(name) else ""
                place = (row.get("sequence"), name, sizes)
                found.setdefault(str(row.get("group", "0")), {})[rank] = place
    return found


def _behind(places: Mapping[int, Tuple[Any, str, str]]) -> Optional[int]:
    """The one rank with a lower number than all others, where these agree."""
    numbers = {rank: p[0] for rank, p in places.items() if isinstance(p[0], int)}
    if len(numbers) < 2 or len(numbers) != len(places):
        return None
    least = [rank for rank, number in numbers.items() if number == min(numbers.values())]
    rest = [number for rank, number in numbers.items() if rank not in least]
    return least[0] if len(least) == 1 and len(set(rest)) == 1 else None


def _other(places: Mapping[int, Tuple[Any, str, str]]) -> Optional[int]:
    """The one rank in another operation than at least two others, which agree; at one and the same number. A rank
    that is ahead has only been quicker: its collective waits for the others."""
    if len({place[0] for place in places.values()}) != 1:
        return None
    counted = Counter(places.values()).most_common()
    if len(counted) != 2 or counted[0][1] < 2 or counted[1][1] != 1:
        return None
    return next(rank for rank, place in places.items() if place == counted[1][0])


def _most(places: Mapping[int, Tuple[Any, str, str]], but: int) -> Tuple[Any, str, str]:
    return Counter(p for rank, p in places.items() if rank != but).most_common(1)[0][0]


def _named(place: Tuple[Any, str, str]) -> str:
    return f"{place[1]} number {place[0]}" + (f" (sizes {place[2]})" if place[2] else "")


# ---- the stacks ----


def _by_stack(run: RunState, living: Mapping[int, RankState]) -> Optional[Odd]:
    stacks = {n: frames_of(run, n) for n in living if frames_of(run, n)}
    if len(stacks) < 2:
        return None
    outside = [n for n, frames in stacks.items() if not waits(frames)]
    unheard = [n for n in living if n not in stacks]
    if len(outside) == 1 and not unheard:
        reason = f"{doing(stacks[outside[0]])}; the others wait in a collective"
        # On a GPU a rank that reads a result of a queued collective waits outside of torch.distributed, too.
        proven = not (living[outside[0]].uuid or living[outside[0]].bus_id)
        return _of_stack(run, living, outside[0], "collective-timeout-straggler", reason, proven)
    if len(unheard) == 1 and not outside:
        reason = "nothing could read its stack; the others wait in a collective"
        return _of_stack(run, living, unheard[0], "rank-silent", reason, False)
    if unheard:
        return None
    places = {n: (place_of(frames), doing(frames)) for n, frames in stacks.items()}
    counted = Counter(places.values()).most_common()
    if len(counted) != 2 or counted[0][1] < 2 or counted[1][1] != 1:
        return None
    odd = next(n for n, place in places.items() if place == counted[1][0])
    reason = f"{places[odd][1]}; the others: {counted[0][0][1]}"
    cause = "collective-timeout-straggler" if outside else "collective-mismatch"
    return _of_stack(
        run, living, odd, cause, reason, False
    )  # stages of a pipeline wait at lines of their own


def _of_stack(
    run: RunState, living: Mapping[int, RankState], rank: int, cause: str, reason: str, proven: bool
) -> Odd:
    return Odd(rank, cause, reason, place_of(frames_of(run, rank)), _evidence(run, living, rank), proven)


def frames_of(run: RunState, rank: int) -> List[Frame]:
    """A rank's main thread, outermost first, as it was told at this stall."""
    kept = run.stacks.get(rank, {}).get("frames")
    return kept if isinstance(kept, list) else []


def waits(frames: List[Frame]) -> bool:
    """Whether the innermost calls are those of a collective or of a wait for one."""
    return any(WAITING.search(frame[0].replace("\\", "/")) for frame in frames[-12:])


def place_of(frames: List[Frame]) -> Optional[Frame]:
    """The innermost frame of the user's own code, else the innermost at all."""
    own = [frame for frame in frames if not LIBRARY.search(frame[0])]
    return own[-1] if own else frames[-1] if frames else None


def doing(frames: List[Frame]) -> str:
    """What the rank is doing, in words, with the line."""
    place = place_of(frames)
    at = f" at {place[0]}:{place[1]} in {place[2]}" if place is not None else ""
    if waits(frames):
        inner = [f for f in frames if WAITING.search(f[0])]
        return f"it waits in {inner[-1][2]}{at}"
    if any(LOADING.search(frame[0]) for frame in frames):
        return f"it waits for its data loader{at}"
    return f"it is{at}" if at else "it is outside any known code"


def _evidence(run: RunState, living: Mapping[int, RankState], odd: int) -> Tuple[str, ...]:
    """A few lines: the odd rank's stack and process, what the others do, the kernel of its node."""
    lines = []
    by = run.stacks.get(odd, {}).get("by")
    frames = frames_of(run, odd)
    if frames:
        lines.append(f"rank {odd}, main thread" + (f" (by {by})" if by and by != "inside" else "") + ":")
        lines += [f"  {f}:{n} in {name}" for f, n, name in frames[-4:]]
    else:
        lines.append(f"rank {odd}: no stack ({run.stacks.get(odd, {}).get('why') or 'it did not answer'})")
    lines += _process_lines(run, odd)
    others = Counter(doing(frames_of(run, n)) for n in living if n != odd and frames_of(run, n))
    lines += [f"{many} other rank{'s' if many > 1 else ''}: {text}" for text, many in others.most_common(3)]
    node = run.nodes.get(living[odd].node or "") if odd in living else None
    lines += [f"kernel of {node.name}: {line}" for line in node.kernel[-3:]] if node is not None else []
    lines += remarks(run, node.name) if node is not None else []
    return tuple(lines)


def _process_lines(run: RunState, rank: int) -> List[str]:
    look = run.looks.get(rank)
    if look is None:
        return []
    lines = [
        f"rank {rank}, pid {look.get('pid')}: state {look.get('state')}, wchan {look.get('wchan') or 'unknown'}"
    ]
    children = look.get("children")
    for child in children if isinstance(children, list) else ():
        if isinstance(child, Mapping) and child.get("state") in ("D", "T", "Z"):
            lines.append(f"  its child {child.get('pid')} ({child.get('name')}): state {child.get('state')}")
    return lines[:5]
