"""Which rank or node it was: one judge for each way in which a run ends, from events alone."""

from __future__ import annotations

import re
import signal
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from allranks.watch.state import RankState, RunState
from allranks.words import Diagnosis, Event, Where

LATE_SECONDS = 0.5
"""Clocks of nodes are corrected to about a network round trip; deaths closer than this are told apart by kind."""

COMMUNICATION_WORDS = (
    "connection closed by peer", "connection reset by peer", "broken pipe", "timed out waiting",
    "ncclremoteerror", "nccl communicator was aborted", "remote process exited", "recvvalue failed",
    "socket timeout", "watchdog caught collective", "connection refused", "monitoredbarrier",
)  # fmt: skip


def is_communication(event: Event) -> bool:
    """Whether an `exception` event only says that somebody else is gone or late."""
    if event.data.get("communication") is not None:
        return bool(event.data["communication"])
    text = f"{event.data.get('type')}: {event.data.get('message')}".lower()
    return any(word in text for word in COMMUNICATION_WORDS)


def place(event: Event) -> Tuple[str, str]:
    """What two ranks' exceptions are compared by: the type and the place in the code."""
    file, line, _ = last_frame(event)
    return str(event.data.get("type")), f"{file}:{line}"


def last_frame(event: Event) -> Tuple[Optional[str], Optional[int], str]:
    """(file, line, function) where it was raised; the state has made the frames safe to read."""
    frames = event.data.get("frames") or ((None, None, "?"),)
    return frames[-1]


# ---- an exception that is no communication error ----


def by_exception(run: RunState) -> Optional[Diagnosis]:
    raised = [(e.at, r, e) for r in run.ranks.values() for e in r.exceptions if not is_communication(e)]
    if not raised:
        return None
    _, rank, event = min(raised, key=lambda item: (item[0], item[1].rank))
    same = [r for _, r, e in raised if place(e) == place(event)]
    everywhere = len(same) > 1 and len(same) == (run.world_size or len(run.ranks))
    text = f"{event.data.get('type')}: {event.data.get('message')}"
    who = (
        f"all {len(same)} ranks raise it at the same place: the configuration, not one machine."
        if everywhere
        else ""
    )
    doubted = [
        r
        for at, r, e in raised
        if r.node != rank.node and at - event.at < LATE_SECONDS and place(e) != place(event)
    ]
    return Diagnosis(
        cause="rank-crashed-first",
        confidence="likely" if doubted else "certain",
        where=_where(rank, event),
        first_seen=event.at,
        evidence=(
            f"rank {rank.rank} on {rank.node}: {one_line(text)}",
            *_frames(event),
            *([who] if who else []),
            *(
                f"rank {r.rank} on {r.node} raised another within {LATE_SECONDS:g} s, which clocks may turn round"
                for r in doubted[:3]
            ),
        ),
        collateral=collateral(run, same),
        why=who or f"rank {rank.rank} raised it first; {_others(run, same)} only lost their peer.",
        fix="change the configuration or the script, not the machines."
        if everywhere
        else "look at that line and its data.",
    )


def _frames(event: Event) -> List[str]:
    frames: Sequence[Any] = event.data.get("frames") or ()
    return [f"  {file}:{line} in {function}" for file, line, function in frames[-3:]]


def _where(rank: RankState, event: Event) -> Where:
    file, line, _ = last_frame(event)
    return Where(node=rank.node, rank=rank.rank, file=file, line=line)


# ---- a death by a signal ----


def by_signal(run: RunState) -> Optional[Diagnosis]:
    dead = [r for r in run.ranks.values() if r.code is not None and r.code < 0]
    ours = [r for r in dead if r.code == -signal.SIGTERM and not _first_to_die(run, r)]
    suspects = [r for r in dead if r not in ours and not _stopped_by_us(run, r)]
    lost = _lost_nodes(run)
    if lost and not any(r.code != -signal.SIGTERM for r in suspects):
        return None
    if not suspects:
        return None
    rank = min(suspects, key=lambda r: (r.code == -signal.SIGTERM, r.ended_at or 0.0, r.rank))
    name = _signal_name(-(rank.code or 0))
    starved = _out_of_memory(run, rank)
    if starved:
        return _by_kernel(run, rank, starved)
    killed = _cause_of_signal(-(rank.code or 0)) != "rank-crashed-first"
    return Diagnosis(
        cause=_cause_of_signal(-(rank.code or 0)),
        confidence="likely" if killed else "certain",
        where=Where(node=rank.node, rank=rank.rank),
        first_seen=rank.ended_at,
        evidence=(f"rank {rank.rank} on {rank.node} was ended by {name}", *_table(run, rank)),
        collateral=collateral(run, [rank]),
        why=f"{name} came from outside the process (out of memory, a person, a scheduler); who sent it no event says."
        if killed
        else f"{name} is a fault of native code in that process.",
        fix=f"on {rank.node}: dmesg -T | grep -i -e oom -e killed; free memory or fewer workers."
        if killed
        else f"read the last lines of rank {rank.rank}'s log; run with --debug for the native stack.",
    )


