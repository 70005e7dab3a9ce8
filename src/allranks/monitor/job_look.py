"""Reads the answers of `node.witness` about jobs that allranks did not start: checks them, and compares the looks to
see what has moved.

A field of another type in a node's answer is left out.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from allranks.core.node_events import Child, Socket
from allranks.core.payloads import Refused, decode
from allranks.core.rank_events import Frame
from allranks.core.untrusted import integer, listing, mapping, mappings, number, text
from allranks.monitor import flight_dumps
from allranks.monitor.sockets import host_of
from allranks.node.witness.job_ranks import job_key

MOST_RANKS = 1 << 20
MOST_FRAMES = 256
IDLE = 0.1
"""A main thread that uses less than this share of a CPU is waiting."""

BUSY = 0.5
BACKWARD = re.compile(r"(^|/)torch/(autograd/|_tensor\.py$)")
COLLECTIVES_OF_BACKWARD = Frame("<C++>/torch/distributed/", None, "the collectives of backward")
"""DDP's hooks run in C++, so Python's innermost frame is the one of `backward`."""


class Step(NamedTuple):
    """One frame with its instruction, which shows movement within a line. The instruction is None if it was not
    read."""

    frame: Frame
    instruction: Optional[int]


class SeenRank(NamedTuple):
    """One rank as its node reports it. `stacks` are in the order of the looks."""

    node: str
    rank: int
    world_size: int
    local_rank: Optional[int]
    pid: Optional[int]
    env: Mapping[str, str]
    gone: bool
    states: Tuple[str, ...]
    wchan: Optional[str]
    main_cpu: Optional[float]
    gpu: bool
    sockets: Tuple[Socket, ...]
    connections: Tuple[Mapping[str, Any], ...]
    stacks: Tuple[Tuple[Step, ...], ...]
    by: Optional[str]
    why: str
    children: Tuple[Mapping[str, Any], ...]
    output_age: Optional[float]
    group: Mapping[str, Any]
    dump: Optional[flight_dumps.Dump]
    seconds: float

    @property
    def frames(self) -> List[Frame]:
        """The newest stack, outermost frame first. It includes the collectives of backward, which Python does not
        show."""
        frames = [step.frame for step in self.stacks[-1]] if self.stacks else []
        idle = self.main_cpu is not None and self.main_cpu < IDLE * self.seconds
        if frames and idle and not self.gpu and BACKWARD.search(frames[-1].file.replace("\\", "/")):
            frames.append(COLLECTIVES_OF_BACKWARD)
        return frames

    @property
    def state(self) -> Optional[str]:
        """The process's state. D (waiting for storage) counts only if both looks saw it, since any read waits for a
        moment."""
        last = self.states[-1] if self.states else None
        return "S" if last == "D" and set(self.states) != {"D"} else last

    @property
    def busy(self) -> bool:
        return self.main_cpu is not None and self.main_cpu > BUSY * self.seconds


class NodeLook(NamedTuple):
    """One node's answer. `error`: why nothing is known of the node. `unreachable`: the node did not answer at all."""

    name: str
    ranks: Tuple[SeenRank, ...] = ()
    others: int = 0
    kernel: Tuple[str, ...] = ()
    kernel_why: str = ""
    gpus: Tuple[Mapping[str, Any], ...] = ()
    seconds: float = 0.0
    error: str = ""
    unreachable: bool = False


class Job(NamedTuple):
    """The ranks that belong together, by number."""

    world_size: int
    ranks: Dict[int, SeenRank]

    @property
    def missing(self) -> List[int]:
        return [n for n in range(self.world_size) if n not in self.ranks]


def read(name: str, answer: Mapping[str, Any]) -> NodeLook:
    seconds = number(answer.get("seconds")) or 0.0
    ranks = [_rank(name, row, seconds) for row in mappings(answer.get("ranks"))]
    kernel = mapping(answer.get("kernel"))
    return NodeLook(
        name,
        tuple(one for one in ranks if one is not None),
        integer(answer.get("others")) or 0,
        tuple(line for line in listing(kernel.get("lines")) if isinstance(line, str)),
        text(kernel.get("why")) or "",
        tuple(mappings(answer.get("gpus"))),
        seconds,
    )


def _rank(node: str, row: Mapping[str, Any], seconds: float) -> Optional[SeenRank]:
    rank, size = integer(row.get("rank")), integer(row.get("world_size"))
    if rank is None or size is None or not 0 <= rank < size <= MOST_RANKS:
        return None
    states = tuple(state for state in listing(row.get("states")) if isinstance(state, str))
    stacks = [_stack(one) for one in listing(row.get("stacks")) if one]
    waits = [one for one in listing(row.get("wchan")) if isinstance(one, str)]
    return SeenRank(
        node=node,
        rank=rank,
        world_size=size,
        local_rank=integer(row.get("local_rank")),
        pid=integer(row.get("pid")),
        env={k: v for k, v in mapping(row.get("env")).items() if isinstance(v, str)},
        gone=row.get("gone") is True,
        states=states,
        wchan=waits[-1] if waits else None,
        main_cpu=number(row.get("main_cpu")),
        gpu=row.get("gpu") is True,
        sockets=tuple(_sockets(row)),
        connections=tuple(mappings(row.get("connections"))),
        stacks=tuple(stack for stack in stacks if stack),
        by=text(row.get("by")),
        why=text(row.get("why")) or "",
        children=tuple(mappings(row.get("children"))),
        output_age=number(row.get("output_age")),
        group=mapping(row.get("group")),
        dump=_dump(rank, mapping(row.get("dump"))),
        seconds=seconds,
    )


