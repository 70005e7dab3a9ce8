"""A rank on standby (`launch.standby`): it imports what the rank before it had imported, and waits for its attempt.

The rank before writes down, at the moment it joins, which modules of installed packages it has imported, in order. The
script's own modules are not among them. A script may set a variable before it imports a library that reads it: such a
library is not among them either. After its first step the rank adds the modules of torch that it has imported since: a
library may ask for them only when it makes its engine (DeepSpeed 0.19: torch._inductor). Modules of other packages are
not added, because one that is imported by then may ask for the process group.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import sysconfig

from allranks.core import standby
from allranks.worker import guard

TYPE_CHECKING = False  # typing costs a start 5 ms; type checkers take this for theirs
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from allranks.worker.rank_reporter import Rank

MOST_MODULES = 20_000
_PR_SET_PDEATHSIG = 1


# ---- the rank that trains ----


class Recorder:
    """Writes the list when the rank joins, and again after its first step. If anything but the import of a library
    changes a variable before that, the list ends there, because a later import may have read the variable."""

    def __init__(self, path: str):
        self.path = path
        self.folders = installed()
        self._begun: Dict[str, None] = {}
        """The modules whose import has begun, in order. `sys.modules` has them in the order in which they ended."""
        self._ended: Optional[List[List[str]]] = None
        """The list, once it has ended."""
        self._joined: Optional[List[List[str]]] = None
        """The list that was written when the rank joined."""
        self._covered: Dict[str, Any] = {}
        """(the function of `os`, what covers it) by its name."""

    def install(self) -> None:
        """`os.environ[name] = value` calls `os.putenv`, and its deletion `os.unsetenv`."""
        for name in ("putenv", "unsetenv"):
            original = getattr(os, name)
            self._covered[name] = original, self._watching(original)
            setattr(os, name, self._covered[name][1])
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]  # a finder needs find_spec alone

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Finds nothing."""
        if self._ended is None and len(self._begun) < MOST_MODULES:
            self._begun[name] = None

    def _watching(self, original: Any) -> Any:
        def changing(*args: Any) -> Any:
            guard.guarded(self._changes)()
            return original(*args)

        return guard.dressed(changing, original)

    def _changes(self) -> None:
        if self._ended is None and not is_import_of_library(sys._getframe(1), self.folders):
            self._ended = self.imported()

    def joins(self) -> None:
        """The rank is about to join."""
        if self._joined is None:
            self._joined = self._listed()
            self._write(self._joined)

    def has_stepped(self) -> None:
        """The rank has done its first step. Called by the heartbeat thread, so this stays a finder, which notes nothing
        more: the training's thread may be going through the finders."""
        for name, (original, cover) in self._covered.items():
            if getattr(os, name) is cover:  # nobody has covered it again
                setattr(os, name, original)
        self._ended = self._listed()
        if self._joined is not None:
            before = {name for name, _ in self._joined}
            late = [one for one in self._ended if one[0] not in before and one[0].startswith("torch.")]
            if late:
                self._write(self._joined + late)

    def _listed(self) -> List[List[str]]:
        return self.imported() if self._ended is None else self._ended

    def _write(self, modules: List[List[str]]) -> None:
        draft = f"{self.path}.{os.getpid()}"
        with open(draft, "w", encoding="utf-8") as file:
            json.dump({"modules": modules}, file)
        os.replace(draft, self.path)

    def imported(self) -> List[List[str]]:
        """[name, file] of the modules of installed packages, in the order in which their import began."""
        found: List[List[str]] = []
        for name in list(self._begun):
            spec = getattr(sys.modules.get(name), "__spec__", None)
            origin = getattr(spec, "origin", None)
            if (
                spec is not None
                and spec.name == name
                and isinstance(origin, str)
                and origin.startswith(self.folders)
            ):
                found.append([name, origin])
        return found


def is_import_of_library(frame: Any, folders: Any) -> bool:
    """Whether the nearest code of a file is a library's, and runs because that library is imported."""
    while frame is not None and is_plumbing(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or not frame.f_code.co_filename.startswith(folders):
        return False
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib"):
            return True
        if not name.startswith("<") and not name.startswith(folders):
            return False
        frame = frame.f_back
    return False


def is_plumbing(name: str) -> bool:
    """The code between the one that sets a variable and `os.putenv`: `os` itself, `guard` and this file."""
    here = (is_plumbing.__code__.co_filename, guard.guarded.__code__.co_filename)
    return (
        name in here or name.startswith("<frozen") or name.endswith((os.sep + "os.py", "_collections_abc.py"))
    )


def installed() -> Any:
    """The folders of installed packages and of Python itself, as the beginnings of a file's path."""
    paths = sysconfig.get_paths()
    found = {paths[name] for name in ("purelib", "platlib", "stdlib", "platstdlib") if paths.get(name)}
    found |= {path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")}
    found |= {os.path.realpath(path) for path in found}
    return tuple(sorted(path.rstrip(os.sep) + os.sep for path in found))


# ---- the rank on standby ----


def stand_by(rank: Rank) -> None:
    """Imports the list, waits, and returns when the attempt begins. If no attempt comes, or if something else would be
    imported now, the process ends here: nothing else of it has begun, and torchrun starts a rank of its own."""
    try:
        reading, writing = (int(part) for part in os.environ.pop(standby.HANDLE).split(","))
        end_with_parent(signal.SIGKILL)
        import_all(os.environ[standby.LIST])
        if holds_gpu():
            raise RuntimeError("a library took a GPU while it was imported, and this attempt's ranks need it")
        os.write(writing, standby.READY)
        order = read_line(reading)
        if not order:
            os._exit(0)
        apply(json.loads(order))
        standby.close(reading, writing)
        os.setsid()
        end_with_parent(0)
    except BaseException as error:
        sys.stderr.write(f"allranks: a rank on standby ended: {type(error).__name__}: {error}\n")
        sys.stderr.flush()
        os._exit(1)
    rank.notes.append("standby: this process had imported its libraries before the attempt began")


def import_all(path: str) -> None:
    """Raises ImportError if a module is not the one that the rank before had. One that is not found is left out: the
    rank before may have found it in a folder that a library put on the path for a while."""
    with open(path, encoding="utf-8") as file:
        known = json.load(file)["modules"]
    for name, origin in known:
        try:
            module = sys.modules.get(name) or importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            continue
        if getattr(getattr(module, "__spec__", None), "origin", None) != origin:
            raise ImportError(f"{name} is not {origin}")


def holds_gpu() -> bool:
    """Whether torch has begun to use one in this process: each process that does takes hundreds of MB of its memory."""
    torch: Any = sys.modules.get("torch")
    kinds = [getattr(torch, name, None) for name in ("cuda", "xpu")]
    return any(kind is not None and kind.is_initialized() for kind in kinds)


def apply(order: Dict[str, Any]) -> None:
    """Gives this process the words, the environment and the folder that it would have had from its start."""
    del sys.argv[1:]
    sys.argv.extend(order["words"])
    for name, value in order["env"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    os.chdir(order["cwd"])
    temporary: Any = sys.modules.get("tempfile")
    if temporary is not None:
        temporary.tempdir = None  # TMPDIR is asked again


def read_line(handle: int) -> Optional[bytes]:
    """One line; empty if the other end is closed."""
    text = b""
    while not text.endswith(b"\n"):
        block = os.read(handle, 1 << 16)
        if not block:
            return b""
        text += block
    return text


def end_with_parent(number: int) -> None:
    """The kernel sends this signal when the parent ends (0: none). Raises OSError if the parent is gone already."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if number and os.getppid() != parent:
        raise OSError("the parent has ended")
