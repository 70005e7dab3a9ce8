"""The parts that a run brings to a node: the user's code, and a training environment built there from a lock file.

Both are below the allranks home under the digest of their sources. So a node that has one does not get or build it
again, and nodes that share a home make it once.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import itertools
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from allranks.core import BadInput, Problem
from allranks.node.paths import home, make_private, read_json, write_json

READY = ".allranks-ready"
NAMES = ".names"
"""Beside a folder of code: the list of the files that were sent."""

BUILD_SECONDS = 3600.0
VERSION = "import platform, sys; print(sys.version, platform.machine(), sys.base_prefix)"
PIPS_PLACES = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX")
"""With these and Python's own variables pip would leave a package out that it sees elsewhere, or put it elsewhere; the
ranks do not get them."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


# ---- digests ----


def entries(folder: str) -> Iterator[Tuple[str, os.stat_result]]:
    """Every file and link below `folder` by its relative path, sorted; folders are not told."""
    for root, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(root, name))]
        folders[:] = sorted(name for name in folders if name not in links)
        for name in sorted([*names, *links]):
            path = os.path.join(root, name)
            yield os.path.relpath(path, folder), os.lstat(path)


def digest_of(folder: str, names: Any = None) -> str:
    """SHA-256 over path, kind, whether it may be run, and content of every file; empty folders do not count.

    `names` are the relative paths that count, all where it is None.
    """
    total = hashlib.sha256()
    for name, found in sorted(entries(folder)):
        if name == READY or (names is not None and name not in names):
            continue
        path = os.path.join(folder, name)
        total.update(line_of(name, *content_of(path, found)))
    return total.hexdigest()


def content_of(path: str, found: os.stat_result) -> Tuple[str, bytes]:
    """The kind of a file or a link, and its content."""
    if stat.S_ISLNK(found.st_mode):
        return "link", os.readlink(path).encode("utf-8", "surrogateescape")
    with open(path, "rb") as file:
        return "run" if found.st_mode & stat.S_IXUSR else "file", file.read()


def line_of(name: str, kind: str, content: bytes) -> bytes:
    """A file's part of the digest of its folder, which takes the files in the order of their names."""
    line = "%s\0%s\0%s\n" % (name, kind, hashlib.sha256(content).hexdigest())
    return line.encode("utf-8", "surrogateescape")


# ---- code ----


def code(digest: str, archive: bytes) -> Dict[str, Any]:
    """Stores a tar archive as the code of that digest, or without one says whether it is there and whole.

    `{"path": folder, "digest": what its files have now}`; `digest` is None if it is not there. A folder that
    is there is never touched again: a run may still run in it. If its files were changed, the code is stored once
    more, beside it. Raises BadInput for an archive that would write outside its folder.
    """
    if not _DIGEST.fullmatch(digest):
        raise BadInput(Problem(saw=f"{digest!r} is no SHA-256."))
    first = os.path.join(home(), "code", digest)
    with locked(first):
        found = {place: code_digest(place) for place in _places(first)}
        whole = [place for place, has in found.items() if has == digest]
        if whole:
            return {"path": whole[0], "digest": digest}
        if not archive:
            return {"path": first, "digest": found.get(first)}
        place = first if not found else f"{first}-{len(found) + 1}"
        draft = first + ".draft"
        shutil.rmtree(draft, ignore_errors=True)
        os.mkdir(draft, 0o700)
        write_json(place + NAMES, unpack(archive, draft))
        os.rename(draft, place)
        return {"path": place, "digest": code_digest(place)}


def _places(first: str) -> Iterator[str]:
    """The folders that hold this code, in the order they were made: `<digest>`, `<digest>-2`, ..."""
    for number in itertools.count(1):
        place = first if number == 1 else f"{first}-{number}"
        if not os.path.lexists(place):
            return
        yield place


def code_digest(place: str) -> str:
    """The digest of the files that were sent; files that the runs write beside them (`__pycache__`, `outputs/`) do
    not count."""
    names = read_json(place + NAMES)
    return digest_of(place, set(names) if isinstance(names, list) else None)


def unpack(archive: bytes, folder: str) -> List[str]:
    """Unpacks regular files and links below `folder` and returns their names. The controller packs nothing else: any
    other entry raises BadInput."""
    names, folder = [], os.path.realpath(folder)  # the home itself may be behind a link
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:*") as tar:
        for member in tar.getmembers():
            parts = member.name.split("/")
            if member.name.startswith("/") or ".." in parts or not (member.isfile() or member.issym()):
                raise BadInput(Problem(saw=f"{member.name!r} in the archive is not a file below its folder."))
            names.append(member.name)
            path = os.path.join(folder, *parts)
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            if os.path.realpath(os.path.dirname(path)) != os.path.dirname(path):
                raise BadInput(Problem(saw=f"{member.name!r} in the archive goes through a link."))
            if member.issym():
                os.symlink(member.linkname, path)
                continue
            source = tar.extractfile(member)
            assert source is not None
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with os.fdopen(os.open(path, flags, 0o700 if member.mode & 0o100 else 0o600), "wb") as target:
                shutil.copyfileobj(source, target)
    return names


# ---- environments ----


def environment(wanted: Mapping[str, Any]) -> Dict[str, Any]:
    """A virtual environment of `lock` (the text of a requirements file), made by `python`, from `wheels` alone
    where that is given: `{"python": path, "built": bool}`, or `{"error", "step"}`.

    Raises OSError if it cannot be stored.
    """
    python = os.path.expanduser(str(wanted.get("python") or sys.executable))
    lock = str(wanted.get("lock") or "")
    wheels = wanted.get("wheels")
    version = output([python, "-I", "-c", VERSION])
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("PYTHON") and key not in PIPS_PLACES
    }
    name = hashlib.sha256(f"{version.strip()}\0{lock}".encode()).hexdigest()[:32]
    place = os.path.join(home(), "environments", name)
    own = os.path.join(place, "bin", "python")
    with locked(place):
        if os.path.exists(os.path.join(place, READY)):
            return {"python": own, "built": False}
        source = ["--no-index", "--find-links", str(wheels)] if wheels else []
        install = [own, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", *source]
        steps = (
            ("venv", [python, "-m", "venv", "--clear", place], ""),
            ("pip", [*install, "-r", "/dev/stdin"], lock),
        )
        for step, argv, text in steps:
            done = subprocess.run(
                argv,
                env=env,
                input=text.encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=BUILD_SECONDS,
            )
            if done.returncode != 0:
                return {"error": last_lines(done.stdout), "step": step}
        with open(os.path.join(place, READY), "w"):
            pass
    return {"python": own, "built": True}


def output(argv: List[str]) -> str:
    """The output of a program. Raises BadInput if it does not start or fails."""
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    except OSError as error:
        raise BadInput(Problem(saw=f"{argv[0]} cannot be started: {error.strerror}")) from None
    if done.returncode != 0:
        raise BadInput(Problem(saw=f"{argv[0]}: {last_lines(done.stderr)}"))
    return done.stdout.decode("utf-8", "replace")


def last_lines(text: bytes, most: int = 600) -> str:
    """The last lines that a program printed, pip's notices left out, on one line."""
    lines = [line.strip() for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
    return " | ".join(line for line in lines[-4:] if not line.startswith("[notice]"))[-most:]


@contextmanager
def locked(place: str) -> Iterator[None]:
    """One at a time, also among nodes that share the home (flock works over NFS since Linux 2.6.12)."""
    make_private(os.path.dirname(place))
    with open(place + ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
