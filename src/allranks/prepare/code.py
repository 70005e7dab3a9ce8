"""Copies the user's code to every node and compares the digest of the files there with the digest here."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path

from allranks.checks.rules import code_differs
from allranks.node import upload
from allranks.prepare.failures import blocked
from allranks.spec import Run
from allranks.transport import NodeProgram

LEFT_OUT = (
    *(".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".mypy_cache"),
    ".ruff_cache",
)
"""Folders that programs make again, or that hold the version history: no rank reads them."""

MOST_BYTES = 512 << 20
"""Code is small. A larger folder contains checkpoints or data, which would be copied to every node."""

SEND_SECONDS = 600.0


@dataclass(frozen=True)
class Code:
    """A packed folder of this machine: the archive, the digest and the number of its files."""

    digest: str
    archive: bytes
    files: int


def pack(run: Run) -> Code:
    """Packs the folder of `code`. Raises BadInput if it is not a folder, is too large, or contains something that
    cannot be packed."""
    folder = Path(run.code or "")
    names = chosen(folder, run)
    buffer, total = io.BytesIO(), hashlib.sha256()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for name in names:
            # Read once: a file may change meanwhile, and what is sent must have the digest that is compared.
            try:
                kind, content = upload.content_of(str(folder / name), (folder / name).lstat())
            except OSError as error:
                saw = f"code: {folder / name}: {error.strerror}"
                raise run.refuse(
                    "code", saw, "the nodes would lack it.", "make it readable, or take it out"
                ) from None
            entry = tarfile.TarInfo(name)
            entry.mode = 0o755 if kind == "run" else 0o644
            if kind == "link":
                entry.type, entry.linkname = tarfile.SYMTYPE, os.fsdecode(content)
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
            total.update(upload.line_of(name, kind, content))
    return Code(total.hexdigest(), buffer.getvalue(), len(names))


def chosen(folder: Path, run: Run) -> list[str]:
    """The relative paths of the files that are copied, sorted."""
    if not folder.is_dir():
        raise run.refuse(
            "code", f"code: {folder} is not a folder", "there is nothing to ship.", "the folder of your code"
        )
    names, size = [], 0
    for name, found in upload.entries(str(folder)):
        if any(part in LEFT_OUT for part in Path(name).parts) or name.endswith(".pyc"):
            continue
        path = folder / name
        if path.is_symlink() and leaves(path, folder):
            seen = f"code: {name} is a link to {path.readlink()}, which leaves the folder"
            raise run.refuse(
                "code",
                seen,
                "it would point elsewhere on a node.",
                "a relative link within the folder, or a copy",
            )
        if not path.is_symlink() and not path.is_file():
            continue  # A socket or a pipe is not code.
        names.append(name)
        size += found.st_size
    if size > MOST_BYTES:
        seen = f"code: {folder} holds {size / (1 << 20):,.0f} MiB in {len(names):,} files"
        why = f"more than {MOST_BYTES >> 20} MiB are not code, and would go to every node."
        raise run.refuse(
            "code", seen, why, "name the folder of the code alone; mount data and models instead"
        )
    return sorted(names)


def leaves(link: Path, folder: Path) -> bool:
    """Whether a link points out of the folder. An absolute one names a path of this machine."""
    if link.readlink().is_absolute():
        return True
    target = os.path.normpath(link.parent / link.readlink())
    return not (target + os.sep).startswith(os.path.normpath(folder) + os.sep)


async def send(program: NodeProgram, code: Code) -> str:
    """Brings the code to a node that does not have it yet; its folder there. Raises NotReady."""
    answer = await program.call("code", code.digest, body=b"", timeout_seconds=SEND_SECONDS)
    if answer.get("digest") != code.digest:
        answer = await program.call("code", code.digest, body=code.archive, timeout_seconds=SEND_SECONDS)
    if answer.get("digest") != code.digest:
        raise blocked(
            code_differs.ID,
            program.node,
            f"the code on {program.node} ({answer.get('path')}) has the digest {str(answer.get('digest'))[:12]}",
            expected=f"{code.digest[:12]}, of {code.files} files, as it left here",
            why="its ranks would run another program than the others.",
            fix=f"look at the disk of {program.node}, then run again: it is sent again",
        )
    return str(answer["path"])
