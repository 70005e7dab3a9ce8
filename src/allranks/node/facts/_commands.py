"""Programs of the node, run with a limit on time and on output, and small files, read with a limit on size."""

from __future__ import annotations

import errno
import os
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Dict, Mapping, Optional, Sequence

from allranks.node.facts._reader_processes import in_kernel, remaining
from allranks.node.facts._reading import Unreadable

MOST_BYTES = 8 << 20
"""`nvidia-smi -q -x` of 16 GPUs with 200 processes is about 0.5 MB."""

SYSTEM_PATH = (
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    ":/usr/lib/wsl/lib:/usr/local/nvidia/bin"  # nvidia-smi in WSL 2 and in GKE's pods
)


def which(name: str, path: Optional[str] = None) -> Optional[str]:
    """As `shutil.which`, whose module loads three compressors first: 3 ms in every process that looks for a program.
    An empty part of the path is not a folder here."""
    folders = os.environ.get("PATH", os.defpath) if path is None else path
    places = (
        [name] if os.path.dirname(name) else [os.path.join(f, name) for f in folders.split(os.pathsep) if f]
    )
    for place in places:
        if os.path.isfile(place) and os.access(place, os.X_OK):
            return place
    return None


def which_anywhere(name: str) -> Optional[str]:
    """As `which`, also in the system's folders, which a short PATH may lack."""
    return which(name) or which(name, path=SYSTEM_PATH)


@dataclass(frozen=True)
class Completed:
    code: int
    out: str
    err: str

    @property
    def first_line(self) -> str:
        """The first line that it printed, to be quoted as a reason; of stderr if that is not empty."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return lines[0].strip()[:300] if lines else "it said nothing"


def run(
    argv: Sequence[str],
    seconds: float = 5.0,
    env: Optional[Mapping[str, str]] = None,
    cwd: Optional[str] = None,
    stdin: bytes = b"",
) -> Completed:
    """Runs a program. Raises `Unreadable` if it is not there, takes too long or prints too much."""
    limit = remaining(seconds)
    environment: Dict[str, str] = dict(os.environ if env is None else env)
    # Numbers and messages in one form, whatever the user's language is.
    environment.update(LC_ALL="C", LANG="C")
    environment["PATH"] = environment.get("PATH", "") + os.pathsep + SYSTEM_PATH
    # Asked here: over a folder of PATH that may not be entered, exec says "Permission denied" of any program.
    path = which(argv[0], path=environment["PATH"])
    if path is None:
        raise Unreadable(f"{argv[0]} is not installed")
    try:
        process = subprocess.Popen(
            [path, *argv[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=cwd,
            # It ends by itself if its reader has ended.
            preexec_fn=lambda: signal.alarm(int(limit) + 2),
        )
    except FileNotFoundError:
        raise Unreadable(f"{argv[0]} is not installed") from None
    except OSError as error:
        raise Unreadable(f"{argv[0]}: {os.strerror(error.errno or errno.EIO)}") from None
    try:
        return _converse(process, argv[0], limit, stdin)
    finally:
        if process.poll() is None:
            process.kill()


def output(argv: Sequence[str], seconds: float = 5.0, env: Optional[Mapping[str, str]] = None) -> str:
    """The output of a program. Raises `Unreadable` also if its exit code is not 0."""
    done = run(argv, seconds, env)
    if done.code != 0:
        raise Unreadable(f"{argv[0]} ended with code {done.code}: {done.first_line}")
    return done.out


def _converse(process: "subprocess.Popen[bytes]", name: str, limit: float, stdin: bytes) -> Completed:
    deadline = time.monotonic() + limit
    texts = {"out": b"", "err": b""}
    assert process.stdin and process.stdout and process.stderr
    try:
        process.stdin.write(stdin)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it did not want its input
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, "out")
        selector.register(process.stderr, selectors.EVENT_READ, "err")
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready and time.monotonic() >= deadline:
                raise Unreadable(f"{name} did not answer within {limit:g} s{in_kernel(process.pid)}")
            for key, _ in ready:
                block = os.read(key.fd, 1 << 16)
                if not block:
                    selector.unregister(key.fileobj)
                texts[key.data] += block
            if len(texts["out"]) + len(texts["err"]) > MOST_BYTES:
                raise Unreadable(f"{name} printed more than {MOST_BYTES >> 20} MiB")
    try:
        code = process.wait(max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise Unreadable(f"{name} did not end within {limit:g} s{in_kernel(process.pid)}") from None
    return Completed(code, str(texts["out"], "utf-8", "replace"), str(texts["err"], "utf-8", "replace"))


def text(path: str, most_bytes: int = 1 << 20) -> str:
    """A small file's text. Raises OSError if it cannot be read, `Unreadable` where it is larger."""
    with open(path, "rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise Unreadable(f"{path} is larger than {most_bytes:,} bytes")
    return data.decode("utf-8", "replace")


def line(path: str) -> str:
    """The one line of a `/proc` or `/sys` file, without its ends."""
    return text(path, 1 << 16).strip()


def line_or_none(path: str) -> Optional[str]:
    """The same; None if it is empty, missing or unreadable (types of unset InfiniBand GIDs give EINVAL)."""
    try:
        return line(path) or None
    except OSError:
        return None
