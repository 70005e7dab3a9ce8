"""A launch on which one node does not come up: the program there that refuses, and what the others still run.

Used by the test and by the benchmark of it. What is read of processes is read here, on the machine that holds the
rig: it sees those of every node.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.harness import until
from tests.harness.on_rig import RigDesk
from tests.rig.rig import Rig

NAME = "comesup"
BAD = 3
NODES = (1, 2, 3)
REFUSED = "/run/refused"

PROGRAMS = {
    "supervisor": ("/usr/local/bin/python3", "start"),
    "torchrun": ("/root/python", "torch.distributed.run"),
    "rank": ("/root/python", "-u"),
}
"""What does not come up: the program on the node, and the word with which it is started then. torchrun starts its ranks
by PYTHON_EXEC, with -u; `python3` is the node's own, which the supervisor is started with."""

REFUSING = """#!/bin/sh
for word; do
    [ "$word" != "{word}" ] || {{ date +%s.%N > {refused}; echo "no room for {what}" >&2; exit 1; }}
done
exec {real} "$@"
"""
PLAIN = '#!/bin/sh\nexec {real} "$@"\n'


@dataclass(frozen=True)
class Refused:
    """What `run --json` said, and the seconds from the refusal until the other nodes ran nothing of the run's: no rank
    and no torchrun, then also no supervisor. None where they were never started."""

    said: str
    code: int
    ranks_seconds: float | None
    all_seconds: float | None


def refused(
    rig: Rig,
    desk: RigDesk,
    what: str,
    script: Path,
    seconds: float = 120.0,
    env: Mapping[str, str] | None = None,
) -> Refused:
    """Starts a run whose `what` does not come up on node 3, and looks until nothing of it is left anywhere else."""
    path, word = PROGRAMS[what]
    real = rig.run(BAD, ["readlink", "-f", "/usr/bin/python3"]).stdout.decode().strip()
    if what == "supervisor":
        refusing = REFUSING.format(word=word, what=what, real=real, refused=REFUSED)
    else:
        real = sys.executable
        refusing = REFUSING.format(word=word, what=what, real=real, refused=REFUSED)
        for number in NODES:
            plant(rig, number, path, PLAIN.format(real=real))
    rig.run(BAD, ["rm", "-f", REFUSED])
    plant(rig, BAD, path, refusing)
    env = {**(env or {}), **({"PYTHON_EXEC": path} if what == "rank" else {})}
    python = {"python": path if what == "torchrun" else sys.executable}
    file = desk.file(
        "--steps", 3000, script=script, name=NAME, nodes="node[1-3]", environment=python, env=env
    )
    process = subprocess.Popen(
        desk.command("run", file, "--no-probe", "--json"), stdout=subprocess.PIPE, text=True
    )
    try:
        return watched(rig, process, seconds)
    finally:
        process.kill()
        process.wait()
        rig.run(BAD, ["rm", "-f", path])


def plant(rig: Rig, number: int, path: str, text: str) -> None:
    """Into the node's own root, in place of a link that may lead out of it."""
    rig.run(number, ["sh", "-c", f"rm -f {path}; cat > {path}; chmod 755 {path}"], input=text.encode())


def watched(rig: Rig, process: subprocess.Popen[str], seconds: float) -> Refused:
    mark = Path(f"/proc/{rig.init_pid(BAD)}/root{REFUSED}")
    until(lambda: mark.is_file() and mark.read_text().endswith("\n"), "nothing was refused", seconds)
    at = float(mark.read_text())
    others = [rig.init_pid(number) for number in NODES if number != BAD]
    seen: dict[str, bool] = {"ranks": False, "all": False}
    gone: dict[str, float] = {}

    def nothing_left() -> bool:
        living = ours(others)
        for kind in ("ranks", "all"):
            there = [one for one in living if kind == "all" or one == "rank"]
            seen[kind] |= bool(there)
            if there:
                gone.pop(kind, None)
            else:
                gone.setdefault(kind, time.time() - at)
        return not living and process.poll() is not None

    # The controller's output is short: it cannot fill the pipe.
    until(nothing_left, "the other nodes still run something of the run's", seconds, 0.05)
    said = process.communicate()[0]
    ranks, everything = (gone[kind] if seen[kind] else None for kind in ("ranks", "all"))
    return Refused(said, process.returncode, ranks, everything)


def ours(inits: list[int]) -> list[str]:
    """One word for each process of the run on the nodes of these first processes: `rank` (or a torchrun) where it
    carries the run's id, `supervisor` where it was started as one."""
    namespaces = {os.readlink(f"/proc/{pid}/ns/pid") for pid in inits}
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(folder / "ns" / "pid") not in namespaces:
                continue
            if f"\0ALLRANKS_RUN_ID={NAME}-".encode() in b"\0" + (folder / "environ").read_bytes():
                found.append("rank")
            elif f"\0start\0{NAME}-".encode() in (folder / "cmdline").read_bytes():
                found.append("supervisor")
        except OSError:
            continue  # it has ended
    return found
