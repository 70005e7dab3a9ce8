"""Lines of programs, settings and tables. They hold words of failures, but report none.

`streams.CODE` knows those that a traceback shows. These here are judged only if nothing else explains a text, so that
they cost nothing in a log whose cause is known.
"""

from __future__ import annotations

import re
from typing import Optional

_BEGINS = re.compile(
    r"__\w{1,30}__\(|(?:export|echo|source|alias|local|readonly|printf|unset) "
    r"|from [\w.]{1,120} import|using namespace |#(?:include|define|if|endif|pragma)\b"
    r"|(?:static|const|inline|void|virtual|template|typedef|struct|class|public|private|extern)[ <]"
    r"|[\w.-]{1,60}[ ]?=[ ]?[\"'\[{]|[\"'](?!message[\"'])[\w .-]{1,60}[\"'][ ]?:|\{[ ]?\""
    r"|<\w{1,20}[ >/]|</|!?\[[^\]]{1,200}\]\(|\d{1,3}\. \*\*|\* `|:[\w-]{1,30}:`"
    r"|@(?:inproceedings|article|misc)|:::MLLOG "
    r"|\[?\{\W{0,4}(?:role|content|messages|conversations|instruction|prompt|question|text|input)[\"']\s?:"
)
_BULLET = re.compile(r"\s{0,8}[-+*] \*{1,2}[A-Z][\w /-]{1,60}\*{1,2}:? ")
"""`+ *Disk full*: …`, an entry of a list in a document."""
_FORMAT = re.compile(r"(?<![\w%])%(?:[-.\d]{0,4}l{0,2}[dux]|[-.\d]{0,4}s)(?![\w%])")
"""The place of a value in a message that nobody printed yet."""
_IMPORTS = re.compile(r"import [\w.]{1,120}(?: as \w{1,60})?$")
_OPENS = ("except ", "except:", "elif ", "if ", "while ", "for ", "with ", "try:", "else:")
_GIVES = ("return ", "await ", "yield ", "throw ")
_SENTENCES = re.compile(r"[.!?\u3002](?: [A-Z]|[\u4e00-\u9fff])")
ARGUMENTS = 8
"""Names with their values in a line that prints a call or settings."""
PROSE, SENTENCES = 300, 2
"""Characters and ends of sentences of a line that is a paragraph of a text."""


def is_source(text: str) -> bool:
    """Whether a line is one of a program, of settings, of a table or a document."""
    if _BULLET.match(text) is not None:
        return True
    begin, end = text[:400].lstrip(" \t>+-"), text.rstrip(" \\")[-2:]
    if end[-1:] in "{;" or (begin.startswith("|") and end[-1:] == "|"):
        return True
    if (begin.startswith(_OPENS) and end[-1:] in ":{") or (begin.startswith(_GIVES) and end[-1:] in ")];"):
        return True
    if _BEGINS.match(begin) is not None or _IMPORTS.match(begin) is not None or _FORMAT.search(text, 0, 400):
        return True
    if text.count("=", 0, 600) >= ARGUMENTS:
        return True
    least = PROSE if text.isascii() else PROSE // 4  # Chinese says as much in a quarter of the characters
    return len(text) > least and len(_SENTENCES.findall(text[:2000])) >= SENTENCES


class Mark:
    """A line as documents and programs have it: a heading, a fence, a link, an import, a definition."""

    _FORM = re.compile(
        r"#{1,6} \S|```|.{0,400}\]\((?:https?:|#|\.{0,2}/)|\.\. [\w-]{1,40}::"
        r"|(?:import|from) [\w.]{1,80}(?:$| import | as )|(?:async )?(?:def|class) \w{1,80}.{0,200}:$"
        r"|(?!\s{0,40}(?!else|try|do|finally)[a-z_]{1,40} \{).{0,300}[;{][ \t]{0,8}$"  # not Caffe's `layer {`
        r"|#(?:include|define|if|endif|pragma)\b|export \w{1,60}="
    )

    def find(self, text: str) -> "Optional[re.Match[str]]":
        return self._FORM.match(text)
