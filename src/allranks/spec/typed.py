"""A run that is typed on the command line: words after `--`, a LLaMA-Factory YAML, or a run file with a few keys.

`tree` makes of them what a run file would hold; from there on the ordinary reader takes it, so its errors, defaults
and findings are those of a run file, with the command line as their place.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from allranks.core.file_kinds import is_file
from allranks.core.net import is_loopback
from allranks.spec import launchers, pasted, runfile
from allranks.spec import text as files
from allranks.spec.commands import llamafactory
from allranks.spec.document import parsed
from allranks.spec.nodes import counts_ranks
from allranks.spec.pasted import at
from allranks.spec.problems import Problems, refused, shown
from allranks.spec.reading import Reading
from allranks.spec.run import CPU, Run
from allranks.spec.start import allocation
from allranks.spec.train import LLAMAFACTORY_KEYS
from allranks.spec.tree import Entry, Scalar, Sequence, Table, Tree, scalar_value

LABEL = "command line"
"""The file name in messages about typed input. Typed input counts as a file of this name in the current folder, and
relative paths begin there."""

BESIDE = "run.yaml"
"""The run file that is read if the command line does not name one."""


@dataclass(frozen=True)
class Typed:
    """The arguments of a verb: FILE, the words after `--`, and the keys that have their own options."""

    file: str | None = None
    words: tuple[str, ...] | None = None
    nodes: str | None = None
    gpus: int | None = None
    cpu: bool = False

    def as_words(self) -> list[str]:
        """The same as a list of words, for a command that is printed or saved."""
        said = [] if self.nodes is None else ["--nodes", self.nodes]
        said += [] if self.gpus is None else ["--gpus", str(self.gpus)]
        said += ["--cpu"] if self.cpu else []
        if self.words is not None:
            return [*said, "--", *self.words]
        return [self.file or BESIDE, *said]


def load(
    typed: Typed,
    sets: Iterable[str] = (),
    accept: Iterable[str] = (),
    environ: Mapping[str, str] | None = None,
    gpus_here: Callable[[], int | None] = lambda: None,
) -> Run:
    """The run that was typed. `environ` are this process's variables, `gpus_here` counts this machine's GPUs.

    Raises BadInput, as `spec.load` does.
    """
    sets = list(sets)
    if typed.words is not None and typed.file is not None:
        seen = f"{shown(typed.file)} and a command after `--`."
        raise refused(seen, "a run trains one thing.", "one of them")
    text = None
    if typed.words is None:
        typed = replace(typed, file=typed.file or beside())
        tree, reading, text = from_file(typed.file or BESIDE)
    else:
        tree = mapping({"train": {"command": line_of(typed.words) or list(typed.words)}})
        reading = Reading(LABEL, Problems())
    name_keys(tree, typed)
    pasted.expand(tree, reading)
    if text is None:
        complete(tree, reading, environ or {}, gpus_here, sets)
    if typed.cpu:
        on_cpus(tree)
    run = runfile.read_tree(tree, reading, sets, accept)
    is_changed = text is None or typed.nodes or typed.gpus or typed.cpu or sets
    return replace(run, text=run.text if text is None or is_changed else text, typed=tuple(typed.as_words()))


def line_of(words: Iterable[str]) -> str | None:
    """The one word after `--` if it is a whole line for a shell, in quotes: `-- "A=1 python train.py && echo done"`."""
    first, *more = [*words, ""]
    return first if more == [""] and len(first.split()) > 1 and not is_file(first) else None


def beside() -> str:
    if not is_file(BESIDE):
        do = "name a run file (`allranks init` writes one), or put a command after `--`: allranks run -- train.py"
        raise refused(f"no run file is named, and there is no {BESIDE} here.", do=do)
    return BESIDE


def from_file(path: str) -> tuple[Table, Reading, str | None]:
    """The tree of FILE; for a LLaMA-Factory YAML the one of a run file that names it, and no text."""
    refuse_script(path)
    text = files.read(path)
    reading = Reading(path, Problems())
    tree = parsed(text, reading)
    keys = tree.entries
    if "nodes" in keys or "train" in keys or not keys.keys() & (LLAMAFACTORY_KEYS | llamafactory.V1_KEYS):
        return tree, reading, text
    typed = Reading(LABEL, Problems())
    stem = runfile.default_name(path)
    return mapping({"name": stem, "train": {"llamafactory": path}}), typed, None


def refuse_script(path: str) -> None:
    if not path.endswith((".py", ".sh")):
        return
    kind = "a training script" if path.endswith(".py") else "a shell script"
    word = path if path.endswith(".py") else f"bash {path}"
    do = f"a command after `--`: allranks run -- {word}"
    raise refused(f"{shown(path)} is {kind}, not a run file.", do=do)


def mapping(value: Mapping[str, object]) -> Table:
    tree = pasted.tree_of(value, Scalar(LABEL, None, "", None))
    assert isinstance(tree, Table)
    return tree


def name_keys(tree: Table, typed: Typed) -> None:
    """`--nodes` and `--gpus`, over what a file says."""
    for key, value in (("nodes", typed.nodes), ("gpus", typed.gpus)):
        if value is None:
            continue
        label = f"--{key}"
        raw = str(value)
        number = scalar_value(raw) if raw and raw.isascii() and raw.isdigit() else raw
        node: Tree = Scalar(label, None, raw, number)
        before = tree.get(key)
        if key == "gpus" and isinstance(before, Table):
            node = Table(before.file, before.line, {**before.entries, "count": Entry(label, None, node)})
        tree.entries[key] = Entry(label, None, node)


def on_cpus(tree: Table) -> None:
    gpus = tree.get("gpus")
    entries = dict(gpus.entries) if isinstance(gpus, Table) else {}
    if isinstance(gpus, Scalar):
        entries["count"] = Entry(gpus.file, gpus.line, gpus)
    entries["model"] = Entry("--cpu", None, Scalar("--cpu", None, CPU, CPU))
    tree.entries["gpus"] = Entry("--cpu", None, Table("--cpu", None, entries))


def complete(
    tree: Table,
    reading: Reading,
    environ: Mapping[str, str],
    gpus_here: Callable[[], int | None],
    sets: list[str],
) -> None:
    """Adds the keys that a run file must have and a typed command may leave out: the run's name, the nodes, their GPUs
    and the folder."""
    said = {one.partition("=")[0].partition(".")[0] for one in sets}
    add = {"name": name_of(tree)} if tree.get("name") is None else {}
    if tree.get("nodes") is None and "nodes" not in said:
        add |= machines(tree, reading, environ)
    tree.entries.update(mapping(add).entries)
    nodes = tree.get("nodes")
    local = isinstance(nodes, Scalar) and is_loopback(nodes.raw)
    if tree.get("gpus") is None and "gpus" not in said and local:
        here = gpus_here()
        tree.entries.update(mapping({"gpus": here or 1}).entries)
        told = reading.uncounted.get("ranks") or reading.uncounted.get("total")
        told = told or (reading.uncounted.get("every") if not here else None)
        if told is not None:
            guessed(
                reading,
                told,
                f"{here or 1}",
                "no GPU was found on this machine.",
                "--gpus and the number",
                here,
            )
    elif tree.get("gpus") is None and "gpus" not in said and not counts_ranks(nodes, reading):
        reading.warn(
            "gpus-not-said",
            Scalar(LABEL, None, "", None),
            "the number of GPUs per node is not given: each node gets 1 rank, unless a hostfile gives more.",
            "the other GPUs would stay idle.",
            "--gpus and the number, such as --gpus 8",
        )
    train = tree.get("train")
    if isinstance(train, Table) and not tree.get("code") and "code" not in said:
        place(train)
        place_activation(tree.get("environment"))
    order = ("name", "nodes", "gpus", "train")
    for key in reversed(order):
        if key in tree.entries:
            entry = tree.entries.pop(key)
            tree.entries = {key: entry, **tree.entries}


def name_of(tree: Table) -> str:
    """The run's name, from its script, module or YAML."""
    train = tree.get("train")
    words = train.get("command") if isinstance(train, Table) else None
    raws = (
        [item.raw for item in words.items if isinstance(item, Scalar)] if isinstance(words, Sequence) else []
    )
    if not raws:
        trained = train.get("llamafactory") if isinstance(train, Table) else None
        return runfile.default_name(trained.raw if isinstance(trained, Scalar) else "sft")
    first = raws[1].rpartition(".")[2] if raws[0] == "-m" and len(raws) > 1 else raws[0]
    return runfile.default_name(first)


