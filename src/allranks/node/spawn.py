"""Starting a node's torchrun: its environment, its session, and what its log says when it ends."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from typing import Any, Dict, List, Mapping, Optional

from allranks.core import BadInput, Problem, standby
from allranks.core.messages import Place
from allranks.core.node_events import Failure
from allranks.core.placeholders import with_resume
from allranks.node import extension_locks, memory, processes, waiting_torchrun
from allranks.node.ownership import RUN_ID_VARIABLE
from allranks.node.paths import NodeDirectory, Tail, read_bytes, size_of, write_text
from allranks.node.removal import remove_files
from allranks.node.temporary_folder import TemporaryFolder

INHERITED = (
    # who and where we are
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANG", "LANGUAGE", "TZ"),
    # what the machine's administrator set up: libraries, GPUs that a scheduler gave us, certificates, proxies
    *("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    *("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("REQUESTS_CA_BUNDLE", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    "XDG_RUNTIME_DIR",
)
"""All that a run takes from the supervisor's own environment. The rest, which differs between a login
shell, srun and a container and from node to node, must not decide how a run behaves."""

TABLE_BYTES = 256 << 10

STANDBY_BYTES = 2 << 30
"""The memory that must be free for each rank on standby: several times what its libraries take."""

FLIGHT_RECORDER = "TORCH_NCCL_TRACE_BUFFER_SIZE"
"""How many collectives torch's flight recorder keeps. 2000 is torch's own default since 2.7; before, it was off."""

_STARTER = """
import ctypes, json, os, signal, sys
environment = json.load(sys.stdin)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
    signal.signal(number, signal.SIG_DFL)
ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the supervisor ended before its torchrun began")
try:
    os.execvpe(sys.argv[2], sys.argv[2:], environment)
except OSError as error:
    print(f"could not start {sys.argv[2]}: {error.strerror}", file=sys.stderr)
    sys.exit(127)
