"""The Python stacks of processes that allranks did not start: by `stack_reader` under their own Python, else by py-spy.

Neither stops, attaches to or writes into a process. Both need the right to read its memory, which a kernel with
`kernel.yama.ptrace_scope` 1 gives to root alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from allranks.node import processes
from allranks.node.pyspy import Watched, by_pyspy
from allranks.node.witness.job_ranks import callers, program

GRACE_SECONDS = 4.0
HUNG_SECONDS = 1.0
NO_ANSWER = "the storage of its Python does not answer"
AT_ONCE = 8
BY_MEMORY = "reading its memory"
MOST_BYTES = 32 << 20
READER_WORDS = ("-I", "-S", "-B", "-c")
SCOPE = "/proc/sys/kernel/yama/ptrace_scope"


class Looks(NamedTuple):
    """By pid: the stacks of each look ([file, line, function, instruction], outermost first; None if one could not
    be read), who read them, and why there are none."""

    stacks: Dict[int, List[Optional[List[Any]]]]
    by: Dict[int, str]
    why: Dict[int, str]


class Reading:
    """The running readers, one for each Python that runs here. `start` begins, `end` waits for what they have
    read."""

    def __init__(self, pids: Sequence[int], at: Sequence[float], text: str):
        self.pids, self.at = list(pids), list(at)
        self.why: Dict[int, str] = {}
        self.until = time.monotonic() + self.at[-1] + GRACE_SECONDS - 1.0
        self.children: List["tuple[List[int], subprocess.Popen[bytes]]"] = []
        by_program: Dict[str, List[int]] = {}
        for pid in self.pids:
            path = program(pid)
            reason = within(HUNG_SECONDS, not_here, pid, path)
            if reason is None:
                self.why[pid] = NO_ANSWER
            elif reason:
                self.why[pid] = reason
            else:
                by_program.setdefault(path, []).append(pid)
        for path, those in by_program.items():
            if within(HUNG_SECONDS, self._start, path, those, text) is None:
                self.why.update(dict.fromkeys(those, NO_ANSWER))

    def _start(self, path: str, pids: List[int], text: str) -> bool:
        environment = {"PATH": os.defpath, "LC_ALL": "C"}
        libraries = (processes.read_environ(pids[0]) or {}).get("LD_LIBRARY_PATH")
        if libraries:
            environment["LD_LIBRARY_PATH"] = libraries  # a cluster module's Python may not start without it
        try:
            child = subprocess.Popen(
                [path, *READER_WORDS, text],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                cwd="/",
            )
        except OSError as error:
            self.why.update({pid: "%s: %s" % (path, error.strerror) for pid in pids})
            return True
        assert child.stdin is not None
        try:
            child.stdin.write(json.dumps({"pids": pids, "at": self.at}).encode())
            child.stdin.close()
        except OSError:
            pass  # it has ended, and its answer is empty
        child.stdin = None
        self.children.append((pids, child))
        return True

    def end(self) -> Looks:
        looks = Looks({}, {}, dict(self.why))
        for pids, child in self.children:
            try:
                text = child.communicate(timeout=max(0.5, self.until - time.monotonic()))[0][:MOST_BYTES]
                answer = json.loads(text.decode("utf-8", "replace"))
            except (subprocess.TimeoutExpired, ValueError):
                child.kill()  # our own child, not yet reaped
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(0.2)  # in state D it ends when its storage answers
                looks.why.update({pid: "the reader did not answer" for pid in pids})
                continue
            self._take(pids, answer, looks)
        return looks

    def _take(self, pids: Sequence[int], answer: Mapping[str, Any], looks: Looks) -> None:
        rows = answer.get("looks") or []
        for pid in pids:
            stacks = [row.get(str(pid)) for row in rows]
            if any(stacks):
                looks.stacks[pid], looks.by[pid] = stacks, BY_MEMORY
            else:
                looks.why[pid] = str((answer.get("why") or {}).get(str(pid)) or "nothing was read")


def within(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function; None if it has not returned by then, as on a file server that does not answer."""
    found: List[Any] = []
    thread = threading.Thread(target=lambda: found.append(function(*arguments)), daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else None


def not_here(pid: int, path: str) -> str:
    """Why a process's own Python cannot be run beside it; empty if it can."""
    try:
        if os.readlink("/proc/%d/ns/mnt" % pid) != os.readlink("/proc/self/ns/mnt"):
            return "it runs in a container"
    except OSError as error:
        return "it may not be read: %s%s" % (error.strerror, _scope())
    if not os.path.basename(path).startswith("python"):
        return "it is not Python"
    if path.endswith(" (deleted)"):
        return "its Python has been replaced on the disk"
    return "" if _trusted(path) else "others may write to its Python, %s" % path


def _trusted(path: str) -> bool:
    """Whether we may run it: it belongs to root or the caller, and no other user may change it."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    return status.st_uid in {0, *callers()} and not status.st_mode & 0o002


def _scope() -> str:
    try:
        with open(SCOPE, encoding="ascii") as file:
            value = file.read().strip()
    except OSError:
        return ""
    return "" if value == "0" else " (kernel.yama.ptrace_scope is %s: sudo may)" % value


class Spying:
    """py-spy, if it is installed, for processes that nothing else can read: all at once, in its own threads."""

    def __init__(self, those: Mapping[int, int]):
        """`those`: pids with their start times."""
        self._pool = ThreadPoolExecutor(max_workers=AT_ONCE)
        self._asked = {pid: self._pool.submit(_spied, pid, start) for pid, start in those.items()}

    def end(self, looks: Looks) -> None:
        """Adds a look of each that was read, or why there is none."""
        for pid, answer in self._asked.items():
            frames, why = answer.result()
            if frames is None:
                known = looks.why.get(pid, "")
                if pid not in looks.stacks and why not in known:
                    looks.why[pid] = "; ".join(part for part in (known, why) if part)
                continue
            looks.stacks.setdefault(pid, []).append(frames)
            looks.by[pid] = "py-spy"
            looks.why.pop(pid, None)
        self._pool.shutdown()


def _spied(pid: int, start_time: int) -> "Tuple[Optional[List[Any]], str]":
    found = pyspy_for(pid)
    if found is None:
        return None, "py-spy is not installed"
    stack = by_pyspy(found, Watched(0, pid, start_time))
    if not stack.frames:
        return None, "py-spy: %s" % stack.why
    return [[*frame, None] for frame in stack.frames], ""


def pyspy_for(pid: int) -> Optional[str]:
    """py-spy of the environment that the process was started in, else from this program's PATH."""
    environ = processes.read_environ(pid) or {}
    folders = [
        os.path.join(environ[name], "bin") for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if environ.get(name)
    ]
    folders += [folder for folder in environ.get("PATH", "").split(":") if os.path.isabs(folder)]
    return shutil.which("py-spy", path=":".join(folders)) if folders else shutil.which("py-spy")
