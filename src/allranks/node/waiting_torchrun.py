"""A torchrun that has imported torch and waits for its attempt, with its ranks on standby if the run asks for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, List, Mapping, Optional

from allranks.node.order_pipe import widen

RUN = ["-m", "torch.distributed.run"]

END_SECONDS = 1.0
"""How long to wait for the end of a waiting Python: one that hangs in the kernel must not hold its supervisor."""

READY_TRIES = 3
"""The most Pythons that are begun for one attempt if they die while they wait: each costs seconds of a core that
trains."""

_READY = """
import ctypes, json, os, signal, sys
with open(0, "rb", buffering=0, closefd=False) as words:
    environment = json.loads(words.readline())
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
    signal.signal(number, signal.SIG_DFL)
ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execvpe(sys.argv[2], sys.argv[2:], environment)
"""
_WAITING = """
import json, os, sys
from torch.distributed import run
told = json.loads(sys.stdin.buffer.readline() or b"null")
if told:
    sys.path.insert(0, told["inside"])
    try:
        from allranks.node import standby_ranks
        from torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler import SubprocessHandler
        standby_ranks.lend(SubprocessHandler, standby_ranks.begin(run, told))
    except Exception as error:
        print(f"allranks: no rank is on standby: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    sys.path.remove(told["inside"])
order = sys.stdin.buffer.readline()
if not order:
    sys.exit(0)
order = json.loads(order)
os.setsid()
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.chdir(order["cwd"])
os.environ.clear()
os.environ.update(order["env"])
sys.argv = [run.__file__, *order["words"]]
sys.exit(run.main())
"""
"""A torchrun that has imported torch and waits for its arguments: this saves seconds at the next attempt's start.
Until then it is in the supervisor's own session and so does not count as a process of the run. It ends with the
supervisor, or when its standard input does."""


def ready(
    python: str, env: Mapping[str, str], log: str, standby: Optional[Mapping[str, Any]] = None
) -> "Optional[subprocess.Popen[bytes]]":
    """Starts it; None if it could not take its environment. `standby` says which ranks it shall have ready
    (`standby_ranks.begin`, and `inside`, the bundle). Raises OSError."""
    words = [sys.executable, "-I", "-S", "-c", _READY, str(os.getpid()), python, "-c", _WAITING]
    child = logged(words, log, bufsize=0)  # without a buffer, closing it writes nothing
    assert child.stdin is not None
    widen(child.stdin.fileno())
    os.set_blocking(child.stdin.fileno(), False)
    if order(child, dict(env)) and order(child, standby):
        return child
    end(child)
    return None


def order(child: "subprocess.Popen[bytes]", said: Any) -> bool:
    """Hands one line to a Python that waits, without waiting itself: if its disk is frozen, that Python reads
    nothing. False if it has ended or the line does not fit into its pipe: then it is useless."""
    assert child.stdin is not None
    line = json.dumps(said).encode() + b"\n"
    try:
        if child.stdin.write(line) != len(line):  # None if nothing could be written
            return False
    except (OSError, ValueError):
        return False
    return child.poll() is None


def end(child: "subprocess.Popen[bytes]") -> None:
    """Ends a Python that waits. One that does not end is left to the kernel; the supervisor's own end is its end."""
    child.kill()
    try:
        child.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        pass
    try:
        if child.stdin is not None:
            child.stdin.close()
    except OSError:
        pass


def logged(
    words: List[str], log: str, cwd: Optional[str] = None, start_new_session: bool = False, bufsize: int = -1
) -> "subprocess.Popen[bytes]":
    """Starts a program with a pipe as its input and its output appended to `log`. Raises OSError."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        return subprocess.Popen(
            words,
            bufsize,
            stdin=subprocess.PIPE,
            stdout=descriptor,
            stderr=descriptor,
            cwd=cwd,
            start_new_session=start_new_session,
        )
    finally:
        os.close(descriptor)
