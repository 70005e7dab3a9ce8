"""Dumps of torch's flight recorder, of any job: who waits for whom, and who is in another collective.

It reads all formats since torch 2.2: a pickle (without its classes) or JSON, an object or a list of entries,
`process_group` as a list or a tuple, with and without `pg_config` and `pg_status`. Who waits for whom is judged as in
`flight_recorders`; a dump also has the history, and the sends of pipelines.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from allranks.core import Diagnosis, Where
from allranks.core.causes import UNPROVEN
from allranks.core.untrusted import listing, mapping, mappings
from allranks.diagnose.catalogue import section
from allranks.diagnose.lines import clean
from allranks.diagnose.symptoms.collective_mismatch import CAUSE as COLLECTIVE_MISMATCH
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.monitor.flight_recorders import SAME_SIZES, CollectivePosition, lead_to, waiting_for
from allranks.monitor.suspect import named
from allranks.worker import recorder_pickle

NAME = re.compile(r"(?P<host>.*?)(?:[_.-]?rank)?[_.-]?(?P<rank>\d{1,6})(?:\.(?:json|pkl|pickle|bin|dump))?$")
_NO_HOST = re.compile(r"(?i)^(?:nccl|gloo|fr|comm_lib|flight_recorder|trace|dump|rank|torch|pg|_|-|\.)*$")
_TRACE = re.compile(r"(?i)[_.-]?(?:nccl|gloo|fr|comm_lib|flight_recorder|traces?|dumps?|rank)(?=[_.-]|$)")
_PEERS = re.compile(r"(?:^|:)(?P<what>send|recv)\s(?P<to>\d{1,6})(?P<way><-|->)(?P<of>\d{1,6})$")
SHOWN = 6
Group = Tuple[str, Tuple[int, ...]]
"""A process group's name and its global ranks, if the dump has them: several groups may share a name."""


class Entry(NamedTuple):
    sequence: int
    operation: str
    sizes: str
    types: str
    state: str
    frame: str

    @property
    def kind(self) -> Tuple[str, str, str]:
        return self.operation, self.sizes if SAME_SIZES.search(self.operation) else "", self.types

    @property
    def text(self) -> str:
        return f"{self.operation} number {self.sequence}" + (f" (sizes {self.sizes})" if self.sizes else "")


class Dump(NamedTuple):
    """One rank's recorder. `sends` are its unfinished sends and receives: (peer, whether it receives, number, text)."""

    rank: int
    host: Optional[str]
    file: str
    groups: Dict[Group, List[Entry]]
    completed: Dict[Group, int]
    described: Dict[Group, str]
    members: FrozenSet[Group]
    sends: Tuple[Tuple[int, bool, int, str], ...]


def read(name: str, data: bytes) -> Dump:
    """Reads one dump. Raises ValueError if it is not a dump or has no rank."""
    try:
        return _read(name, data)
    except (TypeError, AttributeError, LookupError, RecursionError):
        raise ValueError("its contents are not those of a flight recorder") from None


def _read(name: str, data: bytes) -> Dump:
    found = recorder_pickle.load(data) if data[:1] == b"\x80" else json.loads(data)
    whole: Mapping[str, Any] = found if isinstance(found, dict) else {"entries": found}
    entries = whole.get("entries")
    if not isinstance(entries, (list, tuple)):
        raise ValueError("it holds no entries")
    rank, host = _place(name, whole)
    return _dump(name, rank, host, mappings(entries), mapping(whole.get("pg_config")), whole.get("pg_status"))


def _place(name: str, whole: Mapping[str, Any]) -> Tuple[int, Optional[str]]:
    """Rank and host from a file's name: `nccl_trace_rank_3`, `gpu-1_rank_3`, `gpu-1/nccl_trace_rank_3`, `fr_3.json`."""
    folder, _, last = name.rpartition("/")
    found = NAME.match(last)
    told = whole.get("rank")
    if not isinstance(told, int) and found is None:
        raise ValueError("neither its name nor its contents say whose it is")
    rank = told if isinstance(told, int) else int(found.group("rank"))  # type: ignore[union-attr]  # told if not found
    prefix = "" if found is None else found.group("host")
    host = "" if _NO_HOST.match(prefix) else _TRACE.sub("", prefix).strip("_.-")
    above = folder.rpartition("/")[2]
    is_number = re.match(r"(?i)(?:rank|attempt|job|run|step)?[_-]?\d+$", above)
    if not host and re.search(r"\d", above) and not is_number:
        host = above
    return rank, str(whole.get("host_name") or host) or None


