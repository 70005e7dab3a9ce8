"""Wheels for tests: written by hand, so that pip has something to install without a network; and what lies in this
environment, for those that are made in front of it."""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path


def packages() -> list[str]:
    """The folders of the packages that this Python imports: its environment's, and another's that it borrows (a .pth
    file in a worktree's). A .pth that names a folder reads no .pth there, so each one is named."""
    return [path for path in sys.path if path.endswith("site-packages")]


def write_wheel(folder: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    """A pure wheel that puts `files` (path → text) into site-packages."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    everything = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = folder / f"{name}-{version}-py3-none-any.whl"
    lines = []
    with zipfile.ZipFile(path, "w") as archive:
        for entry, text in everything.items():
            archive.writestr(entry, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            lines.append(f"{entry},sha256={digest},{len(text.encode())}")
        archive.writestr(f"{info}/RECORD", "\n".join([*lines, f"{info}/RECORD,,", ""]))
    return path
