"""The frozen types that rooms hand to each other. Standard library alone, Python 3.8 and up."""

from allranks.core.errors import AllranksError, BadInput, Blocked, CouldNotTell, Problem
from allranks.core.events import Event, event_from_json, told
from allranks.core.findings import (
    BLOCK,
    NOTE,
    OK,
    UNKNOWN,
    VERDICTS,
    WARN,
    Diagnosis,
    Finding,
    Where,
    diagnosis_from_json,
    finding_from_json,
    stopping_launch,
    where_from_json,
    worst,
)
from allranks.core.nodes import Cluster, Facts, Node, Process, facts_from_json, process_from_json

__all__ = [
    "BLOCK",
    "NOTE",
    "OK",
    "UNKNOWN",
    "VERDICTS",
    "WARN",
    "AllranksError",
    "BadInput",
    "Blocked",
    "Cluster",
    "CouldNotTell",
    "Diagnosis",
    "Event",
    "Facts",
    "Finding",
    "Node",
    "Problem",
    "Process",
    "Where",
    "diagnosis_from_json",
    "event_from_json",
    "facts_from_json",
    "finding_from_json",
    "process_from_json",
    "stopping_launch",
    "told",
    "where_from_json",
    "worst",
]
