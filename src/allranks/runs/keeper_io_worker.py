"""Runs all access to the output folder in a child with a time limit: a frozen file system must not freeze the keeper.

The child runs this same bundle; one JSON document goes in and one comes out. A child that hangs in the kernel (state
D) cannot be killed. It is abandoned, and ends when its file system answers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any, Callable, Dict, Generator, List, Mapping, Optional, Tuple, TypeVar

import allranks

PULSE_SECONDS = 0.2
GIVE_UP_SECONDS = 3.0
"""Time after SIGKILL. A child that still lives then waits in the kernel."""

SECONDS = {
    "open": 30.0, "verify": 600.0, "newest": 600.0, "go_on": 600.0, "choose": 30.0, "prune": 1800.0,
    "earlier": 600.0, "kinds": 600.0, "script_save": 600.0, "room": 30.0, "copy": 3600.0,
}  # fmt: skip
"""Reading a large adapter (1 GB) from a busy NFS server takes a minute; these limits are ten times that. `prune` reads
every checkpoint of the folder, with its state."""

CHOICE = "allranks-resume-from.json"
"""A file in the output folder, `{"from": path}`: the checkpoint from which the next attempt continues."""

LEASH = """
import os, signal, sys
leash = [int(sys.argv.pop(1)), int(sys.argv.pop(1))]
try:
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
except (ImportError, OSError, AttributeError):
    pass
if leash[0] and os.getppid() != leash[0]:
    sys.exit(1)
signal.alarm(leash[1])
"""
"""A child's first lines. PR_SET_PDEATHSIG (1): a child whose supervisor was killed must not continue to copy and
delete; it is in the supervisor's session, where no sweep looks for it. The alarm is for a Python without ctypes."""

ALARM_MARGIN_SECONDS = 10

BOOT = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from allranks.runs import keeper_io_worker
keeper_io_worker.main()
"""

T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work that yields at least every `PULSE_SECONDS` while it waits, so that its caller can do other work in between."""

GoesOn = Callable[[], bool]


def run_out(steps: Steps[T]) -> T:
    """Runs the work to its end and returns its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def call(
    what: str, arguments: Mapping[str, Any], goes_on: Optional[GoesOn] = None
) -> Steps[Tuple[Optional[Dict[str, Any]], str]]:
    """Runs one request in a child. Returns (answer, error). If `goes_on` returns False, the child is ended."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(allranks.__file__)))
    argv = [sys.executable, "-I", "-S", "-c", LEASH + BOOT, *leash(SECONDS[what]), root, what]
    try:
        child = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=True
        )
    except OSError as error:
        return None, str(error)
    text = json.dumps(dict(arguments)).encode()
    out, err, trouble = yield from wait_for(child, SECONDS[what], text, goes_on)
    if trouble:
        return None, trouble
    try:
        answer = json.loads(out.decode("utf-8", "replace"))
    except ValueError:
        said = err.decode("utf-8", "replace").strip().splitlines()
        return None, said[-1] if said else f"exit code {child.returncode}"
    return (None, str(answer["error"])) if answer.get("error") else (dict(answer), "")


def leash(seconds: float, parent: Optional[int] = None) -> List[str]:
    """The arguments of `LEASH`: the parent's pid (0 if a script may be between them), and the longest life."""
    return [str(os.getpid() if parent is None else parent), str(int(seconds) + ALARM_MARGIN_SECONDS)]


def wait_for(
    child: "subprocess.Popen[bytes]",
    seconds: float,
    text: Optional[bytes] = None,
    goes_on: Optional[GoesOn] = None,
) -> Steps[Tuple[bytes, bytes, str]]:
    """(stdout, stderr, why the child was ended). Returns soon after `seconds` in any case."""
    deadline, trouble, killed_at = time.monotonic() + seconds, "", 0.0
    while True:
        try:
            out, err = child.communicate(text, timeout=PULSE_SECONDS)
            return out, err, trouble
        except subprocess.TimeoutExpired:
            text = None  # `communicate` already has it
        yield
        now = time.monotonic()
        if killed_at:
            if now - killed_at > GIVE_UP_SECONDS:
                return b"", b"", f"{trouble}, and it cannot be ended: its file system does not answer"
        elif goes_on is not None and not goes_on():
            trouble = "the run was asked to stop"
        elif now > deadline:
            trouble = f"it did not end within {seconds:.0f} s"
        if trouble and not killed_at:
            child.kill()
            killed_at = now


# ---- in the child ----


def main() -> None:
    """Reads its arguments from standard input and prints the answer, `{"error": text}` for an OSError."""
    arguments = json.load(sys.stdin)
    try:
        answer = VERBS[sys.argv[1]](**arguments)
    except OSError as error:
        answer = {"error": f"{error.strerror or error}"}
    sys.stdout.write(json.dumps(answer))


def _open(folder: str, run_id: str) -> Dict[str, Any]:
    from allranks import checkpoints

    os.makedirs(folder, mode=0o700, exist_ok=True)
    checkpoints.mark(folder, run_id)
    return {}


def _verify(folder: str, expect: Mapping[str, Any]) -> Dict[str, Any]:
    from allranks import checkpoints
    from allranks.node.paths import read_json

    wanted = dict(expect)
    wanted["base_config"] = read_json(os.path.join(str(wanted.get("base_model") or ""), "config.json"))
    return checkpoints.verify(folder, wanted).as_json()


