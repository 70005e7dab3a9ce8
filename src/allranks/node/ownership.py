"""Decides whose a process is. Pure: it judges the data that `processes` read; docs/decisions/ownership.md gives the
reasons.

A process belongs to the run only in one of these cases:

1. It descends from the run's live supervisor.
2. The supervisor recorded it while it saw it descend from itself: same pid, start time and boot.
3. It carries the run id in its environment, AND is in a session that this run made, AND started after
   that session's leader.
4. It descends from any of these.

In each case it must run as the run's user. A process that merely carries the run id (a shell opened from a training
script's tmux, an exported variable) is reported and left alone.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Optional, Set, Tuple

from allranks.node.processes import Stat, descendants

RUN_ID_VARIABLE = "ALLRANKS_RUN_ID"


class Records(NamedTuple):
    """The content of `processes.jsonl`: the run's processes, and the sessions that it made (their leader's pid →
    start time)."""

    seen: FrozenSet[Tuple[int, int]]
    sessions: Mapping[int, int]


class Claim(NamedTuple):
    """One process and why it belongs to the run, or why it does not although it looks like it."""

    stat: Stat
    why: str


def read_records(lines: Iterable[Mapping[str, Any]], boot_id: str) -> Records:
    """The lines of one or more `processes.jsonl`; those of another boot say nothing about this one."""
    seen: Set[Tuple[int, int]] = set()
    sessions: Dict[int, int] = {}
    for line in lines:
        pid, began = line.get("pid"), line.get("start_time")
        if line.get("boot_id") != boot_id or not isinstance(pid, int) or not isinstance(began, int):
            continue
        seen.add((pid, began))
        if line.get("session") == pid:
            sessions[pid] = began
    return Records(frozenset(seen), sessions)


class Ownership:
    """Judges looks at the process table.

    `owner_of` and `run_id_of` read a process's user and the run id it carries; they are asked only where
    the answer matters, since reading the environment of every process of a large machine takes a while.
    """

    def __init__(
        self,
        run_id: str,
        records: Records,
        uid: int,
        owner_of: Callable[[int], Optional[int]],
        run_id_of: Callable[[int], Optional[str]],
        spared: FrozenSet[int] = frozenset(),
    ):
        self.run_id, self.records, self.uid = run_id, records, uid
        self.owner_of, self.run_id_of, self.spared = owner_of, run_id_of, spared

    def ours(self, table: Dict[int, Stat]) -> List[Claim]:
        """What may be stopped. `table` is every process there is; a zombie does not count: it has ended."""
        claims: Dict[int, Claim] = {}
        for stat in table.values():
            why = self._why_ours(stat, table) if stat.is_alive and stat.pid not in claims else ""
            if why:
                self._claim(stat, why, table, claims)
        return list(claims.values())

    def foreign(self, table: Dict[int, Stat], ours: Iterable[Claim]) -> List[Claim]:
        """Processes that carry the run id but do not belong to the run: they are named and left alone. Reads every
        environment."""
        known = {claim.stat.pid for claim in ours}
        others = [stat for stat in table.values() if stat.is_alive and stat.pid not in known]
        return [Claim(stat, self._why_foreign(stat)) for stat in others if self._carries(stat)]

    def _claim(self, top: Stat, why: str, table: Dict[int, Stat], claims: Dict[int, Claim]) -> None:
        claims[top.pid] = Claim(top, why)
        for stat in descendants(top.pid, table):
            if stat.is_alive and stat.pid not in claims and self._may_be_ours(stat):
                claims[stat.pid] = Claim(stat, f"descends from pid {top.pid}, which allranks started")

    def _why_ours(self, stat: Stat, table: Dict[int, Stat]) -> str:
        recorded = (stat.pid, stat.start_time) in self.records.seen
        if not recorded and not self._in_our_session(stat, table):
            return ""
        if not self._may_be_ours(stat):
            return ""
        if recorded:
            return "our supervisor recorded it"
        return "it carries the run id in a session that the run made" if self._carries(stat) else ""

    def _in_our_session(self, stat: Stat, table: Dict[int, Stat]) -> bool:
        began = self.records.sessions.get(stat.session)
        if began is None or stat.start_time < began:
            return False
        # While a session has members, no other process gets its id as a pid: another leader means another session.
        leader = table.get(stat.session)
        return leader is None or leader.start_time == began

    def _may_be_ours(self, stat: Stat) -> bool:
        return stat.pid not in self.spared and self.owner_of(stat.pid) == self.uid

    def _carries(self, stat: Stat) -> bool:
        return self.run_id_of(stat.pid) == self.run_id

    def _why_foreign(self, stat: Stat) -> str:
        if stat.pid in self.spared:
            return "it is the command that asks, or one that started it"
        if self.owner_of(stat.pid) != self.uid:
            return "it carries the run id but runs as another user"
        return (
            f"it carries the run id, but the run did not make its session {stat.session}"
            " and no supervisor saw it descend from itself"
        )
