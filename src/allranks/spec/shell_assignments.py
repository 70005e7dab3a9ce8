"""Assignments of a shell: `NAME=value`, `NAME+=value`, `NAME=( … )`."""

from __future__ import annotations

import re

from allranks.spec.shell import Word, statements
from allranks.spec.shell_parts import Part
from allranks.spec.shell_placeholders import refuse_placeholder
from allranks.spec.shell_values import Values, is_pattern, mark


def assignment(word: Word) -> tuple[str, Word, bool] | None:
    """`NAME=value` as (name, value, whether it is appended: `+=`); None for another word."""
    text = ""
    for number, part in enumerate(word.parts):
        if part.kind != "text":
            return None
        if part.quoted:
            return None
        text += part.text
        if match := re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=", text):
            return match.group(1), Word(word.parts[number + 1 :]), bool(match.group(2))
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*\+?", text):
            return None
    return None


def declared(word: Word) -> Word:
    """A word of `export`, in which quotes around the whole assignment change nothing: `export "NAME=value"`."""
    before = ""
    if assignment(word):
        return word
    for number, part in enumerate(word.parts):
        name, equals, rest = part.text.partition("=")
        if part.kind != "text" or (equals and not re.fullmatch(r"[A-Za-z_]\w*\+?", before + name)):
            break
        if equals:
            letters = [Part("text", letter, False) for letter in f"{before}{name}="]
            return Word([*letters, Part("text", rest, part.quoted), *word.parts[number + 1 :]])
        before += part.text
    return word


def array(word: Word, values: Values) -> list[str] | None:
    """The words of `( … )`; None for a single value."""
    if len(word.parts) != 1 or word.parts[0].kind != "array":
        return None
    found: list[str] = []
    for one in statements(word.parts[0].text):
        refuse_placeholder(one)
        for item in one.words:
            texts = item.expanded(values)
            matches = item.has_pattern(values)
            found += [mark(text) if matches and is_pattern(text) else text for text in texts]
    return found
