"""Functions run in processes that can be abandoned: whatever hangs, the caller does not wait past a limit.

A process in uninterruptible sleep (a dead NFS server, a wedged driver) cannot be killed, not even by
SIGKILL. So the parent does not wait for it: it keeps the values that were sent so far and continues.

The only processes signalled here are children of the caller that it has not reaped: their pid cannot have
been given to another process.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from allranks.node.facts._reading import Unreadable, why
from allranks.node.processes import read_stat

MOST_BYTES = 16 << 20
"""The most that one process may send. The largest family (a model folder of 1,000 files) sends about 100 kB."""

_MARGIN_SECONDS = 0.6
"""A nested limit ends this much before the one around it, so that the inner reason is still reported."""

_deadline: Optional[float] = None
"""When this process itself is given up (monotonic seconds); None in the topmost one."""

Send = Callable[[Dict[str, Any]], None]


@dataclass
class Outcome:
    """The messages of one process; `reason` says why it did not come to its end, None if it did."""

    messages: List[Dict[str, Any]] = field(default_factory=list)
    reason: Optional[str] = None
    seconds: float = 0.0


class _Child:
    def __init__(self, pid: int, descriptor: int, limit: float):
        self.pid, self.descriptor, self.limit = pid, descriptor, limit
        self.began = time.monotonic()
        self.deadline = self.began + limit
        self.rest = b""
        self.received = 0
        self.outcome = Outcome()
        self.ended = False


def remaining(seconds: float) -> float:
    """`seconds`, or less where the process around us will be given up earlier."""
    if _deadline is None:
        return seconds
    return max(0.05, min(seconds, _deadline - time.monotonic() - _MARGIN_SECONDS))


def run(
    tasks: Mapping[str, Callable[[Send], None]], limits: Union[float, Mapping[str, float]]
) -> Dict[str, Outcome]:
    """Runs every task in its own process, all at once; returns within the longest limit (and 0.5 s)."""
    children: Dict[str, _Child] = {}
    outcomes: Dict[str, Outcome] = {}
    for name, task in tasks.items():
        limit = remaining(limits if isinstance(limits, (int, float)) else limits[name])
        try:
            children[name] = _start(task, limit)
        except OSError as error:
            outcomes[name] = Outcome(reason=f"no process could be started: {why(error)}")
    with selectors.DefaultSelector() as selector:
        for child in children.values():
            selector.register(child.descriptor, selectors.EVENT_READ, child)
        _listen(selector, list(children.values()))
    _reap(list(children.values()))
    outcomes.update({name: child.outcome for name, child in children.items()})
    return outcomes


def call(function: Callable[[], Any], seconds: float) -> Any:
    """`function()` in a process that can be abandoned. Raises `Unreadable` if it does not come back."""
    return calls({"": function}, seconds)[""]()


def calls(
    functions: Mapping[str, Callable[[], Any]], seconds: Union[float, Mapping[str, float]]
) -> Dict[str, Callable[[], Any]]:
    """Runs all functions at once; each result is a function that returns the value or raises `Unreadable`."""

    def task(function: Callable[[], Any]) -> Callable[[Send], None]:
        return lambda send: send({"value": function()})

    def result(outcome: Outcome) -> Callable[[], Any]:
        def get() -> Any:
            if not outcome.messages:
                raise Unreadable(outcome.reason or "it said nothing")
            return outcome.messages[-1]["value"]

        return get

    outcomes = run({name: task(function) for name, function in functions.items()}, seconds)
    return {name: result(outcome) for name, outcome in outcomes.items()}


def _start(task: Callable[[Send], None], limit: float) -> _Child:
    readable, writable = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(readable)
        os.close(writable)
        raise
    if pid == 0:
        _be_child(task, writable, limit)
    os.close(writable)
    os.set_blocking(readable, False)
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass  # it did so itself, or has ended
    return _Child(pid, readable, limit)


def _be_child(task: Callable[[Send], None], descriptor: int, limit: float) -> None:
    """The child's life; never returns."""
    global _deadline
    code = 1
    try:
        _deadline = time.monotonic() + limit
        os.setpgid(0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        # Should the parent be gone, this process still ends.
        signal.alarm(int(limit) + 2)
        # An abandoned process must not hold the caller's output open: sshd would wait for it.
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.nice(5)
        task(lambda message: _send(descriptor, message))
        code = 0
    except BaseException as error:
        try:
            _send(descriptor, {"failed": why(error)})
        except BaseException:
            pass  # the parent sees the exit code
    finally:
        os._exit(code)


def _send(descriptor: int, message: Dict[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


def _listen(selector: selectors.BaseSelector, children: List[_Child]) -> None:
    while selector.get_map():
        now = time.monotonic()
        nearest = min(child.deadline for child in children if not child.ended)
        for key, _ in selector.select(max(0.0, nearest - now)):
            _receive(key.data)
        for child in children:
            if not child.ended and time.monotonic() >= child.deadline:
                _give_up(child, f"did not answer within {child.limit:g} s{in_kernel(child.pid)}")
        for key in list(selector.get_map().values()):
            if key.data.ended:
                selector.unregister(key.fileobj)
                os.close(key.fd)


def _receive(child: _Child) -> None:
    try:
        block = os.read(child.descriptor, 1 << 16)
    except BlockingIOError:
        return
    if not block:
        _end(child)
        return
    child.received += len(block)
    if child.received > MOST_BYTES:
        _give_up(child, f"sent more than {MOST_BYTES >> 20} MiB")
        return
    *lines, child.rest = (child.rest + block).split(b"\n")
    for line in lines:
        message = json.loads(line.decode())
        if "failed" in message:
            child.outcome.reason = str(message["failed"])
        else:
            child.outcome.messages.append(message)


def _end(child: _Child) -> None:
    """Nothing more is read from it. Its group is killed also if it has ended by itself: a program that it
    started and gave up may have left children. Until `_reap`, no other process can get its pid, and so the
    group's."""
    child.ended = True
    child.outcome.seconds = time.monotonic() - child.began
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        pass  # no process is left, or it may not be signalled: it is abandoned then


def _give_up(child: _Child, reason: str) -> None:
    child.outcome.reason = reason
    _end(child)


def in_kernel(pid: int) -> str:
    """The end of a reason, if the process hangs in the kernel."""
    stat = read_stat(pid)
    is_stuck = stat is not None and stat.state == "D"
    return " and waits uninterruptibly in the kernel (state D)" if is_stuck else ""


def _reap(children: List[_Child]) -> None:
    """Collects the ended ones; one that cannot die is left to init after 0.1 s."""
    patience = time.monotonic() + 0.1
    waiting = list(children)
    while waiting:
        for child in list(waiting):
            try:
                pid, status = os.waitpid(child.pid, os.WNOHANG)
            except ChildProcessError:
                pid, status = child.pid, 0
            if pid:
                waiting.remove(child)
                if status and child.outcome.reason is None:
                    child.outcome.reason = _ending(status)
        if not waiting or time.monotonic() > patience:
            break
        time.sleep(0.005)


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"its process was ended by signal {os.WTERMSIG(status)}"
    return f"its process ended with code {os.WEXITSTATUS(status)}"
