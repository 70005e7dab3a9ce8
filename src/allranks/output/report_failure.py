"""The report's first part for a failed run: the cause, the way to continue, and the evidence. Each is shown once.

The evidence is the guilty rank's last lines, the stacks of all ranks at a stall, and the kernel's lines. Only the
standard library.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from allranks.core.library_code import LIBRARY
from allranks.core.text import fold, plural, spans
from allranks.core.untrusted import integer, listing, mapping, mappings, number
from allranks.output.report_findings import blamed, lines_of, place, saves_of
from allranks.output.report_parts import facts, run_again, section, state_of, verdict_sentence
from allranks.output.report_text import count, escape, moment, readable, seconds

LINES = 30
GROUPS = 6
"""The most stacks side by side. Ranks with the same stack share one."""

FRAMES = 16
KERNEL_LINES = 40
_FRAME = re.compile(r'^(?:\[rank\d{1,7}\]:)?\s*File "(?P<file>[^"]{1,1000})", line (?P<line>\d+)')
"""A frame of a traceback. torch writes the rank before each line of it."""


def failure(data: Mapping[str, Any]) -> str:
    """The part of a failed run; empty if the run did not fail, or if the cause is unknown."""
    found = blamed(data)
    if not found:
        return ""
    rows = [
        ("why", escape(found.get("why") or "")),
        ("fix", escape(found.get("fix") or "")),
        ("saved", saved(data)),
        ("go on", go_on_html(data)),
        ("affected", escape(affected(found))),
        ("first seen", escape(first_seen(data, found))),
    ]
    small = ", ".join(text for text in (found.get("cause"), found.get("confidence")) if text)
    body = (
        facts(rows)
        + evidence(data, found)
        + last_lines(data, found)
        + stacks(data, found)
        + kernel(data, found)
    )
    return section("cause", "Cause", body, small)


def first_seen(data: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    at, started = number(found.get("first_seen")), number(data.get("started_at"))
    if at is None:
        return ""
    return moment(at) + (f", {seconds(at - started)} after the start" if started is not None else "")


def affected(found: Mapping[str, Any]) -> str:
    wheres = list(found["collateral"])
    return f"{place(wheres)}: failed as a consequence" if wheres else ""


# ---- how to continue ----


def saved(data: Mapping[str, Any]) -> str:
    """The save to continue from, and whether it was verified."""
    if state_of(data) not in ("failed", "lost"):
        return ""
    adapter, newest = data["adapter"], next(iter(saves_of(data["state"].get("saves"))), None)
    told = mapping(data["state"].get("saved"))
    if adapter.get("path"):
        judged = {True: "whole", False: "not whole"}.get(adapter.get("whole"), "not verified")
        return save_html(integer(adapter.get("step")), judged, adapter["path"])
    if newest is not None:
        judged = {True: "whole, as far as its files tell", False: "not whole"}.get(
            newest["whole"], "not judged"
        )
        return save_html(newest["step"], judged, newest["path"])
    if told.get("path"):
        return save_html(integer(told.get("step")), "not verified", str(told["path"]))
    return "Nothing was saved before the failure."


def save_html(step: Optional[int], judged: str, path: Any) -> str:
    first = f"step {count(step)}, " if step is not None else ""
    return f"{escape(first + judged)}: <code>{escape(path, 1000)}</code>"


def go_on_html(data: Mapping[str, Any]) -> str:
    command, what = go_on(data)
    return f'<pre class="copyable">{escape(command)}</pre>{escape(what)}' if command else escape(what)


def go_on(data: Mapping[str, Any]) -> Tuple[str, str]:
    """The command that continues from the save, and its effect."""
    if state_of(data) not in ("failed", "lost"):
        return "", ""
    if not saved(data).startswith("Nothing") and data.get("can_resume"):
        words = run_again(data["state"], "--resume", "auto")
        if not words:
            return "", "the command that started it, with --resume auto"
        return words, "after the fix; it continues from the newest whole save"
    words = run_again(data["state"])
    return words, "after the fix; it starts from the beginning" if words else ""


# ---- the evidence ----


def evidence(data: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """The lines that add something to the page's first sentence and the log below."""
    said = " ".join([verdict_sentence(data), *(line for log in data["log_ends"] for line in log["lines"])])
    where = found.get("where") or {}
    place_said = f"{where.get('file')}:{where.get('line')} in "  # the sentence has it, and so has the log
    more = [line for line in found.get("evidence") or () if line.strip(" .") not in said]
    more = [line for line in more if not line.strip().startswith(place_said)]
    shown = "\n".join(escape(line) for line in more)
    return f"<h3>Evidence</h3><pre>{shown}</pre>" if more else ""


