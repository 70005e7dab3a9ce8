"""Follows a script or a line for a shell without running it: finds the command that trains, and the settings before
it.

It understands assignments, `export`, `cd`, `source` and `module load`, and ignores commands that only print or look.
Any other command is left out with a note if it is in a script. In a single line it is an error, because the user
certainly meant it there.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from allranks.spec import commands
from allranks.spec.commands import Home, Unknown, conda
from allranks.spec.commands.python import is_python
from allranks.spec.problems import Wrong, shown
from allranks.spec.shell import Statement, Word, array, assignment, resolved, statements
from allranks.spec.shell_branches import Branches
from allranks.spec.shell_environment import activate_conda, load_modules, other_schedulers, source
from allranks.spec.shell_folders import change_folder, files_written, from_here, own_folders, placed, stand
from allranks.spec.shell_training import DECLARING, HARMLESS, is_beside, is_training
from allranks.spec.shell_values import HERE, HOME, NOT_GIVEN, Values, readable, unresolved

PIPES = ("|", "|&")
PRINTING = ("tee", "grep", "cat", "ts", "sed", "less", "tail", "head", "awk")
"""Programs that, after a pipe, only show the output."""

SETS_PLACE = re.compile(
    r"MASTER_(ADDR|PORT)|(NODE_|LOCAL_|)RANK|WORLD_SIZE|N?NODES|NPROC_PER_NODE|(NUM_|N)(NODES|GPUS)|GPUS_PER_NODE|PATH"
)
"""Variables for which no note is needed if a script exports them with the output of a command: allranks places the
ranks itself, and the environment brings its own programs."""


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
    conda: str | None = None
    """The conda environment that is active: its name, or its folder."""
    pushed: tuple[str | None, ...] = ()
    """The folders that `pushd` left."""
    lost: str | None = None
    """The first command whose program is not known, and that may train."""
    left_out: list[tuple[str, str, str]] = field(default_factory=list)
    """Parts of the script that allranks does not execute: (the part, why, the fix)."""
    line: int | None = None

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
            raise Wrong(f"the command contains {shown(what)}.", why, fix)
        self.left_out.append((what, why, fix))

    def known(self, word: Word) -> list[str]:
        """The words that one word expands to. A word with an unknown value stays as it is written."""
        return [known(placed(text, self.folder)) for text in word.expanded(self.values)]


def known(text: str) -> str:
    needs = unresolved(text)
    if text.startswith(HOME) and unresolved(rest := text[len(HOME) :]) is None:
        return Home("~" + rest)
    return text if needs is None else Unknown(readable(text), needs)


def follow(
    text: str, values: Values, script_folder: str | None = None, arguments: Sequence[str] = ()
) -> Session:
    """Follows `text` to its training command. `values` are variables that are known before; `script_folder` is where a
    script lies, `arguments` what it was given. Raises Wrong if there is no such command, or more than one."""
    is_script = script_folder is not None
    session = Session(dict(values), is_script)
    stand(session, session.values.get("PWD", HERE))
    session.values.setdefault("HOME", HOME)
    place_arguments(session, list(arguments))
    session.left_out += other_schedulers(text)
    found = statements(text)
    if script_folder is not None:
        session.values.update(own_folders(found, script_folder))
    started = starts(session, found)
    return chosen(started, session)


def place_arguments(session: Session, arguments: list[str]) -> None:
    for number in range(1, 10):
        session.values.pop(str(number), None)
    session.values.update({str(n): word for n, word in enumerate(arguments, 1)})
    session.values.update({"@": arguments, "*": arguments, "#": str(len(arguments))})


Started = tuple[Statement, "bool | None", "Session"]
"""A command that trains, whether it runs, and what a shell would know there."""


def starts(session: Session, found: list[Statement]) -> list[Started]:
    """Follows all commands; those that train, each with what was set before it."""
    branches = Branches(lambda word: [NOT_GIVEN.sub("", text) for text in word.expanded(session.values)])
    started: list[Started] = []
    before: Statement | None = None
    for statement in found:
        runs = branches.runs(statement)
        after_pipe = before is not None and before.end in PIPES
        before = statement
        if runs is False or not statement.words:
            continue
        if statement.first == "eval":
            evaluated(session, statement)
        if after_pipe:
            if not session.is_script and statement.first not in PRINTING:
                session.leave(
                    f"| {statement.first}", "no shell runs on the nodes.", "allranks logs shows the lines"
                )
        elif is_training(session.program(statement), session.is_script):
            started.append((statement, runs, session.copy()))
        elif session.lost is None and (unknown := unknown_program(session, statement)):
            said = shown(" ".join(word.plain for word in statement.words), 200)
            session.lost = f"line {statement.line}: {shown(unknown)} in {said} is not known here."
        else:
            follow_one(session, statement, runs is True)
    return started


def unknown_program(session: Session, statement: Statement) -> str | None:
    """The unknown value in a command's program, or in the words of `eval`, or a program that is not known and starts
    Python; None if all are known."""
    words = [word for word in statement.words if not assignment(word)]
    if statement.first != "eval":
        words = words[:1]
    found = (unresolved(text) for word in words for text in word.expanded(session.values))
    program, *rest = session.program(statement) or [""]
    starts_python = not is_beside(program) and any(is_python(word) or word.endswith(".py") for word in rest)
    return next((needs for needs in found if needs and needs != "~"), program if starts_python else None)


PREPARING = ("env", "time", "nice", "timeout", "ray")


def evaluated(session: Session, statement: Statement) -> None:
    """`eval $CMD`: the words of the command if it is one."""
    text = " ".join(text for word in statement.words[1:] for text in word.expanded(session.values))
    inner = statements(text) if unresolved(text) is None else []
    if len(inner) == 1 and inner[0].words and not inner[0].keywords:
        statement.words = inner[0].words


def chosen(started: list[Started], end: Session) -> Session:
    """The one command that starts the training, as it would run. Notes of what follows it are kept."""
    for names in ((*PREPARING, "bash", "sh"), PREPARING):
        # A launcher is the surest sign, then a shell script, then a bare Python.
        strong = [
            one
            for one in started
            if commands.form_of(words := one[2].program(one[0])) and posixpath.basename(words[0]) not in names
        ]
        if strong:
            for one in started:
                if one not in strong:
                    what = shown(" ".join(one[2].program(one[0])), 200)
                    end.leave(what, "one command trains.", "run it by hand, before or after the run")
            started = strong
            break
    if not started and end.lost is not None:
        raise Wrong(end.lost, "it may start the training.", "the training command itself after `--`")
    if not started:
        raise commands.no_script()
    if len(started) > 1:
        places = " and ".join(f"line {one.line}: {shown(one.first)}" for one, _, _ in started[:3])
        raise Wrong(
            f"{len(started)} commands that train ({places})." if end.is_script else "it has two commands.",
            "a run trains one thing.",
            "one run for each of them",
        )
    statement, runs, session = started[0]
    if runs is None:
        raise Wrong(
            f"line {statement.line}: {shown(statement.first)} is in an `if`, a loop or a function.",
            "only a shell knows whether it runs, and how often.",
            "the command itself after `--`",
        )
    session.left_out = end.left_out
    launch(session, statement)
    return session


def follow_one(session: Session, statement: Statement, certain: bool) -> None:
    """One command that does not train; `certain` says that it runs."""
    keep_defaults(session, statement.words, certain)
    words = list(statement.words)
    if all(assignment(word) for word in words):
        for word in words:
            assign(session, word, exported=False, certain=certain)
        return
    while assignment(words[0]):
        words.pop(0)
    name, rest = words[0].plain, words[1:]
    plain = [word.plain for word in rest]
    if name in DECLARING:
        declare(session, name, rest, certain)
    elif certain and name == "read" and statement.document is not None:
        read_document(session, plain, statement.document)
    elif certain:
        before(session, name, rest, plain)
        written(session, name, statement)
    elif name in CHANGES:
        change(session, name, plain, certain=False)
    elif not HARMLESS.fullmatch(name):
        session.leave(
            " ".join([name, *plain]),
            "it is in an `if`, a loop or a function.",
            "do it by hand, or write it into the script",
        )


def keep_defaults(session: Session, words: list[Word], certain: bool) -> None:
    """`: "${GPUS:=8}"` sets the variable, unless it has a value."""
    for part in (part for word in words for part in word.parts if part.assigns):
        if session.values.get(part.text, "") in ("", []):
            session.values[part.text] = " ".join(resolved(part, session.values)) if certain else None


def declare(session: Session, name: str, rest: list[Word], certain: bool) -> None:
    """`export A=1 B`, `declare -x A=1`, `local a=1`."""
    export = name == "export" or any(word.plain == "-x" for word in rest)
    for word in rest:
        if assignment(word):
            assign(session, word, export, certain)
        elif export and isinstance(value := session.values.get(word.plain), str) and not unresolved(value):
            session.exported[word.plain] = value


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
            " ".join([name, *plain]), "it is not a part of the training.", "do it by hand before the run"
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
            place_arguments(session, given[int(count) :])
        else:
            values.update(dict.fromkeys("123456789@*#"))
    elif name == "unset":
        for one in plain:
            values[one] = "" if certain else None
            session.exported.pop(one, None)
    elif name in ("read", "let", "mapfile", "readarray") or (name, plain[:1]) == ("printf", ["-v"]):
        values.update({re.split(r"\W", one)[0]: None for one in plain if one[:1].isalpha() or one[:1] == "_"})
    elif name == "set" and "--" in plain:
        values.update(dict.fromkeys("123456789@*#"))


def assign(session: Session, word: Word, exported: bool, certain: bool) -> None:
    name, right, appended = assignment(word) or ("", Word(), False)
    items = array(right, session.values)
    # `PYTHONPATH=src:$PYTHONPATH`: its earlier value belongs to this machine's shell.
    values = {name: "", **session.values} if name == "PYTHONPATH" else session.values
    value: str | list[str] | None = right.value(values) if items is None else items
    if name == "PYTHONPATH" and isinstance(value, str) and not appended:
        value = value.strip(":")
    if isinstance(value, str) and exported and not SETS_PLACE.fullmatch(name) and unresolved(value):
        needs = unresolved(value)
        session.left_out.append(
            (f"{name}={readable(value)}", f"{needs} is not known here.", f"env: {{{name}: its value}}")
        )
    if appended and value is not None:
        before = session.values.get(name)
        if isinstance(before, list) and isinstance(value, list):
            value = [*before, *value]
        elif isinstance(before, str) and isinstance(value, str):
            value = before + value
        else:
            value = value if name not in session.values else None
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


def launch(session: Session, statement: Statement) -> None:
    """Reads the training command: the variables before it, the words, the redirections, and how it ends."""
    words = list(statement.words)
    session.line = statement.line
    while words and assignment(words[0]):
        assign(session, words.pop(0), exported=True, certain=True)
    session.words = [one for word in words for one in session.known(word)]
    for name, value in [*session.exported.items()]:
        session.exported[name] = placed(value, session.folder)
        if needs := unresolved(session.exported[name]):
            del session.exported[name]
            session.left_out.append((name, f"{needs} is not known here.", f"env: {{{name}: its value}}"))
    if statement.redirections:
        session.left_out.append(
            (" ".join(statement.redirections), "each rank has its own log.", "allranks logs")
        )
    if statement.end in PIPES:
        session.left_out.append(("the commands after |", "no shell runs on the nodes.", "allranks logs"))
    if statement.end == "&":
        session.left_out.append(("&", "a launched run no longer needs a shell.", "allranks run --detach"))
    if statement.end == "||":
        session.leave("||", "no shell runs on the nodes.", "what restarts a run: launch: {restarts: 1}")