def machines(tree: Table, reading: Reading, environ: Mapping[str, str]) -> dict[str, object]:
    """This machine, or the allocation that the command was typed in. Several machines have to be named."""
    wanted, said = reading.counts.get("nodes", (1, ""))
    found = allocation(environ)
    if found is not None:
        launcher, names, gpus = found
        return {"nodes": names, "launch": {"with": launcher}, **({"gpus": gpus} if gpus else {})}
    if wanted > 1:
        reading.problems.add(
            f"{shown(said)}: {wanted} machines, and none is named.",
            "allranks starts the ranks on all of them from here.",
            f"--nodes node[1-{wanted}], or --nodes HOSTFILE; allranks init node[1-{wanted}] --from SCRIPT",
            LABEL,
        )
    launch = at(tree, "launch.with")
    if isinstance(launch, Scalar) and launchers.find(launch.raw).chooses_nodes:
        return {"nodes": wanted}
    if "nodes" in reading.uncounted and "nodes" not in reading.counts:
        told, fix = reading.uncounted["nodes"], "nodes: their names (--nodes node[1-2], except with init)"
        guessed(reading, told, "this machine alone", "only a shell knows it.", fix, None)
    return {"nodes": "localhost"}


def guessed(reading: Reading, told: str, taken: str, why: str, fix: str, here: int | None) -> None:
    """Warns about a number of machines or ranks that only a shell knows."""
    reading.warn(
        "gpus-not-said",
        Scalar(LABEL, None, "", None),
        f"the number in {shown(told, 200)} is not known here: the run gets {taken}.",
        "that is the number of GPUs of this machine." if here else why,
        fix,
    )