def _sockets(row: Mapping[str, Any]) -> "List[Socket]":
    found = []
    for one in mappings(row.get("sockets")):
        try:
            found.append(decode(Socket, dict(one)))
        except Refused:
            continue
    return found


def _stack(rows: Any) -> Tuple[Step, ...]:
    found = []
    for row in listing(rows)[-MOST_FRAMES:]:
        parts = [*listing(row), None, None, None, None][:4]
        file, function = text(parts[0]), text(parts[2])
        if file is None or function is None:
            continue
        found.append(Step(Frame(file, integer(parts[1]), function), integer(parts[3])))
    return tuple(found)


def children_of(one: SeenRank) -> List[Child]:
    known = [(integer(c.get("pid")), text(c.get("name")), text(c.get("state"))) for c in one.children]
    return [Child(pid=pid, name=name or "?", state=state) for pid, name, state in known if pid is not None]


def _dump(rank: int, row: Mapping[str, Any]) -> Optional[flight_dumps.Dump]:
    data = text(row.get("data"))
    if data is None:
        return None
    try:
        return flight_dumps.read("rank_%d" % rank, base64.b64decode(data, validate=True))
    except Exception:  # torn or foreign files raise anything
        return None


# ---- which ranks belong together ----


def jobs(looks: Sequence[NodeLook]) -> List[Job]:
    """Groups the ranks by the values that the ranks of a job share. If a rank's number comes twice, there are two
    jobs (both on the default port), and their addresses separate them."""
    groups: Dict[Tuple[str, ...], List[SeenRank]] = {}
    for look in looks:
        for one in look.ranks:
            groups.setdefault(job_key(one.env, one.world_size), []).append(one)
    found = []
    for ranks in groups.values():
        if max(Counter(one.rank for one in ranks).values()) > 1:
            by_address: Dict[str, List[SeenRank]] = {}
            for one in ranks:
                by_address.setdefault(one.env.get("MASTER_ADDR", ""), []).append(one)
            found += [_job(those) for those in by_address.values()]
        else:
            found.append(_job(ranks))
    return sorted(found, key=lambda job: (-len(job.ranks), min(job.ranks)))


def _job(ranks: Sequence[SeenRank]) -> Job:
    kept: Dict[int, SeenRank] = {}
    for one in ranks:
        kept.setdefault(one.rank, one)
    return Job(ranks[0].world_size, kept)


# ---- what has moved ----


def between_ranks(job: Job) -> Dict[int, List[Mapping[str, Any]]]:
    """Each rank's connections with machines of the job, without those to the store, which always exchange bytes."""
    hosts: Set[str] = {host_of(s.local) for one in job.ranks.values() for s in one.sockets}
    found = {}
    for number_of, one in job.ranks.items():
        port = ":" + one.env.get("MASTER_PORT", "?")
        found[number_of] = [
            row
            for row in one.connections
            if host_of(str(row.get("remote"))) in hosts
            and not str(row.get("remote")).endswith(port)
            and not str(row.get("local")).endswith(port)
        ]
    return found


def data_addresses(job: Job) -> Dict[str, str]:
    """Each node's own address in the connections between ranks: the one that is used most."""
    found: Dict[str, Counter[str]] = {}
    nodes: Dict[str, Set[str]] = {}
    for one in job.ranks.values():
        for connection in one.sockets:
            host = host_of(connection.local).strip("[]")
            found.setdefault(one.node, Counter())[host] += 1
            nodes.setdefault(host, set()).add(one.node)
    own = {
        name: [(n, host) for host, n in counts.items() if len(nodes[host]) == 1]
        for name, counts in found.items()
    }
    return {name: max(rows)[1] for name, rows in own.items() if rows}


def silence(rows: Sequence[Mapping[str, Any]]) -> Optional[float]:
    """Seconds since the last byte came from or went to another rank; None if unknown."""
    ages = [number(row.get(name)) for row in rows for name in ("received_ago_ms", "sent_ago_ms")]
    known = [age for age in ages if age is not None]
    return min(known) / 1000.0 if known else None


def moved(one: SeenRank, rows: Sequence[Mapping[str, Any]]) -> Optional[bool]:
    """Whether a rank moved between the looks, by its stack or its bytes. None if neither is known."""
    if any((number(row.get("moved")) or 0) > 0 for row in rows):
        return True
    if len(one.stacks) > 1:
        return len(set(one.stacks)) > 1
    return False if rows else None
