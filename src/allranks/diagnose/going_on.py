"""Words with which a program says that it goes on after an error, or a wrapper that it starts the program again."""

from __future__ import annotations

import re
from typing import Any, Callable, Tuple

from allranks.diagnose.closings import ends_well
from allranks.diagnose.counting import is_logged
from allranks.diagnose.lines import Line
from allranks.diagnose.set_aside import is_set_aside
from allranks.diagnose.sources import GoesOn
from allranks.diagnose.store import Store
from allranks.diagnose.streams import EXCEPTION
from allranks.diagnose.symptom import Pattern

_KEPT = 64
_LOOKED_AT = 400

_GOES_ON = (
    r"(?i)\b(?:fall(?:s|ing)? ?back|fallback|skip(?:s|ped|ping)|ignor(?:e[ds]|ing)|(?:go(?:es|ing)?|carry(?:ing)?) on"
    r"|continu(?:es|ing)|(?:will|going to) (?:continue|retry|try again|wait again|skip)|restarting"
    r"|retry(?:ing)? (?:in|after) \d{1,6}(?:\.\d{1,6})? ?(?:ms|s|sec(?:ond)?s?|m|min)"
    r"|try(?:ing)? (?:the )?(?:next|other|another|older|previous|smaller)|is used instead|using \w.{0,60} instead"
    r"|staying offline|kept offline|switch(?:ed|ing) (?:off|to)|non-?fatal|not fatal"
    r"|(?:trying|probing|testing) (?!to\b).{1,60}\d)\b|\(optional\)|\boptional:"
)
_NOT_SO = re.compile(r"(?i)\W{0,3}(?:(?:is|are|was|were) )?(?:not|disabled|impossible|failed)\b")
_DOES_NOT = re.compile(
    r"(?i)\b(?:not|cannot|no|never|unable to|failed to|without|stop|n't)\b\W{0,3}(?:\w{1,12} )?$"
)
_NEAR = 24
_TRIES_ANOTHER = re.compile(
    r"(?i)\b(?:try(?:ing)? (?:the )?(?:next|other|another|older|previous|smaller)|fall(?:s|ing)? ?back)\b"
)


def says_it_goes_on(text: str) -> bool:
    """Whether a line says that its program goes on in spite of what the line tells."""
    for found in re.finditer(_GOES_ON, text[:_LOOKED_AT]):
        before, behind = text[max(0, found.start() - _NEAR) : found.start()], text[found.end() :]
        if _DOES_NOT.search(before) is None and _NOT_SO.match(behind) is None:
            return True
    return False


def tries_another(text: str) -> bool:
    """Whether a line says that its program tries something else instead."""
    return _TRIES_ANOTHER.search(text[:_LOOKED_AT]) is not None and says_it_goes_on(text)


_AGAIN = (
    r"(?i)(?<!\d )\b(?:re-?start(?:ed|ing)?|re-?launch(?:ed|ing)?|respawn(?:ed|ing)?)\b"
    r"(?![ -](?:count|polic|limit|delay|max))"
    r"|\bstart(?:s|ed|ing)? again\b"
    r"|\b(?:attempt|try)(?: ?#|\W{0,4})(?P<attempt>\d{1,4})\b|\b(?:second|third|next) attempt\b"
)
_WARNED = re.compile(
    r"^(?!.{0,200}/(?:site-packages|dist-packages|torch|lib(?:64)?)/).{0,200}\b(?:User|Runtime)Warning: "
)
"""A warning of the program's own code, which waits in no buffer."""
_ENDED = re.compile(
    r"(?i)\b(?:exit(?:ed|s)?|ended|failed|crashed|died|killed|status|code|supervis(?:or|ed)|watchdog)\b"
)
"""In a wrapper's line: how the attempt before ended, or who says so."""
_REPORTS = re.compile(r"(?i)\b(?:finished|ended|exited|failed|done)\b")
"""A line with one attempt's number and such a word reports its end. It does not begin it."""


_NEXT = re.compile(r"(?i)\bnext attempt (?:in|at|starts|begins|follows)\b")
"""A wrapper announces another attempt. Many wrappers lose the code of the last one, and say that its status was 0."""


