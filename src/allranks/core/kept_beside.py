"""Values that a module computes from the package's own files, kept in `__pycache__` as Python keeps its compiled code.

A value is written wherever Python would write its own compiled code (PYTHONPYCACHEPREFIX and PYTHONDONTWRITEBYTECODE
count), and trusted as much. Its key says what it was made from: if that changes, it is made again. Nothing depends on
the file: if it is missing or damaged, or cannot be written, it only takes longer to get the value.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
import tempfile
import zlib
from typing import Callable

_DIGEST_BYTES = 32
_CHECK_BYTES = 4


def key_of(*parts: bytes) -> bytes:
    """32 bytes that stand for these parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()


def kept(module: str, name: str, key: bytes, make: Callable[[], bytes]) -> bytes:
    """The value that `make` returns, from the file if one with this key is there. `module`: the module's `__file__`;
    `name`: one word that tells its values apart; `key`: from `key_of`."""
    try:
        path = importlib.util.cache_from_source(module)[: -len(".pyc")] + f".{name}"
    except (NotImplementedError, ValueError):
        return make()
    with contextlib.suppress(OSError):
        with open(path, "rb") as file:
            found = file.read()
        value = found[_DIGEST_BYTES + _CHECK_BYTES :]
        if found[: _DIGEST_BYTES + _CHECK_BYTES] == key + _check(value):
            return value
    value = make()
    if not sys.dont_write_bytecode and os.path.isfile(module):
        with contextlib.suppress(OSError):
            _write(path, key + _check(value) + value)
    return value


def _check(value: bytes) -> bytes:
    return zlib.crc32(value).to_bytes(_CHECK_BYTES, "big")


def _write(path: str, data: bytes) -> None:
    """Puts the file there whole: others may read it at the same time."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=os.path.basename(path) + ".", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
