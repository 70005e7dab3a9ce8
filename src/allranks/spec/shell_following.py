"""Follows a script or a line for a shell without running it, to the command that trains."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from allranks.core import BadInput
from allranks.spec import commands
from allranks.spec.commands.python import is_python
from allranks.spec.problems import Wrong, shown
from allranks.spec.shell import Statement, statements
from allranks.spec.shell_assignments import assignment
from allranks.spec.shell_branches import Branches
from allranks.spec.shell_env_files import holds_assignments, take
from allranks.spec.shell_environment import other_schedulers
from allranks.spec.shell_folders import from_here, placed, stand
from allranks.spec.shell_functions import Definition, own_variables, taken_out
from allranks.spec.shell_placeholders import refuse_placeholder
from allranks.spec.shell_session import Session, assign, follow_one, is_argument, place_arguments
from allranks.spec.shell_training import is_beside, is_training
from allranks.spec.shell_values import HERE, HOME, NOT_GIVEN, Values, unresolved
from allranks.spec.shown_command import shown_command

PIPES = ("|", "|&")
PRINTING = ("tee", "grep", "cat", "ts", "sed", "less", "tail", "head", "awk")
"""Programs that, after a pipe, only show the output."""


def follow(
    text: str,
    values: Values,
    script: str | None = None,
    arguments: Sequence[str] = (),
    reads: Reads | None = None,
) -> Session:
    """Follows `text` to its training command. `values` are variables that are known before; `script` is the path of a
    script, `arguments` its arguments; `reads` returns the text of a file that is sourced. Raises Wrong unless exactly
    one command trains."""
    session = Session(dict(values), script is not None, reads=reads)
    stand(session, session.values.get("PWD", HERE))
    session.values.setdefault("HOME", HOME)
    place_arguments(session, list(arguments))
    session.left_out += other_schedulers(text)
    found = statements(text)
    if script is not None:
        own = from_here(posixpath.normpath(script)) if script else "bash"
        session.values.update(dict.fromkeys(("0", *OWN_PATH), own))
    started = Follower(session).all(found)
    if not started:  # a function that nobody calls is a better answer than "no script"
        for name in [name for name in session.functions if name not in session.called]:
            started += Follower(session.copy(), certain=False).all(session.functions[name].body)
    return chosen(started, session)


Reads = Callable[[str], str]
ASSIGNS = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)\+?=", re.MULTILINE)
OWN_PATH = ("BASH_SOURCE", "${BASH_SOURCE[0]}")
"""The file in which a command stands, as it is written in a script."""
CONTAINERS = ("docker", "podman", "nerdctl", "singularity", "apptainer", "enroot")
DEEPEST = 16
"""Functions and sourced files in each other that are followed."""
MOST_COMMANDS = 20_000
"""Commands of a script that are followed, those of a function at each of its calls."""

Started = tuple[Statement, "bool | None", "Session"]
"""A command that trains, whether it runs, and what a shell would know there."""


class Follower:
    """Follows the commands of a script, a function or a sourced file.

    `certain` says that they run at all; `inside` names the functions and files that led here.
    """

    def __init__(self, session: Session, certain: bool = True, inside: tuple[str, ...] = ()):
        self.session, self.certain, self.inside = session, certain, inside
        self.branches = Branches(
            lambda word: [NOT_GIVEN.sub("", text) for text in word.expanded(session.values)]
        )
        self.started: list[Started] = []

    def all(self, found: list[Statement]) -> list[Started]:
        """The commands that train, each with what was set before it."""
        last = ""
        for statement in taken_out(found):
            if isinstance(statement, Definition):
                self.session.functions[statement.name] = statement
                statement.file = self.session.values.get(OWN_PATH[0])
                continue
            runs = self.branches.runs(statement)
            runs = None if runs and not self.certain else runs
            after, last = last, statement.end
            if runs is False or not statement.words:
                continue
            if next(self.session.steps) > MOST_COMMANDS:
                raise Wrong(
                    "its functions call each other too often.", do="the training command itself after `--`"
                )
            if self.ends(statement, runs, after):
                break
            if after in PIPES:
                self.behind_pipe(statement)
            else:
                self.one(statement, runs)
            if self.session.has_exited:
                break
        return self.started

    def ends(self, statement: Statement, runs: bool | None, after: str) -> bool:
        """Whether a `return` or an `exit` ends what is followed. If only a shell knows whether it is reached, an `exit`
        and a `return 1` are taken for the end of a failed script, and any other `return` leaves the rest in doubt. The
        rest after an `exit 1` is read all the same, because it may tell which argument is missing."""
        name, *words = [word.plain for word in statement.words]
        if name in ("break", "continue"):
            self.branches.leave_loop()
        if name not in ("return", "exit") or (self.branches.assumed and after == "||"):
            return False
        runs = None if self.branches.assumed else runs
        if runs and name == "exit":
            failed = bool(words) and words[0] != "0"
            self.session.has_exited = not failed
            self.session.ended = self.session.ended or f"line {statement.line}: exit ends the script."
            return not failed
        elif name == "return" and self.inside and not runs:
            self.certain = self.certain and bool(words) and words[0] != "0"
        return bool(runs) and name == "return" and bool(self.inside)

    def behind_pipe(self, statement: Statement) -> None:
        if not self.session.is_script and statement.first not in PRINTING:
            self.session.leave(
                f"| {statement.first}", "no shell runs on the nodes.", "allranks logs shows the lines"
            )

    def one(self, statement: Statement, runs: bool | None) -> None:
        session = self.session
        if "for" in statement.keywords:
            session.values[statement.first] = self.branches.only_item(statement) if runs else None
            return
        if statement.first.startswith("--") and runs and self.started and statement.end not in (")", "|"):
            raise no_continuation(statement)
        if statement.first == "eval":
            evaluated(session, statement)
        refuse_placeholder(statement)
        names = [word.plain for word in statement.words if not assignment(word)]
        if names[:1] == ["command"] and not "".join(names[1:2]).startswith("-"):
            at = next(place for place, word in enumerate(statement.words) if not assignment(word))
            statement = replace(statement, words=statement.words[:at] + statement.words[at + 1 :])
        elif names and names[0] in session.functions and names[0] not in self.inside:
            self.started += self.called(statement, session.functions[names[0]], runs is True)
            return
        if is_training(session.program(statement), session.is_script):
            self.started.append((statement, runs, session.copy()))
            form = commands.form_of(session.program(statement))
            session.has_begun |= form is not None and form.ranks
        elif session.lost is None and (unknown := unknown_program(session, statement)):
            said = shown(shown_command([word.plain for word in statement.words]), 200)
            session.lost = f"line {statement.line}: {shown(unknown)} in {said} is not known here."
        else:
            follow_one(session, statement, runs is True, self.branches.unset if self.certain else None)
            self.learn()

    def called(self, call: Statement, function: Definition, certain: bool) -> list[Started]:
        """Follows a function with the arguments and variables of this call."""
        if len(self.inside) > DEEPEST:
            return []
        session, inside = self.session, (*self.inside, function.name)
        session.called.add(function.name)
        if function.subshell or call.end in (*PIPES, "&"):
            session = session.copy()
        values, exported = session.values, session.exported
        before = [word for word in call.words if assignment(word)]
        words = call.words[len(before) + 1 :]
        names = own_variables(function.body) | {told[0] for word in before if (told := assignment(word))}

        def is_own(name: str) -> bool:
            return name in names or name in OWN_PATH or is_argument(name)

        kept = {name: value for name, value in values.items() if is_own(name)}
        kept_exported = {name: exported[name] for name in names if name in exported}
        arguments = [text for word in words for text in word.expanded(values)]
        for word in before:
            assign(session, word, exported=True, certain=certain)
        values.update(dict.fromkeys(OWN_PATH, function.file))
        place_arguments(session, arguments)
        if not any(part.all for word in words for part in word.parts):
            values.update({str(number): "" for number in range(len(arguments) + 1, 10)})
        shifted, session.shifted = session.shifted, 0
        started = Follower(session, certain, inside).all(function.body)
        session.shifted = shifted
        for name in [name for name in values if is_own(name)]:
            del values[name]
        for name in names:
            exported.pop(name, None)
        values.update(kept)
        exported.update(kept_exported)
        self.session.lost, self.session.has_begun = session.lost, session.has_begun
        return started

    def learn(self) -> None:
        """The variables and functions of a script that was just sourced, if it is on this machine. The ranks source it
        themselves, so what else it does is not looked at."""
        session = self.session
        (path, arguments), session.sourced = session.sourced or ("", []), None
        if not path or path in self.inside or len(self.inside) > DEEPEST or session.reads is None:
            return
        inner = replace(session.copy(), is_script=True, left_out=[])
        inner.values.update(dict.fromkeys(OWN_PATH, from_here(path)))
        if arguments:
            place_arguments(inner, arguments)
        try:
            text = session.reads(path)
        except BadInput:
            return
        try:
            started = Follower(inner, True, (*self.inside, path)).all(statements(text))
        except Wrong:  # what it sets is not known then
            session.values.update(dict.fromkeys(ASSIGNS.findall(text)))
            return
        if started:
            return
        session.folder, session.has_exited = inner.folder, inner.has_exited
        session.ended = session.ended or (f"{path}: {inner.ended}" if inner.ended else None)
        if session.exports_all and holds_assignments(session, path):
            exported = inner.exported.items()
            take(session, {name: one for name, one in exported if session.exported.get(name) != one}, path)
            session.left_out += inner.left_out
        for name, value in inner.values.items():
            if name not in OWN_PATH and not (arguments and is_argument(name)):
                session.values[name] = value


def unknown_program(session: Session, statement: Statement) -> str | None:
    """The unknown value in a command's program, or in the words of `eval`, or a program that is not known and starts
    Python; None if all are known."""
    words = [word for word in statement.words if not assignment(word)]
    if statement.first != "eval":
        words = words[:1]
    found = (unresolved(text) for word in words for text in word.expanded(session.values))
    program, *rest = session.program(statement) or [""]
    starts_python = not is_beside(program) and any(is_python(word) or word.endswith(".py") for word in rest)
    may_train = starts_python or (program in CONTAINERS and rest[:1] in (["run"], ["exec"]))
    return next((needs for needs in found if needs and needs != "~"), program if may_train else None)


def no_continuation(statement: Statement) -> Wrong:
    return Wrong(
        f"line {statement.line}: {shown(statement.first)} begins a command.",
        "the line before it does not end with `\\`, so its command ends there.",
        "`\\` as the last character of the line before it",
    )


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
                    what = shown(shown_command(one[2].program(one[0])), 200)
                    end.leave(what, "one command trains.", "run it by hand, before or after the run")
            started = strong
            break
    if not started and (lost := end.lost or end.ended) is not None:
        raise Wrong(lost, "it may start the training.", "the training command itself after `--`")
    if not started:
        raise commands.no_script()
    if len(started) > 1 and not any(runs for _, runs, _ in started):
        raise Wrong(
            f"{len(started)} commands that train ({lines_of(started)}) are in an `if`, a loop or a function.",
            "only a shell knows which of them runs.",
            "the one command itself after `--`",
        )
    if len(started) > 1:
        raise Wrong(
            f"{len(started)} commands that train ({lines_of(started)})."
            if end.is_script
            else "it has two commands.",
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


def lines_of(started: list[Started]) -> str:
    return " and ".join(f"line {one.line}: {shown(at.program(one)[0])}" for one, _, at in started[:3])


def launch(session: Session, statement: Statement) -> None:
    """Reads the training command: the variables before it, the words, the redirections, and how it ends."""
    words = list(statement.words)
    session.line = statement.line
    before = [word for word in itertools.takewhile(assignment, words)]
    # A shell expands the words before it makes these assignments: `A=2 torchrun train.py $A` has the earlier A.
    session.words = [one for word in words[len(before) :] for one in session.passed(word)]
    for word in before:
        assign(session, word, exported=True, certain=True)
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
