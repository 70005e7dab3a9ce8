"""The stack of a rank that does not answer by itself, read from outside: by py-spy if it is installed, else by
`witness/stack_reader`, which needs no package. Neither signals or pauses the process.
"""

from __future__ import annotations

import pkgutil
from typing import Dict, Iterator, List, Sequence, Tuple

from allranks.core.rank_events import Frame, Stack
from allranks.node import processes
from allranks.node.pyspy import FRAMES, Watched, by_pyspy, pyspy
from allranks.node.witness.stacks import BY_MEMORY, Reading

STORAGE = "D"
"""A process in this state waits for storage. The reader runs the rank's own Python, which may be on that storage."""


def outside_stacks(python: str, silent: Sequence[Watched]) -> Iterator[Tuple[int, Stack]]:
    """Each rank with its stack, or with the reason why there is none. `python` is the ranks' interpreter."""
    program = pyspy(python) if silent else None
    if program is not None:
        for one in silent:
            yield one.rank, by_pyspy(program, one)
    elif silent:
        yield from by_memory(silent).items()


def by_memory(silent: Sequence[Watched]) -> Dict[int, Stack]:
    """All at once, in a process of the ranks' own Python."""
    found: Dict[int, Stack] = {}
    asked: List[Watched] = []
    for one in silent:
        stat = processes.read_stat(one.pid)
        if stat is None or stat.start_time != one.start_time:
            found[one.rank] = Stack(frames=None, by=None, why="the process is gone")
        elif stat.state == STORAGE:
            found[one.rank] = Stack(frames=None, by=None, why="the rank did not answer; it waits for storage")
        else:
            asked.append(one)
    text = (pkgutil.get_data("allranks.node.witness", "stack_reader.py") or b"").decode()
    looks = Reading([one.pid for one in asked], [0.0], text).end() if asked else None
    for one in asked:
        assert looks is not None
        read = next((look for look in looks.stacks.get(one.pid, ()) if look), None)
        if read:
            frames = [Frame(str(file), int(line), str(name)) for file, line, name, *_ in read[-FRAMES:]]
            found[one.rank] = Stack(frames=frames, by=BY_MEMORY)
        else:
            why = looks.why.get(one.pid, "nothing was read")
            found[one.rank] = Stack(frames=None, by=None, why=f"the rank did not answer; {why}"[:200])
    return found
