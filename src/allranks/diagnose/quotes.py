"""Exceptions inside a line: after a logger's level, in quotes, in a heading, as `repr` writes them.

People paste them so into an issue, and programs that catch everything print them so before they end.
"""

from __future__ import annotations

import re
from typing import Optional

from allranks.diagnose.streams import CODE

_INSIDE = re.compile(
    r"(?<![\w.])(?P<kind>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception))"
    r"(?:[ ]?: (?P<text>\S.{0,4096})|\((?P<quote>['\"])(?P<said>.{1,4096}))"
)
_MARKUP = re.compile(
    r"[\s#>*_\"'`│|+-]{0,80}(?:E\s{1,20})?(?:(?:\[[^\]]{1,40}\]|Bug|BUG)[\s:]{0,4}){0,3}[\"'`*]{0,3}$"
)
_BLAMES = re.compile(
    r"(?i)\b(?:errors?|exceptions?|failed|failure|fails|fatal|critical|crash(?:ed|es)?|raise[sd]|throws?|threw|got"
    r"|gets?|getting|encounter(?:ed|ing)?|facing|hit|met)\b|\u62a5\u9519|\u9519\u8bef|\u5f02\u5e38"
)
_EXCUSES = re.compile(
    r"(?i)\b(?:warn(?:ing)?|info|debug|trace|ignor(?:e|ed|ing)|retr(?:y|ies|ying)|skip(?:ped|ping)?|handled|caught"
    r"|expect(?:ed|s)|except|raises\(|if|when|avoid(?:s|ed)?|prevents?|fix(?:e[sd])?|falling back|isinstance|return)\b"
)
_LONGEST = 1000
"""Characters of a line before an exception: a longer text is not about it."""


def inside(text: str) -> Optional[str]:
    """The exception that a line quotes, as a traceback's last line would show it; None if it quotes none. No digit's
    value matters."""
    if "Error" not in text and "Exception" not in text:
        return None
    match = _INSIDE.search(text, 0, _LONGEST)
    if match is None or match.group("kind").endswith("Warning"):
        return None
    before = text[: match.start()]
    if CODE.match(text) is not None or _EXCUSES.search(before) is not None:
        return None
    if _MARKUP.match(before) is None and _BLAMES.search(before) is None:
        return None
    said, quote = match.group("text"), match.group("quote") or before[-1:]
    if match.group("quote") or (quote and quote in "\"'`"):
        said = said or match.group("said")
        said = said.rpartition(quote)[0] or said
    return f"{match.group('kind')}: {said.rstrip(' │|*`')}"