OUT_OF_MEMORY = re.compile(r"out of memory|oom-kill|killed process", re.IGNORECASE)


def _out_of_memory(run: RunState, rank: RankState) -> List[str]:
    """What the kernel of its node said of memory when it was asked after this death."""
    node = run.nodes.get(rank.node or "")
    if rank.code != -signal.SIGKILL or node is None or node.kernel_at is None:
        return []
    asked_after = node.kernel_at >= (rank.gone_at or 0.0) - LATE_SECONDS
    return [line for line in node.kernel if OUT_OF_MEMORY.search(line)] if asked_after else []


def _by_kernel(run: RunState, rank: RankState, lines: Sequence[str]) -> Diagnosis:
    """The pid in the kernel's line is the machine's; in a container the rank's own is another one."""
    pid = rank.identity[2] if rank.identity else None
    named = any(re.search(rf"\bprocess {pid}\b|\bpid={pid}\b", line, re.IGNORECASE) for line in lines)
    said = [one_line(line) for line in lines[-3:]]
    return Diagnosis(
        cause="cpu-oom-killed",
        confidence="certain" if named else "likely",
        where=Where(node=rank.node, rank=rank.rank),
        first_seen=rank.ended_at,
        evidence=(
            f"rank {rank.rank} on {rank.node} was ended by SIGKILL",
            *(f"kernel: {line}" for line in said),
        ),
        collateral=collateral(run, [rank]),
        why="the kernel ended it: the machine, or its control group, was out of memory.",
        fix=f"on {rank.node}: free memory, fewer data loader workers, a higher limit of the container or job.",
    )


def _stopped_by_us(run: RunState, rank: RankState) -> bool:
    """A process that does not heed SIGTERM (a stopped one cannot) gets SIGKILL when we stop the run."""
    return run.stopping_at is not None and (rank.ended_at or 0.0) > run.stopping_at + LATE_SECONDS


def _first_to_die(run: RunState, rank: RankState) -> bool:
    """Whether nothing went wrong before this rank's end, nor did we stop it: then SIGTERM came from outside."""
    at = rank.ended_at or 0.0
    if run.stopping_at is not None and run.stopping_at <= at + LATE_SECONDS:
        return False
    others = [
        r.ended_at for r in run.ranks.values() if r is not rank and r.code not in (None, -signal.SIGTERM)
    ]
    raised = [e.at for r in run.ranks.values() for e in r.exceptions]
    return not any(t is not None and t <= at + LATE_SECONDS for t in (*others, *raised))


def _cause_of_signal(number: int) -> str:
    """SIGTERM, SIGHUP and SIGINT are somebody's wish, SIGKILL mostly the kernel's, the others a fault inside."""
    if number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        return "torchelastic-signal"
    return "rank-sigkilled" if number == signal.SIGKILL else "rank-crashed-first"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _table(run: RunState, rank: RankState) -> List[str]:
    node = run.nodes.get(rank.node or "")
    rows: Iterable[Mapping[str, Any]] = node.failures if node else ()
    return [
        f"torchrun on {rank.node}: rank {f.get('rank')} exit code {f.get('code')}" for f in list(rows)[:4]
    ]


# ---- a stall of which a rank was named ----


def by_stall(run: RunState) -> Optional[Diagnosis]:
    """The rank that held up the others, where nothing has moved since it was named.

    What comes after it are its consequences: time-outs that blame each other, a watchdog's SIGABRT, our stop.
    """
    if run.held_up is None:
        return None
    at, odd, finding = run.held_up
    if any((r.moved_at or 0.0) > at for r in run.ranks.values()) or odd.rank not in run.ranks:
        return None
    return Diagnosis(
        cause=odd.cause,
        confidence="certain" if odd.proven else "likely",
        where=finding.where,
        first_seen=max((r.moved_at or 0.0 for r in run.ranks.values()), default=at),
        evidence=(one_line(finding.saw), *finding.evidence),
        collateral=tuple(
            Where(node=r.node, rank=r.rank) for r in run.ranks.values() if r.rank != odd.rank and r.alive
        )
        or collateral(run, [run.ranks[odd.rank]]),
        why="its stack, its collective and its process were compared with those of all ranks before anything was"
        " stopped.",
        fix=finding.fix,
    )


# ---- a node that is gone ----


def _lost_nodes(run: RunState) -> List[str]:
    lost = [
        n for n in run.nodes.values() if n.lost_at is not None and n.ended_at is None and n.swept_at is None
    ]
    early = [n for n in lost if run.stopping_at is None or (n.lost_at or 0.0) <= run.stopping_at]
    return [n.name for n in sorted(early, key=lambda n: n.lost_at or 0.0)]


