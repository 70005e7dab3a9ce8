"""Run a command or open a stream on a node. Knows hosts and connections, not GPUs or training."""

from allranks.transport.base import Completed, Transport, Unreachable
from allranks.transport.folding import folded
from allranks.transport.nodes import Nodes, Outcome, is_hidden, open_nodes, reached
from allranks.transport.program import NodeProgram, ProgramFailed

__all__ = [
    "Completed",
    "NodeProgram",
    "Nodes",
    "Outcome",
    "ProgramFailed",
    "Transport",
    "Unreachable",
    "folded",
    "is_hidden",
    "open_nodes",
    "reached",
]
