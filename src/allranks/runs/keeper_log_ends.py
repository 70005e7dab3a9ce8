"""The end of the guilty rank's log, which the keeper keeps for the report when a run fails.

The logs themselves are on their nodes, which may be lost when a person reads the report. The supervisors mask secrets
before they send the ends.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from allranks.core import Where
from allranks.core.log_noise import Lines, Noise
from allranks.node.paths import write_json

LINES = 60
"""Lines per log. The report shows 30; the traceback of a deep model has more."""

LONGEST = 2000
LOGS = 4
"""If no rank is guilty, so many logs of the node, or of all nodes, are kept."""

_RANK = re.compile(r"^rank-(\d{1,9})\.log$")

Tails = Mapping[str, Mapping[str, str]]
"""Node → name of a log → the text of its end."""


def write(path: str, tails: Tails, where: Where) -> None:
    """Writes the chosen log ends. Never raises: a full disk must not prevent the verdict."""
    try:
        write_json(path, {"logs": list(chosen(tails, where))})
    except OSError:
        return


def chosen(tails: Tails, where: Where) -> Iterator[Dict[str, Any]]:
    """The guilty rank's log; else those of the guilty node; else the first ones."""
    logs = [
        (node, name, text) for node, named in sorted(tails.items()) for name, text in sorted(named.items())
    ]
    of_rank = [log for log in logs if where.rank is not None and rank_of(log[1]) == where.rank]
    of_node = [log for log in logs if where.node is not None and log[0] == where.node]
    for node, name, text in (of_rank or sorted(of_node or logs, key=by_kind))[:LOGS]:
        lines = ending(text)
        if lines:
            yield {"node": node, "name": name, "rank": rank_of(name), "lines": lines}


def by_kind(log: Tuple[str, str, str]) -> Tuple[bool, int]:
    """A sort key: ranks first, in their order."""
    rank = rank_of(log[1])
    return rank is None, rank or 0


def ending(text: str) -> List[str]:
    """The last lines, without the lines that healthy runs print again and again."""
    noise, lines = Noise(), Lines()
    kept = [line[:LONGEST] for line in lines.add(text + "\n") if not noise.holds(line)]
    while kept and not kept[-1].strip():
        kept.pop()
    return kept[-LINES:]


def rank_of(name: str) -> "int | None":
    found = _RANK.match(name)
    return int(found.group(1)) if found is not None else None
