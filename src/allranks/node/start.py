"""The verb `start`: a supervisor that outlives its starter.

The caller hands over the job, the key and the secrets by standard input. It gets one answer, when the
supervisor has its run directory and, on the head, the keeper its port; then nothing ties the two together.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple

from allranks.core import BadInput, Problem
from allranks.core.untrusted import mapping
from allranks.node import processes, reserved_port
from allranks.node.open_files import make_room_for
from allranks.node.paths import RunDirectory, read_object, read_text, write_json
from allranks.node.redaction import SHORTEST, too_short
from allranks.node.supervisor import Supervisor

Keep = Callable[[RunDirectory, Mapping[str, Any], bytes, Mapping[str, str]], Any]
"""Starts the run's keeper in a thread of this process and returns it; it has `port` and `is_alive()`."""

START_SECONDS = 30.0
LONGEST_ANSWER_BYTES = 1 << 16


class Order(NamedTuple):
    """The checked order of a start; nothing of it is written yet."""

    directory: RunDirectory
    job: Dict[str, Any]
    key: bytes
    secrets: Dict[str, str]

    @property
    def is_head(self) -> bool:
        return int(self.job.get("node_rank", -1)) == 0


def read_order(run_id: str, node: str, wanted: Mapping[str, Any]) -> Order:
    """`wanted` is `{"key": hex, "secrets": {NAME: value}, "job": {...}}`; without `job`, job.json is read.
    With `is_put` the controller has made the run's folder here: if it no longer exists, an interrupted start was
    undone.

    Raises BadInput with every problem found.
    """
    directory = RunDirectory(run_id)
    if wanted.get("is_put") and not directory.is_marked():
        saw = f"the launch of {run_id} was called off: its folder is not here."
        raise BadInput(Problem(saw=saw, do="start the run again: allranks run FILE"))
    job = wanted.get("job") or read_object(directory.node(node).job)
    again = "start the run again: allranks run FILE"
    problems = [Problem(saw=text, do=again) for text in _faults(job, run_id, node)]
    try:
        key = bytes.fromhex(str(wanted.get("key")))
    except ValueError:
        key = b""
    if len(key) < 16:
        problems.append(Problem(saw="the run's key is missing, or shorter than 16 bytes."))
    secrets = {str(name): str(value) for name, value in dict(wanted.get("secrets") or {}).items()}
    problems += _secret_problems(job, secrets)
    if problems:
        raise BadInput(problems)
    return Order(directory, dict(job), key, secrets)


def _faults(job: Mapping[str, Any], run_id: str, node: str) -> "list[str]":
    if not job:
        return [f"node {node} has no job in run {run_id}."]
    faults = []
    if (job.get("run_id"), job.get("node")) != (run_id, node):
        faults.append(
            f"the job is for node {job.get('node')} of run {job.get('run_id')}, not {node} of {run_id}."
        )
    if not (isinstance(job.get("argv"), list) and job["argv"]):
        faults.append("the job has no argv.")
    if not isinstance(job.get("keeper"), Mapping) or not job["keeper"].get("host"):
        faults.append("the job names no keeper.")
    return faults


def _secret_problems(job: Mapping[str, Any], secrets: Mapping[str, str]) -> "list[Problem]":
    problems = []
    for name in job.get("secrets") or ():
        if name not in secrets:
            problems.append(
                Problem(saw=f"no value came for the secret {name}.", do=f"export {name} before the run")
            )
        elif too_short(secrets[name]):
            why = f"a value of fewer than {SHORTEST} characters occurs in every log by chance and cannot be masked."
            do = f"take {name} out of `secrets` and set it in `env`, if it is none"
            problems.append(Problem(saw=f"the value of the secret {name} is too short.", why=why, do=do))
    return problems


def start(order: Order, keep: Optional[Keep]) -> Dict[str, Any]:
    """Starts the supervisor, detached; returns `{"supervisor": Process, "keeper": {"port": N} | None}`.

    On failure `{"error": text}`. Nothing runs then, except where it stands only after `START_SECONDS`: whoever
    undoes the start calls `stop --direct`.
    """
    problem = _prepare(order)
    if problem:
        return {"error": problem}
    log = order.directory.node(order.job["node"]).supervisor_log
    return detached(log, lambda say: _supervise(order, keep, say), START_SECONDS)


