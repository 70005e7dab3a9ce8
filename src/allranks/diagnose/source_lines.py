"""Lines of programs, settings and tables. They hold words of failures, but report none.

`streams.CODE` knows those that a traceback shows. These here are judged only if nothing else explains a text, so that
they cost nothing in a log whose cause is known.
"""

from __future__ import annotations

import re

_SOURCE = re.compile(
    r"[\s>+-]{0,80}(?:"
    r"(?:export|echo|source|alias|local|readonly|printf|unset) "
    r"|(?:from [\w.]{1,120} import|import [\w.]{1,120}(?: as \w{1,60})?$|using namespace )"
    r"|#(?:include|define|if|endif|pragma)\b"
    r"|(?:static|const|inline|void|virtual|template|typedef|struct|class|public|private|extern)[ <]"
    r"|(?:except|elif|if|while|for|with|try|else)\b.{0,300}[:{]$"
    r"|(?:return|await|yield|throw) .{0,300}[;)\]]$"
    r"|[\w.-]{1,60}[ ]?=[ ]?[\"'\[{]"
    r"|[\"'][\w .-]{1,60}[\"'][ ]?:"
    r"|\{[ ]?\""
    r"|\w{1,60}[ ]?=[ ]?\{"
    r"|\|.{1,2000}\|$"
    r"|<\w{1,20}[ >/]|</"
    r"|!?\[.{1,200}\]\(|\d{1,3}\. \*\*|\* `"
    r"|:[\w-]{1,30}:`"
    r"|@(?:inproceedings|article|misc)"
    r"|:::MLLOG "
    r")"
    r"|.{0,600}(?:[\w)\]\"]\);|[{;]|\\)[ ]?\\?$"
)
_SENTENCES = re.compile(r"[.!?\u3002](?: [A-Z]|[\u4e00-\u9fff])")
PROSE, SENTENCES = 300, 2
"""Characters and ends of sentences of a line that is a paragraph of a text."""


def is_source(text: str) -> bool:
    """Whether a line is one of a program, of settings, of a table or a document."""
    if _SOURCE.match(text) is not None:
        return True
    return len(text) > PROSE and len(_SENTENCES.findall(text[:2000])) >= SENTENCES
