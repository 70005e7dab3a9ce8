"""The messages between a run's supervisors and its keeper. The receiver checks each message on arrival."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from allranks.core.payloads import Payload


class ToKeeper(Payload):
    """A message from a supervisor."""

    event: Any = None  # of the node or of one of its ranks
    alive: Optional[float] = None  # its clock, sent every second
    logs: Optional[Mapping[str, str]] = None  # the ends of its logs, by file


class Place(Payload):
    node_rank: int
    ranks: Sequence[int]


class ToSupervisor(Payload):
    """A message from the keeper."""

    lease: Optional[float] = None  # seconds; renewed when a fifteenth of them has passed
    start: Optional[int] = None  # an attempt, once all have joined; it counts once
    env: Mapping[str, str] = {}  # variables of this attempt's torchrun, in addition to the job's
    place: Optional[Place] = None  # of a spare that takes another node's place
    stop: Optional[float] = None  # the grace time in seconds; it may be repeated
    why: str = "the keeper asked"
    stacks: bool = False  # the evidence of a stall is wanted
    save: bool = False  # after a notice: the ranks save at one step and end
    logs: Optional[int] = None  # the ends of all logs are wanted, so many bytes of each
    bye: bool = False  # the run is over: the supervisor ends