def detached(
    log: str, life: Callable[[Callable[[Dict[str, Any]], None]], int], seconds: float
) -> Dict[str, Any]:
    """Runs `life` in a daemon that writes to `log`; returns the one answer that it says when it stands.

    `life(say)` is the daemon's whole life; its result is the exit code. `{"error": text}` where it ended
    without a word.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _become_daemon(log, life, writing)
    os.close(writing)
    os.waitpid(child, 0)
    try:
        return _answer(reading, log, seconds)
    finally:
        os.close(reading)


def stay(order: Order, keep: Optional[Keep], say: Callable[[Dict[str, Any]], None]) -> int:
    """`start` for launchers that end a job when its program ends (srun, mpirun): works here until the end."""
    problem = _prepare(order)
    if problem:
        say({"error": problem})
        return 1
    return _supervise(order, keep, say)


def _prepare(order: Order) -> str:
    """Makes the run directory and writes job.json; the problem where the node's supervisor runs already."""
    directory = order.directory.node(order.job["node"])
    there = read_object(directory.supervisor)
    if processes.lives(there):
        return f"the supervisor of {directory.name} runs already: pid {there['pid']}"
    try:
        order.directory.create(node=directory.name, keeper=order.is_head)
        write_json(directory.job, order.job)
    except OSError as error:
        return f"{error.filename or order.directory.root}: {error.strerror}"
    return ""


def _become_daemon(log: str, life: Callable[[Callable[[Dict[str, Any]], None]], int], writing: int) -> None:
    """In the forked child: becomes a daemon's parent and ends. Never returns."""
    try:
        os.setsid()
        if os.fork() == 0:
            _detach(log, writing)
            _daemon(life, writing)
    except BaseException:
        os._exit(1)
    os._exit(0)


def _detach(log: str, writing: int) -> None:
    """Lets go of all that came from the caller: terminal, folder, descriptors."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    for source, target in ((null, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    for descriptor in [int(name) for name in os.listdir("/proc/self/fd")]:
        if descriptor > 2 and descriptor != writing:
            try:
                os.close(descriptor)
            except OSError:
                pass  # the one that listed the others


def _daemon(life: Callable[[Callable[[Dict[str, Any]], None]], int], writing: int) -> None:
    """The daemon's whole life. Never returns."""
    said = []

    def say(answer: Dict[str, Any]) -> None:
        said.append(answer)
        os.write(writing, json.dumps(answer).encode())
        os.close(writing)

    code = 4
    try:
        code = life(say)
    except BaseException as error:
        traceback.print_exc()
        if not said:
            say({"error": f"{type(error).__name__}: {error}"})
    finally:
        sys.stderr.flush()
        os._exit(code)


def _supervise(order: Order, keep: Optional[Keep], say: Callable[[Dict[str, Any]], None]) -> int:
    keeper, held = None, None
    if order.is_head:
        make_room_for(len(mapping(order.job.get("keep")).get("nodes") or ()))
        held, order = reserved(order)
        if keep is None:
            raise RuntimeError("this program holds no keeper")
        keeper = keep(order.directory, order.job, order.key, order.secrets)
    supervisor = Supervisor(order.directory, order.job, order.key, order.secrets, keeper)

    def ready() -> None:
        me = processes.identify(supervisor.node, supervisor.run_id)
        port = order.job.get("rendezvous_port")
        kept = None if keeper is None else {"port": keeper.port, "rendezvous_port": port}
        say({"supervisor": me.as_json(), "keeper": kept})

    try:
        return supervisor.run(ready)
    finally:
        if held is not None:
            held.close()


def reserved(order: Order) -> Tuple[Optional[socket.socket], Order]:
    """The rendezvous port if the run file names none, and the order with it. Raises BadInput if none is free."""
    if order.job.get("rendezvous_port") != 0:
        return None, order
    held, port = reserved_port.reserve()
    if held is None:
        saw = f"no port from {reserved_port.FIRST} to {reserved_port.LAST} is free for the rendezvous."
        raise BadInput(Problem(saw=saw, do="network: {port: …} with another one"))
    order = order._replace(job=reserved_port.with_port(order.job, port))
    write_json(order.directory.node(order.job["node"]).job, order.job)
    return held, order


def _answer(reading: int, log: str, seconds: float) -> Dict[str, Any]:
    """The answer that the daemon wrote when it was ready or failed, or how it ended without an answer."""
    deadline = time.monotonic() + seconds
    text = b""
    while len(text) < LONGEST_ANSWER_BYTES:
        ready, _, _ = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))
        block = os.read(reading, 4096) if ready else b""
        text += block
        if not block:
            break
    try:
        return dict(json.loads(text.decode("utf-8")))
    except ValueError:
        tail = read_text(log)[-400:].strip()
        return {"error": f"it did not begin within {seconds:.0f} s. {tail}".strip()}
