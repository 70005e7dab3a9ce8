"""The state while allranks reads a run file, and the readers of single values.

A reader takes (tree, key, reading) and returns the value, or raises Wrong. `Reading.value` catches that
and writes the problem down with its key, file and line, so that reading goes on to the next key.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from allranks.core import NOTE, WARN, BadInput, Finding, Where
from allranks.spec import validate
from allranks.spec.problems import MAX_SHOWN_PATH, Problems, Wrong, nearest, shown
from allranks.spec.tree import Scalar, Sequence, Table, Tree, plain

MAX_GPUS = 1024
MAX_SWEEP = 10_000
PROFILES = ("auto", "zero3", "zero3-offload", "none")
NAMES_OF_VARIABLES = {"pattern": f"^(?:{validate.VARIABLE})$"}
SCALAR = {"type": ["string", "number", "boolean"]}
"""The schema of a text. A number or boolean counts as the text that was written: `account: 0123`."""

WORD = {"type": [*SCALAR["type"], "null"]}
"""The schema of a word of a command: the text that was written, even `null`: `[train.py, --seed, null]`."""

MISSING: Any = object()
"""The value of a key that is absent or could not be read."""


@dataclass(frozen=True)
class Reader:
    """Reads one value. `schema` describes the values that it takes as JSON Schema, `form` does so in words for the
    reference."""

    read: Callable[[Tree, str, Reading], Any]
    schema: Mapping[str, Any]
    form: str = "a name"

    def __call__(self, tree: Tree, key: str, reading: Reading) -> Any:
        return self.read(tree, key, reading)


def takes(form: str, **schema: Any) -> Callable[[Callable[[Tree, str, Reading], Any]], Reader]:
    return lambda read: Reader(read, schema, form)


class Reading:
    """The reading of one run file: its label in messages, the folder of its relative paths, and the problems found."""

    def __init__(self, file: str | None, problems: Problems):
        self.file = file
        self.label = file or "run file"
        self.folder = posixpath.dirname(file) if file else ""
        self.problems = problems
        self.notes: list[Finding] = []
        self.counts: dict[str, tuple[int, str]] = {}
        """The numbers of machines and ranks that a launcher in `train.command` names, each with the option that gives
        it (`pasted.count_ranks`)."""
        self.uncounted: dict[str, str] = {}
        """Those that only a shell knows, with the option (`commands.Command.uncounted`)."""
        self.trainer_words = False
        """Whether `train.command` was LLaMA-Factory with its arguments as words, and not with a file."""
        self.head: str | None = None
        """The machine that this launcher makes the head."""
        self.clashes = False
        """Whether the launcher's number of ranks and `gpus` differ."""

    def wrong(self, at: Any, saw: str, why: str = "", do: str = "") -> None:
        """Reports a problem at the place of a tree or an entry."""
        self.problems.add(saw, why, do, at.file, at.line)

    def refuse(self, at: Any, key: str, wrong: Wrong) -> None:
        self.wrong(at, f"{key}: {wrong.saw}", wrong.why, wrong.do)

    def value(self, tree: Tree | None, key: str, reader: Callable[[Tree, str, Reading], Any]) -> Any:
        if tree is None:
            return MISSING
        try:
            return reader(tree, key, self)
        except Wrong as wrong:
            self.refuse(tree, key, wrong)
            return MISSING

    def adopt(self, error: BadInput, at: Any, key: str) -> None:
        """Reports the problems of another file that `key` names. A problem without a line is reported at `key`."""
        for problem in error.problems:
            if problem.line is None:
                name = "" if problem.file is None else f"{shown(problem.file, MAX_SHOWN_PATH)}: "
                self.wrong(at, f"{key}: {name}{problem.saw}", problem.why, problem.do)
            else:
                self.problems.add(problem.saw, problem.why, problem.do, problem.file, problem.line)

    def note(self, id: str, at: Any, saw: str, why: str, fix: str, verdict: str = NOTE) -> None:
        where = Where(file=at.file, line=at.line)
        self.notes.append(Finding(id=id, verdict=verdict, where=where, saw=saw, why=why, fix=fix))

    def warn(self, id: str, at: Any, saw: str, why: str, fix: str) -> None:
        self.note(id, at, saw, why, fix, WARN)

    def path(self, text: str) -> str:
        """A path as the run file means it: a relative path begins at the run file's folder. `~` stays, for the node."""
        if text.startswith(("/", "~")):
            return text
        return posixpath.normpath(posixpath.join(self.folder, text))

    def unknown_keys(
        self, table: Table, prefix: str, known: Iterable[str], hint: Callable[[str], str] | None = None
    ):
        """Reports every key of `table` that is not in `known`, with the nearest known name."""
        known = list(known)
        for key, entry in table.entries.items():
            if key in known:
                continue
            if self.problems.full:
                self.problems.add("")
                continue
            do = (hint(key) if hint else "") or nearest(key, known) or "one of " + ", ".join(known)
            self.wrong(
                entry,
                f"{prefix}{shown(key)}: unknown key.",
                "it would be ignored, and the run would not do what you meant.",
                do,
            )


