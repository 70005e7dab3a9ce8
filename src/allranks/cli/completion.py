"""Completes run ids, finding ids and node names in a shell, based on the name of an argument.

argcomplete calls this program at each TAB. Nothing here contacts a node: runs and their nodes come from the index of
this machine, other names from the user's SSH configuration.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

SHELLS = ("bash", "zsh", "fish", "tcsh")
HOST = re.compile(r"^\s*host\s+(.+)", re.IGNORECASE)


def script(shell: str) -> str:
    """The script that the user's shell reads once, e.g. `eval "$(allranks --print-completion bash)"`."""
    from argcomplete.shell_integration import shellcode

    return shellcode(["allranks"], shell=shell)


def answer(parser: argparse.ArgumentParser) -> None:
    """Answers the shell and ends the process. The caller has found `_ARGCOMPLETE` in the environment."""
    import argcomplete

    attach(parser)
    argcomplete.autocomplete(parser, validator=matches)


def attach(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in dict.fromkeys(action.choices.values()):
                attach(child)
        elif completer := COMPLETERS.get(str(action.metavar or action.dest)):
            action.completer = completer  # type: ignore[attr-defined]  # argcomplete's own way


def matches(completion: str, prefix: str) -> bool:
    return completion.startswith(prefix)


def run_ids(prefix: str, **_: object) -> list[str]:
    """The runs that were started here, and run files below the current folder."""
    from allranks.runs import index

    ids = [str(entry.get("id")) for entry in index.entries()]
    return [*ids, *paths(prefix, (".yaml", ".yml"))]


def checkpoints(prefix: str, **_: object) -> list[str]:
    return [*run_ids(prefix), *paths(prefix, ())]


def finding_ids(**_: object) -> list[str]:
    from allranks.output.pages import known

    return sorted(known())


def node_names(**_: object) -> list[str]:
    from allranks.runs import index

    names = [name for entry in index.entries() for name in nodes_of(entry)]
    return list(dict.fromkeys([*names, *ssh_hosts(Path.home() / ".ssh" / "config")]))


def nodes_of_run(parsed_args: argparse.Namespace | None = None, **_: object) -> list[str]:
    """The nodes of the run that the line names so far; of all runs if it names none."""
    from allranks.runs import index

    wanted = str(getattr(parsed_args, "run", None) or "")
    entries = [entry for entry in index.entries() if str(entry.get("id")).startswith(wanted)]
    return list(dict.fromkeys(name for entry in entries or index.entries() for name in nodes_of(entry)))


def nodes_of(entry: dict) -> Iterator[str]:
    nodes = entry.get("nodes")
    for node in nodes if isinstance(nodes, list) else ():
        if isinstance(node, dict) and isinstance(node.get("name"), str):
            yield node["name"]


def ssh_hosts(config: Path) -> list[str]:
    """The names after `Host`, without patterns."""
    try:
        lines = config.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    words = [word for line in lines if (match := HOST.match(line)) for word in match[1].split()]
    return [word for word in words if not set(word) & set("*?!")]


def paths(prefix: str, endings: tuple[str, ...]) -> list[str]:
    """Files with one of these endings (all files if there are no endings), and folders to continue from."""
    head = prefix.rpartition("/")[0]
    try:
        found = sorted(Path(head + "/" if prefix.startswith("/") and not head else head or ".").iterdir())
    except OSError:
        return []
    start = prefix[: prefix.rfind("/") + 1]
    shown = [path for path in found if not path.name.startswith(".") or prefix[len(start) :].startswith(".")]
    return [
        start + path.name + ("/" if path.is_dir() else "")
        for path in shown
        if path.is_dir() or not endings or path.name.endswith(endings)
    ]


COMPLETERS = {
    "run": run_ids,
    "RUN": run_ids,
    "A": run_ids,
    "B": run_ids,
    "RUN|PATH": checkpoints,
    "path": checkpoints,
    "ID": finding_ids,
    "ids": finding_ids,
    "node": nodes_of_run,
    "NODES": node_names,
    "nodes": node_names,
}
"""By an argument's metavar, or else its name. An argument of a new verb with one of these names is completed
automatically."""
