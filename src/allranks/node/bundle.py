"""The bundle: one zip of the rooms that run on nodes, which is all that the nodes ever get.

It is at `<home>/bundles/<sha256>.zip` and is compared with its digest before each use. The same source
makes the same bytes, so that a node that has it is never sent it again.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import zipfile
from typing import Iterator, List, Tuple

import allranks
from allranks.node import paths, private_folder

ROOMS = ("core", "node", "worker", "monitor", "diagnose", "checkpoints")
PARTS = (("runs", ("__init__", "keeper")), ("output", ("__init__", "report")))
"""Of these rooms only the modules whose names begin so travel."""

DATA = (".py", ".json", ".md", ".txt")
STAMP = (1980, 1, 1, 0, 0, 0)

MISSING_CODE = 75
"""EX_TEMPFAIL of sysexits.h: the bundle is not there, or damaged; send it and call again."""

BOOT = """
import hashlib, json, sys, zlib
def fail(**answer):
    print(json.dumps(answer)); sys.exit(75 if "bundle" in answer else 1)
if sys.version_info < (3, 8):
    fail(error="Python 3.8 or newer is needed, %s is %s" % (sys.executable, sys.version.split()[0]), python="old")
path, digest = sys.argv[1:3]
home = os.environ.get("ALLRANKS_HOME") or os.path.expanduser("~/.allranks")
path = os.path.abspath(path or os.path.join(home, "bundles", digest + ".zip"))
try:
    data = read(path)
except OSError as error:
    if error.errno == errno.EPERM:
        fail(error="%s: %s" % (error.filename or path, error.strerror), home="unsafe")
    fail(error="%s: %s" % (path, error.strerror), bundle="missing")
found = hashlib.sha256(data).hexdigest()
if found != digest:
    fail(error="%s: its SHA-256 is %s" % (path, found), bundle="damaged")
sys.argv[:] = [path] + sys.argv[3:]
first = zlib.decompressobj(-15).decompress(data[30 + len("__main__.py"):])
exec(compile(first, path + "/__main__.py", "exec"), dict(globals(), bundle_bytes=data))
"""
"""`python3 -c BOOT PATH SHA256 VERB …`; an empty PATH means the place in the node's own home. Every Python from 3.4
on can read it, so that an old one can report that it is too old. The code that runs is unpacked from the bytes whose
digest was compared. `__main__.py` is the archive's first entry: 30 bytes, its name, its data."""

RECEIVE = """
import hashlib, json, sys
digest = sys.argv[1]
home = os.environ.get("ALLRANKS_HOME") or os.path.expanduser("~/.allranks")
path = os.path.join(os.path.abspath(home), "bundles", digest + ".zip")
data = sys.stdin.buffer.read()
if hashlib.sha256(data).hexdigest() != digest:
    print(json.dumps({"error": "%d bytes came, with another SHA-256" % len(data), "bundle": "damaged"}))
    sys.exit(75)
try:
    write(path, data)
except OSError as error:
    print(json.dumps({"error": "%s: %s" % (error.filename or path, error.strerror)}))
    sys.exit(1)
print(json.dumps({"bundle": path}))
"""
"""`python3 -c RECEIVE SHA256`, the zip on standard input."""

MAIN = """
use(sys.argv[0], bundle_bytes, opened, check)
from allranks.node.program import main

def keep(directory, job, key, secrets):
    from allranks.output import report_live
    from allranks.runs import keeper
    return keeper.keep(directory, job, key, secrets, report_live.Live(int(job.get("world_size") or 1)))

def ask_checkpoints(what, wanted, gone):
    from allranks.checkpoints import node_verbs
    return node_verbs.answer(what, wanted, gone)

sys.exit(main(sys.argv[1:], keep, ask_checkpoints))
"""
"""The end of the zip's `__main__.py`, behind the text of `unpacked.py`, which makes the rest of the zip importable:
only here the node program meets the keeper and the checkpoints, which are above it."""

FLAGS = ("-I", "-S")
"""Isolated: no PYTHON* variable, no user site, no installed package takes part in the node program."""


@functools.lru_cache(maxsize=1)
def build() -> bytes:
    """The zip's bytes, from the folder that this package was imported from."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in sorted(_entries()):
            entry = zipfile.ZipInfo(name, STAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, data, compresslevel=9)
    return buffer.getvalue()


@functools.lru_cache(maxsize=1)
def digest() -> str:
    return hashlib.sha256(build()).hexdigest()


def path_in(home: str) -> str:
    """The bundle's path on a node whose allranks home is `home`."""
    return os.path.join(home, "bundles", digest() + ".zip")


def command(verb: str, *words: str, path: str = "") -> List[str]:
    """The arguments for a node's Python that run one verb of the node program."""
    return [*FLAGS, "-c", _private() + BOOT, path, digest(), verb, *words]


def receive_command() -> List[str]:
    """The arguments for a node's Python that store the bundle, which comes by standard input."""
    return [*FLAGS, "-c", _private() + RECEIVE, digest()]


def install() -> str:
    """Puts the bundle into this machine's own home; its path. Raises OSError."""
    path = path_in(paths.home())
    private_folder.write(path, build())
    return path


@functools.lru_cache(maxsize=1)
def _private() -> str:
    """The text of `private_folder.py`, whose functions BOOT and RECEIVE call."""
    return _read(os.path.join(os.path.dirname(os.path.abspath(__file__)), "private_folder.py")).decode()


def _entries() -> Iterator[Tuple[str, bytes]]:
    package = os.path.dirname(os.path.abspath(allranks.__file__))
    yield "__main__.py", _read(os.path.join(package, "node", "unpacked.py")) + MAIN.encode()
    yield "sitecustomize.py", _read(os.path.join(package, "node", "sitecustomize_stub.py"))
    yield "allranks/__init__.py", _read(os.path.join(package, "__init__.py"))
    for room in ROOMS:
        for name in _files(package, room):
            yield f"allranks/{name}", _read(os.path.join(package, name))
    for room, beginnings in PARTS:
        for name in _files(package, room):
            if os.path.basename(name).startswith(beginnings):
                yield f"allranks/{name}", _read(os.path.join(package, name))


def _files(package: str, room: str) -> Iterator[str]:
    for folder, folders, names in os.walk(os.path.join(package, room)):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            if name.endswith(DATA):
                yield os.path.relpath(os.path.join(folder, name), package).replace(os.sep, "/")


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