def _dump(
    name: str,
    rank: int,
    host: Optional[str],
    entries: Sequence[Mapping[str, Any]],
    config: Mapping[str, Any],
    status: Any,
) -> Dump:
    groups: Dict[Group, List[Entry]] = {}
    described: Dict[Group, str] = {}
    sends: List[Tuple[int, bool, int, str]] = []
    known = {str(key): _group(str(key), value) for key, value in config.items()}
    # The members of a batch (`batch_isend_irecv`) never get a state: its closing entry has it for all.
    over = {_batch(raw) for raw in entries if _closes_batch(raw) and _done(raw)}
    for raw in entries:
        told = raw.get("process_group")
        pair = [str(part) for part in listing(told)] or [str(raw.get("pg_id", 0))]
        group = known.get(pair[0], (pair[0], ()))
        described[group] = pair[1] if len(pair) > 1 else "default_pg" if pair[0] == "0" else ""
        peers = _PEERS.search(str(raw.get("profiling_name")))
        if raw.get("is_p2p") or peers is not None:
            if peers is not None and not _done(raw) and _batch(raw) not in over:
                sends.append(_send(peers, group, raw))
            continue
        number = raw.get("collective_seq_id", raw.get("seq_id"))
        if isinstance(number, int):
            groups.setdefault(group, []).append(_entry(raw, number))
    completed = {}
    for key, value in mapping(status).items():
        last = mapping(value).get("last_completed_collective")
        if isinstance(last, int):
            completed[known.get(str(key), (str(key), ()))] = last
    return Dump(rank, host, name, groups, completed, described, frozenset(known.values()), tuple(sends))


def _group(name: str, value: Any) -> Group:
    ranks = mapping(value).get("ranks")
    if isinstance(ranks, str):
        ranks = [int(number) for number in re.findall(r"\d{1,7}", ranks)]
    return name, tuple(sorted(rank for rank in listing(ranks) if isinstance(rank, int)))


def _send(peers: "re.Match[str]", group: Group, raw: Mapping[str, Any]) -> Tuple[int, bool, int, str]:
    """Reads one send or receive. `recv 1<-0` and `send 0->1` have the group's own numbers; the peer is returned as a
    global rank if the group's ranks are known."""
    receives = peers.group("what") == "recv"
    local = int(peers.group("of"))
    peer = group[1][local] if local < len(group[1]) else local
    number = raw.get("p2p_seq_id")
    return peer, receives, number if isinstance(number, int) else 0, str(raw.get("profiling_name"))


def _batch(raw: Mapping[str, Any]) -> Tuple[str, Any]:
    return str(listing(raw.get("process_group"))[:1] or raw.get("pg_id")), raw.get("p2p_seq_id")


def _closes_batch(raw: Mapping[str, Any]) -> bool:
    return bool(raw.get("is_p2p")) and str(raw.get("profiling_name")).endswith("coalesced")


def _done(raw: Mapping[str, Any]) -> bool:
    return bool(raw.get("retired")) or raw.get("state") == "completed"


def _entry(raw: Mapping[str, Any], number: int) -> Entry:
    frames = raw.get("frames") or ()
    own = next((f for f in frames if isinstance(f, dict) and "/torch/" not in str(f.get("filename"))), None)
    frame = f"{own.get('filename')}:{own.get('line')} in {own.get('name')}" if own else ""
    types = str(raw.get("input_dtypes") or "")
    state = "completed" if _done(raw) else str(raw.get("state"))
    sizes = raw.get("input_sizes")
    return Entry(
        number, str(raw.get("profiling_name")), str(list(sizes[:4]) if sizes else ""), types, state, frame
    )


# ---- the diagnosis of all dumps together ----


def judge(dumps: Sequence[Dump]) -> Diagnosis:
    """One diagnosis of all ranks' dumps. If no rank is behind or different, it is `unproven`, with the contents of
    the dumps."""
    by_rank = {dump.rank: dump for dump in sorted(dumps, key=lambda one: one.file)}
    places = positions(by_rank)
    return _mismatch(by_rank) or _late(by_rank, places) or _nothing(by_rank, places)


