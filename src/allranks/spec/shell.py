"""Reads a line or a script for a shell without running one: its commands, with quotes, variables and redirections.

It understands the common part of bash's syntax (POSIX.1-2017, "Shell Command Language", and bash's arrays). A value
that only a shell could compute (`$(…)`, `$((…))`, a glob) stays unknown, and the code that needs it refuses it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from allranks.spec.problems import Wrong
from allranks.spec.shell_parts import Part, never_closed, parameter, without_braces
from allranks.spec.shell_paths import path_of
from allranks.spec.shell_quotes import ansi_c, array_end
from allranks.spec.shell_values import (
    HOME,
    NOT_GIVEN,
    Values,
    computed,
    fields,
    has_own_ifs,
    mark,
    separators,
)

OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "(", ")")
REDIRECTION = re.compile(r"[0-9]*(?:&>>|&>|<<<|<<-|<<|>>|>&|<&|>\||<>|>|<)|\{[A-Za-z_]\w*\}>")
PLACEHOLDER = re.compile(r"<[A-Za-z](?:[\w -]*\w)?(?<! [0-9])>")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SPECIAL = "0123456789@*#?$!"
BRACKETS = re.compile(r"\s*\(\s*\)\s*|\s+")  # behind the name of a function, up to its body
OPENS = ("if", "for", "while", "until", "case", "select", "{", "(")
CLOSES = ("fi", "done", "esac", "}", ")")
BETWEEN = ("then", "else", "elif", "do", "in", "!", "time", ";;")


@dataclass
class Word:
    parts: list[Part] = field(default_factory=list)

    @property
    def plain(self) -> str:
        """The word as it is written, without quotes."""
        return "".join(p.text if p.kind == "text" else f"${{{p.text}}}" for p in self.parts)

    def expanded(self, values: Values) -> list[str]:
        """The words that a shell makes of it: none for an empty variable without quotes, nor for `"$@"` without
        arguments."""
        return [text for parts in without_braces(self.parts) for text in Word(parts).split(values)]

    def split(self, values: Values) -> list[str]:
        """As `expanded`, of a word in which braces are text."""
        if self.is_empty_list(values):
            return []
        words: list[str] = []
        current, exists = (HOME, True) if self.is_at_home else ("", False)
        for part in self.parts[exists:]:
            if part.kind == "text" or (part.quoted and (part.joined or not part.all)):
                found = [part.text] if part.kind == "text" else resolved(part, values)
                current, exists = current + joiner(part, values).join(found), True
                continue
            pieces = resolved(part, values) if part.quoted else split_words(part, values)
            for number, piece in enumerate(pieces):
                if number:
                    words.append(current)
                    current = ""
                current, exists = current + piece, True
        return [*words, current] if exists else words

    def has_pattern(self, values: Values) -> bool:
        """Whether a part without quotes has a sign that matches files."""
        return any(
            set(text) & set("*?[")
            for part in self.parts
            if not part.quoted
            for text in ([part.text] if part.kind == "text" else split_words(part, values))
        )

    def is_empty_list(self, values: Values) -> bool:
        """Whether it is `"$@"` or `"${LIST[@]}"` alone, and there is nothing in it."""
        lists = [part for part in self.parts if part.all]
        rest = "".join(part.text for part in self.parts if not part.all)
        return bool(lists) and not rest and all(resolved(part, values) == [] for part in lists)

    def value(self, values: Values) -> str:
        """As the right side of an assignment: nothing is split."""
        parts = self.parts[self.is_at_home :]
        found = (p.text if p.kind == "text" else joiner(p, values).join(resolved(p, values)) for p in parts)
        return HOME * self.is_at_home + "".join(found)

    @property
    def is_at_home(self) -> bool:
        """Whether it begins with `~/` without quotes."""
        first = self.parts[:1]
        begins = bool(first) and (first[0].kind, first[0].text, first[0].quoted) == ("text", "~", False)
        return begins and (len(self.parts) == 1 or self.parts[1].text[:1] == "/")


def resolved(part: Part, values: Values) -> list[str]:
    """The words of a variable; what nobody knows is marked."""
    found = value_of(part, values)
    words = replaced(part, found, values)
    if words is not None:
        return [" ".join(word.value(values) for word in words)]
    if found is not None:
        return found[part.start :]
    if part.instead:
        return [mark(f"${{{part.text}:+{part.default}}}")]
    return [mark(part.text if part.kind == "opaque" else f"${part.text}")]


def joiner(part: Part, values: Values) -> str:
    """The text between the words of a list that becomes one text: in `"$*"` the first character of IFS."""
    signs = separators(values) if part.joined else None
    return " " if signs is None else signs[:1]


def split_words(part: Part, values: Values) -> list[str]:
    """As `resolved`, of a variable without quotes: its value is split. Of a default, what has quotes is not."""
    words = replaced(part, value_of(part, values), values)
    if words and has_own_ifs(values):
        return [mark(f"${{{part.text}…}}")]
    if words is not None:
        return [text for word in words for text in word.split(values)]
    return [word for one in resolved(part, values) for word in fields(one, values)]


def value_of(part: Part, values: Values) -> list[str] | None:
    found = values.get(part.text)
    if part.kind == "opaque" and found is None:
        found = computed(part.text, values)
        found = printed(part.text, values) if found is None else found
    return [found] if isinstance(found, str) else found


def replaced(part: Part, found: list[str] | None, values: Values) -> list[Word] | None:
    """What `${NAME:-default}` and `${NAME:+text}` give in place of the value; None if they give the value, or if
    nobody knows."""
    if part.default is None or (found is None and part.text in values):
        return None
    is_unset = not found or (len(found) == 1 and bool(NOT_GIVEN.fullmatch(found[0])))
    if part.instead == (is_unset or (part.empty_counts and found == [""])):
        return [] if part.instead else None
    commands = statements(part.default) if part.default.strip() else []
    return commands[0].words if commands else []


def printed(text: str, values: Values) -> str | None:
    """What `$(…)` prints, as far as it is known."""
    if not text.startswith(("$(", "`")) or text.startswith("$(("):
        return None
    inner = text[2:-1] if text[0] == "$" else text[1:-1]
    try:
        found = statements(inner)
    except Wrong:  # such as a quote in a program for awk
        return None
    if not found or any(one.keywords for one in found) or any(">" in r[:2] for r in found[-1].redirections):
        return None
    return path_of(
        [([one for w in each.words for one in w.expanded(values)], each.end) for each in found], values
    )


@dataclass
class Statement:
    """A simple command: words, redirections as written, the operator that ends it, and its line."""

    line: int
    words: list[Word] = field(default_factory=list)
    redirections: list[str] = field(default_factory=list)
    end: str = ""
    keywords: list[str] = field(default_factory=list)
    """The words of a compound command before it: `if`, `then`, `fi`; `NAME()` before a function's body."""
    placeholder: str | None = None
    """`<YOUR_PATH>`, which a shell takes for two redirections."""
    document: Word | None = None
    """The text of its here-document (`<<EOF`)."""

    @property
    def first(self) -> str:
        return self.words[0].plain if self.words else ""


