"""This node's part of a Ray cluster that a run brings with it: `ray up RUN NODE`.

A holder starts `ray start --block`, stays above all of Ray's processes, and ends them when the run's supervisor here
has ended, when none starts in time, or when it is asked to. It never calls `ray stop`: that signals every process on
the machine whose name or command line looks like Ray's, also another user's cluster (Ray 2.60,
`autoscaler/_private/constants.py`, RAY_PROCESSES). Only processes that descend from the holder belong to the run.

All of Ray's ports are free ones, so that a cluster that is there already is not in the way; the dashboard listens
on 127.0.0.1; every call needs the cluster's token (`RAY_AUTH_MODE=token`).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import time
from typing import Any, Callable, Dict, List, Mapping, Optional

from allranks.core import BadInput, Problem
from allranks.node import processes, spawn
from allranks.node.descendants import Descendants
from allranks.node.ownership import RUN_ID_VARIABLE
from allranks.node.paths import (
    NodeDirectory,
    RunDirectory,
    read_bytes,
    read_object,
    read_text,
    size_of,
    write_json,
    write_text,
)
from allranks.node.stopping import Stopping

FIRST_WITH_TOKEN = (2, 52)
"""docs.ray.io, "Ray token authentication"."""

UP_SECONDS = 280.0
"""Ray starts in 5 to 10 s; 23 s were seen with cold files, and more than 130 s on two cores with a load of 40."""

WAIT_SECONDS = 600.0
"""How long a cluster waits for its supervisor: the nodes come up one after the other, then the job starts."""

SETTLE_SECONDS = 1.5
"""The wait after the supervisor's end: its return value travels through Ray to the job's driver."""

GRACE_SECONDS = 8.0
"""`ray start --block` ends its processes in 3 to 4 s."""

STORE_BYTES = 80_000_000
"""The object store is not used; Ray takes no less than 75 MiB."""

TURN_SECONDS = 0.25
SLOW = (b"timed out during startup", b"No node info found for head node")
"""What `ray start` says when the head or its own raylet is not known after 30 s, a fixed number (`_private/node.py`,
`_private/utils.py`)."""


def _beginning(directory: RunDirectory, node: str) -> str:
    name = "\0".join([directory.home, directory.run_id, node])
    return f"allranks-ray-{hashlib.sha256(name.encode()).hexdigest()[:8]}-"


def new_folder(directory: RunDirectory, node: str) -> str:
    """A name for the folder of Ray's files, whose last part no other user can guess and take first. Short: they hold
    sockets, whose names have at most 107 bytes, of which Ray needs 60."""
    return os.path.join("/tmp", _beginning(directory, node) + secrets.token_hex(3))


def folders_of(directory: RunDirectory, node: str) -> List[str]:
    """Those that are there, of this user."""
    beginning = _beginning(directory, node)
    try:
        paths = [
            os.path.join("/tmp", name) for name in sorted(os.listdir("/tmp")) if name.startswith(beginning)
        ]
    except OSError:
        return []
    return [path for path in paths if is_own(path)]


def token_file(node: NodeDirectory) -> str:
    return os.path.join(node.root, "ray-token")


def state_file(node: NodeDirectory) -> str:
    return os.path.join(node.root, "ray.json")


def up(run_id: str, node: str, wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """Starts this node's Ray, held; `{"address": "IP:PORT", "dashboard": PORT or null, "python": path}`.

    `wanted` is `{"python", "head": "IP:PORT" or null, "peer": host or null, "token", "gpus"}`. On failure
    `{"error": text}`, and nothing runs.
    """
    directory = RunDirectory(run_id)
    python = os.path.expanduser(str(wanted.get("python") or ""))
    program = find_ray(python, os.environ.get("PATH", os.defpath))
    if program is None:
        raise BadInput(
            Problem(
                saw="ray is neither beside the training environment's Python nor on the path.",
                why="a run without launch.address brings its own Ray cluster.",
                do="pip install 'ray[default]>=2.52' there, or launch: {address: HOST:PORT} of a cluster that runs",
            )
        )
    refuse_open(ray_version(python_of(program)))
    if not directory.is_marked():
        return {"error": f"{run_id} has no folder here"}
    place = directory.node(node)
    write_text(token_file(place), str(wanted["token"]))
    port = None if wanted.get("head") else free_port("127.0.0.1")
    folder = new_folder(directory, node)
    words = start_words(program, place, folder, wanted, port)
    about = {"dashboard": port, "python": python_of(program)}
    return _held(directory, place, words, about, folder)


def find_ray(python: str, path: str) -> Optional[str]:
    """The program `ray`: beside the environment's Python, else on the path."""
    beside = os.path.join(os.path.dirname(python), "ray") if os.path.isabs(python) else None
    return (beside if beside and os.access(beside, os.X_OK) else None) or shutil.which("ray", path=path)


