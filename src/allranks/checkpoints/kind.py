"""The kinds of checkpoints, and which of them a folder or file holds."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Callable, List, Mapping, Optional, Set, Tuple

from allranks.checkpoints.catalogue import found
from allranks.checkpoints.folder import Folder
from allranks.core import Finding
from allranks.core.rules import modules
from allranks.core.text import printable

BESIDES = 80
MOST_FILES = 100_000
"""A folder that holds more is not a checkpoint: 10,000 ranks write some 20,000 files."""


@dataclass
class Seen:
    """One kind's report of a place. `text` tells people in a few words what is there."""

    text: str = ""
    step: Optional[int] = None
    tensors: int = 0
    parameters: int = 0
    findings: List[Finding] = field(default_factory=list)

    def says(self, id: str, file: str, saw: str, expected: str = "", evidence: Tuple[str, ...] = ()) -> None:
        self.findings.append(found(id, file, saw, expected, evidence))


@dataclass(frozen=True)
class Candidate:
    """The place that is examined: a folder that is held open, or with `file` that file in it.

    `expect` may say `world_size`, how many ranks have trained."""

    folder: Folder
    names: Tuple[str, ...]
    file: Optional[str] = None
    expect: Mapping[str, Any] = field(default_factory=dict)
    looked_at: Set[str] = field(default_factory=set)
    """Paths that a kind has judged: the next one passes them over."""

    def path(self, name: str) -> str:
        return os.path.join(self.folder.path, printable(name))

    def below(self, name: str) -> "Optional[Candidate]":
        """The folder `name` in it, which the caller closes by `folder.close()`; None if there is none."""
        if name in (os.curdir, os.pardir) or os.sep in name or "\0" in name or not name:
            return None
        if os.path.islink(os.path.join(self.folder.path, name)):
            return None
        try:
            folder = Folder(os.path.join(self.folder.path, name))
        except OSError:
            return None
        return Candidate(folder, tuple(folder.names()[:MOST_FILES]), None, self.expect, self.looked_at)


@dataclass(frozen=True)
class Kind:
    """One kind. `rank` orders them: a place gets the title of the first one, and kinds from `BESIDES` on are not named
    beside another. `resumes`: a training can go on from it."""

    title: str
    rank: int
    holds: Callable[[Candidate], bool]
    judge: Callable[[Candidate], Seen]
    resumes: Callable[[Candidate], bool] = lambda place: False


def every() -> List[Tuple[str, Kind]]:
    """(id, kind) of all, the most telling first."""
    found_kinds = [(name, module.KIND) for name, module in modules("allranks.checkpoints.kinds").items()]
    return sorted(found_kinds, key=lambda one: one[1].rank)


def of_place(place: Candidate) -> List[Tuple[str, Kind]]:
    """The kinds that a place holds: a trainer's checkpoint may be a model and DeepSpeed's shards besides."""
    return [(name, kind) for name, kind in every() if kind.holds(place)]