def positions(dumps: Mapping[int, Dump]) -> Dict[Group, Dict[int, CollectivePosition]]:
    """By group, the position of each of its ranks. A member that never entered the group is before its first number."""
    found: Dict[Group, Dict[int, CollectivePosition]] = {}
    for rank, dump in dumps.items():
        for group, entries in dump.groups.items():
            found.setdefault(group, {})[rank] = _position(entries, dump.completed.get(group))
    for group, ranks in found.items():
        for rank in group[1]:
            if rank not in ranks:
                ranks[rank] = CollectivePosition(-1, None, "", "", None)
    return found


def _position(entries: Sequence[Entry], completed: Optional[int]) -> CollectivePosition:
    newest = max(entries, key=lambda one: one.sequence)
    # torch's number of the last completed work may be that of a send: states of their own count more.
    has_states = any(one.state in ("started", "completed") for one in entries)
    followed = completed is not None or has_states
    done = -1 if completed is None or has_states else completed
    unfinished = [one for one in entries if one.state != "completed" and one.sequence > done]
    if not followed:
        return CollectivePosition(newest.sequence, newest.sequence, newest.operation, newest.sizes, None)
    if not unfinished:
        return CollectivePosition(newest.sequence, None, newest.operation, "", None)
    first = min(unfinished, key=lambda one: one.sequence)
    return CollectivePosition(
        newest.sequence, first.sequence, first.operation, first.sizes, first.state == "started"
    )


def _mismatch(dumps: Mapping[int, Dump]) -> Optional[Diagnosis]:
    """The diagnosis if ranks of a group are in different collectives at the same number; the first such number
    counts."""
    groups: Set[Group] = {group for dump in dumps.values() for group in dump.groups}
    for group in sorted(groups):
        at: Dict[int, Dict[int, Entry]] = {}
        for rank, dump in dumps.items():
            for entry in dump.groups.get(group, ()):
                at.setdefault(entry.sequence, {})[rank] = entry
        for number in sorted(at):
            here = at[number]
            counted = Counter(entry.kind for entry in here.values()).most_common()
            if len(counted) > 1 and any(entry.state != "completed" for entry in here.values()):
                return _different(dumps, group, here, counted)
    return None


def _different(
    dumps: Mapping[int, Dump], group: Group, here: Mapping[int, Entry], counted: "List[Tuple[Any, int]]"
) -> Diagnosis:
    sides = [sorted(rank for rank, entry in here.items() if entry.kind == kind) for kind, _ in counted]
    proven = len(sides[0]) > len(sides[1]) and len(sides[0]) > sum(map(len, sides[1:]))
    odd = sorted(rank for side in sides[1:] for rank in side)
    notes = [f"{named(side)}: {_told(dumps, here[side[0]])}" for side in sides[:SHOWN]]
    why = f"In group {_name(dumps, group)} the ranks are not in the same collective: {'; '.join(notes[:3])}."
    if not proven:
        why += " Both sides are equally large, so no rank is named."
    return _diagnosis(dumps, COLLECTIVE_MISMATCH.id, odd if proven else [], notes, why, proven, set(here))


def _told(dumps: Mapping[int, Dump], entry: Entry) -> str:
    types = f" {entry.types}" if entry.types else ""
    return f"{entry.text}{types}" + (f", {entry.frame}" if entry.frame else "")


def _late(
    dumps: Mapping[int, Dump], places: Mapping[Group, Mapping[int, CollectivePosition]]
) -> Optional[Diagnosis]:
    """The diagnosis that names the ranks at which all waiting ends: they do not wait for another rank."""
    awaits: Dict[int, Set[int]] = {}
    for rank, parts in waiting_for({str(key): place for key, place in places.items()}).items():
        awaits.setdefault(rank, set()).update(*parts)
    for rank, peer in _unanswered(dumps):
        awaits.setdefault(rank, set()).add(peer)
    ends = sorted({rank for late in awaits.values() for rank in late} - set(awaits))
    if not ends or not lead_to({rank: (frozenset(late),) for rank, late in awaits.items()}, set(ends)):
        return None
    notes = [note for rank in ends[:SHOWN] for note in _where_it_is(dumps, places, awaits, rank)]
    absent = [rank for rank in ends if rank not in dumps]
    waiting = named(awaits)
    why = f"{named(ends)} did not come to what {waiting} {'wait' if len(awaits) > 1 else 'waits'} in."
    if absent:
        why += f" There is no dump of {named(absent)}: gone, or stuck outside of torch."
    certain = not absent and all(_is_followed(dumps, rank) for rank in awaits)
    return _diagnosis(dumps, COLLECTIVE_TIMEOUT_STRAGGLER.id, ends, notes, why, certain, set(awaits))