def _starts_again(seen: Store, line: Line, match: Any) -> None:
    """Only if a process is known to have ended. Programs print such words for other reasons, too."""
    if EXCEPTION.match(line.text) is not None or not (seen.exits or _ENDED.search(line.text)):
        return
    told = [found.group("attempt") for found in re.finditer(_AGAIN, line.text)]
    is_report = len(told) == 1 and told[0] is not None and _REPORTS.search(line.text) is not None
    if (
        is_report
        or all(attempt in ("0", "1") for attempt in told)
        or is_set_aside(line.text)
        or (ends_well(line.text) and _NEXT.search(line.text) is None)
    ):
        return
    source = seen.sources[line.source]
    source.again = seen.count, source.steps


def _attempt_failed(seen: Store, line: Line, match: Any) -> None:
    """torchrun's agent says so when all processes of an attempt have ended. It does not say that it starts them
    again."""
    source = seen.sources[line.source]
    source.agent = seen.count, source.steps


def _goes_on(seen: Store, line: Line, match: Any) -> None:
    told = seen.sources[line.source].goes_on
    if len(told) < _KEPT and says_it_goes_on(line.text):
        at_once = is_logged(line) or _WARNED.search(line.text) is not None
        told.append(GoesOn(seen.count, line.rank, at_once, tries_another(line.text)))


def _of_thread(seen: Store, line: Line, match: Any) -> None:
    stream = seen.seen_of(line)
    stream.thread = stream.lines


_AGAIN_BY = (
    "restart", "Restart", "restarted", "Restarted", "restarting", "Restarting", "relaunch", "relaunching",
    "Relaunching", "relaunched", "respawned", "respawning", "attempt", "Attempt", "ATTEMPT", "again", "try", "Try",
)  # fmt: skip
_GOES_ON_BY = (
    "falling", "Falling", "fallback", "Fallback", "skipping", "Skipping", "skipped", "Skipped", "continuing",
    "Continuing", "instead", "going on", "retry", "trying", "Trying", "probing", "testing", "switched",
    "switching", "optional", "fatal", "ignoring", "Ignoring", "ignored", "Ignored", "offline",
)  # fmt: skip


def _of_process(seen: Store, line: Line, match: Any) -> None:
    """multiprocessing prints the name that a program gave to its process. Its own names (`Process-1`) tell no rank."""
    stream = seen.seen_of(line)
    stream.process = stream.lines, int(match.group(1))


def _of_main(seen: Store, line: Line, match: Any) -> None:
    """`python -m` and processes of multiprocessing begin each traceback that nobody handled with a frame of their own
    (CPython, `Lib/runpy.py`, `Lib/multiprocessing/process.py`)."""
    stream = seen.seen_of(line)
    if stream.lines == stream.headed + 1:
        stream.top = stream.lines


_FRAME = r"^\s{0,8}File \"[^\"]{0,300}"

FACTS: Tuple[Tuple[Pattern, Callable[[Store, Line, Any], None]], ...] = (
    *((Pattern(word, _AGAIN), _starts_again) for word in _AGAIN_BY),
    *((Pattern(word, _GOES_ON), _goes_on) for word in _GOES_ON_BY),
    (Pattern("(exitcode: ", r"exitcode: -?\d{1,5}\) local_rank: \d{1,5} \(pid: "), _attempt_failed),
    (
        Pattern("_run_module_as_main", _FRAME + r"runpy\S{0,4}\", line \d{1,6}, in _run_module_as_main$"),
        _of_main,
    ),
    (
        Pattern("_bootstrap", _FRAME + r"multiprocessing/process\.py\", line \d{1,6}, in _bootstrap$"),
        _of_main,
    ),
    (Pattern("Exception in thread", r"^Exception in thread "), _of_thread),
    (
        Pattern("Process", r"^Process (?:rank|trainer|node|host|worker|proc|w|r)[-_ ]?(\d{1,4}):$"),
        _of_process,
    ),
)
HANDLERS = (_starts_again, _goes_on)
