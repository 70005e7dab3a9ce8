"""Every `allranks …` that is printed or written down can be typed: the real parser takes it.

It reads all texts of the package (messages, fixes, pages), README.md and its like, and all pages of docs and examples.
Values that are filled in at run time stand as placeholders. A fix and a line of a code block must be a whole command;
elsewhere a sentence may name a verb and its option without the run file ("`allranks run --debug`").
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from allranks import cli
from allranks.core import Finding
from allranks.output.console import Out
from allranks.output.messages import MOST_EXPLAINED, print_findings

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "allranks"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(
        path for path in (ROOT / "docs").rglob("*.md") if path.name != "verbs.md"
    ),  # made from the parser
    *sorted((ROOT / "examples").rglob("*.md")),
]
FILLED = "\ue000"
"""What stands for a value that is filled in at run time."""

COMMAND = re.compile(
    rf"(?<![\w./-])allranks ((?:{'|'.join(cli.verb_names())})(?<!runs)\b[^\n`;|]*|runs compare\b[^\n`;|]*)"
)
"""`where allranks runs` is a sentence, and the verb `runs` is followed by what it does."""

SENTENCE = re.compile(r"  |[,:)(#…·“”\"]|\.(?:\s|$)| or | and |→|>")
"""Where a command ends inside of a sentence, or before its comment."""

WHOLE = ("fix", "do")
"""The arguments of findings and problems that a person is to type."""


def texts(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Line, text, and whether it is a fix; f-strings with placeholders."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    fixes: set[int] = set()
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in WHOLE:
            fixes.update(id(one) for one in ast.walk(node.value))
        if isinstance(node, ast.JoinedStr):
            inner.update(id(one) for one in node.values)
    for node in ast.walk(tree):
        if id(node) in inner:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value, id(node) in fixes
        elif isinstance(node, ast.JoinedStr):
            parts = [one.value if isinstance(one, ast.Constant) else FILLED for one in node.values]
            yield node.lineno, "".join(str(part) for part in parts), id(node) in fixes


def passages(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Lines of a page; those of a code block are commands to type."""
    in_block = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_block = not in_block
            continue
        yield number, line, in_block and line.lstrip().startswith("allranks ")


def commands() -> list[tuple[str, str, bool]]:
    found = []
    files = [(path, texts) for path in sorted(SOURCE.rglob("*.py"))] + [(path, passages) for path in PAGES]
    for path, read in files:
        for line, text, whole in read(path):
            for match in COMMAND.finditer(text):
                found.append((f"{path.relative_to(ROOT)}:{line}", match.group(1), whole))
    return found


def words_of(text: str) -> list[str]:
    text = re.sub(
        r'(^[a-z-]+|--[a-z-]+) "([^"\s]+)"', r"\1 \2", text
    )  # quoted for the shell, not for the sentence
    # What is filled in right behind the verb begins with a space of its own, or is nothing.
    text = re.sub(rf"^([a-z]+){FILLED}", rf"\1 {FILLED}", SENTENCE.split(text, maxsplit=1)[0])
    text = re.sub(r"\[([A-Z]+)\]", r"\1", text).replace("'s", "")
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


_parser = functools.cache(cli.build_parser)


@functools.cache
def parses(*words: str) -> bool:
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            _parser().parse_args(cli.split_command(words)[0])
        except (SystemExit, Exception):
            return False
    return True


def takes(words: list[str], whole: bool) -> bool:
    """Whether some beginning of the words is a command, and only words of a sentence stand behind it.

    A placeholder that is a word of its own may stand for several words or for none.
    """
    filled = [n for n, word in enumerate(words) if word == FILLED]
    for left_out in itertools.chain.from_iterable(
        itertools.combinations(filled, n) for n in range(len(filled) + 1)
    ):
        kept = [word.replace(FILLED, "1") for n, word in enumerate(words) if n not in left_out]
        for end in range(len(kept), 0, -1):
            tried = (
                [kept[:end]]
                if whole
                else [kept[:end], [kept[0], "FILE", *kept[1:end]], [*kept[:end], "FILE"]]
            )
            if all(re.fullmatch(r"[a-z]+\.?", word) for word in kept[end:]) and any(
                parses(*one) for one in tried
            ):
                return True
    return False


@pytest.mark.lengthy
def test_every_command_that_is_written_down_parses() -> None:
    found = commands()
    assert len(found) > 150, "the texts are not found any more"
    wrong = {f"{place}: allranks {text}" for place, text, whole in found if not takes(words_of(text), whole)}
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.parametrize(
    ("text", "whole", "wanted"),
    [
        ("explain gpu-ecc unreadable-node", True, True),
        ("stop RUN, or wait for its end", True, True),
        ("check says who holds it", True, True),
        ("run --debug", False, True),
        ("run --debug", True, True),
        ("logs --tail", True, False),
        ("stop RUN OTHER", True, False),
        ("plan FILE --no-such", False, False),
        ("explain gpu-ecc (2 more", True, True),
        ("stop RUN-1 RUN-2 now", False, False),
        (f"clean{FILLED} {FILLED} goes on when they answer", True, True),
    ],
)
def test_the_reader_of_commands_can_fail(text: str, whole: bool, wanted: bool) -> None:
    assert takes(words_of(text), whole) is wanted


@pytest.mark.parametrize("amount", [1, 2, MOST_EXPLAINED, MOST_EXPLAINED + 1, 40])
def test_the_line_under_findings_ends_with_a_command_that_runs(amount: int, capsys) -> None:
    from allranks.output.pages import known

    ids = sorted(known())[:amount]
    buffer = io.StringIO()
    print_findings([Finding(id=one, verdict="block", saw=one) for one in ids], out=Out(buffer))
    last = buffer.getvalue().splitlines()[-1]
    command = last[last.index("allranks ") :].split()
    assert cli.main(command[1:]) == 0
    shown = capsys.readouterr().out
    assert all(one in shown for one in ids[:MOST_EXPLAINED])
    assert "more)" not in last and (amount <= MOST_EXPLAINED or f"worst {MOST_EXPLAINED} of {amount}" in last)
