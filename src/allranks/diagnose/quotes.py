"""Exceptions inside a line: after a logger's level, in quotes, in a heading, as `repr` writes them.

People paste them so into an issue, and programs that catch everything print them so before they end.
"""

from __future__ import annotations

import re
from typing import Tuple

from allranks.diagnose.claims import CHINESE
from allranks.diagnose.known_warnings import is_known_warning
from allranks.diagnose.streams import CODE

_INSIDE = re.compile(
    r"(?<![\w.])(?P<kind>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception))"
    r"(?:[ ]?: (?P<text>\S.{0,4096})|\((?P<quote>['\"])(?P<said>.{1,4096}))",
    re.ASCII,  # Chinese has no spaces
)
_MARKUP = re.compile(
    r"^[\s#>*_\"'`│|+-]{0,80}(?:E\s{1,20})?(?:(?:\[[^\]]{1,40}\]|Bug|BUG)[\s:]{0,4}){0,3}[\"'`*]{0,3}$"
)
_BLAMES = re.compile(
    r"(?i)\b(?:errors?|exceptions?|failed|failure|fails|fatal|critical|crash(?:ed|es)?|raise[sd]|throws?"
    r"|threw|got"
    r"|gets?|getting|encounter(?:ed|ing)?|facing|hit|met)\b|\u62a5\u9519|\u9519\u8bef|\u5f02\u5e38"
)
_EXCUSES = re.compile(
    r"(?i)\b(?:warn(?:ing)?|info|debug|trace|ignor(?:e|ed|ing)|retr(?:y|ies|ying)|skip(?:ped|ping)?|handled"
    r"|caught"
    r"|expect(?:ed|s)|except|raises\(|if|avoid(?:s|ed)?|prevents?|fix(?:e[sd])?|falling back|isinstance"
    r"|return)\b"
)
_LONGEST = 1000
"""Characters of a line before an exception: a longer text is not about it."""


_JOINED = re.compile(
    r"raise [\w.]{1,120}(?:\(\s{1,4}|\([\w., ]{0,120}\) {1,4})(?=[\w.]{1,120}(?:Error|Exception): )"
)
"""A traceback's last lines in one line, as in an issue's title."""

NO, MENTIONED, SAID, STATED, LOGGED = range(5)
"""Whether a line quotes an exception. If it only mentions one, it counts in a text so short that it is about it.
STATED: it says in words that something failed. LOGGED: a logger does, as an error."""

