"""The Xids of NVIDIA's driver: what each means, how bad it is, and whether the GPU must be reset after it.

From NVIDIA's Xid catalog (https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, Ampere and newer): a
GPU needs a reset if the row's immediate action is RESET_GPU or RESTART_BM, or WORKFLOW_XID_48 (its row: "A GPU reset or
node reboot is needed to clear this error"). RESTART_APP needs none, and IGNORE is a warning.

Three kinds of rows depend on more than the number. 154 follows other Xids and says in words what the driver asks for.
What 74 and 144 to 150 (NVLink) need is in their registers; the driver says it by a 154, too. Of these only 74 is
in the table. A number that is not in it says nothing certain.
"""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Optional

FAILED = "failed"
"""The GPU, its link or its firmware failed: what ran on it has ended."""

WARNING = "warning"
"""It was corrected, or repaired as far as that was possible. The next one may end a run."""

PROGRAM = "program"
"""Mostly the program's own mistake, or what follows the end of a program."""

RECOVERY_ACTION = 154
NO_RESET = ("none", "drain p2p")
"""The words of a 154 that ask for no reset; the others (GPU Reset Required, Node Reboot Required, Drain and Reset, and
what newer drivers may add) do."""


class Xid(NamedTuple):
    """One row: the meaning in plain words, one of the three severities, whether the GPU must be reset first."""

    meaning: str
    severity: str
    needs_reset: bool = False


XIDS: Dict[int, Xid] = {
    13: Xid("graphics engine exception", PROGRAM),
    31: Xid("memory page fault", PROGRAM),
    43: Xid("GPU stopped processing for a program", PROGRAM),
    45: Xid("clean-up after an earlier error", PROGRAM),
    46: Xid("GPU stopped processing", FAILED, True),
    48: Xid("double-bit memory error", FAILED, True),
    62: Xid("internal micro-controller halt", FAILED, True),
    63: Xid("memory row remapping", WARNING),
    64: Xid("row remapping failed", FAILED, True),
    74: Xid("NVLink error", FAILED),
    79: Xid("GPU has fallen off the bus", FAILED, True),
    92: Xid("many correctable memory errors", WARNING),
    94: Xid("contained memory error", FAILED),
    95: Xid("uncontained memory error", FAILED, True),
    109: Xid("context switch timeout", FAILED, True),
    110: Xid("security fault", FAILED, True),
    119: Xid("firmware (GSP) does not answer", FAILED, True),
    120: Xid("firmware (GSP) error", FAILED, True),
    121: Xid("corrected errors of the link to the CPU", WARNING),
    136: Xid("NVLink training failed", FAILED, True),
    140: Xid("uncorrectable memory error", FAILED, True),
    143: Xid("GPU initialization error", FAILED, True),
    RECOVERY_ACTION: Xid("the driver asks for a recovery", FAILED, True),
    156: Xid("resource retired", FAILED, True),
    157: Xid("no resource left to retire", WARNING),
    158: Xid("GPU fatal timeout", FAILED, True),
}

_LINE = re.compile(r"Xid \([^)]{1,40}\): (\d{1,4})\b(.*)", re.DOTALL)
_ACTION = re.compile(r"\bto 0x[0-9A-Fa-f]{1,8} \(([^)]{1,40})\)")


def known(number: object, text: str = "") -> Optional[Xid]:
    """The row of an Xid whose message is `text`; None if it is not in the table, or is a 154 that asks for no reset."""
    row = XIDS.get(number) if isinstance(number, int) else None
    action = _ACTION.search(text) if number == RECOVERY_ACTION else None
    return None if action is not None and action.group(1).strip().lower() in NO_RESET else row


def needs_reset(line: str) -> Optional[int]:
    """The Xid in a line of the kernel's log, if the GPU must be reset after it."""
    found = _LINE.search(line)
    if found is None:
        return None
    number = int(found.group(1))
    row = known(number, found.group(2))
    return number if row is not None and row.needs_reset else None


def pattern(severity: str) -> str:
    """An expression for the lines whose Xid is of this severity."""
    plain = "|".join(str(n) for n, row in XIDS.items() if row.severity == severity and n != RECOVERY_ACTION)
    if severity != FAILED:
        return rf"Xid \([^)]{{1,40}}\): (?:{plain})\b"
    quiet = "|".join(re.escape(words) for words in NO_RESET)
    return rf"Xid \([^)]{{1,40}}\): (?:(?:{plain})\b|{RECOVERY_ACTION}\b(?!.{{0,200}} to 0x\w{{1,8}} \((?i:{quiet})\)))"