def place(train: Table) -> None:
    """The folder in which the command was typed: the ranks start there, as under torchrun, and a relative script is
    one of it."""
    here = str(Path().resolve())
    words = train.get("command")
    if isinstance(words, Sequence) and words.items and isinstance(words.items[0], Scalar):
        first = words.items[0]
        folder = train.get("workdir")
        start = folder.raw if isinstance(folder, Scalar) else ""
        start = start if start.startswith("~") else posixpath.normpath(posixpath.join(here, start))
        if first.raw.endswith(".py") and not first.raw.startswith(("/", "~")):
            path = posixpath.normpath(posixpath.join(here, first.raw))
            words.items[0] = Scalar(first.file, first.line, path, path, plain=False)
        train.entries.update(mapping({"workdir": start}).entries)
    elif train.get("workdir") is None and is_file("data/dataset_info.json"):
        train.entries.update(mapping({"workdir": here}).entries)


def place_activation(environment: object) -> None:
    """A relative script that is sourced is one of this folder too; a login on a node would begin in the home."""
    script = environment.get("activate") if isinstance(environment, Table) else None
    if (
        isinstance(environment, Table)
        and isinstance(script, Scalar)
        and not script.raw.startswith(("/", "~"))
    ):
        path = posixpath.normpath(posixpath.join(str(Path().resolve()), script.raw))
        environment.entries["activate"].node = Scalar(script.file, script.line, path, path, plain=False)


__all__ = ["BESIDE", "LABEL", "Typed", "load"]
