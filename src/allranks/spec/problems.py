"""Collects everything that is wrong, so that one message holds all of it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from allranks.core import BadInput, Problem
from allranks.core.secret_forms import HIDDEN, IN_ADDRESS, TOKEN
from allranks.core.text import printable

MAX_PROBLEMS = 100
"""More is a file of another kind; the rest is counted, not worded."""

MAX_SHOWN = 60
MAX_SHOWN_PATH = 300

WANDB_KEY = re.compile(r"[0-9a-fA-F]{40}")
SECRET_NAME = re.compile(r"(?:KEY|TOKEN|PASSWORD)$|SECRET", re.IGNORECASE)
PASSWORD_NAME = re.compile(r"(?:^|_)(?:PASS|PASSWD|PASSPHRASE|PWD|PAT|CREDENTIALS?|AUTH)$", re.IGNORECASE)
"""Further names of secrets, which are too common elsewhere to be refused in a run file that a person writes."""


class Wrong(Exception):
    """One value cannot be used. Caught where its key and its line are known, never seen by a caller."""

    def __init__(self, saw: str, why: str = "", do: str = ""):
        super().__init__(saw)
        self.saw, self.why, self.do = saw, why, do
        self.others: tuple[Wrong, ...] = ()
        """Other errors of the same value."""


def refused(
    saw: str, why: str = "", do: str = "", file: str | None = None, line: int | None = None
) -> BadInput:
    """The error that consists of one problem."""
    return BadInput(Problem(saw, why, do, file, line))


class Problems:
    """The problems found so far; beyond `MAX_PROBLEMS` they are only counted."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.more = 0

    @property
    def full(self) -> bool:
        return len(self.found) >= MAX_PROBLEMS

    def add(
        self, saw: str, why: str = "", do: str = "", file: str | None = None, line: int | None = None
    ) -> None:
        if self.full:
            self.more += 1
            return
        self.found.append(Problem(saw, why, do, file, line))

    def all(self) -> list[Problem]:
        """In the order of files and lines, each once (an alias shows one mistake in several places)."""
        files: dict[str | None, int] = {}
        for problem in self.found:
            files.setdefault(problem.file, len(files))
        seen = {(p.file, p.line, p.saw): p for p in self.found}
        ordered = sorted(seen.values(), key=lambda p: (files[p.file], p.line or 0))
        if self.more:
            ordered.append(Problem(f"and {self.more:,} more problems that are not shown."))
        return ordered


def shown(text: object, limit: int = MAX_SHOWN) -> str:
    """A value as a message may show it: one line, no control characters, not long, no access token."""
    text = str(text)
    if looks_like_token(text):
        return "(what looks like an access token)"
    return printable(IN_ADDRESS.sub(f"://{HIDDEN}@", text), limit)


def may_be_secret(name: str, value: str) -> bool:
    """Whether a variable of a file of the user's is better not copied into a run file, by its name or its form."""
    by_name = SECRET_NAME.search(name) or PASSWORD_NAME.search(name)
    return bool(value) and bool(by_name or looks_like_token(value, name) or IN_ADDRESS.search(value))


def looks_like_token(text: str, name: str = "") -> bool:
    """Whether `text` holds an access token of a known form; `name` is the variable or key that holds it."""
    return bool(TOKEN.search(text) or (SECRET_NAME.search(name) and WANDB_KEY.fullmatch(text)))


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice that was probably meant, None if none is near."""
    if len(word) > 80:
        return None
    import difflib

    def bare(text: str) -> str:
        return re.sub(r"[-_ ]", "", text).lower()

    by_bare = {bare(choice): choice for choice in choices}
    if bare(word) in by_bare:
        return by_bare[bare(word)]
    match = difflib.get_close_matches(bare(word), by_bare, n=1, cutoff=0.6)
    return by_bare[match[0]] if match else None
