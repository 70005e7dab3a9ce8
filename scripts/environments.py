"""Keeps environments that were made, so that another clone need not install the same packages again.

    python environments.py keep VENV DIGEST     after the packages, before allranks itself is installed
    python environments.py take VENV DIGEST     code 1 if there is none, or none that can be used

One lies in $XDG_CACHE_HOME/allranks/environments/DIGEST. Its files are hard links: it takes no room beside the clone
that made it, and nobody who replaces a file (as pip and Python do) changes it for the others. The newest two stay.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

KEPT = 2
MADE_AT = "allranks-made-at.txt"
"""Where the environment was made: its programs name that place, and are written anew for another one."""


def place() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "allranks" / "environments"


@contextlib.contextmanager
def alone() -> Iterator[Path]:
    """The folder of environments, for one clone at a time."""
    folder = place()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def linked(source: Path, target: Path) -> None:
    """A copy whose files are the same ones. Raises OSError, as between two file systems."""
    shutil.rmtree(target, ignore_errors=True)
    try:
        shutil.copytree(source, target, symlinks=True, copy_function=os.link)
    except shutil.Error as error:
        shutil.rmtree(target, ignore_errors=True)
        raise OSError(error.args[0][0][2]) from error
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def keep(venv: Path, digest: str) -> None:
    with alone() as folder:
        for left in folder.glob("*.new"):  # of a clone that was killed
            shutil.rmtree(left)
        if (folder / digest).exists():
            return
        draft = folder / f"{digest}.new"
        linked(venv, draft)
        (draft / MADE_AT).write_text(str(venv.absolute()))
        draft.rename(folder / digest)
        others = sorted(folder.glob("[0-9a-f]*"), key=lambda one: one.stat().st_mtime, reverse=True)
        for old in [one for one in others if one.name != digest][KEPT - 1 :]:
            shutil.rmtree(old)


def take(venv: Path, digest: str) -> bool:
    """Makes `venv` from what is kept; False if nothing is. Raises OSError, ValueError or SubprocessError if that cannot
    be used, and leaves nothing."""
    draft = venv.with_name(venv.name + ".new")
    with alone() as folder:
        kept = folder / digest
        if not kept.exists():
            return False
        if kept.stat().st_uid != os.geteuid():
            raise ValueError(f"{kept} belongs to somebody else")
        linked(kept, draft)
        os.utime(kept)
    try:
        made_at = (draft / MADE_AT).read_text()
        (draft / MADE_AT).unlink()
        for path in (draft / "pyvenv.cfg", *(draft / "bin").iterdir()):
            move(path, made_at, str(venv.absolute()))
        subprocess.run([draft / "bin" / "python", "-c", ""], capture_output=True, check=True, timeout=60)
        shutil.rmtree(venv, ignore_errors=True)
        draft.rename(venv)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return True


def move(path: Path, before: str, after: str) -> None:
    """Writes a program anew that names the place of its environment; never into a file that others share."""
    if path.is_symlink() or not path.is_file():
        return
    data = path.read_bytes()
    if before.encode() not in data or b"\0" in data:
        return
    mode = path.stat().st_mode
    path.unlink()
    path.write_bytes(data.replace(before.encode(), after.encode()))
    path.chmod(mode)


def main(words: list[str]) -> int:
    verb, venv, digest = words
    try:
        if verb == "take":
            return 0 if take(Path(venv), digest) else 1
        keep(Path(venv), digest)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        print(f"setup: the environment kept for other clones is not used: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
