"""Containers, training environments, code, data and caches onto the nodes. Knows how, not why."""

from allranks.prepare.environment import Activated, activate_all
from allranks.prepare.inside import Contained, entered
from allranks.prepare.judge import from_inside
from allranks.prepare.ready import Prepared, compile_ops, make_ready, tokenize, undo
from allranks.prepare.records import Remains, remains_of, remove_containers, stop_containers
from allranks.prepare.trouble import NotReady

__all__ = [
    "Activated",
    "Contained",
    "NotReady",
    "Prepared",
    "Remains",
    "activate_all",
    "compile_ops",
    "entered",
    "from_inside",
    "make_ready",
    "remains_of",
    "remove_containers",
    "stop_containers",
    "tokenize",
    "undo",
]
