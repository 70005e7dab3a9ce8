"""The verb `probe ranks`: this node's ranks of one short collective, in the training environment's Python.

Prints a line for each thing that a rank says, and one at the end. The ranks end when they are done, at the limit, or
when the answer is no longer read; none is left.
"""

from __future__ import annotations

import json
import os
import pkgutil
import shutil
import subprocess
import tempfile
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping

from allranks.node import processes, spawn
from allranks.node.facts._reading import why
from allranks.node.stopping import end_descendants

TURN_SECONDS = 0.1
GRACE_SECONDS = 2.0
TAIL_BYTES = 4000
MARK = "allranks-probe "
"""Begins each line that a rank says to us; the rest of its output is kept as it is, for a person."""

MOST_SECONDS = 3600.0


def run(wanted: Mapping[str, Any], over: Callable[[], bool]) -> Iterator[Dict[str, Any]]:
    """`wanted`: `node`, `python`, `ranks` (each `rank`, `local_rank`), `world_size`, `master` (`host`, `port`),
    `backend`, `env`, `bytes`, `limit_seconds`.

    Lines: `{"rank", "said"}`, `{"rank", "ended": code, "tail"}`, at last `{"done": seconds, "why"}`.
    """
    processes.adopt_orphans()
    began = time.monotonic()
    limit = min(float(wanted.get("limit_seconds") or 120.0), MOST_SECONDS)
    mine: List[_Rank] = []
    ended_why = "all ranks have ended"
    try:
        for described in wanted.get("ranks") or []:
            try:
                mine.append(_Rank(wanted, described))
            except OSError as error:
                yield {"rank": int(described["rank"]), "ended": 127, "tail": why(error)}
        while True:
            for rank in mine:
                yield from rank.news()
            if all(rank.code is not None for rank in mine):
                break
            if over():
                ended_why = "nothing needs it now"
                break
            if time.monotonic() - began > limit:
                ended_why = f"the limit of {limit:g} s"
                break
            time.sleep(TURN_SECONDS)
    finally:
        left = end_descendants(GRACE_SECONDS, str(wanted.get("node")))["left"]
        for rank in mine:
            rank.close()
    yield {"done": round(time.monotonic() - began, 3), "why": ended_why, "left": left}


class _Rank:
    """One rank's process and its log, which has no name any longer: nothing is left, however we end."""

    def __init__(self, wanted: Mapping[str, Any], described: Mapping[str, Any]):
        self.rank = int(described["rank"])
        python = os.path.expanduser(str(wanted["python"]))
        source = pkgutil.get_data("allranks.node.probing", "rank.py") or b""
        folder = tempfile.mkdtemp(prefix="allranks-probe-")
        log = os.path.join(folder, "log")
        try:
            argv = [python, "-c", source.decode("utf-8")]
            self.child: "subprocess.Popen[bytes]" = spawn.start(
                argv, environment(wanted, described), "/", log
            )
            self.log = open(log, "rb")  # noqa: SIM115 (closed in close)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self.code: Any = None
        self.rest = b""
        self.tail = b""

    def news(self) -> Iterator[Dict[str, Any]]:
        if self.code is not None:
            return
        code = self.child.poll()
        *lines, self.rest = (self.rest + self.log.read()).split(b"\n")
        if code is not None and self.rest:
            lines.append(self.rest)
        for line in lines:
            text = line.decode("utf-8", "replace")
            if text.startswith(MARK):
                yield {"rank": self.rank, "said": said(text[len(MARK) :])}
            else:
                self.tail = (self.tail + line + b"\n")[-TAIL_BYTES:]
        if code is not None:
            self.code = code
            yield {"rank": self.rank, "ended": code, "tail": self.tail.decode("utf-8", "replace")}

    def close(self) -> None:
        self.log.close()


def said(text: str) -> Dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


def environment(wanted: Mapping[str, Any], described: Mapping[str, Any]) -> Dict[str, str]:
    """What torchrun would set for this rank, on what a run's ranks get."""
    own = {n: v for n, v in os.environ.items() if n in spawn.INHERITED or n.startswith("LC_")}
    own.setdefault("PATH", os.defpath)
    own.update({str(name): str(value) for name, value in dict(wanted.get("env") or {}).items()})
    python = os.path.expanduser(str(wanted["python"]))
    if os.path.isabs(python):
        own["PATH"] = os.pathsep.join([os.path.dirname(python), own["PATH"]])
    master = dict(wanted.get("master") or {})
    own.update(
        RANK=str(described["rank"]),
        LOCAL_RANK=str(described["local_rank"]),
        WORLD_SIZE=str(wanted["world_size"]),
        MASTER_ADDR=str(master["host"]),
        MASTER_PORT=str(master["port"]),
        PYTHONUNBUFFERED="1",
        ALLRANKS_PROBE_BACKEND=str(wanted.get("backend") or "gloo"),
        ALLRANKS_PROBE_BYTES=str(int(wanted.get("bytes") or 8 << 20)),
        ALLRANKS_PROBE_SECONDS=str(float(wanted.get("limit_seconds") or 120.0)),
        ALLRANKS_PROBE_SPEED="1" if wanted.get("speed") else "",
    )
    return own
