"""A command line while allranks reads it: the words that are left, and the keys of a run file that its launchers'
options stand for."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from allranks.core import NOTE, WARN, BadInput
from allranks.spec.commands._words import Unknown, str_like
from allranks.spec.problems import Wrong, nearest, shown
from allranks.spec.shown_command import shown_command

OWN = "allranks does it itself"
ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[\s\S]*")


@dataclass(frozen=True)
class Note:
    """A remark on the command, as the parts of a finding."""

    id: str
    verdict: str
    saw: str
    why: str
    fix: str


@dataclass
class Command:
    """`words` is the rest of the command. The parts that launchers took from it are in `keys` (dotted, as in a run
    file) and `env`. `counts` maps what is counted (machines, ranks, tasks) to the number and the option that gives
    it."""

    words: list[str]
    reads: Callable[[str], str]
    """Returns the text of a file of this machine, by the path that the command names. Raises BadInput."""

    follow: Callable[..., None]
    """Replaces the words by the training command of a shell script and adds the settings that the script makes. It
    takes the command, the script's path, its arguments, and the variables that are set before it."""

    env: dict[str, str] = field(default_factory=dict)
    keys: dict[str, Any] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    counts: dict[str, tuple[int, str]] = field(default_factory=dict)
    uncounted: dict[str, str] = field(default_factory=dict)
    """The option by what it counts, if only a shell knows its number; under `every`, what starts a rank for each GPU
    that it finds."""
    undecided: frozenset[str] = frozenset()
    """Variables that a script sets by `read`, or in an `if`, a loop or a function."""
    launchers: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    module: bool = False
    cpu: bool = False
    """Whether a launcher asks for training on processors."""
    settings: dict[str, str] = field(default_factory=dict)
    """Settings that a launcher hands to the script in environment variables, by the launcher's own names."""
    changes: dict[str, str] = field(default_factory=dict)
    """Keys that are changed in LLaMA-Factory's YAML."""
    trainer: str | dict[str, Any] | None = None
    """LLaMA-Factory's YAML, or its arguments, if that is what the command starts."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """The variables that the command would see here."""

    def here(self, path: str) -> str:
        """A path that the command names: `cd` before the command counts."""
        folder = self.keys.get("train.workdir")
        if not folder or isinstance(path, Unknown) or path.startswith(("/", "~", "$")):
            return path
        return posixpath.normpath(posixpath.join(folder, path))

    def has_file(self, path: str) -> bool:
        """Whether there is a file at this path on this machine."""
        try:
            self.reads(path)
        except BadInput:
            return False
        return True

    def put(self, key: str, value: Any, said: str) -> None:
        """Sets a key of the run file. The first value counts; a different second value is a contradiction."""
        if isinstance(value, Unknown):
            return
        if key not in self.keys:
            self.keys[key], self.said[key] = value, said
        elif self.keys[key] != value:
            self.contradicts(said, f"{self.said[key]} says {key}: {shown(self.keys[key])}")

    def variable(self, name: str, value: str, said: str = "") -> None:
        if isinstance(value, Unknown):
            why = f"{value.needs} is not known here."
            self.left_out(f"{name}={value}", why, f"env: {{{name}: its value}}")
            return
        if name in self.env and self.env[name] != value:
            self.contradicts(said or f"{name}={value}", f"{name} is {shown(self.env[name])} before it")
            return
        self.env[name] = value

    def count(self, what: str, text: str | int, said: str) -> None:
        """`what` is `nodes`, `ranks` (of a node), `total`, `tasks` (of a node) or `all tasks`."""
        if isinstance(text, Unknown):
            self.uncounted.setdefault(what, said)
        if text in ("gpu", "auto"):
            self.uncounted.setdefault("every", said)
        if isinstance(text, Unknown) or text in ("", "gpu", "auto", "cpu"):
            return
        if not (str(text).isascii() and str(text).isdigit() and 0 < int(text) < 1_000_000):
            raise Wrong(f"{said}: {shown(text)} is not a number.", do="a whole number from 1")
        value = int(text)
        first = self.counts.setdefault(what, (value, said))
        if first[0] != value:
            self.contradicts(said, first[1])

    def number(self, what: str) -> int | None:
        return self.counts[what][0] if what in self.counts else None

    def contradicts(self, one: str, other: str, fix: str = "one of the two") -> None:
        self.note(
            "launcher-contradicts",
            WARN,
            f"{shown(one)} against {shown(other)}.",
            "only one of the two can be used.",
            fix,
        )

    def note(self, id: str, verdict: str, saw: str, why: str = "", fix: str = "") -> None:
        self.notes.append(Note(id, verdict, saw, why, fix))

    def left_out(self, what: str, why: str, fix: str = "") -> None:
        self.note("shell-left-out", NOTE, f"{shown(shown_command(what))} is left out.", why, fix)


@dataclass(frozen=True)
class Option:
    """An option of a launcher: how many words follow it, and what is done with them. `act` gets the command, the
    values and the option as it was written; without it the option is left out, since `why`."""

    takes: int = 1
    act: Any = None
    why: str = OWN


def key(name: str, convert: Any = None) -> Option:
    """An option whose value is that of a key of the run file."""

    def act(command: Command, value: str, said: str) -> None:
        command.put(name, value if isinstance(value, Unknown) or convert is None else convert(value), said)

    return Option(1, act)


def count(what: str) -> Option:
    """An option that counts machines, ranks or tasks."""
    return Option(1, lambda command, value, said: command.count(what, value, said))


def own(takes: int = 1, why: str = OWN) -> Option:
    return Option(takes, None, why)


def each(names: str, option: Option) -> dict[str, Option]:
    """One option under several names, or several options with one meaning, with blanks between them."""
    return dict.fromkeys(names.split(), option)


def refused(why: str, fix: str, takes: int = 0) -> Option:
    def act(command: Command, value: str, said: str) -> None:
        raise Wrong(f"{said}.", why, fix)

    return Option(takes, act)


NOT_PYTHON = refused("allranks starts Python scripts.", "a script, or -m and a module")


def _module(command: Command, value: str, said: str) -> None:
    command.module = True


MODULE = Option(0, _module)
"""`-m`: a module follows in place of a script."""


def port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise Wrong(f"{shown(text)} is not a port.", "a TCP port is 1 to 65,535.", "such as 39500")
    return int(text)


def port_or_any(text: str) -> int | Unknown:
    """A launcher takes any free port for 0; that of the run file stays."""
    return Unknown(text, text) if text in ("", "0") else port(text)


def whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Wrong(f"{shown(text)} is not a number.", do="a whole number")
    return int(text)


@dataclass(frozen=True)
class Form:
    """One program that starts training: by which names it is called, its options, what it does with the rest.

    `options` are by their names without dashes, with `-` for `_`. `short` says that `-N4` is `-N 4`. `task` are the
    words behind the program that start a training, as in `example`. `read` is called with the command once the options
    are gone. `ranks` says that it starts the ranks of its node itself.
    """

    programs: tuple[str, ...]
    options: Mapping[str, Option] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    example: str = ""
    read: Any = None
    short: bool = False
    ranks: bool = False
    prefixes: bool = True
    """Whether a long option may be cut short, as argparse takes it."""
    every_gpu: bool = False
    """Whether it starts a rank for each GPU that it finds, unless it is told a number."""
    before: int = 0
    """How many words come between the options and the command that it starts."""

    def behind(self, words: Sequence[str]) -> list[str]:
        """The command that this program starts: the words behind its options and the variables that it sets."""
        rest = list(words[1 + len(self.task) :])
        while rest and rest[0].startswith("-") and rest[0] != "-":
            word = rest.pop(0)
            if word == "--":
                break
            name, equals, _ = self.split(word)
            try:
                takes = self.find(name, word, words[0]).takes
            except Wrong:
                continue  # the launch says that it is not known
            del rest[: takes - equals]
        while rest and ASSIGNED.fullmatch(rest[0]):
            rest.pop(0)
        return rest[self.before :]

    def take(self, command: Command) -> None:
        """Takes the program and its options from the front of the command."""
        name = command.words.pop(0)
        self.take_task(command, posixpath.basename(name))
        if self.ranks:
            command.launchers.append(self.programs[0])
        if self.every_gpu:
            command.uncounted.setdefault("every", self.programs[0])
        self.take_options(command, name)
        if command.module:
            command.words.insert(0, "-m")
            command.module = False
        if self.read is not None:
            self.read(command)

    def take_task(self, command: Command, program: str) -> None:
        words = command.words[: len(self.task)]
        if tuple(words) != self.task:
            raise no_training(program, words, [" ".join(self.task)], self.example)
        del command.words[: len(self.task)]

    def take_options(self, command: Command, program: str) -> None:
        words = command.words
        while words and words[0].startswith("-") and words[0] != "-":
            word = words.pop(0)
            if word == "--":
                return
            name, equals, value = self.split(word)
            option = self.find(name, word, program)
            values = [value] if equals else []
            while len(values) < option.takes:
                if not words:
                    raise Wrong(f"{program} {word}: nothing follows it.", do="its value")
                values.append(words.pop(0))
            said = " ".join((posixpath.basename(program), word, *(values if not equals else ())))
            if option.act is not None:
                option.act(command, values[0] if len(values) == 1 else values or "", said)

    def split(self, word: str) -> tuple[str, bool, str]:
        name, equals, value = word.partition("=")
        if self.short and not word.startswith("--") and len(word) > 2 and word[1] in self.options:
            return word[1], True, str_like(word, word[2:].removeprefix("="))
        return name.lstrip("-").replace("_", "-"), bool(equals), str_like(word, value)

    def find(self, name: str, word: str, program: str) -> Option:
        if name in self.options:
            return self.options[name]
        near = [one for one in self.options if len(one) > 1 and one.startswith(name)] if self.prefixes else []
        if len(near) == 1 and len(name) > 1:
            return self.options[near[0]]
        close = nearest(name, self.options)
        raise Wrong(
            f"{shown(word)} is not an option of {program} that is known here.",
            "whether a value follows it is not known.",
            f"--{close}, if that was meant" if close else "the script and its arguments alone",
        )


def no_training(program: str, words: Sequence[str], tasks: Sequence[str], example: str) -> Wrong:
    """The error for a task of a program that trains with other ones."""
    said = " ".join((program, *words))
    return Wrong(
        f"{shown(said)} does not start a training.",
        f"{program} does so with {', '.join(f'`{task}`' for task in tasks)}.",
        example,
    )


def no_script() -> Wrong:
    return Wrong("it names no script.", "torchrun needs one.", "command: [train.py, --lr, 1e-5]")


def take_variables(command: Command) -> None:
    """`A=1 B=2 train.py`: takes the variables before the program."""
    while command.words and ASSIGNED.fullmatch(command.words[0]):
        word = command.words.pop(0)
        name, _, value = word.partition("=")
        command.variable(name, str_like(word, value))


def hosts(text: str) -> list[tuple[str, int | None]]:
    """`a:8,b:8` → names and slots."""
    found: list[tuple[str, int | None]] = []
    for part in text.split(","):
        name, _, slots = part.strip().rpartition(":") if ":" in part else (part.strip(), "", "")
        if name:
            found.append((name, whole(slots) if slots else None))
    return found


def hostfile(command: Command, value: str, said: str) -> None:
    value = command.here(value)
    command.put("nodes", value if "/" in value else f"./{value}", said)


def put_hosts(command: Command, found: Sequence[tuple[str, int | None]], said: str) -> None:
    """The machines that an option names, one node each, with their slots where they differ."""
    merged: dict[str, int | None] = {}
    for name, slots in found:
        merged[name] = (merged.get(name) or 0) + (slots or 1) if name in merged else slots
    sizes = set(merged.values())
    names = list(merged)
    if names == ["localhost"] or names == ["127.0.0.1"]:
        command.put("nodes", "localhost", said)
    elif len(sizes) == 1:
        command.put("nodes", names, said)
    else:
        value = [{"name": name, "gpus": slots} if slots else name for name, slots in merged.items()]
        command.put("nodes", value, said)
    if len(sizes) == 1 and None not in sizes:
        command.count("ranks", str(sizes.pop()), said)


def local_rank_note(command: Command, program: str) -> None:
    """A note if a launcher would give each rank's number on its node to the script, and torchrun does not."""
    given = any(word.startswith(("--local_rank", "--local-rank")) for word in command.words)
    if "local_rank" not in command.said and not given:
        command.note(
            "launcher-dropped",
            NOTE,
            f"{program} would give --local_rank to the script.",
            "torchrun says it as the variable LOCAL_RANK; a script that reads its argument alone takes GPU 0 on "
            "every rank.",
            'int(os.environ["LOCAL_RANK"]) in the script, if it knows --local_rank alone',
        )