def ray_version(python: str) -> str:
    """The version of the Ray that this Python has; empty if it cannot be told."""
    code = "from importlib.metadata import version; print(version('ray'))"
    try:
        done = subprocess.run([python, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""


def refuse_open(version: str) -> None:
    """Raises BadInput for a Ray that does not know `RAY_AUTH_MODE`: it would ignore the token without a message."""
    found = re.match(r"(\d{1,6})\.(\d{1,6})", version)
    if found is not None and (int(found[1]), int(found[2])) >= FIRST_WITH_TOKEN:
        return
    saw = (
        f"Ray {version[:40]} has no token authentication" if found else "the version of this Ray is not known"
    )
    raise BadInput(
        Problem(
            saw=f"{saw}; 2.52 and newer have it.",
            why="whoever reaches the ports of such a cluster can run programs as this user.",
            do="pip install 'ray[default]>=2.52', or launch: {address: HOST:PORT} of a cluster that runs",
        )
    )


def python_of(program: str) -> str:
    """The Python that has Ray: the one that the program names on its first line, else the one beside it."""
    real = os.path.realpath(program)
    line = read_bytes(real, most_bytes=300).split(b"\n")[0].decode("utf-8", "replace")
    named = line[2:].strip() if line.startswith("#!") else ""
    if os.path.basename(named).startswith("python") and os.access(named, os.X_OK):
        return named
    beside = os.path.join(os.path.dirname(real), "python3")
    return beside if os.access(beside, os.X_OK) else "python3"


def start_words(
    program: str, node: NodeDirectory, folder: str, wanted: Mapping[str, Any], dashboard_port: Optional[int]
) -> List[str]:
    """`ray start --block …`. One CPU is all that the supervisor's actor asks for; GPUs as the run file says."""
    inner = os.path.join(folder, "r")
    words = [program, "start", "--block", "--disable-usage-stats", f"--node-name={node.name}"]
    words += [f"--temp-dir={inner}", f"--plasma-directory={folder}", f"--object-store-memory={STORE_BYTES}"]
    words += ["--num-cpus=1", f"--num-gpus={int(wanted.get('gpus') or 0)}"]
    words += ["--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0"]
    if wanted.get("head"):
        return [*words, f"--address={wanted['head']}"]
    address = own_address(wanted.get("peer"))
    words += ["--head", "--port=0", f"--node-ip-address={address}", "--dashboard-host=127.0.0.1"]
    return [*words, f"--dashboard-port={dashboard_port}", f"--ray-client-server-port={free_port(address)}"]


def own_address(peer: Any) -> str:
    """The address by which `peer` reaches this node; loopback where there is no other node."""
    if not peer:
        return "127.0.0.1"
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((str(peer), 9))  # sends nothing
            return str(probe.getsockname()[0])
    except OSError as error:
        raise BadInput(Problem(saw=f"no way from here to {peer}: {error.strerror or error}")) from None


def free_port(address: str) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def environment(own: Mapping[str, str], token: str) -> Dict[str, str]:
    """Ray's environment, without settings of another cluster. The token is given by its file.

    By default, workers are niced by 15, and the training would be too. Ray's memory monitor would kill the actor when
    the node's memory runs low, but allranks watches the ranks' memory itself.
    """
    kept = {name: own[name] for name in own if name in spawn.INHERITED or name.startswith("LC_")}
    kept.setdefault("PATH", os.defpath)
    return {
        **kept,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": token,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_memory_monitor_refresh_ms": "0",
        "RAY_worker_niceness": "0",
    }


# ---- the holder ----


def _held(
    directory: RunDirectory, node: NodeDirectory, words: List[str], about: Dict[str, Any], folder: str
) -> Dict[str, Any]:
    """Forks the holder and waits for its one answer."""
    from allranks.node import start

    return start.detached(
        os.path.join(node.root, "ray.log"),
        lambda say: Holder(directory, node, words, about, folder).run(say),
        UP_SECONDS + 10.0,
    )


class Holder:
    """The ancestor of this node's Ray. `run` returns when nothing of it is left."""

    def __init__(
        self,
        directory: RunDirectory,
        node: NodeDirectory,
        words: List[str],
        about: Dict[str, Any],
        folder: str,
    ):
        self.directory, self.node, self.words, self.about = directory, node, words, about
        self.folder = folder
        self.told = False
        self.seen = False
        self.began = time.monotonic()
        self.gone_at: Optional[float] = None

    def run(self, say: Callable[[Dict[str, Any]], None]) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        processes.adopt_orphans()
        os.mkdir(self.folder, 0o700)
        self.tree = Descendants(self.node.name, self.directory.run_id, self.node.processes)
        try:
            say(self._up())
            while self._goes_on():
                time.sleep(TURN_SECONDS)
                self.tree.scan(self.child.pid)
            self._end_supervisor()
        finally:
            self._end_ray()
        return 0

    def _on_signal(self, number: int, frame: Any) -> None:
        self.told = True

    def _up(self) -> Dict[str, Any]:
        """Starts Ray; again if it gave up only because it was slow, 30 s after its start."""
        env = {**environment(os.environ, token_file(self.node)), RUN_ID_VARIABLE: self.directory.run_id}
        log = os.path.join(self.node.root, "ray.log")
        deadline = time.monotonic() + UP_SECONDS
        while True:
            offset = size_of(log)
            self.child = spawn.start(self.words, env, "/", log)
            answer = self._wait_until_up(log, deadline)
            said = read_bytes(log, offset=offset)
            slow = any(words in said for words in SLOW)
            if "error" not in answer or not slow or self.told or time.monotonic() > deadline:
                self.told = self.told or "error" in answer
                return answer
            Stopping(self.tree.members, self.tree.as_process, GRACE_SECONDS).run()

    def _wait_until_up(self, log: str, deadline: float) -> Dict[str, Any]:
        """Ray writes the cluster's address when it has started, on every node."""
        path = os.path.join(self.folder, "r", "ray_current_cluster")
        while time.monotonic() < deadline and not self.told:
            self.tree.scan(self.child.pid)
            address = read_text(path).strip()
            if address:
                me = processes.identify(self.node.name, self.directory.run_id)
                told = {"address": address, **self.about}
                write_json(state_file(self.node), {**processes.record_of(me), **told, "folder": self.folder})
                return told
            if self.child.poll() is not None:
                break
            time.sleep(0.1)
        return {"error": "ray start failed: " + last_words(read_text(log))}

    def _goes_on(self) -> bool:
        """Until its supervisor has been and gone; without one until the run's folder goes, or nobody comes."""
        if self.told or self.child.poll() is not None:
            return False
        if self._supervisor_stands():
            self.seen, self.gone_at = True, None
            return True
        now = time.monotonic()
        if self.seen:
            self.gone_at = self.gone_at or now
            return now < self.gone_at + SETTLE_SECONDS
        return self.directory.is_marked() and now < self.began + WAIT_SECONDS

    def _supervisor_stands(self) -> bool:
        """By the process that its actor started for it; in a container the supervisor's own pid says nothing here."""
        record = read_object(os.path.join(self.node.root, "ray-guard.json"))
        stat = processes.read_stat(int(record.get("pid") or 0))
        return stat is not None and stat.is_alive and stat.start_time == record.get("start_time")

    def _end_supervisor(self) -> None:
        """Before Ray: it saves, stops its ranks and says why. Its own time for that is bounded."""
        record = read_object(self.node.supervisor)
        if not processes.lives(record):
            return
        job = read_object(self.node.job)
        deadline = time.monotonic() + sum(
            float(job.get(key) or 0.0) for key in ("grace_seconds", "notice_seconds")
        )
        me = processes.identify(self.node.name, self.directory.run_id, int(record["pid"]))
        if me.start_time == record.get("start_time"):
            processes.signal(me, signal.SIGTERM)
        while processes.lives(record) and time.monotonic() < deadline + 30.0:
            time.sleep(TURN_SECONDS)
            self.tree.scan(self.child.pid)

    def _end_ray(self) -> None:
        """First `ray start`, which ends its own in order, then what is left of them, then its files."""
        Stopping(self.tree.members, self.tree.as_process, GRACE_SECONDS).run()
        self.tree.scan()
        self.tree.close()
        remove(self.folder)
        for path in (token_file(self.node), state_file(self.node)):
            if os.path.lexists(path):
                os.unlink(path)


def remove(folder: str) -> None:
    """Removes Ray's folder, if it is this user's own folder and not a link."""
    if is_own(folder):
        shutil.rmtree(folder, ignore_errors=True)


def is_own(folder: str) -> bool:
    try:
        state = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()


def last_words(log: str) -> str:
    """The lines of a log that say why, without Ray's colours and times."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    told = [line for line in lines if "Error" in line or "error" in line or "not " in line]
    return " / ".join((told or lines)[-2:])[-400:] or "it printed nothing"
