"""Containers, training environments, code, data and caches onto the nodes. Knows how, not why."""

from allranks.prepare.container_commands import Contained, entered
from allranks.prepare.environment import Activated, activate_all
from allranks.prepare.failures import NotReady
from allranks.prepare.judge import from_inside
from allranks.prepare.readiness import Prepared, compile_ops, make_ready, tokenize, undo
from allranks.prepare.records import Remains, remains_of, remove_containers, stop_containers

__all__ = [
    "Activated", "Contained", "NotReady", "Prepared", "Remains", "activate_all", "compile_ops", "entered",
    "from_inside", "make_ready", "remains_of", "remove_containers", "stop_containers", "tokenize", "undo",
]  # fmt: skip