def last_lines(data: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """The end of the guilty rank's log, with the user's own frame marked."""
    parts = []
    where = found.get("where") or {}
    for log in data["log_ends"][: 1 if where.get("rank") is not None else 4]:
        lines = log["lines"][-LINES:]
        own = own_frame(lines, where)
        body = "".join(marked(line) if n in own else f"{escape(line)}\n" for n, line in enumerate(lines))
        who = f"Rank {log['rank']}" if log["rank"] is not None else log["name"]
        title = f"{who} on {log['node']}: its last {plural(len(lines), 'line')}"
        parts.append(f'<h3>{escape(title, 300)}</h3><pre class="log">{body}</pre>')
    return "".join(parts)


def marked(line: str) -> str:
    return f"<mark>{escape(line)}</mark>\n"


def own_frame(lines: Sequence[str], where: Mapping[str, Any]) -> List[int]:
    """The lines of the newest frame of the user's own code in the last traceback: `File …` and the source below it."""
    frames = [(n, found) for n, found in ((n, _FRAME.match(line)) for n, line in enumerate(lines)) if found]
    own = [n for n, found in frames if not LIBRARY.search(found["file"].replace("\\", "/"))]
    named = [
        n
        for n, found in frames
        if (found["file"], found["line"]) == (where.get("file"), str(where.get("line")))
    ]
    chosen = (named or own)[-1:]
    return [
        m for n in chosen for m in (n, n + 1) if m == n or (m < len(lines) and not _FRAME.match(lines[m]))
    ]


# ---- stacks ----


def stacks(data: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Each different stack once, side by side. The guilty rank's comes first, then the most common ones."""
    groups: Dict[Tuple[str, ...], List[int]] = {}
    for rank, frames in sorted(data["stacks"].items()):
        groups.setdefault(tuple(frames), []).append(rank)
    if not groups:
        return ""
    guilty = (found.get("where") or {}).get("rank")
    order = sorted(groups.items(), key=lambda item: (guilty not in item[1], -len(item[1]), item[1][0]))
    shown = "".join(stack(frames, ranks, guilty) for frames, ranks in order[:GROUPS])
    left = len(order) - GROUPS
    note = f'<p class="note">{plural(left, "other stack")} in the journal.</p>' if left > 0 else ""
    return f'<h3>Where the ranks stood, innermost call first</h3><div class="stacks">{shown}</div>{note}'


def stack(frames: Sequence[str], ranks: Sequence[int], guilty: Any) -> str:
    """Frames as `file:line in function`. The newest frame of the user's own code is marked."""
    own = next((n for n, frame in enumerate(frames) if not LIBRARY.search(frame.replace("\\", "/"))), None)
    body = "".join(marked(frame) if n == own else f"{escape(frame)}\n" for n, frame in enumerate(frames))
    style = ' class="guilty"' if guilty in ranks else ""
    name = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {spans(ranks)}"
    return f'<div{style}><h4>{escape(name, 200)}</h4><pre class="log">{body}</pre></div>'


def stack_lines(frames: Any) -> List[str]:
    """Turns an event's frames (outermost first) into texts, innermost first."""
    found = []
    for frame in listing(frames)[-FRAMES:]:
        parts = [readable(part, 300) for part in listing(frame)[:3]]
        if parts:
            file, line, function = (*parts, "?", "?")[:3]
            found.append(f"{file}:{line} in {function}")
    return found[::-1]


# ---- the kernel ----


def kernel(data: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """The kernel's lines of the guilty node, or a note that there are none. Without a guilty node, those of all
    nodes."""
    guilty = (found.get("where") or {}).get("node")
    told = data["kernel"]
    names = [guilty] if guilty in told else sorted(told) if guilty is None else []
    parts, silent = [], []
    for name in names:
        lines = told[name]["lines"][-KERNEL_LINES:]
        if lines:
            shown = "\n".join(escape(line, 600) for line in lines)
            parts.append(f"<h3>Kernel log of {escape(name, 200)}</h3><pre>{shown}</pre>")
        elif told[name]["why"]:
            parts.append(
                f'<p class="note">Kernel log of {escape(name, 200)}: {escape(told[name]["why"], 300)}</p>'
            )
        else:
            silent.append(str(name))
    if silent:
        parts.append(
            f'<p class="note">The kernel’s log of {escape(fold(silent), 300)} names no out-of-memory kill, GPU error'
            " or lost storage.</p>"
        )
    return "".join(parts)


# ---- reading ----


def log_ends(document: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """The lines of logs that the keeper kept, in the form in which it writes them."""
    found = []
    for log in mappings(document.get("logs"))[:8]:
        lines = lines_of(log.get("lines"), 200)
        if lines:
            rank = integer(log.get("rank"))
            found.append(
                {"node": str(log.get("node")), "name": str(log.get("name")), "rank": rank, "lines": lines}
            )
    return found
