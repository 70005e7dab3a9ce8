"""The rank, or the node, that the others wait for, and the lines that show it."""

from __future__ import annotations

from collections import Counter
from typing import Iterable, List, Mapping, NamedTuple, Optional, Tuple

from allranks.core.rank_events import Frame, Stack
from allranks.core.stack_places import doing
from allranks.monitor import kernel_log, sockets
from allranks.monitor.node_load import remarks
from allranks.monitor.rank_stacks import frames_of
from allranks.monitor.run_state import RankState, RunState

Living = Mapping[int, RankState]
LISTED = 8


class Odd(NamedTuple):
    """The rank that the others wait for. `cause` is the id of a symptom or detector. `node`: all ranks of that node
    differ from the rest, and `rank` is the first of them. `rivals`: ranks that differ from `rank` if nothing shows
    which of them is wrong."""

    rank: int
    cause: str
    reason: str
    frame: Optional[Frame]
    evidence: Tuple[str, ...]
    proven: bool
    node: Optional[str] = None
    rivals: Tuple[int, ...] = ()


def whole_node(ranks: Iterable[int], living: Living) -> Optional[str]:
    """The node, if these are all of its ranks (two or more) and other nodes have ranks, too."""
    named = set(ranks)
    nodes = {living[n].node for n in named}
    node = next(iter(nodes)) if len(nodes) == 1 else None
    on_it = {n for n, rank in living.items() if rank.node == node}
    return node if on_it == named and 1 < len(named) < len(living) else None


def named(ranks: Iterable[int]) -> str:
    """`rank 3` or `ranks 0, 1 and 6 more`."""
    kept = sorted(ranks)
    more = f" and {len(kept) - LISTED} more" if len(kept) > LISTED else ""
    return f"rank{'s' if len(kept) > 1 else ''} " + ", ".join(map(str, kept[:LISTED])) + more


def evidence(run: RunState, living: Living, odd: int) -> Tuple[str, ...]:
    """A few lines: the rank's stack and process, the others' activity, the kernel log of its node."""
    lines = []
    stack = run.stacks.get(odd, Stack())
    frames = frames_of(run, odd)
    if frames:
        by = f" (by {stack.by})" if stack.by not in (None, "inside") else ""
        lines.append(f"rank {odd}, main thread{by}:")
        lines += [f"  {f}:{n} in {name}" for f, n, name in frames[-4:]]
    else:
        lines.append(f"rank {odd}: no stack ({stack.why or 'it did not answer'})")
    lines += _process_lines(run, odd)
    others = Counter(doing(frames_of(run, n)) for n in living if n != odd and frames_of(run, n))
    lines += [_of_others(text, many) for text, many in others.most_common(3)]
    lines += sockets.lines(run, odd)
    node = run.nodes.get(living[odd].node or "") if odd in living else None
    return (*lines, *(() if node is None else [*kernel_log.words(node), *remarks(run, node.name)]))


def _of_others(doing: str, many: int) -> str:
    """`2 other ranks: they wait in …`, of `it waits in …`."""
    if many == 1:
        return f"1 other rank: {doing}"
    for one, all_of_them in (("it waits", "they wait"), ("its ", "their "), ("it is", "they are")):
        doing = doing.replace(one, all_of_them, 1)
    return f"{many} other ranks: {doing}"


def _process_lines(run: RunState, rank: int) -> List[str]:
    look = run.looks.get(rank)
    if look is None:
        return []
    lines = [f"rank {rank}, pid {look.pid}: state {look.state}, wchan {look.wchan or 'unknown'}"]
    for child in look.children:
        if child.state in ("D", "T", "Z"):
            lines.append(f"  its child {child.pid} ({child.name}): state {child.state}")
    return lines[:5]
