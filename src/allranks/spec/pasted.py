"""`train.command` as people have it: launchers, shell syntax and variables become what a run file says in keys.

One place for the words of a run file, of a command line and of a script: the tree of the run file is changed, and the
ordinary reader takes it from there.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Mapping
from typing import Any

from allranks.core import NOTE, BadInput
from allranks.spec import commands
from allranks.spec import text as files
from allranks.spec import train as training
from allranks.spec.commands import Command, Home, Unknown, conda, srun
from allranks.spec.commands._counting import settle
from allranks.spec.problems import MAX_SHOWN_PATH, Wrong, shown
from allranks.spec.reading import Reading
from allranks.spec.same_nodes import same_nodes
from allranks.spec.shell_folders import placed
from allranks.spec.shell_following import follow
from allranks.spec.shell_session import Session
from allranks.spec.start import flow
from allranks.spec.tree import Entry, Scalar, Sequence, Table, Tree, plain, scalar_value
from allranks.spec.unknown_words import refused_words, unknown

SHARDS = {"deepspeed", "fsdp", "fsdp_config"}
"""Arguments of LLaMA-Factory that divide the parameters among the ranks."""

REFERENCE = re.compile(r"(\\?)\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
NEAT = re.compile(r"[\w\\./:=,~@%+${}-]+")
"""A word of a list in which variables are resolved: only these characters may surround them. A word with other signs
of a shell, such as `$HOME;`, is plain text."""

PLACES = re.compile(
    r"MASTER_(ADDR|PORT)|((NODE|LOCAL|GROUP)_)?RANK|(LOCAL_)?WORLD_SIZE|NNODES|NPROC_PER_NODE|FORCE_TORCHRUN"
)
"""Variables that launchers read to place the ranks. allranks reads the counts and the port from
them, and never hands them on."""


def expand(tree: Table, reading: Reading) -> None:
    """Reads `train.command` and puts the keys that it stands for into the tree. Errors go to `reading`."""
    train = tree.get("train")
    entry = train.entries.get("command") if isinstance(train, Table) else None
    if entry is None or not isinstance(train, Table):
        return
    node = entry.node
    if isinstance(node, Sequence) and not all(isinstance(item, Scalar) for item in node.items):
        return
    if isinstance(node, Table) or (isinstance(node, Scalar) and node.value is None):
        return
    try:
        command = understood(node, reading, known_variables(tree))
    except (Wrong, BadInput) as error:
        if isinstance(error, Wrong):
            for one in (error, *error.others):
                reading.refuse(node, "train.command", one)
        else:
            reading.adopt(error, node, "train.command")
        # Otherwise the reader would report the same error again in a different sentence.
        train.entries["command"] = Entry(entry.file, entry.line, tree_of(["train.py"], node))
        return
    write_back(tree, train, entry, command, reading)


def known_variables(tree: Table) -> dict[str, str]:
    env = tree.get("env")
    if not isinstance(env, Table):
        return {}
    return {name: e.node.raw for name, e in env.entries.items() if isinstance(e.node, Scalar)}


def understood(node: Scalar | Sequence, reading: Reading, values: Mapping[str, str]) -> Command:
    """The command of a run file: a string is split like a shell does it, a list has one word per item."""
    command = Command(
        [], reads=lambda path: files.read(files.at_home(reading.path(path)), path), follow=follow_script
    )
    command.environ = values
    if isinstance(node, Scalar):
        session = follow(node.raw, values, reads=command.reads)
        take_session(command, session)
        given = session.words
    else:
        given = [word_of(item.raw, values) for item in node.items if isinstance(item, Scalar)]
        command.words = list(given)
        commands.take_variables(command)
    if not command.words or not command.words[0].strip():
        raise commands.no_script()
    finish(command, values)
    command.said["given"] = shlex.join(given)
    return command


def follow_script(
    command: Command,
    path: str,
    arguments: list[str],
    variables: Mapping[str, str] = {},
    line: str | None = None,
) -> None:
    """Reads `bash train.sh`, or `bash -c LINE`, and puts the settings and the command of the script into `command`."""
    folder = command.keys.get("train.workdir", "")
    path = path if path.startswith(("/", "~")) else posixpath.join(folder, path)
    if isinstance(path, Unknown):
        raise unknown(path, command.undecided)
    command.environ = {**command.environ, **variables}
    label = "bash -c" if line is not None else shown(path, MAX_SHOWN_PATH)
    try:
        text = command.reads(path) if line is None else line
        values = {**command.environ, **command.env}
        session = follow(text, values, path, arguments, lambda name: command.reads(command.here(name)))
    except BadInput as error:
        (problem, *_) = error.problems
        raise Wrong(f"{label}: {problem.saw}", "its training command is read from it.", problem.do) from None
    except Wrong as wrong:
        raise Wrong(f"{label}: {wrong.saw}", wrong.why, wrong.do) from None
    if folder and session.folder and not session.folder.startswith("/"):
        session.folder = posixpath.normpath(posixpath.join(folder, session.folder))
    command.keys.pop("train.workdir", None)
    session.folder = session.folder or folder or None
    values = {k: placed(v, session.folder) for k, v in session.values.items() if isinstance(v, str)}
    command.environ = {**command.environ, **values}
    take_session(command, session)


def word_of(raw: str, values: Mapping[str, str]) -> str:
    r"""A word of a list, with `$NAME` and `${NAME}` resolved. `\$NAME` stands for the text `$NAME`."""
    if "$" not in raw or not NEAT.fullmatch(raw):
        return raw
    missing = [
        match.group(2) or match.group(3)
        for match in REFERENCE.finditer(raw)
        if not match.group(1) and (match.group(2) or match.group(3)) not in values
    ]
    if missing:
        return Unknown(raw, *(f"${name}" for name in missing))

    def value(match: re.Match[str]) -> str:
        return match.group()[1:] if match.group(1) else values[match.group(2) or match.group(3)]

    return REFERENCE.sub(value, raw)


def protected(word: str) -> str:
    r"""The word in the form that `word_of` reads back: `\$` for each `$` that would otherwise begin a variable."""
    if not NEAT.fullmatch(word):
        return word
    return REFERENCE.sub(lambda match: "\\" + match.group() if not match.group(1) else match.group(), word)


def take_session(command: Command, session: Session) -> None:
    """Puts the settings that a shell made before the command into `command`, and the command's words."""
    command.words = list(session.words)
    command.undecided |= {name for name, value in session.values.items() if value is None}
    for name, value in session.exported.items():
        command.variable(name, value)
    for what, why, fix in session.left_out:
        command.left_out(what, why, fix)
    if session.ended:
        command.said["ended"] = session.ended
    if session.modules:
        command.put("environment.modules", session.modules, "module load")
    if session.activate:
        command.put("environment.activate", session.activate, f"source {session.activate}")
    if session.conda:
        conda.use(command, session.conda, f"conda activate {session.conda}")
    if session.folder:
        command.put("train.workdir", session.folder, f"cd {session.folder}")