def by_node(run: RunState) -> Optional[Diagnosis]:
    lost = _lost_nodes(run)
    leases = [n for n in run.nodes.values() if n.lease_lost_at is not None]
    if lost:
        node = run.nodes[lost[0]]
        closed = run.machine_lives(node)
        what = "its supervisor's connection was closed" if closed else "nothing was heard from it any more"
        return Diagnosis(
            cause="supervisor-lost" if closed else "node-failure",
            confidence="likely",
            where=Where(node=node.name),
            first_seen=node.lost_at,
            evidence=(f"{node.name}: {what}", f"last heard at {node.seen_at}"),
            collateral=collateral(run, [r for r in run.ranks.values() if r.node == node.name]),
            why="the machine still answers for its sockets, its supervisor does not."
            if closed
            else "the machine, its kernel or its network is gone; the ranks elsewhere only lost their peers.",
            fix=f"read supervisor.log on {node.name}."
            if closed
            else f"look at {node.name}: power, kernel log, network.",
        )
    if leases:
        node = min(leases, key=lambda n: n.lease_lost_at or 0.0)
        return Diagnosis(
            cause="lease-lost",
            confidence="likely",
            where=Where(node=node.name),
            first_seen=node.lease_lost_at,
            evidence=(f"{node.name}: the lease ended",),
            collateral=collateral(run, []),
            why="the node heard nothing from the keeper and stopped its own ranks.",
            fix=f"look at the network between {node.name} and the head.",
        )
    return None


# ---- an end without a word ----


def by_exit_code(run: RunState) -> Optional[Diagnosis]:
    dead = [r for r in run.ranks.values() if (r.code or 0) > 0 and not r.exceptions]
    if not dead:
        return None
    rank = min(dead, key=lambda r: (r.ended_at or 0.0, r.rank))
    return Diagnosis(
        cause="rank-crashed-first",
        confidence="likely",
        where=Where(node=rank.node, rank=rank.rank),
        first_seen=rank.ended_at,
        evidence=(f"rank {rank.rank} on {rank.node} ended with code {rank.code} and no exception was heard",),
        collateral=collateral(run, dead),
        why=f"rank {rank.rank} ended first with an error.",
        fix=f"read the end of rank {rank.rank}'s log.",
    )


# ---- ranks that only blame each other ----


def by_communication(run: RunState) -> Optional[Diagnosis]:
    blaming = [r for r in run.ranks.values() if r.exceptions]
    if not blaming:
        return None
    silent = [r for r in run.ranks.values() if not r.exceptions]
    first = min((e for r in blaming for e in r.exceptions), key=lambda e: e.at)
    suspects = sorted(silent, key=lambda r: (r.step if r.step is not None else -1, r.beat_at or 0.0, r.rank))
    if not suspects:
        return unproven(run)
    rank = suspects[0]
    alone = len(suspects) == 1 or (len(suspects) > 1 and suspects[1].step != rank.step)
    return Diagnosis(
        cause="collective-timeout-straggler",
        confidence="likely" if alone else "unproven",
        where=Where(node=rank.node, rank=rank.rank),
        first_seen=first.at,
        evidence=(
            f"{len(blaming)} ranks report a communication error, rank {rank.rank} on {rank.node} does not",
            f"rank {rank.rank}: phase {rank.phase}, step {rank.step}, last heard at {rank.beat_at}",
            one_line(f"rank {first.rank}: {first.data.get('type')}: {first.data.get('message')}"),
        ),
        collateral=collateral(run, [rank]),
        why="the others waited for it in a collective until a time-out; it never said anything itself.",
        fix=f"look at what rank {rank.rank} does there: allranks logs, its stack in stacks/rank-{rank.rank}.txt.",
    )


# ---- shared ----


def collateral(run: RunState, culprits: Iterable[RankState]) -> Tuple[Where, ...]:
    """The ranks that ended after, by a communication error or our SIGTERM."""
    guilty: Dict[int, bool] = {r.rank: True for r in culprits}
    hurt = [
        r for r in run.ranks.values() if r.rank not in guilty and (r.exceptions or r.code not in (None, 0))
    ]
    return tuple(Where(node=r.node, rank=r.rank) for r in sorted(hurt, key=lambda r: r.rank))


def _others(run: RunState, culprits: Sequence[RankState]) -> str:
    count = len(collateral(run, culprits))
    return f"{count} other rank{'s' if count != 1 else ''}"


def one_line(text: str, limit: int = 400) -> str:
    """Without control characters and escape codes: it comes from another process."""
    text = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", text)
    text = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(text.split())[:limit]


def unproven(run: RunState) -> Diagnosis:
    bad = [n for n in run.nodes.values() if n.ended_code]
    bad.sort(key=lambda n: n.ended_at or 0.0)
    return Diagnosis(
        cause="unproven",
        confidence="unproven",
        where=Where(node=bad[0].name if bad else None),
        first_seen=bad[0].ended_at if bad else None,
        evidence=tuple(f"torchrun on {n.name} ended with code {n.ended_code}" for n in bad[:8]),
        collateral=(),
        why="no event names a cause.",
        fix="read the logs: allranks logs RUN; start again with --debug.",
    )