def statements(text: str) -> list[Statement]:
    """The simple commands of a line or script, in order. Raises Wrong for a quote that is never closed."""
    return Lexer(text).read()


class Lexer:
    def __init__(self, text: str):
        self.text = text.replace("\\\r\n", "\\\n").replace("\r\n", "\n")
        self.at, self.line = 0, 1
        self.done: list[Statement] = []
        self.current = Statement(1)
        self.documents: list[tuple[Word, Statement]] = []
        """The words that end the here-documents of this line, with their commands."""

    def read(self) -> list[Statement]:
        while self.at < len(self.text):
            self.step()
        self.finish("")
        return self.done

    def step(self) -> None:
        rest = self.text[self.at]
        if rest == "\n":
            self.move(1)
            self.finish("\n")
            self.take_documents()
        elif rest in " \t" or self.text.startswith("\\\n", self.at):
            self.move(1 if rest in " \t" else 2)
        elif rest == "#":
            end = self.text.find("\n", self.at)
            self.move((len(self.text) if end < 0 else end) - self.at)
        elif match := REDIRECTION.match(self.text, self.at):
            self.redirect(match.group())
        elif operator := next((o for o in OPERATORS if self.text.startswith(o, self.at)), None):
            self.move(len(operator))
            self.operate(operator)
        else:
            self.add(self.word())

    def move(self, count: int) -> str:
        taken = self.text[self.at : self.at + count]
        self.line += taken.count("\n")
        self.at += count
        return taken

    def add(self, word: Word) -> None:
        if not self.current.words:
            self.current.line = self.line
            plain = word.plain
            if self.current.keywords[-1:] == ["function"]:
                self.current.keywords.pop()
                self.define(plain)
                return
            if plain in (*OPENS, *CLOSES, *BETWEEN, "function"):
                self.current.keywords.append(plain)
                return
        self.current.words.append(word)

    def operate(self, operator: str) -> None:
        if operator == "(" and len(self.current.words) == 1:  # NAME() { … }
            self.define(self.current.words.pop().plain, "(")
            return
        if operator in "()":
            self.finish(operator)
            self.current.keywords.append(operator)
            return
        self.finish(operator)

    def define(self, name: str, begun: str = "") -> None:
        """Reads `NAME()` or `function NAME` to the end: a keyword of the statement that follows."""
        if match := BRACKETS.match(begun + self.text[self.at : self.at + 200]):
            self.move(match.end() - len(begun))
            self.current.keywords.append(f"{name}()")

    def finish(self, end: str) -> None:
        if self.current.words or self.current.redirections or self.current.keywords:
            self.current.end = end
            self.done.append(self.current)
        elif self.done and end not in ("", "\n", "(", ")"):
            self.done[-1].end = end
        self.current = Statement(self.line)

    def redirect(self, operator: str) -> None:
        if placeholder := PLACEHOLDER.match(self.text, self.at):
            self.current.placeholder = self.current.placeholder or placeholder.group()
        self.move(len(operator))
        while blank := re.compile(r"[ \t]+|\\\n").match(self.text, self.at):
            self.move(len(blank.group()))
        target = self.word()
        self.current.redirections.append(operator + target.plain)
        if operator.lstrip("0123456789") in ("<<", "<<-"):
            self.documents.append((target, self.current))

    def take_documents(self) -> None:
        while self.documents:
            end, statement = self.documents.pop(0)
            lines: list[str] = []
            while self.at < len(self.text):
                line_end = self.text.find("\n", self.at)
                line_end = len(self.text) if line_end < 0 else line_end
                line = self.move(line_end + 1 - self.at).rstrip("\n")
                if line.strip() == end.plain:
                    break
                lines.append(line)
            text = "\n".join(lines)
            statement.document = Word()
            if any(part.quoted for part in end.parts):
                statement.document.parts.append(Part("text", text, True))
            else:
                Lexer(text).double(statement.document, ends=False)

    def word(self) -> Word:
        word = Word()
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in " \t\n" or any(self.text.startswith(o, self.at) for o in OPERATORS if o != "("):
                break
            if letter in "<>" or (letter == "(" and not self.is_array(word)):
                break
            if letter == "(":
                self.take_array(word)
            elif letter == "'":
                word.parts.append(Part("text", self.until("'"), True))
            elif letter == '"':
                self.move(1)
                self.double(word)
            elif letter == "`":
                word.parts.append(Part("opaque", f"`{self.until('`')}`", False))
            elif letter == "$":
                word.parts.append(self.dollar(quoted=False))
            elif letter == "\\":
                taken = self.move(2)[1:]
                if taken != "\n":
                    word.parts.append(Part("text", taken, True))
            else:
                word.parts.append(Part("text", self.move(1), False))
        return word

    def is_array(self, word: Word) -> bool:
        return bool(re.fullmatch(r"[A-Za-z_]\w*\+?=", word.plain))

    def take_array(self, word: Word) -> None:
        """`NAME=( … )`: the text in brackets becomes one part, which the reader of assignments splits into words."""
        taken = self.move(array_end(self.text, self.at) - self.at)
        word.parts.append(Part("array", taken[1:-1], False))

    def until(self, quote: str) -> str:
        line = self.line
        end = self.text.find(quote, self.at + 1)
        if end < 0:
            raise never_closed(line)
        return self.move(end + 1 - self.at)[1:-1]

    def double(self, word: Word, ends: bool = True) -> None:
        """Reads a text in double quotes, or to the end of all text if no quote `ends` it."""
        line, text = self.line, ""
        word.parts.append(Part("text", "", True))
        while True:
            if self.at >= len(self.text):
                if ends:
                    raise never_closed(line)
                break
            letter = self.text[self.at]
            if letter == '"' and ends:
                self.move(1)
                break
            if letter in "$`":
                word.parts.append(Part("text", text, True))
                text = ""
                word.parts.append(
                    self.dollar(quoted=True)
                    if letter == "$"
                    else Part("opaque", f"`{self.until('`')}`", True)
                )
            elif letter == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                taken = self.move(2)[1:]
                text += "" if taken == "\n" else taken
            else:
                text += self.move(1)
        word.parts.append(Part("text", text, True))

    def dollar(self, quoted: bool) -> Part:
        text, at = self.text, self.at
        if text.startswith("$'", at) and not quoted:
            if (decoded := ansi_c(text, at + 1)) is None:
                raise never_closed(self.line)
            self.move(decoded[1] - at)
            return Part("text", decoded[0], True)
        if text.startswith("$(", at):
            return Part("opaque", self.move(self.matching(at + 1, "(", ")") - at), quoted)
        if text.startswith("${", at):
            inner = self.move(self.matching(at + 1, "{", "}") - at)[2:-1]
            return parameter(inner, quoted)
        if match := NAME.match(text, at + 1):
            self.move(1 + len(match.group()))
            return Part("variable", match.group(), quoted)
        if at + 1 < len(text) and text[at + 1] in SPECIAL:
            name = self.move(2)[1]
            return Part("variable", name, quoted, all=name in "@*", joined=name == "*")
        return Part("text", self.move(1), quoted)

    def matching(self, at: int, opening: str, closing: str) -> int:
        """The place behind the bracket that closes the one at `at`."""
        depth = 0
        for place in range(at, len(self.text)):
            depth += {opening: 1, closing: -1}.get(self.text[place], 0)
            if not depth:
                return place + 1
        raise never_closed(self.line)
