"""The saves of a script, in any place: the ranks report the paths, and at the end each save is judged by its kind."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Tuple

from allranks.core import BLOCK, UNKNOWN, Event, Finding, Where, run_events
from allranks.runs import keeper_io_worker
from allranks.runs.keeper_io_worker import GoesOn, Steps
from allranks.runs.keeper_record import Record

Answer = Tuple[Optional[Dict[str, Any]], str]
MOST_PATHS = 200
LOOKED_AT = 5
"""Only the newest saves are read. A script that saves once per minute for a week makes some 10,000, and removes old
ones itself."""


class Output:
    """Gets saves by `add`. A save on another node's own disk is listed but not judged."""

    def __init__(self, job: Mapping[str, Any]):
        self.node = str(job["node"])
        self.expect = {"world_size": (job["keep"].get("expect") or {}).get("world_size")}
        self.run_id, self.resume = str(job["run_id"]), job["keep"].get("resume")
        self._saved: Dict[str, Dict[str, Any]] = {}
        self._inodes: Dict[str, Optional[int]] = {}

    def add(self, event: Event) -> None:
        path = event.payload.path if event.kind == "saved" else None
        if not path or not os.path.isabs(path):
            return
        before = self._saved.pop(path, None)
        is_head = event.node == self.node or (before is not None and before["node"] == self.node)
        node = self.node if is_head else str(event.node)
        self._saved[path] = {"path": path, "step": event.payload.step, "node": node}
        self._inodes[path] = event.payload.inode
        if len(self._saved) > MOST_PATHS:
            del self._inodes[next(iter(self._saved))], self._saved[next(iter(self._saved))]

    def scan(self, goes_on: Optional[GoesOn] = None) -> Steps[List[Dict[str, Any]]]:
        """The newest saves that still exist, newest first, each judged."""
        places = list(reversed(list(self._saved.values())))
        if not places:
            return []
        paths = [[one["path"], self._inodes.get(one["path"])] for one in places]
        asked = {"paths": paths, "most": LOOKED_AT, "expect": self.expect}
        answer, trouble = yield from keeper_io_worker.call("kinds", asked, goes_on)
        if answer is None:
            unread = {"whole": None, "why": trouble, "title": "", "text": ""}
            return [{**one, **unread} for one in places[:LOOKED_AT]]
        found = [{**self._saved[one["was"]], "path": one["path"], **known(one)} for one in answer["found"]]
        if found:
            return found
        return [
            {**one, "whole": None, "why": f"it is not on {self.node}", "title": "", "text": ""}
            for one in places[:LOOKED_AT]
            if one["node"] != self.node
        ]

    def newest_whole(self, goes_on: Optional[GoesOn] = None) -> Steps[Answer]:
        """The save from which the script can continue: the newest save of this run, else the one that `resume`
        names."""
        own = [[path, self._inodes.get(path)] for path in reversed(list(self._saved))]
        asked = {"run_id": self.run_id, "own": own, "wanted": self.resume, "expect": self.expect}
        return (yield from keeper_io_worker.call("script_save", asked, goes_on))


def known(report: Mapping[str, Any]) -> Dict[str, Any]:
    """The part of a save's report that goes into state.json."""
    words = ("title", "kind", "text", "can_resume", "findings")
    against = [f for f in report["findings"] if f["verdict"] in (BLOCK, UNKNOWN)]
    damaged = any(f["verdict"] == BLOCK for f in against) and bool(report["kind"])
    whole = True if report["whole"] else False if damaged else None
    why = "" if whole or not against else f"{against[0]['id']}: {against[0]['saw']}"
    step = {} if report["step"] is None else {"step": report["step"]}
    return {**{word: report[word] for word in words}, **step, "whole": whole, "why": why}


def record_saves(
    output: Output, record: Record, goes_on: Optional[GoesOn] = None
) -> Steps[Optional[Finding]]:
    """Records the saves. Returns a finding if the newest one is not whole."""
    saves = yield from output.scan(goes_on)
    newest = saves[0] if saves else None
    seen = list(newest.get("findings") or ()) if newest is not None else []
    for one in saves:
        one.pop("findings", None)
        known = {key: one[key] for key in ("path", "whole", "step", "why", "title", "text") if key in one}
        record.note(run_events.Checkpoint(**known))
    record.saves(saves)
    if newest is None or newest["whole"] is not False:
        return None
    against = [f for f in seen if f["verdict"] == BLOCK]
    return Finding(
        "output-not-whole",
        BLOCK,
        Where(node=output.node, file=newest["path"]),
        f"the last save of the script is not whole: {newest['why']}",
        "a checkpoint that can be loaded",
        "the run ended with 0, but its result cannot be loaded.",
        f"allranks checkpoints verify {newest['path']} shows the details; an older save may be whole.",
        tuple(f"{f['id']}: {f['saw']}" for f in against[:20]),
    )
