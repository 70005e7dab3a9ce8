"""Removes old checkpoints, and from the kept ones the files that neither resuming nor using needs.

Whatever `keep` says, these stay: the newest whole checkpoint, the best one (by trainer_state.json),
everything newer than the oldest kept one (a save may be under way), and every one that could not be judged.
Shards stay beside an adapter that is not whole: they may be the only copy of its weights.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple

from allranks.checkpoints import manifest as manifests
from allranks.checkpoints import removal
from allranks.checkpoints.catalogue import found
from allranks.checkpoints.find import find
from allranks.checkpoints.folder import Folder
from allranks.checkpoints.needs import (
    best_checkpoint,
    can_resume,
    final_needs,
    holds_all_that_trained,
    is_dead_end,
    is_loaded_or_newer,
    is_of_a_trainer,
    may_be_under_way,
    newest_in,
    resume_needs,
    time_of,
    use_needs,
    written_at,
)
from allranks.checkpoints.outcome import Report
from allranks.checkpoints.removal import Home, NotOurs
from allranks.checkpoints.verify import verify
from allranks.core import UNKNOWN, Finding
from allranks.core.text import printable

MARK = ".allranks-run"
"""The mark of a run in its output folder, {"run_id": …}: only a folder with it is the run's own."""


@dataclass(frozen=True)
class PruneReport:
    """Paths are relative to the pruned folder. `reasons` says for each path of all three why it is there.

    With `dry_run` nothing was touched: `removed` is what would go and `freed_bytes` what it would free.
    """

    removed: Tuple[str, ...] = ()
    kept: Tuple[str, ...] = ()
    freed_bytes: int = 0
    refused: Tuple[str, ...] = ()
    findings: Tuple[Finding, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False

    def as_json(self) -> Dict[str, Any]:
        return asdict(self)


def mark(directory: str, run_id: str) -> None:
    """Makes an existing folder the output folder of a run: `prune` does not touch a folder without a mark.

    Raises FileExistsError if the folder already carries another run's mark.
    """
    home = Home.open(directory)
    try:
        have = _marked(home)
        if have is not None and have != run_id:
            raise FileExistsError("%s is the output folder of run %s" % (directory, printable(have)))
        if have is None:
            removal.replace_file(home.fd, MARK, json.dumps({"run_id": run_id}).encode() + b"\n")
    finally:
        home.close()


def _marked(home: Home) -> Optional[str]:
    raw = removal.read_small(home, home.fd, MARK, 4096)
    try:
        run_id = json.loads(raw.decode("utf-8")).get("run_id") if raw else None
    except (ValueError, AttributeError):
        return None
    return run_id if isinstance(run_id, str) and run_id else None


def prune(
    directory: str,
    keep: int = 3,
    marker: Optional[str] = None,
    dry_run: bool = False,
    expect: Optional[Mapping[str, Any]] = None,
    resumable: int = 1,
    vouched: bool = False,
) -> PruneReport:
    """Removes what is not needed from a run's output folder.

    `keep` is how many whole checkpoints stay (at least 1), `resumable` how many of the newest of them keep
    their optimizer states. `marker` is the run's id, which the folder's mark must carry; None takes any
    mark. `vouched` stands for a person who named the folder and agreed: then no mark is needed.
    Raises OSError where the folder itself cannot be opened.
    """
    home = Home.open(directory)
    try:
        stranger = None if vouched and marker is None else _not_ours(home, directory, marker)
        if stranger is not None:
            return PruneReport(refused=(directory,), findings=(stranger,), dry_run=dry_run)
        return _Pruning(home, os.path.realpath(directory), dry_run).run(
            max(1, keep), max(0, resumable), expect
        )
    finally:
        home.close()


def _not_ours(home: Home, directory: str, marker: Optional[str]) -> Optional[Finding]:
    have = _marked(home)
    if have is None:
        return found(
            "prune-not-ours", directory, "no mark (%s) in the folder" % MARK, marker or "a run's mark"
        )
    if marker is not None and have != marker:
        return found("prune-not-ours", directory, "the mark of run %s" % printable(have), "run %s" % marker)
    return None


class _Pruning:
    """One pass over one folder. Decides first, in the order of `run`; acts through `_remove` alone."""

    def __init__(self, home: Home, directory: str, dry_run: bool):
        self.home, self.directory, self.dry_run = home, directory, dry_run
        self.removed: List[str] = []
        self.kept: List[str] = []
        self.refused: List[str] = []
        self.findings: List[Finding] = []
        self.reasons: Dict[str, str] = {}
        self.freed_bytes = 0
        self.dead_ends: Set[str] = set()

    def run(self, keep: int, resumable: int, expect: Optional[Mapping[str, Any]]) -> PruneReport:
        for name in removal.leftovers(self.home):
            self._remove(self.home.fd, name, name, "its removal broke off")
        expect = {key: value for key, value in dict(expect or {}).items() if key != "step"}
        reports = [verify(path, expect) for path in find(self.directory)]
        self.dead_ends = {report.path for report in reports if is_dead_end(report)}
        if not any(report.whole for report in reports):
            if reports:
                saw = "%d checkpoints, none whole: nothing is removed" % len(reports)
                self.findings.append(found("prune-nothing-verified", self.directory, saw))
            for report in reports:
                self._keep(report, "nothing here is whole")
            return self._report()
        checkpoints = [r for r in reports if os.path.realpath(r.path) != self.directory]
        by_time = sorted(checkpoints, key=lambda r: written_at(r.path), reverse=True)
        staying = self._choose(reports, by_time, keep)
        whole = [r for r in checkpoints if r.whole and r.path in staying]
        able = [r.path for r in whole if can_resume(r) and r.path not in self.dead_ends]
        last = [r.path for r in by_time if r.path in able]
        to_resume = {*able[:resumable], *last[:resumable]}
        if resumable:
            # `load_best_model_at_end` loads the best one through DeepSpeed, which wants its state too.
            to_resume.add(best_checkpoint(self.directory, [r.path for r in reports]) or "")
        for report in reports:
            if report.path not in staying:
                name = os.path.basename(report.path)
                self._remove(self.home.fd, name, name, "older than the %d that are kept" % keep)
        for report in reports:
            # Of other kinds nobody knows what is not needed: DeepSpeed's shards may be the only weights.
            thin = report.path in staying and report.whole and report.kind == "adapter"
            # A dead end may be a save whose last file is about to come.
            if thin and not may_be_under_way(report) and report.path not in self.dead_ends:
                self._thin(report, report.path in to_resume)
        going_on = [r for r in reports if r.whole and r.path not in self.dead_ends]
        if going_on:
            self._drop_broken_saves(max(r.step or 0 for r in going_on), max(map(time_of, going_on)))
        return self._report()

    def _drop_broken_saves(self, step: int, time: float) -> None:
        """Temporary folders of allranks' saves up to the newest whole step, if nothing in them is newer than the last
        save that came to its end: a save under way is of a later step, or, in an attempt that began from the start,
        of a later time."""
        for name in sorted(os.listdir(self.home.fd)):
            match = re.fullmatch(r"\.allranks-saving-checkpoint-(\d{1,12})", name)
            if match and int(match.group(1)) <= step and newest_in(os.path.join(self.directory, name)) < time:
                self._remove(self.home.fd, name, name, "its save broke off")

    def _choose(self, reports: List[Report], by_time: List[Report], keep: int) -> Set[str]:
        """The paths that stay, each with its reason. `reports` are those of the highest steps first, `by_time` those
        that were written last: an attempt that began from the start writes lower steps than the one before."""
        recent = self._recent(by_time, keep)
        staying: Set[str] = set()
        best = best_checkpoint(self.directory, [r.path for r in reports])
        latest = _latest(self.home, self.home.fd)
        whole = 0
        for report in reports:
            final = os.path.realpath(report.path) == self.directory
            reason = ""
            if final:
                reason = "the final adapter"
            elif whole < keep:
                reason = (
                    "among the newest %d" % keep
                    if report.whole
                    else "not whole, but newer than the kept ones"
                )
            elif report.path in recent:
                reason = "among the last %d that were written" % keep
            elif report.path == best:
                reason = "the best one"
            elif os.path.basename(report.path) == latest:
                reason = "the one that DeepSpeed's file latest names"
            elif not report.whole and report.kind != "adapter":
                reason = "it is not an adapter, and it is not whole: whether it is still of use is not known"
            elif any(f.verdict == UNKNOWN for f in report.findings):
                reason = "it could not be judged"
            if report.whole and not final and report.path not in self.dead_ends:
                whole += 1
            if reason:
                staying.add(report.path)
                self._keep(report, reason)
        return staying

    def _recent(self, by_time: List[Report], keep: int) -> Set[str]:
        """The last `keep` whole ones that were written, and those that are not whole and newer."""
        found: Set[str] = set()
        whole = 0
        for report in by_time:
            if whole < keep:
                found.add(report.path)
            whole += report.whole and report.path not in self.dead_ends
        return found

    def _keep(self, report: Report, reason: str) -> None:
        name = os.path.relpath(report.path, self.directory)
        self.kept.append(name)
        self.reasons[name] = reason

    def _thin(self, report: Report, for_resume: bool) -> None:
        """Removes within a whole checkpoint what it can do without, and keeps its manifest true."""
        final = os.path.realpath(report.path) == self.directory
        is_alone = final and manifests.step_of_name(self.directory) is not None  # one checkpoint was named
        for_resume = for_resume or is_alone or not holds_all_that_trained(report.path)
        needed = resume_needs if for_resume else use_needs
        if final and not is_alone:
            needed = final_needs if is_of_a_trainer(report.path) else is_loaded_or_newer
        name = os.path.relpath(report.path, self.directory)
        try:
            fd = os.dup(self.home.fd) if final else self.home.enter(self.home.fd, name)
        except (NotOurs, OSError) as error:
            return self._refuse(name, str(error))
        try:
            seen = os.fstat(fd)
            times = seen.st_atime_ns, seen.st_mtime_ns
            tag = _latest(self.home, fd)
            going = [n for n in sorted(os.listdir(fd)) if not needed(n, tag)]
            going = self._leave_manifest(fd, report.path, name, going)
            for below in going:
                shown = below if final else os.path.join(name, below)
                self._remove(
                    fd, below, shown, "not needed to resume" if for_resume else "not needed to use it"
                )
            if going and not self.dry_run:
                # A Trainer's save_total_limit removes the folder that was changed longest ago.
                with contextlib.suppress(OSError):  # only the owner may do it
                    os.utime(fd, ns=times)
        finally:
            os.close(fd)

    def _leave_manifest(self, fd: int, path: str, name: str, going: List[str]) -> List[str]:
        """What may still go after the manifest no longer names it. The manifest is changed before the files:
        a crash in between leaves files too many, never a manifest that names what is gone."""
        try:
            with Folder(path) as folder:
                data = folder.read_json(manifests.MANIFEST)
        except FileNotFoundError:
            return going
        except Exception as error:
            # Whatever is wrong with it: the folder was whole a moment ago, so somebody is at work there.
            self._refuse(os.path.join(name, manifests.MANIFEST), str(error))
            return []
        files = {n: e for n, e in data["files"].items() if n.split("/")[0] not in going}
        if len(files) != len(data["files"]) and not self.dry_run:
            content = json.dumps(dict(data, files=files), indent=2, sort_keys=True).encode("utf-8")
            removal.replace_file(fd, manifests.MANIFEST, content)
        return going

    def _remove(self, parent: int, name: str, shown: str, why: str) -> None:
        act: Callable[[Home, int, str], int] = removal.survey if self.dry_run else removal.remove
        try:
            self.freed_bytes += act(self.home, parent, name)
        except FileNotFoundError:
            return
        except (NotOurs, OSError) as error:
            return self._refuse(shown, str(error))
        self.removed.append(printable(shown))
        self.reasons[printable(shown)] = why

    def _refuse(self, shown: str, why: str) -> None:
        shown, why = printable(shown), printable(why)
        self.refused.append(shown)
        self.reasons[shown] = why
        self.findings.append(found("prune-refused", os.path.join(self.directory, shown), why))

    def _report(self) -> PruneReport:
        return PruneReport(
            removed=tuple(self.removed),
            kept=tuple(self.kept),
            freed_bytes=self.freed_bytes,
            refused=tuple(self.refused),
            findings=tuple(self.findings),
            reasons=self.reasons,
            dry_run=self.dry_run,
        )


def _latest(home: Home, fd: int) -> Optional[str]:
    """DeepSpeed's tag file: the name of the folder that a resume reads."""
    raw = removal.read_small(home, fd, "latest", 256)
    name = raw.decode("utf-8", "replace").strip() if raw else ""
    return name if name and name in os.listdir(fd) else None
