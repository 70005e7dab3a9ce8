"""Which environment variables the installed torch and NCCL know, by the strings in their binaries.

A variable that is in no binary has no effect, however often guides recommend it. Searching two gigabytes takes
seconds, so the answer is kept in `<home>/cache` by the files' sizes and times.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any, Dict, List, Mapping, Set

from allranks.node import paths, private_folder
from allranks.node.facts import _environment
from allranks.node.facts._reading import Reading

ASKED, NOTHING = "libraries", {"variables": None}
SECONDS = 60.0
BLOCK_BYTES = 16 << 20
LONGEST_NAME = 80
PREFIXES = (b"NCCL_", b"TORCH_", b"PYTORCH_", b"GLOO_", b"C10D_")
NAME = re.compile(rb"[A-Z][A-Z0-9_]{4,64}(?![A-Za-z0-9_])")
WANTED = re.compile(r"lib(torch_cuda|torch_cpu|torch_python|c10|c10_cuda|gloo|nccl)[\w.-]*\.so(\.\d+)*$")

_SCRIPT = r"""
import json, os
from importlib import util
found = {"torch": [], "nccl": []}
for name, parts in (("torch", ("lib",)), ("nvidia", ("nccl", "lib"))):
    spec = util.find_spec(name)
    for folder in list(spec.submodule_search_locations or []) if spec else []:
        found["torch" if name == "torch" else "nccl"].append(os.path.join(folder, *parts))
print(json.dumps(found))
"""


def read(request: Mapping[str, Any], reading: Reading) -> None:
    reading.fact("variables", lambda: variables(request))


def variables(request: Mapping[str, Any]) -> Dict[str, Any]:
    """`torch` and `nccl`: the names found in each's libraries; `files` that were searched."""
    folders = _environment.run_python(request, _SCRIPT, [])
    found: Dict[str, Any] = {"files": []}
    for part in ("torch", "nccl"):
        names: Set[str] = set()
        for path in binaries([str(folder) for folder in folders.get(part) or []]):
            found["files"].append(path)
            names.update(kept(path))
        found[part] = sorted(names)
    return found


def binaries(folders: List[str]) -> List[str]:
    found = []
    for folder in folders:
        if os.path.isdir(folder):
            found += [os.path.join(folder, n) for n in sorted(os.listdir(folder)) if WANTED.match(n)]
    return found


def kept(path: str) -> List[str]:
    """The names in one file, from the cache where it has not changed."""
    state = os.stat(path)
    about = f"{os.path.realpath(path)}:{state.st_size}:{state.st_mtime_ns}:{PREFIXES}"
    folder = os.path.join(paths.home(), "cache")
    place = os.path.join(folder, f"strings-{hashlib.sha256(about.encode()).hexdigest()[:32]}.json")
    known = paths.read_object(place).get("names")
    if isinstance(known, list):
        return [str(name) for name in known]
    names = names_in(path)
    try:
        private_folder.make(folder)
        paths.write_text(place, json.dumps({"names": names}))
    except OSError:
        pass  # it is searched again next time
    return names


def names_in(path: str) -> List[str]:
    found: Set[str] = set()
    rest = b""
    with open(path, "rb") as file:
        while True:
            block = file.read(BLOCK_BYTES)
            if not block:
                break
            text = rest + block
            found.update(names_of(text))
            rest = text[-LONGEST_NAME:]
    return sorted(found | names_of(rest + b"\0"))


def names_of(text: bytes) -> Set[str]:
    """Names that are not part of a longer word; `find` is an order of magnitude faster here than one regular
    expression."""
    found = set()
    for prefix in PREFIXES:
        place = text.find(prefix)
        while place >= 0:
            name = NAME.match(text, place)
            before = text[place - 1 : place]
            # A name that reaches the end may go on in the next block, which begins with this one's end.
            whole = name is not None and name.end() < len(text) and not name.group().endswith(b"_")
            if name is not None and whole and not (before.isalnum() or before == b"_"):
                found.add(name.group().decode("ascii"))
            place = text.find(prefix, place + 1)
    return found