def finish(command: Command, values: Mapping[str, str]) -> None:
    """Removes the launchers from the command and records the machines and the number of ranks that they name."""
    try:
        commands.reduce(command)
    except LookupError as error:
        wrong = refused_words(error.args, command.undecided)
        if wrong is None:
            raise
        raise wrong from None
    for name in [name for name in command.env if PLACES.fullmatch(name)]:
        place(command, name, command.env.pop(name))
    script, *rest = command.words or [""]
    if wrong := refused_words(
        [str(script) if isinstance(script, Home) else script, *rest], command.undecided
    ):
        raise wrong
    if "ended" in command.said:
        raise Wrong(
            command.said["ended"], "the training command below it does not run.", "its arguments or variables"
        )
    refuse_wrapper(command.words)
    srun.warn_of_ranks(command)
    folder = command.keys.get("train.workdir")
    if folder and command.words and command.trainer is None:
        command.words[0] = below(folder, command.words[0])
    settle(command)


def refuse_wrapper(words: list[str]) -> None:
    """Another program that would start a launcher: `wrapper exec torchrun train.py`."""
    if words and posixpath.basename(words[0]) == "deepy.py":  # of GPT-NeoX
        raise Wrong(
            "deepy.py starts the ranks itself, by DeepSpeed's launcher.", "allranks starts them.", "train.py"
        )
    if not words or words[0] in ("-m", *training.NO_SCRIPTS) or words[0].endswith(".py"):
        return
    for place in range(1, min(4, len(words))):
        form = commands.form_of(words[place:])
        if form is not None and form.ranks and "/" not in words[place]:
            raise Wrong(
                f"{shown(words[0])} comes before {shown(words[place])}, and is not known here.",
                "the ranks start a Python script.",
                f"the command from {shown(words[place])} on; container: {{image: …}} for a container",
            )


def below(folder: str, script: str) -> str:
    bare = script.startswith(("/", "~", "-")) or not ("/" in script or script.endswith(".py"))
    return script if bare else posixpath.normpath(posixpath.join(folder, script))


def place(command: Command, name: str, value: str) -> None:
    said = f"{name}={value}"
    if name == "NNODES":
        command.count("nodes", value, said)
    elif name == "NPROC_PER_NODE":
        command.count("ranks", value, said)
    elif name == "MASTER_PORT" and value.isdigit():
        command.put("network.port", int(value), said)


