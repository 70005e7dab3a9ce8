"""Running the bundle from the bytes that were checked, with what a Python compiled of it before.

This text is the beginning of the bundle's `__main__.py`: nothing else of the bundle can be imported before it. The
importer reads the archive in memory and never the disk: who could change the file meanwhile changes nothing here.

A zip is compiled anew in every process otherwise, so the code is kept beside it: one file a bundle and kind of
bytecode, `<sha256>.zip.<magic number>.code`: the SHA-256 of the rest, then the modules' names and their code by
`marshal`. It grows by what a call had to compile. Nothing depends on it: one that is missing, damaged, of another
Python, or writable by others is passed over, and so is a disk that takes none. Called once for each node and version
`facts` costs about 27 ms of processor time less (of about 230).
"""

from __future__ import annotations

import hashlib
import marshal
import os
import stat
import struct
import sys
import zlib
from importlib.machinery import ModuleSpec
from importlib.util import MAGIC_NUMBER
from typing import Any, Dict, Iterator, Optional, Tuple

MOST_BYTES = 32 << 20
"""A longer file is none of ours; all modules of the bundle together make about 1 MB."""

DIGEST_BYTES = 32


class Kept:
    """Names and marshalled code of one bundle's modules; `add` tells what was compiled here."""

    def __init__(self, bundle: str, magic: bytes):
        self.path = "%s.%s.code" % (bundle, magic[:2].hex())
        self.codes: Dict[str, bytes] = read(self.path)
        self.compiled: Dict[str, bytes] = {}

    def code(self, name: str) -> Optional[Any]:
        found = self.codes.get(name)
        return None if found is None else marshal.loads(found)

    def add(self, name: str, code: Any) -> None:
        self.compiled[name] = marshal.dumps(code)

    def save(self) -> None:
        """With what others have added meanwhile; silent where the disk takes nothing."""
        if not self.compiled:
            return
        codes = {**read(self.path), **self.compiled}
        self.compiled = {}
        body = marshal.dumps(codes)
        draft = "%s.%d.draft" % (self.path, os.getpid())
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(hashlib.sha256(body).digest() + body)
            os.replace(draft, self.path)
        except OSError:
            _remove(draft)


def read(path: str) -> Dict[str, bytes]:
    """What a file holds, nothing where it is not whole and this user's alone."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            if not ours or status.st_mode & 0o022 or status.st_size > MOST_BYTES:
                return {}
            data = file.read()
    except OSError:
        return {}
    digest, body = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
    if hashlib.sha256(body).digest() != digest:
        return {}
    codes = marshal.loads(body)
    return codes if isinstance(codes, dict) else {}


class Archive:
    """The modules and files of a zip in memory; the loader of each. Only what `bundle.build` writes is understood."""

    def __init__(self, path: str, data: bytes):
        self.path, self.data = path, data
        self.kept = Kept(path, MAGIC_NUMBER)
        self.entries: Dict[str, Tuple[int, int, int]] = {}
        self.folders = {""}
        end = data.rindex(b"PK\x05\x06")
        number, _, at = struct.unpack_from("<HLL", data, end + 10)
        for _ in range(number):
            method = data[at + 10]
            packed, _, name, extra, comment = struct.unpack_from("<LLHHH", data, at + 20)
            (place,) = struct.unpack_from("<L", data, at + 42)
            text = data[at + 46 : at + 46 + name].decode("utf-8")
            self.entries[text] = (place, method, packed)
            self.folders.add(text.rpartition("/")[0])
            at += 46 + name + extra + comment

    def read(self, name: str) -> bytes:
        place, method, packed = self.entries[name]
        start = place + 30 + sum(struct.unpack_from("<HH", self.data, place + 26))
        raw = self.data[start : start + packed]
        return zlib.decompress(raw, -15) if method else raw

    def file_of(self, module: str) -> Optional[str]:
        """The name of a module's file in the zip; None if it has none."""
        base = module.replace(".", "/")
        names = (base + "/__init__.py", base + ".py")
        return next((name for name in names if name in self.entries), None)

    # ---- what Python's import asks of a path hook, and of a loader ----

    def __call__(self, path: str) -> "Folder":
        inner = path[len(self.path) + 1 :]
        if path != self.path and not (path.startswith(self.path + "/") and inner in self.folders):
            raise ImportError(path)
        return Folder(self, inner)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, fullname: str) -> Any:
        code = self.kept.code(fullname)
        if code is None:
            code = compile(self.get_source(fullname), self.get_filename(fullname), "exec", dont_inherit=True)
            self.kept.add(fullname, code)
        return code

    def get_source(self, fullname: str) -> str:
        return self.read(self.get_filename(fullname)[len(self.path) + 1 :]).decode("utf-8")

    def get_filename(self, fullname: str) -> str:
        name = self.file_of(fullname)
        if name is None:
            raise ImportError("there is no module %s in %s" % (fullname, self.path), name=fullname)
        return self.path + "/" + name

    def is_package(self, fullname: str) -> bool:
        return self.get_filename(fullname).endswith("/__init__.py")

    def get_data(self, path: str) -> bytes:
        name = path[len(self.path) + 1 :]
        if not path.startswith(self.path + "/") or name not in self.entries:
            raise FileNotFoundError(path)
        return self.read(name)


class Folder:
    """One folder of the archive on `sys.path` or in a package's `__path__`: the finder of what lies in it."""

    def __init__(self, archive: Archive, inner: str):
        self.archive, self.inner = archive, inner + "/" if inner else ""

    def find_spec(self, fullname: str, target: Any = None) -> Optional[ModuleSpec]:
        name = self.archive.file_of(fullname)
        own = self.inner + fullname.rpartition(".")[2]
        if name is None or name not in (own + ".py", own + "/__init__.py"):
            return None
        path = self.archive.get_filename(fullname)
        loader: Any = self.archive  # what it needs of importlib.abc.Loader is there
        spec = ModuleSpec(fullname, loader, origin=path, is_package=path.endswith("/__init__.py"))
        spec.has_location = True
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(os.path.dirname(path))
        return spec

    def iter_modules(self, prefix: str = "") -> Iterator[Tuple[str, bool]]:
        """For `pkgutil.iter_modules`."""
        for name in sorted(self.archive.entries):
            rest = name[len(self.inner) :] if name.startswith(self.inner) else ""
            if rest.endswith("/__init__.py") and rest.count("/") == 1:
                yield prefix + rest.partition("/")[0], True
            elif rest.endswith(".py") and "/" not in rest and rest != "__init__.py":
                yield prefix + rest[: -len(".py")], False


def install(path: str, data: bytes) -> Kept:
    """Modules come from the zip `data`, which lies at `path`, from here on; what to `save` at the end."""
    archive = Archive(path, data)
    sys.path_hooks.insert(0, archive)
    sys.path.insert(0, path)
    return archive.kept


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