def _kinds(paths: List[Tuple[str, Optional[int]]], most: int, expect: Mapping[str, Any]) -> Dict[str, Any]:
    """The reports of the first `most` of these (path, inode) that exist. `was` is the path that the rank reported."""
    from allranks import checkpoints
    from allranks.checkpoints.script_saves import where_now

    places: Dict[str, str] = {}
    for told, inode in paths:
        now = where_now(told, inode) if len(places) < most else None
        if now is not None:
            places.setdefault(now, told)
    reports = [(now, told, checkpoints.verify(now, expect).as_json()) for now, told in places.items()]
    is_its = [one for one in reports if one[0] == one[1] or one[2]["kind"]]
    return {"found": [{**report, "path": now, "was": told} for now, told, report in is_its]}


def _script_save(
    run_id: str, own: List[Tuple[str, Optional[int]]], wanted: Optional[str], expect: Mapping[str, Any]
) -> Dict[str, Any]:
    from allranks.checkpoints import script_saves

    now = [script_saves.where_now(path, inode) or path for path, inode in own]
    return script_saves.find_save(run_id, now, wanted, expect)


def _newest(folder: str, expect: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    from allranks import checkpoints

    report = checkpoints.newest_verified(folder, expect)
    return {"found": None if report is None else report.as_json()}


def _go_on(folder: str, expect: Optional[Mapping[str, Any]], keep_word: bool) -> Dict[str, Any]:
    """Finds this run's newest whole checkpoint with allranks' own state, and writes its path for the ranks.

    If there is none, an earlier path is removed, or kept with `keep_word`. A trainer's pickles do not count, even if
    the run wrote them: a person who can write into the folder could run code in every rank. `unchosen` says why the
    path could not be written; an earlier path may still be there then.
    """
    from allranks.checkpoints import resuming

    wanted = {key: value for key, value in dict(expect or {}).items() if key not in ("step", "trained")}
    judged = ((path, *resuming.judge(path, wanted)) for path in resuming.checkpoints_of(folder))
    found = next(
        ((path, report) for path, report, against in judged if report is not None and not against), None
    )
    if found is None and keep_word:
        return {"found": None}
    try:
        _choose(folder, None if found is None else str(found[0]))
    except OSError as error:
        return {"found": None, "unchosen": f"{error.strerror or error}"}
    return {"found": None if found is None else found[1].as_json()}


def _choose(folder: str, path: Optional[str]) -> Dict[str, Any]:
    """Writes the path. `worker/trainer_checkpoints.py` reads it on the machine of rank 0."""
    from allranks.node.paths import write_json

    write_json(os.path.join(folder, CHOICE), {"from": path})
    return {}


def _prune(folder: str, keep: int, run_id: str, expect: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    from allranks import checkpoints

    # An adapter of the first step, saved with a learning rate of 0, is not damaged, and must not protect all others
    # from pruning.
    expect = {key: value for key, value in dict(expect or {}).items() if key != "trained"}
    pruned = checkpoints.prune(folder, keep, marker=run_id, expect=expect)
    return {
        "removed": list(pruned.removed),
        "freed_bytes": pruned.freed_bytes,
        "findings": [finding.as_json() for finding in pruned.findings],
    }


def _earlier(
    folder: str, expect: Optional[Mapping[str, Any]], path: Optional[str], copies: Optional[str]
) -> Dict[str, Any]:
    from allranks.checkpoints import resuming
    from allranks.core.run_states import FINAL
    from allranks.node import run_reader

    known = run_reader.runs() if path is None else []
    busy = [run["id"] for run in known if run.get("state") not in FINAL and _lives_here(run)]
    return resuming.find_resume(folder, expect, path, copies, busy)


def _lives_here(run: Mapping[str, Any]) -> bool:
    """Whether a program of the run lives on this machine. That of another one cannot be seen: its head may be gone, and
    then its checkpoints are what is left of it."""
    return run["keeper_alive"] is True or any(one["alive"] is True for one in run["supervisors"].values())


def _room(folder: str, checkpoint: str) -> Dict[str, Any]:
    from allranks.checkpoints.space import bytes_of, space

    return {"finding": space(folder, bytes_of(checkpoint)).as_json()}


def _copy(source: str, target: str, bytes_a_second: float, keep: int, run_id: str) -> Dict[str, Any]:
    """Copies a checkpoint. It keeps as many copies as checkpoints."""
    from allranks import checkpoints
    from allranks.checkpoints import copying

    folder = os.path.dirname(target)
    os.makedirs(folder, exist_ok=True)
    checkpoints.mark(folder, run_id)
    report = copying.copy(source, target, bytes_a_second).as_json()
    return {**report, "removed": list(checkpoints.prune(folder, keep, marker=run_id).removed)}


VERBS: Dict[str, Callable[..., Dict[str, Any]]] = {
    "open": _open,
    "verify": _verify,
    "newest": _newest,
    "kinds": _kinds,
    "script_save": _script_save,
    "go_on": _go_on,
    "choose": _choose,
    "prune": _prune,
    "earlier": _earlier,
    "room": _room,
    "copy": _copy,
}