def write_back(tree: Table, train: Table, entry: Entry, command: Command, reading: Reading) -> None:
    """Puts the script in place of the command, and the launchers' settings into keys that the file does not have."""
    node = entry.node
    conda.settle(command, lambda key: at(tree, key))
    needed = Table(entry.file, entry.line)  # what the run file would have to hold
    settings = [(key, value, command.said[key]) for key, value in command.keys.items()]
    settings += [(f"env.{name}", value, f"{name}={value}") for name, value in command.env.items()]
    for key, value, said in settings:
        found = at(tree, key)
        if found is None:
            put(tree, key, tree_of(value, node), entry)
            put(needed, key, tree_of(value, node), entry)
        elif not (key == "nodes" and same_nodes(found, tree_of(value, node), reading)) and not same(
            found, value
        ):
            clash(reading, entry, said, f"{key}: {shown_tree(found)}")
            reading.clashes |= key == "gpus"
    if command.trainer is not None:
        del train.entries["command"]
        trainer = command.trainer
        trained = tree_of(trainer, node) if isinstance(trainer, str) else trainer_tree(trainer, node)
        reading.trainer_words = not isinstance(trainer, str)
        train.entries["llamafactory"] = Entry(entry.file, entry.line, trained)
        change(train, command.changes, entry, reading)
        put(needed, "train.llamafactory", train.entries["llamafactory"].node, entry)
        if isinstance(trainer, Mapping) and not trainer.keys() & SHARDS and at(tree, "deepspeed") is None:
            reading.note(
                "deepspeed-added",
                node,
                "train.command: it has no --deepspeed, and allranks adds DeepSpeed's ZeRO-3.",
                "behind torchrun alone, each rank would hold all parameters (DDP).",
                "deepspeed: none for DDP, or deepspeed: zero3 to say so (--set deepspeed=none on the command line)",
            )
    else:
        train.entries["command"] = Entry(entry.file, entry.line, tree_of(list(command.words), node))
        words = [protected(word) for word in command.words]
        put(needed, "train.command", tree_of(words, node), entry)
    reading.counts, reading.uncounted = dict(command.counts), dict(command.uncounted)
    reading.head = command.said.get("head")
    for one in command.notes:
        say = reading.note if one.verdict == NOTE else reading.warn
        say(one.id, entry.node, f"train.command: {one.saw}", one.why, one.fix)
    given, tail = command.said["given"], shlex.join(command.words)
    if given != tail:
        gone = given.removesuffix(tail).strip() if given.endswith(tail) else given
        reading.note(
            "launcher-dropped",
            entry.node,
            f"train.command: {shown(gone, 200)} is left out.",
            "allranks starts torchrun on every node, with the environment's Python and the ranks that `gpus` says.",
            shown("; ".join(f"{name}: {flow(one.node)}" for name, one in needed.entries.items()), 400),
        )


def change(train: Table, changes: Mapping[str, str], entry: Entry, reading: Reading) -> None:
    """`key=value` behind a YAML: its keys as they are changed."""
    if not changes:
        return
    training.splice(train, reading)
    table = train.get("llamafactory")
    if isinstance(table, Table):
        table.entries.update(trainer_tree(changes, entry.node).entries)


def clash(reading: Reading, entry: Entry, one: str, ours: str) -> None:
    reading.warn(
        "launcher-contradicts",
        entry.node,
        f"train.command: {shown(one)} against {ours}.",
        "only one of the two can be used: the run file's own key.",
        "take one of the two out",
    )


def at(tree: Table, key: str) -> Tree | None:
    """The value of a dotted key; None if it is not said."""
    found: Tree | None = tree
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Table) else None
    return found


def put(tree: Table, key: str, value: Tree, entry: Entry) -> None:
    *above, last = key.split(".")
    table = tree
    for part in above:
        found = table.get(part)
        if found is None:
            found = Table(entry.file, entry.line)
            table.entries[part] = Entry(entry.file, entry.line, found)
        if not isinstance(found, Table):
            return  # the reader says what is wrong with it
        table = found
    table.entries[last] = Entry(entry.file, entry.line, value)


def same(found: Tree, value: Any) -> bool:
    """Whether a key of the file says the same: `8`, `"8"` and `{count: 8, model: cpu}` do."""
    if isinstance(found, Table) and found.get("count") is not None:
        found = found.get("count") or found
    if isinstance(found, Scalar):
        return found.raw == str(value) or found.value == value or found.raw == inline(value)
    return plain(found) == value


def shown_tree(tree: Tree) -> str:
    return shown(tree.raw if isinstance(tree, Scalar) else plain(tree))


def inline(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(inline(one) for one in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {inline(one)}" for name, one in value.items()) + "}"
    return str(value)


def tree_of(value: Any, place: Tree) -> Tree:
    """A Python value as a tree with the file and line of `place`; a text stays a text."""
    file, line = place.file, place.line
    if isinstance(value, Mapping):
        return Table(file, line, {str(k): Entry(file, line, tree_of(v, place)) for k, v in value.items()})
    if isinstance(value, list | tuple):
        return Sequence(file, line, [tree_of(one, place) for one in value])
    if isinstance(value, str):
        return Scalar(file, line, str(value), str(value), plain=False)
    raw = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return Scalar(file, line, raw, value)


def trainer_tree(trainer: Mapping[str, Any], place: Tree) -> Table:
    """LLaMA-Factory's arguments with the values that YAML would give their words."""
    file, line = place.file, place.line
    table = Table(file, line)
    for name, value in trainer.items():
        is_plain = isinstance(value, str) and value
        node = Scalar(file, line, value, scalar_value(value)) if is_plain else tree_of(value, place)
        table.entries[name] = Entry(file, line, node)
    return table


__all__ = ["expand", "protected", "tree_of"]
