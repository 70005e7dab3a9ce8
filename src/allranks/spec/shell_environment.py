"""The environment that a script makes for its training: sourced scripts, and the active conda environment."""

from __future__ import annotations

import posixpath
import re

from allranks.node import conda
from allranks.spec.commands import Unknown
from allranks.spec.shell import Word
from allranks.spec.shell_env_files import holds_assignments, leave_sourced
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
    if shell.exports_all and holds_assignments(shell, path):
        shell.sourced = path, []  # its variables are taken, so the nodes need not have it
        return
    if shell.exports_all:
        leave_sourced(shell, path)
    shell.sourced = path, [one for word in rest[1:] for one in word.expanded(shell.values)]
    if shell.activate is not None and shell.activate != path:
        shell.leave(f"source {path}", "one script can be sourced.", f"source it in {shell.activate}")
    else:
        shell.activate = path


MODULE_VERBS = (
    *("load", "add", "purge", "use", "unuse", "restore", "unload", "rm", "del", "swap", "switch"),
    *("list", "avail", "av", "spider", "show", "display", "help", "whatis", "keyword", "save", "reset"),
)


def load_modules(shell: Shell, name: str, words: list[str]) -> None:
    """`module load A B`, and `ml A B`. `module list` and its like change nothing."""
    told = words[0] if words else ""
    begin = 1 if name == "module" or told in MODULE_VERBS else 0
    names = [word for word in words[begin:] if not word.startswith("-")]
    if told == "purge":
        shell.modules = []
    elif told in ("use", "unuse", "restore"):
        why = "the ranks load modules by their names alone."
        shell.leave(" ".join((name, *words)), why, "environment: {activate: a script with it}")
    elif told in ("unload", "rm", "del", "swap", "switch"):
        *gone, new = names if told in ("swap", "switch") and names else (*names, "")
        shell.modules = [one for one in shell.modules if not {one, one.partition("/")[0]} & set(gone)]
        shell.modules += [new] if new else []
    elif told in ("load", "add") or (name == "ml" and told not in MODULE_VERBS):
        for one in names:
            if isinstance(one, Unknown):
                why = f"{one.needs} is not known here."
                shell.leave(f"{name} load {one}", why, "environment: {modules: [its name]}")
            else:
                shell.modules.append(one)


OTHER_SCHEDULER = re.compile(r"^#(?:PBS|BSUB|COBALT|OAR|FLUX|\$)[ \t:].*$", re.MULTILINE)


def other_schedulers(text: str) -> list[tuple[str, str, str]]:
    """The lines of a script to a scheduler whose options are not known here, as one part that is left out."""
    lines = OTHER_SCHEDULER.findall(text)
    fix = "nodes and gpus: what these lines ask for"
    return [("; ".join(lines), "the options of this scheduler are not known here.", fix)] if lines else []