def described(tree: Tree) -> str:
    if isinstance(tree, Table):
        return "a mapping"
    if isinstance(tree, Sequence):
        return "a list"
    return "nothing" if tree.value is None else shown(tree.raw)


def scalar(tree: Tree, wanted: str) -> Scalar:
    if not isinstance(tree, Scalar):
        raise Wrong(f"this is {described(tree)}.", do=wanted)
    if tree.value is None:
        raise Wrong("it has no value.", do=wanted)
    return tree


def mapping(tree: Tree, wanted: str) -> Table:
    if not isinstance(tree, Table):
        raise Wrong(f"{described(tree)} is not a mapping.", do=wanted)
    return tree


def text(
    check: Callable[[str], Any], wanted: str = "one value", pattern: str = "", form: str = "a name"
) -> Reader:
    """A scalar as written, through one of `validate`'s functions; `pattern` is what the schema says of it."""
    return Reader(
        lambda tree, key, reading: check(scalar(tree, wanted).raw),
        {**SCALAR, "pattern": f"^(?:{pattern})$"} if pattern else SCALAR,
        form,
    )


def choice(options: Iterable[str]) -> Reader:
    options = tuple(options)

    @takes(", ".join(f"`{one}`" for one in options), enum=list(options))
    def read(tree: Tree, key: str, reading: Reading) -> str:
        raw = scalar(tree, "one of " + ", ".join(options)).raw
        if raw not in options:
            near = nearest(raw, options)
            raise Wrong(f"{shown(raw)} is not one of {', '.join(options)}.", do=near or options[0])
        return raw

    return read


def integer(low: int, high: int, what: str, example: int, why: str = "") -> Reader:
    @takes(f"{low:,} to {high:,}", type=["integer", "string"], minimum=low, maximum=high, pattern="^[0-9]+$")
    def read(tree: Tree, key: str, reading: Reading) -> int:
        node = scalar(tree, f"{what}, {low} to {high:,}")
        value = node.value
        if type(value) is str and not node.plain and value.isascii() and value.isdigit() and len(value) < 20:
            value = int(value)  # "8" in quotes: what was meant is plain
        if type(value) is not int or not low <= value <= high:
            raise Wrong(
                f"{shown(node.raw)} is not a {what}.",
                why or f"it is a whole number from {low} to {high:,}.",
                f"such as {example}",
            )
        return value

    return read


@takes("`true`, `false`", type="boolean")
def boolean(tree: Tree, key: str, reading: Reading) -> bool:
    node = scalar(tree, "true or false")
    if type(node.value) is not bool:
        raise Wrong(
            f"{shown(node.raw)} is neither true nor false.",
            "YAML 1.2 knows these two words alone; yes, no, on and off are strings.",
            "true or false",
        )
    return node.value


def listed(reader: Reader, example: str) -> Reader:
    """A list, each item through `reader`; items that cannot be used are all reported."""

    @takes("a list", type="array", items=reader.schema)
    def read(tree: Tree, key: str, reading: Reading) -> tuple[Any, ...]:
        if not isinstance(tree, Sequence):
            raise Wrong(f"{described(tree)} is not a list.", do=example)
        values = [reading.value(item, key, reader) for item in tree.items]
        return tuple(value for value in values if value is not MISSING)

    return read


GPU_COUNT = integer(1, MAX_GPUS, "number of GPUs", 8)
PORT = integer(1, 65535, "port", 39500, "a TCP port is 1 to 65,535.")


@takes("`auto`, 1 to 65,535", type=["integer", "string"], minimum=1, maximum=65535, pattern="^([0-9]+|auto)$")
def auto_port(tree: Tree, key: str, reading: Reading) -> int:
    """A port, or 0 for `auto`."""
    return 0 if isinstance(tree, Scalar) and tree.raw == "auto" else PORT(tree, key, reading)


PATH = text(validate.path, "a path", validate.NO_OPTION, "a path")
LINE = text(validate.one_line)


@takes(
    "a size: `16GiB`, `64GB`, bytes",
    type=["string", "number"],
    exclusiveMinimum=0,
    pattern=f"^\\s*{validate.SIZE}\\s*$",
)
def size(tree: Tree, key: str, reading: Reading) -> int:
    return validate.size(scalar(tree, "such as 16GiB").raw)


@takes("a path", **PATH.schema)
def own_path(tree: Tree, key: str, reading: Reading) -> str:
    """A path on this machine, relative to the run file."""
    return reading.path(PATH(tree, key, reading))


@takes("a path", **PATH.schema)
def program_path(tree: Tree, key: str, reading: Reading) -> str:
    """As `own_path`, but a bare name such as `python3` is looked for on the node's PATH."""
    raw = PATH(tree, key, reading)
    return reading.path(raw) if "/" in raw else raw


