"""Code that several verbs share: options, JSON on stdout, the question before a change."""

from __future__ import annotations

import argparse
import difflib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allranks.core.errors import BadInput, Problem
from allranks.output.json_values import finite

if TYPE_CHECKING:
    from allranks.core.pages import Page
    from allranks.spec import Run, Typed


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")


def add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="the run file, or a LLaMA-Factory YAML (default run.yaml); instead of it, after `--`, the command "
        "that you would start by hand: torchrun, deepspeed, accelerate launch, srun, mpirun, python, a script",
    )
    parser.set_defaults(command=None)
    parser.add_argument("--nodes", metavar="NODES", help="node names such as node[1-3], or a hostfile")
    parser.add_argument("--gpus", type=positive, metavar="N", help="GPUs (ranks) per node")
    parser.add_argument("--cpu", action="store_true", help="train on the nodes' processors")
    parser.add_argument("--save-as", metavar="FILE", help="also write the equivalent run file")
    parser.add_argument(
        "--set",
        dest="sets",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change one key of the run file, e.g. train.llamafactory.max_steps=50; may be repeated",
    )
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="ID",
        help="ignore this finding and continue; may be repeated",
    )


def add_hosts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--accept-new-hosts",
        action="store_true",
        help="pin the host keys of new nodes; a changed key is always an error",
    )


def add_nodes(parser: argparse.ArgumentParser) -> None:
    """`--nodes`, for verbs that take a run which another machine may have started (`known_from_nodes`)."""
    parser.add_argument(
        "--nodes",
        dest="asked_nodes",
        metavar="NODES",
        help="first ask these nodes for their runs (node[1-3], a hostfile), to find runs that were started elsewhere",
    )


def known_from_nodes(options: argparse.Namespace) -> None:
    """Puts the runs of the nodes in `--nodes` into the index, so that the verb knows them."""
    import asyncio

    from allranks.runs.node_targets import Access
    from allranks.runs.run_discovery import discover

    asyncio.run(discover(options.asked_nodes, Access()))


def load_run(options: argparse.Namespace) -> Run:
    """The run file that was named, with --set and --accept. An unknown finding id is an error, which names the
    nearest id."""
    run = loaded(options, options.sets)
    require_ids("accept", run.accept)
    if options.save_as:
        save_as(run, options.save_as)
    return run


def typed_of(options: argparse.Namespace) -> Typed:
    from allranks import spec

    command = None if options.command is None else tuple(options.command)
    return spec.Typed(options.file, command, options.nodes, options.gpus, options.cpu)


def loaded(options: argparse.Namespace, sets: Iterable[str]) -> Run:
    """The run file that was named, with `sets` in place of those of the command line."""
    from allranks import spec

    return spec.load_typed(typed_of(options), sets, options.accept, os.environ, gpus_here)


def gpus_here() -> int | None:
    """The number of GPUs of this machine; None if nvidia-smi did not report it."""
    from allranks.node.facts._reading import Unreadable
    from allranks.node.facts.gpus import query

    try:
        return len(query()["list"])
    except Unreadable:
        return None


def save_as(run: Run, name: str) -> None:
    """Writes the run file of a run that was given by arguments. Never overwrites a file."""
    path = Path(name)
    if path.resolve().parent != Path(run.file or "run.yaml").resolve().parent:
        raise BadInput(
            Problem(
                f"--save-as {name}: another folder.",
                "relative paths in a run file begin at its folder.",
                f"--save-as {path.name}",
            )
        )
    try:
        is_taken = path.exists() and path.read_bytes() != run.text.encode()
    except OSError as error:
        saw = f"--save-as {name}: {name} exists and cannot be read: {error.strerror}."
        raise BadInput(Problem(saw, "no file is overwritten.", "another name")) from None
    if is_taken:
        raise BadInput(Problem(f"--save-as {name}: {name} exists.", do="another name, or remove it first"))
    require_writable(path, lambda path: path.write_text(run.text, encoding="utf-8"))
    print(f"{path} written.", file=sys.stderr)


def require_ids(what: str, ids: Iterable[str]) -> None:
    """Raises BadInput for ids that no finding has: a misspelt id would otherwise have no effect without any message."""
    wanted = list(ids)
    if not wanted:
        return
    from allranks.output.pages import known

    pages = known()
    problems = [unknown_id(f"{what}: ", name, pages) for name in wanted if name not in pages]
    if problems:
        raise BadInput(problems)


MOST_NEAR = 6


def unknown_id(before: str, name: str, pages: Mapping[str, Page]) -> Problem:
    near = nearest(name, pages)
    do = "nearest: " + ", ".join(near) if near else "allranks explain lists all ids"
    return Problem(f"{before}{name} is not the id of a finding", do=do)


def nearest(name: str, pages: Mapping[str, Page]) -> list[str]:
    """Ids that are spelt alike; or those with all words of `name` in their id or title, or else in their text."""
    words = re.findall(r"[^\W_]+", name.lower())
    spelt = difflib.get_close_matches("-".join(words), pages, n=3)
    if spelt or not words:
        return spelt
    begin = [re.compile(rf"\b{re.escape(word)}", re.IGNORECASE) for word in words]

    def all_in(text: str) -> bool:
        return all(one.search(text) for one in begin)

    titled = [id for id, page in pages.items() if all_in(f"{id} {page.title}")]
    return (titled or [id for id, page in pages.items() if all_in(page.markdown())])[:MOST_NEAR]


def require_writable(path: str | Path, write: Callable[[Path], Any]) -> None:
    """Calls `write` with the path. If the user named a file that cannot be written, that is bad input."""
    try:
        write(Path(path))
    except OSError as error:
        problem = Problem(f"{path} cannot be written: {error.strerror}", do="another path")
        raise BadInput(problem) from None


def positive(text: str) -> int:
    """A whole number from 1, for argparse."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1")
    return number


def tcp_port(text: str) -> int:
    """A TCP port, 1 to 65,535, for argparse."""
    number = positive(text)
    if number > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port (1 to 65,535)")
    return number


def at_least_zero(text: str) -> float:
    """A finite number from 0, for argparse."""
    return _finite(text, text_of="number from 0", fits=lambda value: value >= 0)


def above_zero(text: str) -> float:
    """A finite number above 0, for argparse."""
    return _finite(text, text_of="number above 0", fits=lambda value: value > 0)


def _finite(text: str, text_of: str, fits: Callable[[float], bool]) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and fits(value)):
        raise argparse.ArgumentTypeError(f"{text} is not a {text_of}")
    return value


def print_json(data: Any) -> None:
    """One document. A number that JSON does not have (NaN, infinity) becomes null."""
    print(json.dumps(finite(data), indent=2, default=str, allow_nan=False))


def agreed(question: str, yes: bool) -> bool:
    """Asks on a terminal. Without a terminal, only `-y` means yes."""
    if yes:
        return True
    if not sys.stdin.isatty():
        print(f"{question}: not done, because there is no terminal to confirm. Use -y.", file=sys.stderr)
        return False
    # On stderr, because programs read stdout. The end of the input (Ctrl-D) means no.
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
