"""Writes rendered files into a folder. Only this part of the package writes to the disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from allranks.launch.scripts._job import File
from allranks.launch.scripts._phrases import refuse


def write(files: Mapping[str, File], folder: Path) -> None:
    """Writes the files. A folder with any other file is refused, so that no file of another run stays there.

    Raises BadInput. An existing file is replaced; nothing is ever written through a link.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in files)
        if foreign:
            raise refuse(
                f"{folder} holds {foreign[0]}{' and more' if len(foreign) > 1 else ''}.",
                "the scripts of two runs in one folder would mix.",
                "a new folder for -o, or an empty one",
            )
        for name, file in files.items():
            put(folder / name, file)
    except OSError as error:
        raise refuse(
            f"{folder} cannot be written: {error.strerror or error}.", "", "a folder of yours for -o"
        ) from None


def put(path: Path, file: File) -> None:
    """Writes one file with its mode, either completely or not at all."""
    new = path.with_name(f".{path.name}.new")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
        out.write(file.text)
        os.fchmod(out.fileno(), file.mode)
    new.replace(path)
