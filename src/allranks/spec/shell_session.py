"""The state of a shell on its way to the training command: variables, folders, modules, environments.

It understands assignments, `export`, `cd`, `source` and `module load`, and ignores commands that only print or look.
Any other command is left out with a note if it is in a script. In a single line it is an error, because the user
certainly meant it there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from allranks.spec.commands import Home, Pattern, Unknown, conda
from allranks.spec.problems import Wrong, shown
from allranks.spec.shell import Statement, Word, resolved
from allranks.spec.shell_assignments import array, assignment, declared
from allranks.spec.shell_env_files import export_words
from allranks.spec.shell_environment import activate_conda, load_modules, source
from allranks.spec.shell_folders import change_folder, files_written, from_here, placed, stand
from allranks.spec.shell_functions import Definition, has_option
from allranks.spec.shell_training import DECLARING, HARMLESS
from allranks.spec.shell_values import (
    CLOSE,
    HOME,
    OPEN,
    all_unresolved,
    is_pattern,
    mark,
    readable,
    summed,
    unresolved,
)
from allranks.spec.shown_command import shown_command

SETS_PLACE = re.compile(
    r"MASTER_(ADDR|PORT)|(NODE_|LOCAL_|)RANK|WORLD_SIZE|N?NODES|NPROC_PER_NODE|(NUM_|N)(NODES|GPUS)|GPUS_PER_NODE|PATH"
)
"""Variables for which no note is needed if a script exports them with the output of a command: allranks places the
ranks itself, and the environment brings its own programs."""

AS_BEFORE = re.compile(rf"{OPEN}[^{OPEN}{CLOSE}]{{0,200}}\bPATH\b[^{OPEN}{CLOSE}]{{0,200}}{CLOSE}")
"""`$PATH` or `${PATH:+:$PATH}` in a value."""


@dataclass
class Session:
    """The state of a shell when it comes to the training command."""

    values: dict[str, str | list[str] | None]
    is_script: bool
    exported: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    folder: str | None = None
    modules: list[str] = field(default_factory=list)
    activate: str | None = None
    sourced: tuple[str, list[str]] | None = None
    """The script that was sourced last, with its arguments, until what it sets is known."""
    conda: str | None = None
    """The conda environment that is active: its name, or its folder."""
    pushed: tuple[str | None, ...] = ()
    """The folders that `pushd` left."""
    lost: str | None = None
    """The first command whose program is not known, and that may train."""
    left_out: list[tuple[str, str, str]] = field(default_factory=list)
    """Parts of the script that allranks does not execute: (the part, why, the fix)."""
    line: int | None = None
    reads: Callable[[str], str] | None = None
    """Returns the text of a file of this machine. Raises BadInput."""
    shifted: int = 0
    """How many arguments `shift` took."""
    has_begun: bool = False
    """Whether the training command is above."""
    functions: dict[str, Definition] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    """The functions that the script calls."""
    steps: Iterator[int] = field(default_factory=itertools.count)
    """Counts the commands that were followed."""
    exports_all: bool = False
    """Whether `set -a` is on: each assignment exports."""
    numbers: set[str] = field(default_factory=set)
    """The variables that `declare -i` made numbers: each value assigned to them is computed."""
    has_exited: bool = False
    """Whether the script certainly ended before the present place."""
    ended: str | None = None
    """The first `exit` that certainly runs."""

    def copy(self) -> Session:
        return replace(
            self, values=dict(self.values), exported=dict(self.exported), modules=list(self.modules)
        )

    def program(self, statement: Statement) -> list[str]:
        """The words after leading assignments, as far as they are known."""
        words = list(statement.words)
        while words and assignment(words[0]):
            words.pop(0)
        return [readable(text) for word in words for text in word.expanded(self.values)]

    def leave(self, what: str, why: str, fix: str) -> None:
        if not self.is_script:
            raise Wrong(f"the command contains {shown(shown_command(what))}.", why, fix)
        self.left_out.append((what, why, fix))

    def known(self, word: Word) -> list[str]:
        """The words that one word expands to. A word with an unknown value stays as it is written."""
        return [known(placed(text, self.folder)) for text in word.expanded(self.values)]

    def passed(self, word: Word) -> list[str]:
        """As `known`, of a word of the training command, which may match files."""
        if not word.has_pattern(self.values):
            return self.known(word)
        return [
            Pattern(text) if type(text) is str and is_pattern(text) else text for text in self.known(word)
        ]


def known(text: str) -> str:
    if text.startswith(HOME) and unresolved(rest := text[len(HOME) :]) is None:
        return Home("~" + rest)
    needs = all_unresolved(text)
    return Unknown(readable(text), *needs) if needs else text


def is_argument(name: str) -> bool:
    """Whether a variable is `$1`, `$2` …, `$@`, `$*` or `$#`."""
    return (name.isdigit() and name != "0") or name in ("@", "*", "#")


def place_arguments(session: Session, arguments: list[str]) -> None:
    for name in [name for name in session.values if is_argument(name)]:
        del session.values[name]
    session.values.update({str(n): word for n, word in enumerate(arguments, 1)})
    session.values.update({"@": arguments, "*": arguments, "#": str(len(arguments))})


def follow_one(session: Session, statement: Statement, certain: bool, unset: str | None = None) -> None:
    """One command that does not train; `certain` says that it runs. It does if the variable `unset` has no value."""
    keep_defaults(session, statement.words, certain)
    words = list(statement.words)
    if all(assignment(word) for word in words):
        for word in words:
            assign(session, word, exported=False, certain=certain or is_default(session, word, unset))
        return
    while assignment(words[0]):
        words.pop(0)
    name, rest = words[0].plain, words[1:]
    plain = [word.plain for word in rest]
    if name in DECLARING:
        declare(session, name, rest, certain, unset)
    elif certain and name == "read" and statement.document is not None:
        read_document(session, plain, statement.document)
    elif certain:
        before(session, name, rest, plain)
        written(session, name, statement)
    elif name in CHANGES:
        change(session, name, plain, certain=False)
    elif not HARMLESS.fullmatch(name):
        session.leave(
            shown_command([name, *plain]),
            "it is in an `if`, a loop or a function.",
            "do it by hand, or write it into the script",
        )


def keep_defaults(session: Session, words: list[Word], certain: bool) -> None:
    """`: "${GPUS:=8}"` sets the variable, unless it has a value."""
    for part in (part for word in words for part in word.parts if part.assigns):
        found = session.values.get(part.text, [])
        if found == [] or (part.empty_counts and found == ""):
            session.values[part.text] = " ".join(resolved(part, session.values)) if certain else None


def is_default(session: Session, word: Word, unset: str | None) -> bool:
    """Whether `if [ -z "$A" ]; then A=1; fi` gives a variable its value, as `${A:=1}` does."""
    told = assignment(word)
    return told is not None and told[0] == unset and unset not in session.values


def declare(session: Session, name: str, rest: list[Word], certain: bool, unset: str | None) -> None:
    """`export A=1 B`, `declare -x A=1`, `local a=1`."""
    export = name == "export" or has_option(rest, "x")
    for word in map(declared, rest):
        told = assignment(word)
        if has_option(rest, "i"):
            session.numbers.add(told[0] if told else word.plain)
        if told:
            assign(session, word, export, certain or is_default(session, word, unset))
        elif name == "local" and not word.plain.startswith("-"):
            session.values[word.plain] = [] if certain else None
        elif export and isinstance(value := session.values.get(word.plain), str) and not unresolved(value):
            session.exported[word.plain] = value
        elif name == "export" and any(part.kind != "text" for part in word.parts):
            export_words(session, word, certain)


def before(session: Session, name: str, rest: list[Word], plain: list[str]) -> None:
    """One command that prepares the training's environment, or does not."""
    if name in CHANGES:
        change(session, name, plain, certain=True)
    elif name == "popd" and session.pushed:
        *pushed, session.folder = session.pushed
        session.pushed = tuple(pushed)
        stand(session, None if session.folder is None else from_here(session.folder))
    elif name in ("popd", "cd") and (name == "popd" or plain == ["-"]):
        session.leave(
            " ".join([name, *plain]),
            "that folder is not known here.",
            "train: {workdir: the folder}",
        )
    elif name in ("cd", "pushd") and rest:
        session.pushed += (session.folder,) if name == "pushd" else ()
        change_folder(session, (session.known(rest[-1]) or [""])[0])
    elif name == "source" and plain[:1] in (["activate"], ["deactivate"]):  # as conda 4.3 did it
        activate_conda(session, name, rest)
    elif name in ("source", "."):
        source(session, rest)
    elif name in ("module", "ml"):
        load_modules(session, name, [text for word in rest for text in session.known(word)])
    elif name in conda.PROGRAMS and plain[:1] in (["activate"], ["deactivate"]):
        activate_conda(session, name, rest)
    elif not HARMLESS.fullmatch(name):
        session.leave(
            shown_command([name, *plain]),
            "it is not a part of the training.",
            f"do it by hand {'after' if session.has_begun else 'before'} the run",
        )


