"""The environment that a script makes for its training: sourced scripts, and the active conda environment."""

from __future__ import annotations

import posixpath

from allranks.node import conda
from allranks.spec.commands import Unknown
from allranks.spec.shell import Word
from allranks.spec.shell_folders import Shell


def activate_conda(shell: Shell, name: str, rest: list[Word]) -> None:
    """`conda activate NAME`; `base` without a name."""
    told, *words = [text for word in rest for text in shell.known(word)]
    given = [word for word in words if not word.startswith("-")]
    if told == "deactivate":
        shell.conda = None
    else:
        use_conda(shell, f"{name} {told}", given[0] if given else "base")


def use_conda(shell: Shell, said: str, target: str) -> None:
    """This environment of conda is active now: its name, or its folder."""
    shell.conda = None
    if isinstance(target, Unknown):
        shell.leave(
            f"{said} {target}", f"{target.needs} is not known here.", "environment: {conda: its name}"
        )
    else:
        shell.conda = target


def installation(path: str) -> str | None:
    """conda's folder, if this is the `bin/activate` of one."""
    folder, end = posixpath.split(path)
    root, binaries = posixpath.split(folder)
    is_conda = posixpath.basename(root).rstrip("0123456789.") in {name.rstrip("3") for name in conda.ROOTS}
    return root if (end, binaries) == ("activate", "bin") and is_conda else None


def source(shell: Shell, rest: list[Word]) -> None:
    """A script that is sourced; what a login shell reads anyway is passed over."""
    path = (shell.known(rest[0]) or [""])[0] if rest else ""
    if path.endswith("/etc/profile.d/conda.sh"):
        return
    if isinstance(path, Unknown) or not path:
        what = f"source {path}".strip()
        shell.leave(what, "its path is not known.", "environment: {activate: the script's path}")
        return
    if posixpath.basename(path) in ("conda.sh", ".bashrc", ".bash_profile", ".profile", "profile"):
        return
    if (installed := installation(path)) is not None:
        named = [one for word in rest[1:] for one in shell.known(word)]
        use_conda(shell, f"source {path}", named[0] if named else installed)
        return
    path = (
        path if path.startswith(("/", "~")) else posixpath.normpath(posixpath.join(shell.folder or "", path))
    )
    if shell.activate is not None and shell.activate != path:
        shell.leave(f"source {path}", "one script can be sourced.", f"source it in {shell.activate}")
    else:
        shell.activate = path
