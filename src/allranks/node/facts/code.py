"""Digests of the code that this node will run, so that nodes can be compared without sending the code.

Three places: LLaMA-Factory's own package (often a patched git clone), the folder of the user's script, and the Python
files beside the model (they run with `trust_remote_code`). A version number says nothing about any of them. Nothing
is imported; the environment's Python is not started.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, Dict, List, Mapping, Optional, Tuple

from allranks.node.facts import _commands, _reader_processes
from allranks.node.facts._reading import Reading, Unreadable

ASKED, NOTHING = "code", {"folders": {}}
SECONDS = 20.0
FOLDER_SECONDS = 15.0
MOST_FILES = 400
MOST_FILE_BYTES = 1 << 20
MOST_BYTES = 32 << 20
DEEPEST = 6
CODE = (".py", ".json", ".yaml", ".yml", ".toml", ".sh", ".jinja")
"""What of a project decides how it trains. Data and weights are compared by size elsewhere."""

LEFT_OUT = ("__pycache__", "node_modules", "venv", "wandb", "outputs", "saves", "site-packages")
"""Folders that differ between nodes for good reasons; those that begin with a dot, too."""


def read(request: Mapping[str, Any], reading: Reading) -> None:
    asked = request.get("code")
    asked = asked if isinstance(asked, Mapping) else {}
    tasks: Dict[str, Any] = {}
    if asked.get("script"):
        folder = os.path.dirname(os.path.abspath(os.path.expanduser(str(asked["script"]))))
        tasks["script"] = lambda: described(folder, CODE, DEEPEST)
    if asked.get("model"):
        tasks["model"] = lambda: described(os.path.expanduser(str(asked["model"])), (".py",), 1)
    if asked.get("trainer") and request.get("python"):
        tasks["trainer"] = lambda: trainer(str(request["python"]))
    found = {}
    for name, answer in _reader_processes.calls(tasks, FOLDER_SECONDS).items():
        try:
            found[name] = answer()
        except Unreadable as error:
            reading.miss(f"folders.{name}", str(error))
    reading.put("folders", found)


def trainer(python: str) -> Optional[Dict[str, Any]]:
    """LLaMA-Factory's package as this Python would find it; None if it is not installed there."""
    python = os.path.expanduser(python)
    found = python if os.path.isabs(python) else _commands.which(python)
    for folder in package_folders(found) if found else []:
        if os.path.isdir(folder):
            return described(folder, (".py",), DEEPEST)
    return None


def package_folders(python: str) -> List[str]:
    """Where `llamafactory` may lie: in the environment's site-packages, or where an editable install points."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(python)))
    found: List[str] = []
    library = os.path.join(root, "lib")
    for name in sorted(os.listdir(library)) if os.path.isdir(library) else []:
        site = os.path.join(library, name, "site-packages")
        if name.startswith("python3") and os.path.isdir(site):
            found.append(os.path.join(site, "llamafactory"))
            found += [os.path.join(path, "llamafactory") for path in editable(site)]
    return found


def editable(site: str) -> List[str]:
    """The folders that `.pth` files of LLaMA-Factory's editable install name."""
    found = []
    for name in sorted(os.listdir(site)):
        if name.endswith(".pth") and "llamafactory" in name.lower().replace("_", ""):
            with open(os.path.join(site, name), encoding="utf-8", errors="replace") as file:
                found += [
                    row.strip() for row in file.read(1 << 16).splitlines() if os.path.isabs(row.strip())
                ]
    return found


def described(folder: str, endings: Tuple[str, ...], deepest: int) -> Dict[str, Any]:
    """`folder`, `files` (path below it → the first 16 digits of its SHA-256), `digest` over all of them, and `cut`
    where there were more than are looked at."""
    files, cut = wanted(folder, endings, deepest)
    digests: Dict[str, str] = {}
    total = 0
    for path in files:
        try:
            size = os.path.getsize(os.path.join(folder, path))
            if size > MOST_FILE_BYTES or total + size > MOST_BYTES:
                cut = True
                continue
            with open(os.path.join(folder, path), "rb") as file:
                digests[path] = hashlib.sha256(file.read(MOST_FILE_BYTES)).hexdigest()[:16]
            total += size
        except OSError:
            digests[path] = "unreadable"
    listed = "".join(f"{path}\0{digest}\n" for path, digest in sorted(digests.items()))
    return {
        "folder": folder,
        "files": digests,
        "digest": hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest(),
        "cut": cut,
    }


def wanted(folder: str, endings: Tuple[str, ...], deepest: int) -> Tuple[List[str], bool]:
    """The files below `folder`, nearest first, and whether there were too many. Raises OSError without a folder."""
    found: List[str] = []
    level = [""]
    for _ in range(deepest):
        below: List[str] = []
        for part in level:
            with os.scandir(os.path.join(folder, part)) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    path = os.path.join(part, entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        if not entry.name.startswith(".") and entry.name not in LEFT_OUT:
                            below.append(path)
                    elif entry.name.endswith(endings) and is_file(entry):
                        found.append(path)
            if len(found) > MOST_FILES or len(below) > MOST_FILES:
                return sorted(found)[:MOST_FILES], True
        level = below
    return found, False


def is_file(entry: "os.DirEntry[str]") -> bool:
    """A file, or a link to one; not a pipe, whose reading would never end, nor a link to itself."""
    try:
        return entry.is_file()
    except OSError:
        return False