_STATES = re.compile(  # one `\b` for most: each other one is tried at every character
    r"[Ee]rror|ERROR|[Ee]xception|FAIL(?:ED|ING|URE)|FATAL|CRITICAL|mismatch|\b(?:"
    r"[Ff]ail(?:s|ed|ure|ing)?\b|[Cc]rash(?:e[sd]|ing)?\b|[Cc](?:annot|ant|an't|an not|ould not)\b"
    r"|[Uu]n(?:able|expected|supported|known|recogni[sz]ed|defined)\b|[Ii]nvalid\b|[Mm]issing\b|must\b|should\b"
    r"|requires?\b|(?:is|are|was|were|do|does|did|has|have) ?n(?:ot|'t|o longer)\b"
    r"|(?:[Ii]ssues?|[Pp]roblems?|[Tt]rouble) (?:with|when|while|in|on|during|loading)\b"
    r"|[Nn]o (?:such|\w{1,20} (?:found|available|specified|provided|installed))\b"
    r"|only (?:supports?|accepts?|works?)\b|(?:larger|greater|smaller|less|longer|more|fewer) than\b|[Pp]lease\b"
    r"|[Nn]o (?:\w{1,20} ){1,3}available\b|has been (?:deprecated|removed)\b|already (?:initiali[sz]ed|exists)\b"
    r"|returned nan\b|NaNs?\b.{0,20}\bdetected\b|no attribute\b|(?:must|should)_be\b"
    r"|(?:restricted|forbidden|refused|denied|incompatible|incorrect|inconsistent|mutually exclusive)\b"
    r"|[Ww]rong\b|[Oo]verflow\w{0,4}\b|[Ee]mpty\b|[Cc]orrupt\w{0,3}\b|(?:[Bb]locks|[Pp]revents|[Bb]roken)\b"
    r"|[Rr]an out of\b|not (?:be )?(?:updated|trained|loaded|saved)\b"
    r"|is_available\(\).{0,40}\b[Ff]alse\b|[Ff]alse\b.{0,60}\bis_available\("
    r"|[Nn]ot (?:found|supported|allowed|implemented|recogni[sz]ed|available|able|appli\w{2,5}|compatible|possible"
    r"|work(?:s|ing)?|detect(?:ed|ing)?|visible)\b|[Oo]ccur(?:s|red)?\b|[Nn]on-?[Ff]inite\b"
    r"|(?:[Ll]oss|[Gg]rad\w{0,12})\b.{0,24}\b[Ii]nf\w{0,6}\b|[Dd]iverge[sd]?\b|[Ee]xplod(?:e[sd]?|ing)\b"
    r"|[Ll]oss[ _-]?[Ss]cal\w{1,4}\b.{0,40}\b(?:minimum|0\.0|too|zero|min_)"
    r"|but (?:\w{1,20} ){0,4}(?:is|are|was|were|got|found|has|have|only)\b"
    r")|(?<![\w.])(?:NaN|nan|NAN|Nan)s?(?![\w(]|\.\w)" + CHINESE,
    re.ASCII,
)
_LEVEL = re.compile(r"(?:^|[\s\[|:(<-])(?:ERROR|CRITICAL|FATAL|SEVERE|[Ff]atal)(?=[\s\]|:)>-]|$)")
_NOT_SO = re.compile(
    r"[Tt]raceback \(most|ChildFailedError|%\||not (?:supported|available|found|installed)\W{1,3}(?:using|use|will use"
    r"|defaulting|disabling)\b|\|\| {0,4}(?:echo|true|exit)\b|^\s{0,8}error_file: |(?:^|[\s:])\[?W\d{3,4} |\b(?:"
    r"(?:[A-Z]\w{0,60}Warning|WARN(?:ING)?|INFO|DEBUG|[Rr]etrying|[Ii]gnor(?:e[sd]?|ing)|[Ss]kipp(?:ed|ing)"
    r"|[Ff]all(?:s|ing) back|accepting|no longer (?:required|needed|necessary))\b"
    r"|not available[,;.] {0,2}(?:running|training|switching|falling)\b)"
)
_WHAT = re.compile(r"\s{0,8}what\(\):\s{1,4}\S")
"""The message of an exception in C++ that nobody caught."""


def inside(text: str) -> Tuple[int, str]:
    """How a line quotes an exception, and the exception as a traceback's last line would show it. No digit's value
    matters."""
    if _WHAT.match(text) is not None:
        return SAID, text
    found = _inside(text) if "Error" in text or "Exception" in text else (NO, "")
    return found if found[0] != NO else _in_words(text)


def is_handled(text: str) -> bool:
    """Whether a line has words of a program that handles a failure, or of one that could happen."""
    return _NOT_SO.search(text, 0, _LONGEST) is not None or _EXCUSES.search(text, 0, _LONGEST) is not None


def _in_words(text: str) -> Tuple[int, str]:
    """Whether a line says that something failed, without an exception's last line."""
    match = _STATES.search(text, 0, _LONGEST)
    if match is None or _NOT_SO.search(text, 0, _LONGEST) is not None or CODE.match(text) is not None:
        return NO, ""
    if _EXCUSES.search(text, 0, match.start()) is not None or is_known_warning(text):
        return NO, ""
    return (STATED if _LEVEL.search(text, 0, _LONGEST) is None else LOGGED), text


def _inside(text: str) -> Tuple[int, str]:
    """How a line quotes an exception by its name and a colon, or as `repr` writes it."""
    joined = _JOINED.search(text, 0, _LONGEST)
    text = text[joined.end() :] if joined is not None else text
    match = _INSIDE.search(text, 0, _LONGEST)
    if match is None or match.group("kind").endswith("Warning"):
        return NO, ""
    before = text[: match.start()]
    if CODE.match(text) is not None or _EXCUSES.search(before) is not None:
        return NO, ""
    said, quote = match.group("text"), match.group("quote") or before[-1:]
    if match.group("quote") or (quote and quote in "\"'`"):
        said = said or match.group("said")
        said = said.rpartition(quote)[0] or said
    sure = _MARKUP.match(before) is not None or _BLAMES.search(before) is not None
    return (SAID if sure else MENTIONED), f"{match.group('kind')}: {said.rstrip(' │|*`')}"
