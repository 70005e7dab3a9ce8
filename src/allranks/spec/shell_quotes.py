r"""The quotes of a shell: text in `$'…'`, in which `\n` and its like name characters, and where an array ends."""

from __future__ import annotations

import re

NAMED = {
    **{"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"},
    **{sign: sign for sign in "\\'\"?"},
}
CODE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c([ -~])|(.))", re.DOTALL
)


def ansi_c(text: str, at: int) -> tuple[str, int] | None:
    r"""The text behind the quote at `at`, and the place behind the quote that closes it; None if none does. `\xc3\xa9`
    are the two bytes of one letter, so the text is put together as bytes."""
    found = bytearray()
    place = at + 1
    while place < len(text):
        letter = text[place]
        if letter == "'":
            whole = found.partition(b"\0")[0]  # a word ends at a NUL
            return whole.decode("utf-8", "surrogateescape"), place + 1
        match = CODE.match(text, place) if letter == "\\" else None
        found += letter.encode("utf-8", "surrogateescape") if match is None else named(match)
        place = match.end() if match else place + 1
    return None


def named(match: re.Match[str]) -> bytes:
    """The bytes of one escape. A letter that names nothing stays, with its backslash."""
    octal, byte, short, long, control, letter = match.groups()
    if octal or byte:
        return bytes([(int(octal, 8) if octal else int(byte, 16)) & 0xFF])
    if short or long:
        code = int(short or long, 16)
        return chr(code).encode("utf-8", "surrogatepass") if code <= 0x10FFFF else b""
    if control:
        return bytes([ord(control) & 0x1F])
    return NAMED.get(letter, f"\\{letter}").encode("utf-8", "surrogateescape")


def array_end(text: str, at: int) -> int:
    """The place behind the bracket that closes the one at `at`, without those in quotes and comments."""
    depth, quote = 0, ""
    while at < len(text):
        before, letter = text[at - 1], text[at]
        at += 1
        if letter == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if letter == quote[-1] else quote
        elif letter == "#" and before in "( \t\n":
            at = max(text.find("\n", at), at)
        elif letter in "'\"":
            quote = "$'" if before + letter == "$'" else letter
        elif letter in "()":
            depth += 1 if letter == "(" else -1
            if not depth:
                break
    return min(at, len(text))
