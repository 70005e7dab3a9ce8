"""The folder of the operators that torch compiles for one training environment (TORCH_EXTENSIONS_DIR).

torch's own folder, ~/.cache/torch_extensions/py311_cpu, is one for all environments of a user. Its build files hold
absolute paths of the environment that wrote them last, so two environments compile each other's operators forever.
Each environment gets a folder of its own here. This text also runs by itself in the training environment: it imports
the standard library alone, and nothing of torch.
"""

import hashlib
import os
import sys
from importlib.machinery import PathFinder
from typing import Optional

VARIABLE = "TORCH_EXTENSIONS_DIR"
CACHE = "ALLRANKS_CACHE_DIR"
FOLDER = "torch_extensions"

WHAT_IT_IS = {"torch": "version.py", "deepspeed": "git_version_info_installed.py"}
"""The file of each package that names its version."""


def folder(cache: str) -> Optional[str]:
    """The folder of the environment that this Python is of; None if it has no torch. `cache` is that of allranks.

    Its name is a digest of where torch and DeepSpeed lie and of which version they are: the build files name both.
    """
    marks = [sys.version.split()[0]]
    torch = None
    for name, file in WHAT_IT_IS.items():
        place = _place(name)
        torch = place if name == "torch" else torch
        marks += [place or "", _text(os.path.join(place or "", file))]
    if torch is None:
        return None
    digest = hashlib.sha256("\0".join(marks).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(_root(torch, cache), "py%d%d-%s" % (*sys.version_info[:2], digest))


def _root(torch: str, cache: str) -> str:
    """`torch_extensions` in the environment that holds torch, if this user owns it and may write to it; else in the
    cache.

    allranks does not write to an environment unasked: the folder is there only if its owner has made it.
    """
    own = os.path.join(os.path.abspath(os.path.join(torch, *[os.pardir] * 4)), FOLDER)
    try:
        if os.stat(own).st_uid == os.geteuid() and os.path.isdir(own) and os.access(own, os.W_OK | os.X_OK):
            return own
    except OSError:
        pass
    return os.path.join(cache, FOLDER)


def _place(package: str) -> Optional[str]:
    spec = PathFinder.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return os.path.abspath(places[0]) if places else None


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(1 << 16)
    except OSError:
        return ""
