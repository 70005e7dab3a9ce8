"""The save that the user's own script can resume from: the newest whole one of its run, or of earlier runs of its name.

The run's keeper has written down where the ranks saved (`state.json`). A save is judged by its kind and never loaded
here; the script loads it itself, as it would by hand.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import Any, Dict, List, Mapping, Optional, Tuple

from allranks.checkpoints import resuming
from allranks.checkpoints.outcome import Report
from allranks.checkpoints.verify import verify
from allranks.core.untrusted import mapping, mappings, number, text
from allranks.node.paths import RunDirectory, read_object

MOST = 20
"""So many saves are looked at, the newest first."""

MOST_ENTRIES = 10_000
"""So many names of a folder are looked at for a file that was renamed."""

STATE_OF_ADAPTERS = ("optimizer.pt", "optimizer.bin", "latest", "allranks-resume.json")


def find_save(
    run_id: str, own: List[str], wanted: Optional[str], expect: Mapping[str, Any]
) -> Dict[str, Any]:
    """`{"found": report or null, "findings": […], "passed_over": […]}`, as `resuming.find_resume`.

    `own` are the saves of this run's earlier attempts, newest first; they come before what is `wanted`: None for
    nothing else, `auto` for those of earlier runs, or a path."""
    passed_over: List[Dict[str, Any]] = []
    for one in list(dict.fromkeys([*own, *(earlier(run_id) if wanted == "auto" else ())]))[:MOST]:
        report, why = judged(one, expect)
        if report is not None:
            return {"found": {**report.as_json(), "path": one}, "findings": [], "passed_over": passed_over}
        passed_over.append({"path": one, "why": why})
    if wanted in (None, "auto"):
        return {"found": None, "findings": [], "passed_over": passed_over}
    report = verify(str(wanted), expect)
    against = [f.as_json() for f in report.findings if f.verdict not in ("ok", "note", "warn")]
    found = None if against else {**report.as_json(), "path": wanted}
    return {"found": found, "findings": against, "passed_over": passed_over}


def where_now(path: str, inode: Optional[int]) -> Optional[str]:
    """The present path of a file that was saved under this one: many scripts save to a temporary name, and rename it in
    the same folder. None if it is gone. An inode may be used again, so the caller must look at what the file is."""
    if os.path.lexists(path):
        return path
    if inode is None:
        return None
    try:
        with os.scandir(os.path.dirname(path)) as entries:
            names = [one.path for one in islice(entries, MOST_ENTRIES) if one.inode() == inode]
    except OSError:
        return None
    return min(names, default=None)


def judged(path: str, expect: Mapping[str, Any]) -> Tuple[Optional[Report], str]:
    """The report of a save that a script can go on from; else None, and why it cannot."""
    try:
        owner = os.lstat(path).st_uid
    except OSError as error:
        return None, str(error.strerror)
    if owner != os.geteuid():
        return None, "it belongs to another user"
    report = verify(path, expect)
    if not report.whole:
        return None, "; ".join(f.saw for f in report.findings[:3])
    if report.can_resume or any(os.path.lexists(os.path.join(path, name)) for name in STATE_OF_ADAPTERS):
        return report, ""
    return None, "it holds weights, and no state of a training"


def earlier(run_id: str) -> List[str]:
    """The saves of earlier runs of the same name, the newest run first; none without the runs' folder."""
    here = RunDirectory(run_id)
    parent = os.path.dirname(here.root)
    found: List[Tuple[float, List[str]]] = []
    try:
        names = os.listdir(parent)
    except OSError:
        return []
    for name in names:
        if name != run_id and resuming.same_name(name, run_id):
            state = read_object(RunDirectory(name).keeper.state)
            found.append((number(state.get("started_at")) or 0.0, saved_by(state)))
    return [path for _, paths in sorted(found, reverse=True) for path in paths]


def saved_by(state: Mapping[str, Any]) -> List[str]:
    """The paths that a run's ranks saved to, as its keeper judged them at the end or last heard of; newest first."""
    saves = mappings(state.get("saves")) or [mapping(state.get("saved"))]
    paths = [text(one.get("path")) for one in saves]
    return [path for path in paths if path is not None and os.path.isabs(path)]
