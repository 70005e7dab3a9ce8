"""Models, adapters and checkpoints that a training script saved in a run's folder. `clean` keeps them unless it is
asked to remove them.

The folder of a run is removed with its logs. If a script's output folder is relative, or is in the run's own output
folder, its trained model is in there and cannot be made again. So `clean` keeps too much rather than too little: the
whole folder of a file of weights, since a model needs its configuration and its tokenizer, too.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from typing import Any, Dict, Iterator, List, Set, Tuple

from allranks.node.paths import RunDirectory, unless_gone

ENDINGS = (
    *(".safetensors", ".bin", ".pt", ".pth", ".pt2", ".ckpt", ".distcp", ".tar", ".pkl", ".pickle"),
    *(".gguf", ".ggml", ".onnx", ".h5", ".hdf5", ".keras"),
    *(".msgpack", ".nemo", ".npz", ".pdparams", ".tflite"),
)
"""Of the files that hold weights: Hugging Face, PEFT, torch.save, torch's distributed checkpoints, DeepSpeed,
Lightning, and what models are exported to."""

OWN = frozenset({".allranks-run", os.path.join("keeper", "state.json")})
"""Files that stay with a model: without the marker and the state, nothing would show later that allranks made the run
and that it has ended."""

LINE_BYTES = 1 << 20

_NOT_OURS = (errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EACCES)
"""Errors of a file that no rank of the run has written: it is gone, a link, a socket, or another user's."""

RESUME_COPY = "resume-copy"
"""The folder of a run directory for the checkpoint that was brought from another machine to go on from. allranks
made the copy, and the original stays on its machine: no model is lost with the copy."""


def find(directory: RunDirectory) -> Tuple[List[Dict[str, Any]], bool]:
    """Each place that holds a model: `path`, `below` (the path below the run directory), `bytes`; and whether anything
    else than these is in the run directory. Raises OSError if a part of it cannot be read: a model may be there."""
    files = dict(_files(directory.root))
    weights = [
        path
        for path, size in files.items()
        if size and path.lower().endswith(ENDINGS) and not _is_below(path, RESUME_COPY)
    ]
    units = {_unit(path) for path in weights} | _saved(directory, files)
    tops = [
        one for one in sorted(units) if not any(one != other and _is_below(one, other) for other in units)
    ]
    found = []
    for top in tops:
        size = sum(size for path, size in files.items() if _is_below(path, top))
        found.append({"path": os.path.join(directory.root, top), "below": top, "bytes": size})
    rest = any(path not in OWN and not any(_is_below(path, top) for top in tops) for path in files)
    return found, rest


def spared(directory: RunDirectory, found: List[Dict[str, Any]]) -> Set[str]:
    """The paths, below the run directory's parent, that its removal must keep for these models."""
    if not found:
        return set()
    return {os.path.join(directory.run_id, below) for below in (*(one["below"] for one in found), *OWN)}


def _files(root: str) -> Iterator[Tuple[str, int]]:
    """Every file below `root` with its size, by its path below that; through no link. Raises OSError if a folder
    cannot be read."""
    for folder, _, names in os.walk(root, onerror=_unless_foreign, followlinks=False):
        for name in names:
            path = os.path.join(folder, name)
            try:
                found = os.lstat(path)
            except FileNotFoundError:
                continue
            yield os.path.relpath(path, root), found.st_size if stat.S_ISREG(found.st_mode) else 0


def _unless_foreign(error: OSError) -> None:
    """Raises the error of a folder unless it is gone or another user's: then nothing in it can be removed."""
    foreign = isinstance(error, PermissionError) and os.lstat(error.filename).st_uid != os.geteuid()
    if not foreign:
        unless_gone(error)


def _unit(path: str) -> str:
    """The folder of a file of weights, if a script works or saves there; else the file alone."""
    parts = path.split(os.sep)
    is_scripts = parts[0] == "output" or (parts[0] == "nodes" and parts[2:3] == ["work"])
    return os.path.dirname(path) if is_scripts and len(parts) > 1 else path


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top + os.sep)


def _saved(directory: RunDirectory, files: Dict[str, int]) -> Set[str]:
    """The paths that the ranks reported as saved, whatever the files are called."""
    found = set()
    root = os.path.realpath(directory.root)
    for name in directory.nodes():
        folder = directory.node(name).ranks
        try:
            names = [one for one in os.listdir(folder) if one.startswith("rank-") and one.endswith(".jsonl")]
        except NotADirectoryError:
            continue
        except OSError as error:
            _unless_foreign(error)
            continue
        for one in names:
            for path in _saves_in(os.path.join(folder, one)):
                below = os.path.relpath(os.path.realpath(path), root)
                inside = not below.startswith(os.pardir) and below != os.curdir
                if inside and any(_is_below(file, below) and size for file, size in files.items()):
                    found.add(below)
    return found


def _saves_in(path: str) -> Set[str]:
    paths = set()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if error.errno not in _NOT_OURS:
            raise
        return paths
    with os.fdopen(descriptor, "rb") as lines:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return paths
        for line in iter(lambda: lines.readline(LINE_BYTES), b""):
            if b'"saved"' not in line:
                continue
            try:
                event = json.loads(line.decode("utf-8"))
                if event["kind"] == "saved" and os.path.isabs(event["data"]["path"]):
                    paths.add(str(event["data"]["path"]))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
    return paths
