"""Finds what a run can go on from: the newest verified checkpoint of this run, or of earlier ones of its name.

Only checkpoints with allranks' own state are taken (`allranks-resume.json`): DeepSpeed's shards and the
trainer's own `optimizer.pt` are pickles, and reading those runs whatever code is in them.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Any, Collection, Dict, Iterator, List, Mapping, Optional, Tuple

from allranks.checkpoints import manifest as manifests
from allranks.checkpoints.catalogue import found
from allranks.checkpoints.find import find, written
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.outcome import Report
from allranks.checkpoints.verify import verify
from allranks.core import NOTE, Finding

STATE = ("allranks-resume.json", "allranks-resume.safetensors")
_NOT_THERE = (FileNotFoundError, NotADirectoryError, PermissionError)
"""Any other error of a folder says nothing of what is in it."""

_RUN_ID = re.compile(r"(.+)-\d{4}-[a-z2-9]{4}")
"""`<name>-<month and day>-<four letters>`, as runs/run_id.py makes it."""


def find_resume(
    folder: str,
    expect: Optional[Mapping[str, Any]],
    path: Optional[str] = None,
    copies: Optional[str] = None,
    busy: Collection[str] = (),
) -> Dict[str, Any]:
    """`{"found": report or null, "findings": […], "passed_over": […]}` for the output folder of a run.

    `copies` is where `save.copy_to` would put this run's: the head node of an earlier run may be gone. `busy` are the
    ids of runs that go on, whose checkpoints are not taken: such a run prunes them while another one reads them.
    With `path` only that checkpoint is judged: a finding of verdict `block` says why it cannot be used.
    Raises OSError if a folder cannot be read: then nobody knows that there is nothing to go on from.
    """
    expect = {key: value for key, value in dict(expect or {}).items() if key not in ("step", "trained")}
    if path is not None:
        report, findings = judge(path, expect)
        taken = report.as_json() if report is not None and not findings else None
        return {"found": taken, "findings": [f.as_json() for f in findings], "passed_over": []}
    passed_over: List[Dict[str, Any]] = [
        {"path": other, "why": "its run still trains"} for other in namesakes(folder) if run_of(other) in busy
    ]
    for candidate in candidates(folder, copies, busy):
        report, findings = judge(candidate, expect)
        if report is not None and not findings:
            return {"found": report.as_json(), "findings": [], "passed_over": passed_over}
        passed_over.append({"path": candidate, "why": "; ".join(f.saw for f in findings[:3])})
    return {"found": None, "findings": [], "passed_over": passed_over}


def judge(path: str, expect: Mapping[str, Any]) -> Tuple[Optional[Report], List[Finding]]:
    """The report of a checkpoint, and what speaks against going on from it."""
    report = verify(path, expect)
    if not report.whole:
        return report, [f for f in report.findings if f.verdict not in ("ok", NOTE, "warn")]
    lacking = lacks(report.path, verified=True)
    if not lacking:
        return report, []
    return report, [found("checkpoint-not-resumable", path, lacking, "its training's state")]


def lacks(path: str, verified: bool = False) -> str:
    """Why training cannot continue from a whole adapter; empty if it can. `verified`: the files were compared with the
    manifest a moment ago, and their digests, which take long, are not computed again."""
    read = manifests.named if verified else manifests.read
    try:
        with Folder(path) as folder:
            names = set(folder.names())
            manifest, findings = read(folder) if manifests.MANIFEST in names else (None, [])
    except OSError as error:
        return "it cannot be read: %s" % error.strerror
    missing = [name for name in (*STATE, manifests.TRAINER_STATE) if name not in names]
    if missing and any(name.startswith("global_step") or name.endswith("_states.pt") for name in names):
        return "its state is DeepSpeed's pickled shards"
    if missing and "optimizer.pt" in names:
        return "its state is the trainer's pickled optimizer.pt"
    if missing:
        return "%s is not there" % missing[0]
    if manifest is None or findings or any(name not in manifest.files for name in STATE):
        return "its manifest does not vouch for %s" % STATE[0]
    return ""


def candidates(folder: str, copies: Optional[str] = None, busy: Collection[str] = ()) -> Iterator[str]:
    """Checkpoints of the run's own output folder first, then of its namesakes', then their copies, each newest first.
    Other storage is asked only if nothing before it will do: its clock may differ, and it may not answer."""
    yield from of_folder(folder)
    for place in (folder, copies):
        idle = [other for other in (namesakes(place) if place else []) if run_of(other) not in busy]
        others = [path for other in idle for path in of_folder(other)]
        yield from sorted(others, key=written, reverse=True)


def of_folder(folder: str) -> List[str]:
    """The checkpoints of a folder that may not exist, or may be another user's."""
    try:
        return checkpoints_of(folder)
    except _NOT_THERE:
        return []


def checkpoints_of(folder: str) -> List[str]:
    """Newest first, without the final adapter. Raises OSError where the folder cannot be read: that is not none."""
    real = os.path.realpath(folder)
    return [path for path in find(folder) if os.path.realpath(path) != real]


def same_name(run_id: str, other: str) -> bool:
    """Whether two ids are of runs of one name."""
    first, second = _RUN_ID.fullmatch(run_id), _RUN_ID.fullmatch(other)
    return first is not None and second is not None and first.group(1) == second.group(1)


def namesakes(folder: str) -> List[str]:
    """Output folders of earlier runs of the same name: `save.to/<run id>`, or `runs/<run id>/output`."""
    folder = os.path.abspath(folder)
    within = os.path.basename(folder) == "output"
    run_folder = os.path.dirname(folder) if within else folder
    match = _RUN_ID.fullmatch(os.path.basename(run_folder))
    if match is None:
        return []
    parent, others = os.path.dirname(run_folder), []
    try:
        names = sorted(os.listdir(parent))
    except _NOT_THERE:
        return []
    for name in names:
        other = _RUN_ID.fullmatch(name)
        path = os.path.join(parent, name, "output") if within else os.path.join(parent, name)
        if other is None or other.group(1) != match.group(1) or path == folder:
            continue
        if _is_marked(path) and _same_owner(path, parent):
            others.append(path)
    return others


def run_of(folder: str) -> str:
    """The id of the run whose output folder this is."""
    above, name = os.path.split(folder)
    return os.path.basename(above) if name == "output" else name


def _is_marked(folder: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(os.path.join(folder, ".allranks-run")).st_mode)
    except _NOT_THERE:
        return False


def _same_owner(path: str, parent: str) -> bool:
    """Another user's run is not gone on from by its name alone."""
    return os.lstat(path).st_uid in (os.geteuid(), os.lstat(parent).st_uid)