def word(raw: str) -> str:
    if not raw.isascii() and any("\ud800" <= one <= "\udfff" for one in raw):
        raise Wrong(
            f"{shown(raw)}: it has a byte that is not UTF-8.",
            "a run file is text in UTF-8.",
            "another name for it",
        )
    if len(raw.encode("utf-8")) > validate.MAX_VALUE:
        raise Wrong(
            f"a word of {len(raw):,} characters.",
            "Linux passes at most 128 KiB.",
            "a file, and its path here",
        )
    return raw


LIST_OF_WORDS = listed(text(word, "a word; quotes around what YAML would read otherwise"), "[a, b]")


@takes("a list of words, or one string", type=[*SCALAR["type"], "array"], items=SCALAR)
def WORDS(tree: Tree, key: str, reading: Reading) -> tuple[str, ...]:
    """A command's words: a list of them, or one string that is split as a shell would."""
    import shlex

    if isinstance(tree, Sequence):
        return LIST_OF_WORDS(tree, key, reading)
    raw = scalar(tree, "a list of words, or one string").raw
    try:
        return tuple(shlex.split(raw))
    except ValueError as error:
        raise Wrong(
            f"{shown(raw)} cannot be split: {str(error).lower()}.",
            "it is split as a shell would, without running one.",
            'a list: ["train.py", "--name", "it\'s"]',
        ) from None


def run_name(raw: str) -> str:
    return validate.name(raw, "run name")


@takes("a path", **PATH.schema)
def deepspeed_config(tree: Tree, key: str, reading: Reading) -> str:
    """A profile, or the path of a JSON. A text is a path if it contains a slash or ends in .json."""
    raw = validate.path(scalar(tree, "auto, or the path of a DeepSpeed JSON").raw)
    if raw in PROFILES:
        return raw
    if "/" not in raw and not raw.endswith((".json", ".JSON")):
        near = nearest(raw, PROFILES)
        raise Wrong(
            f"{shown(raw)} is not one of {', '.join(PROFILES)}, and not a path.", do=near or "auto, or a path"
        )
    return reading.path(raw)


@takes("a path", **PATH.schema)
def resume_from(tree: Tree, key: str, reading: Reading) -> str | None:
    node = scalar(tree, "auto, or the path of a checkpoint")
    if type(node.value) is bool:
        return "auto" if node.value else None
    return validate.path(node.raw)


@takes("a mapping", type="object")
def free_mapping(tree: Tree, key: str, reading: Reading) -> dict[str, Any]:
    return plain(mapping(tree, "{option: value}"))


@takes(
    "a mapping from arguments to lists",
    type="object",
    additionalProperties={"type": "array", "minItems": 1, "items": WORD},
)
def read_sweep(tree: Tree, key: str, reading: Reading) -> dict[str, tuple[Any, ...]]:
    """Each argument with its values; the runs are all their combinations."""
    values: dict[str, tuple[Any, ...]] = {}
    total = 1
    for name, entry in mapping(tree, "{learning_rate: [1e-5, 5e-5]}").entries.items():
        node = entry.node
        if not isinstance(node, Sequence) or not node.items:
            reading.wrong(
                entry, f"{key}.{shown(name)}: {described(node)} is not a list of values.", do="[1e-5, 5e-5]"
            )
        elif not all(isinstance(item, Scalar) for item in node.items):
            reading.wrong(
                entry, f"{key}.{shown(name)}: one of its values is a list or a mapping.", do="[1e-5, 5e-5]"
            )
        else:
            values[name] = tuple(plain(node))
            total *= len(node.items)
    if total > MAX_SWEEP:
        raise Wrong(f"it makes {total:,} runs.", f"at most {MAX_SWEEP:,} are started.", "fewer values")
    return values


@takes("a mapping", type="object", additionalProperties=SCALAR)
def read_labels(tree: Tree, key: str, reading: Reading) -> dict[str, str]:
    table = mapping(tree, "{rack: r1}")
    labels = {}
    for name, entry in table.entries.items():
        value = reading.value(entry.node, f"{key}.{shown(name)}", LINE)
        if value is not MISSING:
            labels[name] = value
    return labels


@takes(
    "a mapping from names to values",
    type="object",
    propertyNames=NAMES_OF_VARIABLES,
    additionalProperties=SCALAR,
)
def read_env(tree: Tree, key: str, reading: Reading) -> dict[str, str]:
    """Variables and their values as written (`1`, `true` and `1e-5` need no quotes)."""
    variables = {}
    for name, entry in mapping(tree, "{NCCL_DEBUG: INFO}").entries.items():
        try:
            validate.variable(name)
            variables[name] = validate.variable_value(name, variable_text(entry.node))
        except Wrong as wrong:
            reading.refuse(entry, f"{key}.{shown(name)}", wrong)
    return variables


def variable_text(tree: Tree) -> str:
    if isinstance(tree, Scalar) and tree.value is not None:
        return tree.raw
    seen = "it has no value." if isinstance(tree, Scalar) else f"this is {described(tree)}."
    raise Wrong(seen, "a variable is one string.", 'the value; "" for an empty one')
