"""All verbs and their options, from the parser itself: a page of the documentation, and the man page."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass

from allranks import __version__
from allranks.cli import build_parser

EXIT_CODES = (
    ("0", "fine"),
    ("1", "an error was found, the run failed, `diagnose` named a cause, or you answered no"),
    ("2", "bad input: nothing was started"),
    ("3", "unknown: a node did not answer, or a fact could not be read"),
    ("4", "a bug in allranks"),
)
HEAD = """# Verbs

Each verb with its arguments and options. Made by `make docs` from the parser; `allranks VERB --help` prints the same,
and `man allranks` after `pip install`.

## Exit codes

| code | meaning |
|---|---|
"""
FILES = (
    ("run.yaml", "the run file that is used if none is named"),
    ("$ALLRANKS_HOME", "where runs, logs and reports lie, here and on the nodes; ~/.allranks by default"),
)


@dataclass(frozen=True)
class Entry:
    """A verb, or a part of one: its usage, its description, and each argument with its help."""

    name: str
    usage: str
    text: str
    arguments: list[tuple[list[str], str]]


def entries() -> Iterator[Entry]:
    parser = build_parser()
    yield entry("allranks", parser)
    for name, verb in verbs(parser):
        yield entry(name, verb)


def verbs(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield name, child
                yield from ((f"{name} {part}", grandchild) for part, grandchild in verbs(child))


def entry(name: str, parser: argparse.ArgumentParser) -> Entry:
    formatter = argparse.HelpFormatter(parser.prog)
    shown = [
        action
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        and not isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))
    ]
    told = [(signature(formatter, one), formatter._expand_help(one) if one.help else "") for one in shown]
    words = [in_usage(formatter, one) for one in shown]
    words += ["VERB ..." for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if parser.usage is not None:  # that of `exec`, whose command comes after --
        words = parser.usage.replace("[-h] ", "").split()[1:]
    indent = " " * (len(parser.prog) + 1)
    return Entry(name, wrapped([parser.prog, *words], indent), (parser.description or "").strip(), told)


def wrapped(words: list[str], indent: str, width: int = 84) -> str:
    """argparse's own usage differs between versions of Python, and so would the page."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = indent + word
        else:
            line = f"{line} {word}" if line else word
    return "\n".join([*lines, line])


def in_usage(formatter: argparse.HelpFormatter, action: argparse.Action) -> str:
    word = signature(formatter, action)[0]
    if isinstance(action, argparse.BooleanOptionalAction):
        word = " | ".join(action.option_strings)
    return f"[{word}]" if action.option_strings and not action.required else word


def signature(formatter: argparse.HelpFormatter, action: argparse.Action) -> list[str]:
    if not action.option_strings:
        name = formatter._get_default_metavar_for_positional(action)
        return [formatter._format_args(action, name).strip()]
    value = formatter._format_args(action, formatter._get_default_metavar_for_optional(action))
    return [f"{name} {value}".strip() for name in action.option_strings]


def page() -> str:
    parts = [HEAD + "".join(f"| {code} | {text} |\n" for code, text in EXIT_CODES)]
    for one in entries():
        lines = [f"## {one.name}", "", "```text", one.usage, "```", ""]
        lines += [markdown(one.text), ""] if one.text else []
        for words, text in one.arguments:
            lines += [", ".join(f"`{word}`" for word in words), f": {markdown(text)}", ""]
        parts.append("\n".join(lines))
    return "\n".join(parts)


def markdown(text: str) -> str:
    """What the terminal shows as it is must not become markup here."""
    text = re.sub(r"[ \t]*\n[ \t]*", "\n", text)
    return re.sub(r"([\\`*_<>\[\]$|])", r"\\\1", text)


def man_page() -> str:
    """roff, as man(7) describes it. It has no date: the same parser must give the same text on every day."""
    first, *rest = entries()
    lines = [f'.TH ALLRANKS 1 "" "allranks {__version__}" "User Commands"']
    lines += [".SH NAME", r"allranks \- " + roff(first.text[:1].lower() + first.text[1:].rstrip("."))]
    lines += [".SH SYNOPSIS", ".nf", roff(first.usage), ".fi", ".SH OPTIONS", *tagged(first.arguments)]
    lines.append(".SH VERBS")
    for one in rest:
        lines += [f".SS {roff(one.name)}", ".nf", roff(one.usage), ".fi"]
        for paragraph in one.text.split("\n\n"):
            lines += [".PP", roff(paragraph)]
        lines += tagged(one.arguments)
    lines += [".SH EXIT STATUS", *tagged([([code], text) for code, text in EXIT_CODES])]
    lines += [".SH FILES", *tagged([([name], text) for name, text in FILES])]
    return "\n".join(lines) + "\n"


def tagged(arguments: list[tuple[list[str], str]]) -> list[str]:
    return [
        line for words, text in arguments for line in (".TP", rf"\fB{roff(', '.join(words))}\fR", roff(text))
    ]


def roff(text: str) -> str:
    """Text as text: backslashes, hyphens and what is not ASCII are escaped; no line begins as a request would."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    text = re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", text)
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)
