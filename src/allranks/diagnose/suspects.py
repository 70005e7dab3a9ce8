r"""Expressions for a multi-pattern matcher: a line that matches none of them is plain text without a place.

A room above passes in the matcher (`Suspects`). It searches many lines at once and returns the positions of matches. A
line with a match is read in the usual way, so the set may match too much, but never too little
(`tests/diagnose/test_diagnose_stretches.py`). In the text that it searches every digit is 0, and lines are joined by
`\n`: `^` and `$` are a line's ends, no expression crosses a line, and each matches at least one character.
"""

from __future__ import annotations

import re
from typing import Callable, Iterable, List, Set, Tuple

from allranks.diagnose import facts
from allranks.diagnose.catalogue import index
from allranks.diagnose.complaints import EXPRESSION
from allranks.diagnose.progress import HEADING_WORDS, QUANTITIES
from allranks.diagnose.streams import HEADINGS

Suspects = Callable[[bytes], Iterable[int]]
"""Takes lines joined by `\\n`; returns the index at which each expression that was found ends."""

_START = r"^[ \t|:>-]*"
"""Characters that the layer before may leave over, or that replace a prefix (`blocks.Cutter`). Every expression for the
beginning of a text starts with it."""

_NAME = r"[\w.-]*0[\w.-]*"
"""A machine's name holds a digit."""

_BEGINNINGS = (
    # layers of prefixes
    r"[\[(<][^\n]{0,8}0", r"[\[(][^\])\n]*0", r"\[pod/", r"\(raylet", r"\{[a-z_]+=", r"0000[-/]00[-/]00", r"00000",
    r"00:00:00[.,]000",
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ",
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) ", r"std(?:out|err) [FP]",
    _NAME + r"(?::[ \[0]|\t| *\|)", r"[\w.-]+ [\w.@/:()-]*(?:\[0+\]|kernel):", r"[\w./@+-]+\.(?:log|out|err|txt)[:-]",
    r"[Rr]ank ?0", r"[WEIFCD]0",
    # the last line of a traceback, and a frame
    r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:: |:?$)", r"File \"",
    # documents and programs
    r"#{1,6} ", r"```", r"\.\. ", r"(?:import|from|async|def|class|export) ", r"#[a-z!]",
    # records, quotes and headings
    r"[\[{].*\"", r"==", r"---",
)  # fmt: skip

_ANYWHERE = (
    # statements that something failed, and frames of other printers
    r"[Ee]rror|ERROR|[Ee]xception|[Ff]ail|FAIL|FATAL|CRITICAL|[Cc]rash|[Cc]an|[Cc]ould not"
    r"|[Uu]n(?:able|expected|supp"
    r"|known)|[Ii]nvalid|[Mm]issing|must|should|require|mismatch|\b[Nn]ot\b|[Nn][Aa][Nn]"
    r"|[Oo]ccur|\bbut |o longer|n't"
    r"|what\(\)|\.py|is_available\(",
    r"[Nn]o |only |[Pp]lease|has been |already |returned nan|[Ii]n(?:compat|correct|consist)|[Rr]estricted"
    r"|forbidden|[Rr]efused|[Dd]enied|exclusive|(?:larger|greater|smaller|less|longer|more|fewer) than",
    r"\x1b", r"\]\(", r"[;{][ \t]*$", r"[\x80-\xff]", r"#000", r"%\|", r"\[?(?:PG |[Rr]ank)[^\n]{0,90}0",
    r"(?:^|[^A-Za-z])(?:" + "|".join(sorted(word.decode() for word in QUANTITIES)) + r")(?:[^A-Za-z]|$)",
)  # fmt: skip


def literals() -> List[str]:
    """The texts by which causes and facts are found."""
    found = {pattern.literal for listed in index().values() for _, pattern in listed}
    return sorted(found | {pattern.literal for listed in facts.by_word().values() for pattern, _ in listed})


_BESIDE = ("x", "X", " ", "_", "0", ".")
"""Characters beside a text, one of each kind that an expression tells apart."""


def covered(texts: Iterable[str], expressions: Iterable[str]) -> Set[str]:
    """The texts that one of these expressions finds wherever they stand. To look for them too only takes time."""
    compiled = [re.compile(one) for one in expressions]
    return {text for text in texts if any(_is_covered(text, one) for one in compiled)}


def _is_covered(text: str, expression: "re.Pattern[str]") -> bool:
    end = len(text) + 1
    return all(
        any(found.start() > 0 and found.end() <= end for found in expression.finditer(beside + text + beside))
        for beside in _BESIDE
    )


def expressions() -> Tuple[List[str], List[str], List[str]]:
    """(texts as they are, regular expressions for any place, those for the beginning of a line), for a matcher that
    takes `^` and `$` for the ends of lines."""
    texts = [*literals(), *(words for words, _ in HEADINGS), *HEADING_WORDS]
    return texts, [*_ANYWHERE, EXPRESSION], [*(_START + one for one in _BEGINNINGS), "^---", "^> "]