def _unanswered(dumps: Mapping[int, Dump]) -> Iterable[Tuple[int, int]]:
    """(rank, peer) of each send or receive that the peer has not reached."""
    for rank, dump in dumps.items():
        # Each rank counts its own sends and receives with all peers, so the numbers of two ranks cannot be compared.
        for (peer, receives), many in Counter((p, r) for p, r, _, _ in dump.sends).items():
            other = dumps.get(peer)
            back = sum(p == rank and r != receives for p, r, _, _ in other.sends) if other is not None else 0
            if many > back:
                yield rank, peer


def _is_followed(dumps: Mapping[int, Dump], rank: int) -> bool:
    dump = dumps[rank]
    entries = [entry for group in dump.groups.values() for entry in group]
    return bool(dump.completed or dump.sends) or any(
        entry.state in ("started", "completed") for entry in entries
    )


def _where_it_is(
    dumps: Mapping[int, Dump], places: Mapping[Group, Mapping[int, CollectivePosition]],
    awaits: Mapping[int, Set[int]], rank: int,
) -> List[str]:  # fmt: skip
    notes = []
    for group, ranks in places.items():
        waiting = sorted(
            r for r, late in awaits.items() if rank in late and r in ranks and ranks[r].at is not None
        )
        if rank in ranks and waiting:
            mine, theirs = ranks[rank], ranks[waiting[0]]
            last = (
                "it never entered it" if mine.entered < 0 else f"its last collective is number {mine.entered}"
            )
            notes.append(
                f"rank {rank}: in group {_name(dumps, group)} {last}; {named(waiting)} "
                f"{'wait' if len(waiting) > 1 else 'waits'} in {theirs.operation} number {theirs.at}"
            )
    for other, dump in dumps.items():
        notes += [
            f"rank {other}: {text} has no other end on rank {rank}"
            for peer, _, _, text in dump.sends
            if peer == rank
        ]
    last_entry = _newest(dumps.get(rank))
    if last_entry is not None and last_entry.frame:
        notes.append(f"rank {rank} was last in {last_entry.frame}")
    return notes[:4]


def _newest(dump: Optional[Dump]) -> Optional[Entry]:
    entries = [entries[-1] for entries in dump.groups.values() if entries] if dump is not None else []
    return entries[-1] if entries else None


def _nothing(
    dumps: Mapping[int, Dump], places: Mapping[Group, Mapping[int, CollectivePosition]]
) -> Diagnosis:
    notes = []
    for group, ranks in list(places.items())[:SHOWN]:
        numbers = [place.entered for place in ranks.values()]
        waiting = sorted(rank for rank, place in ranks.items() if place.at is not None)
        state = f"{named(waiting)} not finished" if waiting else "all finished"
        notes.append(f"group {_name(dumps, group)}: numbers {min(numbers)} to {max(numbers)}, {state}")
    missing = sorted({rank for group in places for rank in group[1]} - set(dumps))
    why = "In these dumps no rank is behind the others, and none is in another collective."
    if missing:
        why += f" There is no dump of {named(missing)}."
    return Diagnosis(
        cause=UNPROVEN, confidence=UNPROVEN, evidence=tuple(map(clean, notes)), why=why,
        fix="Give the dumps and the logs of all ranks. Next, look at the network and the GPUs under the collective.",
    )  # fmt: skip


def _diagnosis(
    dumps: Mapping[int, Dump],
    cause: str,
    guilty: List[int],
    notes: List[str],
    why: str,
    certain: bool,
    others: Set[int],
) -> Diagnosis:
    hosts = {rank: dump.host for rank, dump in dumps.items()}
    nodes = {hosts.get(rank) for rank in guilty}
    node = nodes.pop() if len(nodes) == 1 else None
    one = guilty[0] if len(guilty) == 1 else None
    file = dumps[one].file if one is not None and one in dumps else None
    return Diagnosis(
        cause=cause,
        confidence="certain" if certain else "likely",
        where=Where(node=node, rank=one, file=file),
        evidence=tuple(clean(note) for note in notes),
        collateral=tuple(Where(node=hosts.get(rank), rank=rank) for rank in sorted(others - set(guilty))),
        why=why,
        fix=section(cause, "What to do"),
    )


def _name(dumps: Mapping[int, Dump], group: Group) -> str:
    told = next((d.described[group] for d in dumps.values() if d.described.get(group)), "")
    return f"{group[0]} ({told})" if told and told != group[0] else group[0]
