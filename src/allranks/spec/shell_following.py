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
from allranks.spec.shell_environment import other_schedulers
from allranks.spec.shell_folders import from_here, own_folders, placed, stand
from allranks.spec.shell_functions import own_variables, taken_out
from allranks.spec.shell_session import Session, assign, follow_one, place_arguments
from allranks.spec.shell_training import is_beside, is_training
from allranks.spec.shell_values import HERE, HOME, NOT_GIVEN, Values, unresolved

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
    script, `arguments` what it was given; `reads` returns the text of a file that is sourced. Raises Wrong if
    there is no such command, or more than one."""
    session = Session(dict(values), script is not None, reads=reads)
    stand(session, session.values.get("PWD", HERE))
    session.values.setdefault("HOME", HOME)
    place_arguments(session, list(arguments))
    session.left_out += other_schedulers(text)
    found = statements(text)
    if script is not None:
        session.values.update(own_folders(found, posixpath.dirname(script) or "."))
    if script:
        session.values.update(dict.fromkeys(OWN_PATH, from_here(posixpath.normpath(script))))
    started = starts(session, found)
    if not started:  # a function that nobody calls is a better answer than "no script"
        for name in session.functions.keys() - session.called:
            started += starts(session.copy(), session.functions[name], certain=False)
    return chosen(started, session)


Reads = Callable[[str], str]
OWN_PATH = ("0", "BASH_SOURCE", "${BASH_SOURCE[0]}")
CONTAINERS = ("docker", "podman", "nerdctl", "singularity", "apptainer", "enroot")
DEEPEST = 8
"""Functions and sourced files in each other that are followed."""

Started = tuple[Statement, "bool | None", "Session"]
"""A command that trains, whether it runs, and what a shell would know there."""


def starts(
    session: Session, found: list[Statement], certain: bool = True, inside: tuple[str, ...] = ()
) -> list[Started]:
    """Follows all commands; those that train, each with what was set before it. `certain` says that they run at all,
    `inside` names the functions and files that led here."""
    outside, functions = taken_out(found)
    session.functions.update(functions)
    branches = Branches(lambda word: [NOT_GIVEN.sub("", text) for text in word.expanded(session.values)])
    started: list[Started] = []
    before: Statement | None = None
    for statement in outside:
        runs = branches.runs(statement)
        runs = None if runs and not certain else runs
        after_pipe = before is not None and before.end in PIPES
        before = statement
        if runs is False or not statement.words:
            continue
        if "for" in statement.keywords:
            session.values[statement.first] = branches.only_item(statement)
            continue
        if statement.first.startswith("--"):
            raise no_continuation(statement)
        if statement.first == "eval":
            evaluated(session, statement)
        if after_pipe:
            if not session.is_script and statement.first not in PRINTING:
                session.leave(
                    f"| {statement.first}", "no shell runs on the nodes.", "allranks logs shows the lines"
                )
        elif statement.first in session.functions and statement.first not in inside:
            started += called(session, statement, runs is True, inside)
        elif is_training(session.program(statement), session.is_script):
            started.append((statement, runs, session.copy()))
            form = commands.form_of(session.program(statement))
            session.has_begun |= form is not None and form.ranks
        elif session.lost is None and (unknown := unknown_program(session, statement)):
            said = shown(" ".join(word.plain for word in statement.words), 200)
            session.lost = f"line {statement.line}: {shown(unknown)} in {said} is not known here."
        else:
            follow_one(session, statement, runs is True, branches.unset if certain else None)
            learn(session, inside)
    return started


def called(session: Session, call: Statement, certain: bool, inside: tuple[str, ...]) -> list[Started]:
    """Follows a function with the arguments of this call."""
    name, body, values = call.first, session.functions[call.first], session.values
    session.called.add(name)
    own = {*own_variables(body), *"123456789@*#"}
    outer = {one: values[one] for one in own if one in values}
    arguments = [text for word in call.words[1:] for text in word.expanded(values)]
    place_arguments(session, arguments)
    if not any(part.all for word in call.words for part in word.parts):
        values.update({str(number): "" for number in range(len(arguments) + 1, 10)})
    shifted, session.shifted = session.shifted, 0
    started = starts(session, body, certain, (*inside, name))
    session.shifted = shifted
    for one in own:
        values.pop(one, None)
    values.update(outer)
    return started


def learn(session: Session, inside: tuple[str, ...]) -> None:
    """The variables and functions of a script that was just sourced, if it is on this machine. The ranks source it
    themselves, so what else it does is not looked at."""
    path, session.sourced = session.sourced, None
    if path is None or path in inside or len(inside) > DEEPEST or session.reads is None:
        return
    inner = replace(session.copy(), is_script=True, left_out=[])
    try:
        started = starts(inner, statements(session.reads(path)), inside=(*inside, path))
    except (BadInput, Wrong):
        return
    if not started:
        session.values.update(inner.values)


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


def refuse_placeholders(statement: Statement) -> None:
    """`--output_dir <OUTPUT_DIR> --lr 1`: a shell would read one file and write another."""
    for one, other in itertools.pairwise([*statement.redirections, ""]):
        if re.fullmatch(r"<[A-Za-z][\w-]*", one) and other.startswith(">"):
            raise Wrong(
                f"line {statement.line}: {shown(one)}> is a placeholder.",
                "a shell would read a file of that name.",
                "its value in place of it",
            )
        if re.match(r">{1,2}\s*--", one):
            raise Wrong(
                f"line {statement.line}: {shown(one)} has no value before it, only a `>`.",
                "a shell would write a file of that name.",
                "the value in place of the text that ends with `>`",
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
                    what = shown(" ".join(one[2].program(one[0])), 200)
                    end.leave(what, "one command trains.", "run it by hand, before or after the run")
            started = strong
            break
    if not started and end.lost is not None:
        raise Wrong(end.lost, "it may start the training.", "the training command itself after `--`")
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
    refuse_placeholders(statement)
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
