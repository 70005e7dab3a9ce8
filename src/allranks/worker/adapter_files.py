"""Puts a saved adapter in its place: whole or not at all, and with a digest per file beside it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from typing import Any, Callable, Dict, List

MANIFEST = "allranks.json"
SAVING = ".allranks-saving-"
"""The prefix of the folder that a save is written to before it is moved into place."""

RESUME_TENSORS, RESUME_JSON = "allranks-resume.safetensors", "allranks-resume.json"
"""The files that a run resumes from, in addition to the adapter; see `trainer_state`."""

ADAPTER = ("adapter_model.safetensors", "adapter_config.json")
COVERED = (RESUME_TENSORS, RESUME_JSON, *ADAPTER)
"""The files that the manifest covers. They are moved into place last, in this order: a folder without
adapter_config.json is not taken for an adapter. Trainers write the other files (README.md, the tokenizer) again
later."""


def write_whole(directory: str, write: Callable[[str], None], manifest: Dict[str, Any]) -> None:
    """Has `write(folder)` fill a temporary folder, then puts it at `directory` with a manifest.

    A new directory appears at once and whole. In an existing directory, the old manifest and config are removed first
    and the new ones come last: a half-written adapter is never taken for a whole one.
    """
    directory = os.path.abspath(directory)
    parent, name = os.path.split(directory)
    exists = os.path.isdir(directory)
    # Inside a folder that exists: its parent may be on another disk (a mounted output folder) or belong to another
    # user.
    temporary = os.path.join(directory, SAVING + "here") if exists else os.path.join(parent, SAVING + name)
    os.makedirs(parent, exist_ok=True)
    if os.path.lexists(temporary):  # a save of this very folder that broke off
        shutil.rmtree(temporary)
    os.mkdir(temporary)
    try:
        write(temporary)
        for folder, _, files in os.walk(temporary, topdown=False):
            _seal(folder, files, manifest if folder == temporary else of_other(folder, manifest))
        if not exists:
            try:
                os.rename(temporary, directory)
            except OSError as error:  # another rank's own file (its random state) came first
                exists = error.errno in (errno.ENOTEMPTY, errno.EEXIST) and os.path.isdir(directory)
                if not exists:
                    raise
            sync(parent)
        if exists:
            _move_into(temporary, directory)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def of_other(folder: str, manifest: Dict[str, Any]) -> Dict[str, Any]:
    """The manifest of an adapter that PEFT saves in a folder of its name below the default one's: it may have other
    targets, which its own config names."""
    try:
        with open(os.path.join(folder, "adapter_config.json"), encoding="utf-8") as file:
            targets = json.load(file).get("target_modules")
    except (OSError, ValueError, AttributeError):
        targets = None
    return dict(manifest, targets=sorted(targets) if isinstance(targets, list) else targets)


def _seal(folder: str, files: List[str], manifest: Dict[str, Any]) -> None:
    """Syncs the files of a folder and, if it holds an adapter, writes the manifest beside it."""
    for name in files:
        sync(os.path.join(folder, name))
    if all(name in files for name in ADAPTER):
        table = {name: digest(os.path.join(folder, name)) for name in COVERED if name in files}
        path = os.path.join(folder, MANIFEST)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(dict(manifest, files=table), file, indent=2, sort_keys=True)
        sync(path)
    sync(folder)


def digest(path: str) -> Dict[str, Any]:
    """A file's entry in the manifest."""
    sha, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            sha.update(part)
            size += len(part)
    return {"bytes": size, "sha256": sha.hexdigest()}


def sync(path: str) -> None:
    """Waits until a file, or the names in a folder, are on the storage."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _move_into(source: str, target: str) -> None:
    names = sorted(os.listdir(source))
    order = [n for n in names if n not in COVERED and n != MANIFEST]
    order += [n for n in (*COVERED, MANIFEST) if n in names]
    if "adapter_config.json" in names:
        for old in (MANIFEST, "adapter_config.json"):
            if os.path.lexists(os.path.join(target, old)):
                os.unlink(os.path.join(target, old))
        sync(target)
    for name in order:
        new, old = os.path.join(source, name), os.path.join(target, name)
        if os.path.isdir(new) and os.path.isdir(old):
            _move_into(new, old)
        else:
            os.replace(new, old)
    sync(target)