def read_document(session: Session, words: list[str], document: Word) -> None:
    """`read -r -d '' NAME <<EOF`: the whole document; without `-d ''` its first line."""
    names, whole = [], False
    while words:
        word = words.pop(0)
        if word.startswith("-") and word[-1] in "adinNptu":
            value = words.pop(0) if words else ""
            whole = whole or (word[-1] == "d" and value == "")
        elif not word.startswith("-"):
            names.append(word)
    text = document.value(session.values).strip()
    session.values.update(dict.fromkeys(names))
    if len(names) == 1:
        session.values[names[0]] = text if whole else text.partition("\n")[0]


def written(session: Session, name: str, statement: Statement) -> None:
    """`cat > ds.json <<EOF`: a file that a command writes which is not run."""
    for file in files_written(statement.redirections)[: HARMLESS.fullmatch(name) is not None]:
        why = "it is not run, so the file is not written."
        session.leave(f"{name} > {file}", why, f"write {file} before the run")


CHANGES = ("shift", "unset", "read", "let", "mapfile", "readarray", "printf", "set")
"""Commands of the shell that change variables."""


def change(session: Session, name: str, plain: list[str], certain: bool) -> None:
    values = session.values
    if name == "shift":
        given, count = values.get("@"), plain[0] if plain else "1"
        if certain and isinstance(given, list) and count.isdigit():
            session.shifted += int(count)
            in_function = values.get("9") == ""  # where an argument that is not given is empty
            place_arguments(session, given[int(count) :])
            missing = range(max(0, len(given) - int(count)) + 1, 10)
            values.update({str(n): "" if in_function else mark(f"${n + session.shifted}") for n in missing})
        else:
            values.update(dict.fromkeys("123456789@*#"))
    elif name == "unset":
        for one in plain:
            values[one] = [] if certain else None
            session.exported.pop(one, None)
    elif name in ("read", "let", "mapfile", "readarray") or (name, plain[:1]) == ("printf", ["-v"]):
        values.update({re.split(r"\W", one)[0]: None for one in plain if one[:1].isalpha() or one[:1] == "_"})
    elif name == "set":
        session.exports_all = exports_all(plain, session.exports_all) if certain else session.exports_all
    if name == "set" and "--" in plain:
        values.update(dict.fromkeys("123456789@*#"))


