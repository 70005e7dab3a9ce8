"""What a run's supervisors and its keeper say to each other. Both sides check it where it comes in."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from allranks.core.payloads import Payload


class ToKeeper(Payload):
    """What a supervisor says."""

    event: Any = None  # of the node or of one of its ranks
    alive: Optional[float] = None  # its clock: said each second
    logs: Optional[Mapping[str, str]] = None  # the ends of its logs, by file


class Place(Payload):
    node_rank: int
    ranks: Sequence[int]


class ToSupervisor(Payload):
    """What the keeper says."""

    lease: Optional[float] = None  # seconds; said at least every third of them
    start: Optional[int] = None  # an attempt, once all have joined; it counts once
    env: Mapping[str, str] = {}  # what this attempt's torchrun gets beside the job's
    place: Optional[Place] = None  # of a spare that takes another node's place
    stop: Optional[float] = None  # the grace time in seconds; it may be repeated
    why: str = "the keeper asked"
    stacks: bool = False  # the evidence of a stall is wanted
    save: bool = False  # after a notice: the ranks save at one step and end
    logs: Optional[int] = None  # the ends of all logs are wanted, so many bytes of each
    bye: bool = False  # the run is over: the supervisor ends
