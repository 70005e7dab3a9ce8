"""The ranks of the next attempt, on standby below the Python that waits to become its torchrun (`spawn.ready`).

They are real processes of the script, started as torchrun starts them, which stop before the script's first line and
import what the rank before them had imported. When torchrun starts its ranks, it gets these processes, if nothing that
an import could have read has changed: its interpreter, its script, the environment. Otherwise it starts its own, as
it would without standby.

This module runs in torchrun's process. It imports the standard library and `core` alone, torch's names come from the
caller.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from allranks.core import standby
from allranks.node.order_pipe import widen

PATIENCE_SECONDS = 60.0
"""How long torchrun waits for all of those that still import: they began before a new process could."""

_INTERPRETER_FLAGS = ("-u",)


class OnStandby:
    """One process that waits. `head` is the number of words up to the script: Python has read them, so they cannot
    change."""

    def __init__(self, words: Sequence[str], head: int, env: Mapping[str, str]):
        self.head, self.env = list(words[:head]), dict(env)
        theirs, self._order = os.pipe()
        self._answer, answer = os.pipe()
        widen(self._order)
        os.set_blocking(self._order, False)
        try:
            self.process = subprocess.Popen(
                list(words),
                env={**env, standby.HANDLE: f"{theirs},{answer}"},
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs, answer),
            )
        except OSError:
            standby.close(self._order, self._answer)
            raise
        finally:
            standby.close(theirs, answer)

    def is_ready(self, seconds: float) -> bool:
        """Whether it lives and has imported everything, at the latest in so many seconds. Asked once."""
        readable, _, _ = select.select([self._answer], [], [], max(0.0, seconds))
        said = os.read(self._answer, len(standby.READY)) if readable else b""
        return said == standby.READY and self.process.poll() is None

    def begin(self, words: Sequence[str], env: Mapping[str, str]) -> bool:
        """Lets it run the script with these words and this environment. False if it cannot take them."""
        told = {
            "words": list(words[len(self.head) :]),
            "env": standby.differences(self.env, env),
            "cwd": os.getcwd(),
        }
        line = json.dumps(told).encode() + b"\n"
        try:
            return os.write(self._order, line) == len(line)
        except OSError:
            return False
        finally:
            standby.close(self._order, self._answer)

    def end(self) -> None:
        """It has begun nothing that could be left behind: it only imported."""
        self.process.kill()
        standby.close(self._order, self._answer)
        self.process.wait()


class Standby:
    """All of a node's, by local rank."""

    def __init__(self, waiting: Mapping[int, OnStandby]):
        self.waiting = dict(waiting)
        self._deadline: Optional[float] = None

    def take(
        self, local_rank: int, words: Sequence[str], env: Mapping[str, str]
    ) -> "Optional[subprocess.Popen[bytes]]":
        """The process that torchrun gets in place of its own; None if there is none that fits."""
        one = self.waiting.pop(local_rank, None)
        if one is None:
            return None
        fits = list(words[: len(one.head)]) == one.head and standby.lasting(env) == standby.lasting(one.env)
        if self._deadline is None:
            self._deadline = time.monotonic() + PATIENCE_SECONDS
        if fits and one.is_ready(self._deadline - time.monotonic()) and one.begin(words, env):
            return one.process
        one.end()
        return None

    def close(self) -> None:
        for number in list(self.waiting):
            self.waiting.pop(number).end()


def begin(run: Any, order: Mapping[str, Any]) -> Standby:
    """Starts them. `run` is torch.distributed.run, which itself says what torchrun would start; `order` has the words
    of torchrun, the ranks and the number of all ranks. Empty if torchrun would start something else than Python on a
    script, or if there is nothing to import ahead. Raises OSError if a process cannot be started;
    then none is left."""
    known = read_list(str(order.get("list")))
    if known is None:
        return Standby({})
    _, command, words = run.config_from_args(run.parse_args(list(order["words"])))
    head = head_of(command, words)
    if head is None:
        return Standby({})
    ranks = [int(rank) for rank in order["ranks"]]
    ready = Standby({})
    try:
        for local_rank, rank in enumerate(ranks):
            env = dict(os.environ)
            env.update(zip(standby.PLACE, map(str, (rank, local_rank, order["world_size"], len(ranks)))))
            ready.waiting[local_rank] = OnStandby([command, *words], head, env)
    except OSError:
        ready.close()  # some of them would only hold memory
        raise
    return ready


def read_list(path: str) -> Optional[Dict[str, Any]]:
    """The list that the first local rank wrote when it joined; None if there is nothing to import."""
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) and known.get("modules") else None


def head_of(command: Any, words: Sequence[str]) -> Optional[int]:
    """How many words of `command *words` Python has read by the time it waits: flags, and the script or module."""
    if not isinstance(command, str) or "python" not in os.path.basename(command):
        return None
    rest: List[str] = [str(word) for word in words]
    count = 1
    while rest and rest[0] in _INTERPRETER_FLAGS:
        rest, count = rest[1:], count + 1
    if rest and rest[0] == "-m":
        rest, count = rest[1:], count + 1
    return count + 1 if rest and not rest[0].startswith("-") else None


def lend(handler: Any, ready: Standby) -> None:
    """torchrun's next ranks are those on standby. `handler` is torch's SubprocessHandler: its `_popen` starts one rank
    (torch 2.13). A rank whose output goes to a file of its own is torchrun's to start."""
    original = handler._popen

    def popen(self: Any, args: Tuple[str, ...], env: Dict[str, str]) -> Any:
        child = None
        if self._stdout is None and self._stderr is None:
            child = ready.take(int(getattr(self, "local_rank_id", -1)), args, env)
        return original(self, args, env) if child is None else child

    handler._popen = popen