"""
"""Becomes torchrun. Its work would otherwise have to be done between fork and exec, which is not safe in a program
with threads (the head's keeper is one). PR_SET_PDEATHSIG (1): when the supervisor is killed, torchrun gets SIGTERM
and ends its ranks. The environment comes by standard input: it contains secrets, and a library path in it is for
torchrun, not for the Python that runs this."""


def environment(
    job: Mapping[str, Any], directory: NodeDirectory, secrets: Mapping[str, str], own: Mapping[str, str]
) -> Dict[str, str]:
    """torchrun's whole environment: the variables that may be inherited from `own`, the job's, the secrets, and those
    of allranks."""
    merged = {name: own[name] for name in own if name in INHERITED or name.startswith("LC_")}
    merged.setdefault("PATH", os.defpath)
    merged.update({str(name): str(value) for name, value in dict(job.get("env") or {}).items()})
    program = str((job.get("argv") or [""])[0])
    if os.path.isabs(program) and "PATH" not in (job.get("env") or {}):
        # Programs beside the environment's Python come first, as after `activate`: DeepSpeed runs `ninja` by name,
        # and another version of it compiles everything again (50 s), in each direction.
        merged["PATH"] = os.pathsep.join([os.path.dirname(program), merged["PATH"]])
    merged.update({name: secrets[name] for name in job.get("secrets") or () if name in secrets})
    merged.update(
        {
            RUN_ID_VARIABLE: str(job["run_id"]),
            "ALLRANKS_NODE": directory.name,
            "ALLRANKS_RANKS_DIR": directory.ranks,
            "ALLRANKS_LOGS_DIR": directory.logs,
            "ALLRANKS_STACKS_DIR": directory.stacks,
            "ALLRANKS_BEAT_SECONDS": str(job.get("beat_seconds", 1.0)),
        }
    )
    if not {"TORCH_FR_BUFFER_SIZE", FLIGHT_RECORDER} & merged.keys():
        merged[FLIGHT_RECORDER] = "2000"
    if job.get("standby"):
        merged[standby.LIST] = directory.imports
    if job.get("inside"):
        # First, so that the sitecustomize.py in it is the one that Python finds.
        rest = merged.get("PYTHONPATH")
        merged["PYTHONPATH"] = os.pathsep.join([str(job["inside"]), *([rest] if rest else [])])
    return merged


def start(argv: List[str], env: Mapping[str, str], cwd: str, log: str) -> "subprocess.Popen[bytes]":
    """Starts `argv` in its own session, its output appended to `log`. Raises OSError (no such folder).

    A program that is not there ends with code 127 and a line in the log, as in a shell.
    """
    words = [sys.executable, "-I", "-S", "-c", _STARTER, str(os.getpid()), *argv]
    child = waiting_torchrun.logged(words, log, cwd=cwd, start_new_session=True)
    assert child.stdin is not None
    try:
        child.stdin.write(json.dumps(dict(env)).encode())
        child.stdin.close()
    except BrokenPipeError:
        pass  # it died at once; its code says so
    return child


_FAILURE = re.compile(
    r"^[ \t]*rank[ \t]*: (?P<rank>\d{1,9}) \(local_rank: (?P<local_rank>\d{1,9})\)[ \t\r]*\n"
    r"[ \t]*exitcode[ \t]*: (?P<code>-?\d{1,9}) \(pid: (?P<pid>\d{1,9})\)",
    re.MULTILINE,
)


def failures(log: str, offset: int = 0) -> List[Failure]:
    """The ranks in torchrun's last table of failures after `offset`.

    The first that failed comes first; torchrun calls it the root cause and prints it last. The form is that
    of torch.distributed.elastic.multiprocessing.errors (torch 1.9 to 2.13). Empty if there is no table.
    """
    offset = max(offset, size_of(log) - TABLE_BYTES)
    text = read_bytes(log, offset=offset).decode("utf-8", "replace")
    # "Failures:" begins the table; "Root Cause (first observed failure):" is in it before the first one.
    table = text.rpartition("\nFailures:\n")[2] if "\nFailures:\n" in text else ""
    others, _, first = table.partition("\nRoot Cause (first observed failure):\n")
    found = []
    for match in [*_FAILURE.finditer(first), *_FAILURE.finditer(others)]:
        found.append(Failure(**{name: int(value) for name, value in match.groupdict().items()}))
    return found


def at_place(argv: List[str], place: Optional[Place]) -> List[str]:
    """torchrun's words for another node rank, with as many ranks as are there; its script's own stay."""
    if place is None:
        return argv
    words = {"--node-rank": place.node_rank, "--nproc-per-node": len(place.ranks)}
    placed, left = [], set(words)
    for word in argv:
        name = word.partition("=")[0]
        if name in left:
            left.discard(name)
            word = f"{name}={words[name]}"
        placed.append(word)
    return placed


class Torchrun:
    """A node's torchrun, started once an attempt. `pid` is 0 if none runs.

    `handle` becomes readable when it ends; None if none runs or the kernel has no pidfd.
    """

    def __init__(
        self,
        job: Mapping[str, Any],
        directory: NodeDirectory,
        secrets: Mapping[str, str],
        always: Optional[Mapping[str, str]] = None,
    ):
        """`always` is what every attempt's environment has beside the job's."""
        self.job, self.directory, self.secrets = job, directory, secrets
        self.always = dict(always or {})
        self.more: Dict[str, str] = {}
        """The variables of this attempt in addition to the job's: its number, the checkpoint to resume from."""
        self.place: Optional[Place] = None
        """The place of this attempt if it is not the job's: a spare's `node_rank` and `ranks`."""
        self.temporary = TemporaryFolder(directory)
        self.pid = 0
        self.handle: Optional[int] = None
        self._child: "Optional[subprocess.Popen[bytes]]" = None
        self._ready: "Optional[subprocess.Popen[bytes]]" = None
        self._tried = 0
        """How many Pythons were begun for the next attempt."""
        self._log_offset = 0

    def start(self) -> None:
        """Writes the job's files and starts its `argv`. Raises OSError, or BadInput for a file's name."""
        self._log_offset = size_of(self.directory.torchrun_log)
        for name, text in dict(self.job.get("files") or {}).items():
            write_text(self.directory.file(name), text)
        self._make_output()
        env = {**self._environment(), **self.more}
        cwd = self._folder()
        words = [self._word(str(word)) for word in self.job["argv"]]
        argv = with_resume(at_place(words, self.place), self.more.get("ALLRANKS_RESUME_FROM"))
        self._child = self._from_ready(argv, env, cwd) or start(argv, env, cwd, self.directory.torchrun_log)
        self.pid = self._child.pid
        self.handle = processes.open_pidfd(self.pid)

    def _make_output(self) -> None:
        """Makes the output folder in the run directory, which is where each rank saves by default; the keeper makes
        the head's. A folder that `save.to` names is not touched: it may be on storage that does not answer, which
        must not stop the supervisor. An existing folder or link stays. If the folder cannot be made, the rank that
        saves reports it."""
        told = str(dict(self.job.get("env") or {}).get("ALLRANKS_OUTPUT_DIR") or "")
        if told and os.path.abspath(told) == self.directory.output:
            with contextlib.suppress(OSError):
                os.mkdir(self.directory.output, 0o700)

    def _folder(self) -> str:
        """The folder that the ranks start in: the job's, or the run's own if the job's does not exist and the run
        file does not name it. A container may lack the run file's folder and have the module in its image. Raises
        BadInput."""
        cwd = os.path.expanduser(str(self.job.get("cwd") or self.directory.work))
        if os.path.isdir(cwd):
            return cwd
        if self.job.get("cwd_named"):
            raise BadInput(Problem("train.workdir: the folder %s is not on this node" % cwd))
        return self.directory.work

    def _word(self, word: str) -> str:
        """torchrun opens its script by the path that it is given, and knows no home folder. Nor does the kernel, which
        opens the Python."""
        return os.path.expanduser(word) if word in (self.job.get("script"), self.job["argv"][0]) else word

    def make_ready(self, attempt: int) -> None:
        """Begins the Python of this attempt, if the run may come to it, while the previous attempt still trains or
        ends. May fail in silence, since `start` does without."""
        if self._ready is not None and not self.next_is_ready:
            self.close()
        argv = [str(word) for word in self.job["argv"]]
        wanted = attempt <= int(self.job.get("restarts") or 0) and argv[1:3] == waiting_torchrun.RUN
        if self._ready is None and wanted and self._tried < waiting_torchrun.READY_TRIES:
            self._tried += 1
            try:
                self._ready = waiting_torchrun.ready(
                    argv[0], self._environment(), self.directory.torchrun_log, self._standby(argv)
                )
            except OSError:
                pass

    @property
    def next_is_ready(self) -> bool:
        """Whether the next attempt's Python was begun and lives."""
        return self._ready is not None and self._ready.poll() is None

    def _standby(self, argv: List[str]) -> Optional[Dict[str, Any]]:
        """The ranks that the next attempt shall have on standby; None without any."""
        ranks = list(self.place.ranks if self.place else self.job.get("ranks") or ())
        free = memory.machine().get("memory_available_bytes", 0)
        if not self.job.get("standby") or not ranks or free < len(ranks) * STANDBY_BYTES:
            return None
        return {
            "inside": str(self.job["inside"]),
            "list": self.directory.imports,
            "words": at_place([self._word(word) for word in argv], self.place)[3:],
            "ranks": ranks,
            "world_size": self.job["world_size"],
        }

    def _environment(self) -> Dict[str, str]:
        env = environment(self.job, self.directory, self.secrets, os.environ)
        return {**env, **self.always, **self.temporary.environment(env, self.job.get("env") or {})}

    def _from_ready(
        self, argv: List[str], env: Mapping[str, str], cwd: str
    ) -> "Optional[subprocess.Popen[bytes]]":
        child, self._ready, self._tried = self._ready, None, 0
        if child is None:
            return None
        if waiting_torchrun.order(child, {"words": argv[3:], "env": dict(env), "cwd": cwd}):
            assert child.stdin is not None
            child.stdin.close()
            return child
        waiting_torchrun.end(child)
        return None

    def close(self) -> None:
        """Ends the Python that waits for an attempt which does not come."""
        child, self._ready = self._ready, None
        if child is not None:
            waiting_torchrun.end(child)

    def ended(self) -> Optional[int]:
        """Its code, told once, when it has ended since it was started."""
        code = None if self._child is None else self._child.poll()
        if code is not None:
            self._child, self.pid = None, 0
            if self.handle is not None:
                os.close(self.handle)
                self.handle = None
        return code

    def free_locks(self, uid: int) -> List[str]:
        """Removes torch's locks of the operators that a killed rank was compiling; the paths."""
        records = Tail(os.path.join(self.directory.root, extension_locks.NAME)).read()
        return remove_files(extension_locks.left(records, uid))

    def failures(self) -> List[Failure]:
        """The failures of the last attempt, from its log."""
        return failures(self.directory.torchrun_log, self._log_offset)
