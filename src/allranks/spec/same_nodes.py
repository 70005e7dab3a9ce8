"""Whether a launcher in the command and the run file name the same machines, each in its own form."""

from __future__ import annotations

from allranks.spec import launchers
from allranks.spec.drafts import Draft
from allranks.spec.nodes import read_nodes
from allranks.spec.problems import Problems
from allranks.spec.reading import Reading
from allranks.spec.tree import Scalar, Tree


def is_count(tree: Tree) -> bool:
    return isinstance(tree, Scalar) and type(tree.value) is int


def same_nodes(ours: Tree, theirs: Tree, reading: Reading) -> bool:
    """Whether two values of `nodes` are the same machines: `node[1-2]`, a list of the names, a hostfile with them. A
    number of machines is compared with the names later (`launcher_counts`)."""
    if is_count(theirs) and not is_count(ours):
        return True
    found, wanted = drafts(ours, reading), drafts(theirs, reading)
    return bool(found) and len(found) == len(wanted) and all(any(map(one.is_like, found)) for one in wanted)


def drafts(tree: Tree, reading: Reading) -> list[Named]:
    own = Reading(reading.file, Problems())  # the reading of `nodes` reports what is wrong
    takes_counts = next(name for name in launchers.names() if launchers.find(name).chooses_nodes)
    return [Named(one) for one in read_nodes(tree, own, takes_counts)]


class Named:
    """A machine by its name and its address, with the number of its GPUs if that is said."""

    def __init__(self, draft: Draft):
        self.names = {draft.name, draft.address} - {None}
        self.gpus = draft.gpus

    def is_like(self, other: Named) -> bool:
        return bool(self.names & other.names) and (self.gpus == other.gpus or None in (self.gpus, other.gpus))