def exports_all(words: list[str], now: bool) -> bool:
    """Whether all assignments export after `set -a`, `set -ea`, `set -o allexport`, `set +a`."""
    before = ""
    for word in words:
        if word[:1] not in ("-", "+") or word == "--":
            if before[-1:] != "o" or word == "--":
                break
            now = before[0] == "-" if word == "allexport" else now
        elif "a" in word:
            now = word[0] == "-"
        before = word
    return now


def leave_path(session: Session, value: str) -> None:
    """A note about the folders that a script puts before or behind its PATH."""
    if AS_BEFORE.sub("", value).strip(":"):
        session.left_out[:] = [one for one in session.left_out if not one[0].startswith("PATH=")]
        why = "the ranks have the PATH of their environment."
        fix = "environment: {activate: a script that sets it}, or {python: its path} for a Python in it"
        session.left_out.append((f"PATH={readable(value)}", why, fix))


def appended_to(session: Session, name: str, value: str | list[str]) -> str | list[str] | None:
    """The value of a variable after `NAME+=value`."""
    before = session.values.get(name, mark("$PATH") if name == "PATH" else [])
    if before == []:  # it is not set
        return value
    if isinstance(before, list) and isinstance(value, list):
        return [*before, *value]
    if isinstance(before, str) and isinstance(value, str):
        return f"{before}+{value}" if name in session.numbers else before + value
    return None


def assign(session: Session, word: Word, exported: bool, certain: bool) -> None:
    name, right, appended = assignment(word) or ("", Word(), False)
    exported = exported or session.exports_all or name == "PATH"
    items = array(right, session.values)
    # `PYTHONPATH=src:$PYTHONPATH`: its earlier value belongs to this machine's shell. Python takes an empty entry for
    # the folder where it starts.
    values = {name: "", **session.values} if name == "PYTHONPATH" else session.values
    value: str | list[str] | None = right.value(values) if items is None else items
    if name == "PYTHONPATH" and isinstance(value, str) and not appended:
        value = ":".join(one or "." for one in value.split(":")) if value else value
    if isinstance(value, str) and exported and not SETS_PLACE.fullmatch(name) and unresolved(value):
        needs = unresolved(value)
        session.left_out.append(
            (f"{name}={readable(value)}", f"{needs} is not known here.", f"env: {{{name}: its value}}")
        )
    if appended and value is not None:
        value = appended_to(session, name, value)
    if name == "PATH" and certain and isinstance(value, str) and unresolved(value):
        leave_path(session, value)
    if name in session.numbers and isinstance(value, str):
        value = summed(value, session.values)
    session.values[name] = value if certain else None
    if not certain:
        if exported or name in session.exported:
            what = "it is in an `if`, a loop or a function, and only a shell knows whether it runs."
            session.left_out.append((f"export {name}", what, f"env: {{{name}: its value}}"))
        session.exported.pop(name, None)
    elif isinstance(value, str) and (exported or name in session.exported):
        if unresolved(value) is None:
            session.exported[name] = value
        else:
            session.exported.pop(name, None)
