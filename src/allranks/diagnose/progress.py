"""Recognizes lines that report a training step, in the formats of many trainers.

A step line shows a quantity of the training (a loss, a learning rate, a gradient's norm) and a count (a step, an
epoch, `10/100`), each with its number. So code in a traceback and warnings about a loss scale do not count.
Every expression here is linear.
"""

from __future__ import annotations

import re
from typing import FrozenSet, List, Tuple

DRAWN = "| 0/"
"""In a bar that has only been drawn: no step yet."""

QUANTITIES: FrozenSet[bytes] = frozenset((
    b"loss", b"Loss", b"LOSS", b"lr", b"LR", b"ppl", b"learning", b"grad", b"gnorm", b"RunningAvgSamplesPerSec",
))  # fmt: skip
"""Words, of which every step line holds one, except those of `_HEADING`."""

_NUMBER = r"(?:\d|[Nn]a[Nn](?![A-Za-z])|[-+]?[Ii]nf(?![A-Za-z]))"
_QUANTITY = re.compile(
    r"(?<![A-Za-z])(?:[Ll]oss|LOSS|lr|LR|ppl|learning[_ ]rate|grad[_ ]norm|gnorm|RunningAvgSamplesPerSec)"
    r"(?![A-Za-z]|[ _-]scale)[^A-Za-z\d|]{0,8}(?:[A-Za-z]{1,12}[^A-Za-z\d|]{0,8}"
    r"|on (?:train|val|test)\w{0,8} (?:batch|set|data) is |per [a-z]{1,12}: )?" + _NUMBER
)
"""`loss: 2.3`, `'loss': '2.3'`, `lm loss: 2.5E+00`, `lr=[1e-05]`, `loss train: 1.9`; not `loss scale: 4096`."""

_COUNT = re.compile(
    r"(?<![A-Za-z])(?:[Ss]tep|STEP|[Ii]ter(?:ation)?|ITER|[Ee]poch|EPOCH)"
    r"(?:\(train\))?(?![A-Za-z])[^A-Za-z\d]{0,16}\d"
    r"|(?<![A-Za-z_])(?:[Ss]teps|[Ii]ters|[Ee]pochs|[Uu]pdates)(?![A-Za-z])[^A-Za-z\d]{0,16}\d"
    r"|(?<![\w.])\d{1,9} (?:train(?:ing)?[ ])?(?:step|iteration|epoch|update)(?:s|\(s\))?(?![A-Za-z])"
    r"|(?:^|[\[|])[ ]{0,8}\d{1,9}/[ ]{0,8}\d{1,9}(?!\d)"
)
"""`step: 10`, `Epoch(train) [1]`, `iteration      10/     100`, `[  50/5004`; not `logging_steps=10`, a setting."""

_BAR = re.compile(
    r"^\s{0,40}(?:(?:[Tt]rain|[Ff]ine-?tun|[Ss]tep|[Ee]poch|[Ii]ter)\w{0,10}(?: [Pp]rogress"
    r"| [Ee]pochs?| [Ss]teps?)?"
    r"[ \d/\[\]().:]{0,24})?\d{1,3}%\|"
)
"""A progress bar of steps: bars of loading, mapping and downloading have another title."""

ROW = re.compile(r"\s{0,12}\d{1,6}/\d{1,6}\s{1,12}\d[\d.]{0,12}[GM]\s[\s\d.:naife+-]{8,160}\d{1,3}%")
"""A row of Ultralytics' table of losses, with its epoch's bar: `    7/500   3.4G   0.64   0.31   119   1024: 12%|`."""

_HEADING = re.compile(
    r"\[(?:step|batch|iter|iteration|global_step)=\d{1,9}/\d{1,9}(?:,[ ]?epoch=\d{1,9})?\]:?\s{0,8}$"
    r"|Epoch\[\d{1,6}\] Batch \[[\d-]{1,24}\]\s{1,4}Speed: \d"
    r"|(?<![A-Za-z])Epoch: \[\d{1,6}\][ ]{0,4}\[[ ]{0,8}\d{1,9}/[ ]{0,8}\d{1,9}\]"
    r"|:::MLLOG \{.{0,160}\"key\": \"(?:epoch|block|step)_stop\""
)
"""`[batch=10/3200]:`, after which the values follow in lines of their own; MXNet's speed; the counts of torch's
ImageNet example, whose losses may have any name; MLPerf's ends of blocks."""


_BEHIND = re.compile(r"(?:it/s|s/it)[^\]]{0,80}\][ ]{0,4}([^\s\d].{8,400})")

HEADING_WORDS = (
    "[step=", "[batch=", "[iter=", "[iteration=", "[global_step=", "] Batch [", "Epoch: [", "MLLOG",
)  # fmt: skip
"""Every heading of a step contains one of these."""


def is_progress(text: str, words: List[bytes]) -> bool:
    """Whether a line reports a training step. `words` are its runs of letters. No digit's value matters."""
    if "%" in text and ("%|" in text or "\u2501" in text) and (_BAR.match(text) or ROW.match(text)):
        return True
    if QUANTITIES.isdisjoint(words):
        return ("]" in text or "MLLOG" in text) and _HEADING.search(text) is not None
    if _QUANTITY.search(text) is None:
        return False
    return "%|" in text or _COUNT.search(text) is not None


def behind_bar(text: str) -> str:
    """What another stream wrote behind a progress bar, in the same line."""
    match = _BEHIND.search(text) if "%|" in text else None
    return match.group(1) if match is not None else ""


def drawn_digits(text: str) -> List[Tuple[int, int]]:
    """The position of the digit in each `| 0/`, as (begin, end)."""
    found: List[Tuple[int, int]] = []
    start = text.find(DRAWN)
    while start >= 0:
        found.append((start + 2, start + 3))
        start = text.find(DRAWN, start + 1)
    return found
