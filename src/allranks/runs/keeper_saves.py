"""Verifies each save while the run trains, prunes older ones, and copies it.

This is a separate thread, and a child process with a time limit does everything that touches the output folder or
shared storage. So neither the training nor the keeper's leases ever wait for a disk.
"""

from __future__ import annotations

import os
import queue
import re
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional, Set, Tuple

from allranks.core import BLOCK, NOTE, UNKNOWN, WARN, Event, Finding, Where, finding_from_json, run_events
from allranks.core.payloads import Payload, decode
from allranks.core.rank_events import SaveSkipped
from allranks.runs import keeper_io_worker, keeper_output

Answer = Tuple[Optional[Dict[str, Any]], str]
Call = Callable[[str, Mapping[str, Any]], Answer]

CHECKPOINT = re.compile(r"checkpoint-(\d{1,12})")
MOST_WAITING = 1000
"""At most so many saves wait to be verified. The next prune looks at the others anyway."""

COPY_BYTES_A_SECOND = 64 << 20
"""The pace of `save.copy_to`: about half of a 1 Gbit/s link and a twentieth of a 10 Gbit/s link. The training's own
traffic may need the rest."""

END_SECONDS = 600.0
"""How long the end of a run waits for the last copy. If the same copy is made later, it continues from here."""


def call_apart(what: str, arguments: Mapping[str, Any]) -> Answer:
    return keeper_io_worker.run_out(keeper_io_worker.call(what, arguments))


class Saves:
    """Gets saves by `add`; `take` returns the findings and notes since the last call."""

    def __init__(self, job: Mapping[str, Any], call: Call = call_apart):
        self.job, self.task, self.call = job, job["keep"], call
        self.output_dir = str(self.task["output_dir"])
        self.output = keeper_output.Output(job)
        self.rehearsed = False
        self._left_out: Set[str] = set()
        self._removed: Set[str] = set()
        self._statements: Deque[Finding] = deque()
        self._notes: Deque[Payload] = deque()
        self._waiting: "queue.Queue[Optional[str]]" = queue.Queue()
        self._thread = threading.Thread(target=self._work, name="saves", daemon=True)
        self._thread.start()
        root = self.task.get("copy_to")
        self._copies = Copies(str(root), str(job["run_id"]), self) if root else None

    def add(self, event: Event) -> None:
        """Takes a save. Only rank 0's events count, since it writes the adapter. Folders that are not checkpoints are
        judged at the end."""
        self.output.add(event)
        if event.kind == "saved" and event.rank == 0:
            path = event.payload.path or ""
            parent, name = os.path.split(path)
            is_own = os.path.abspath(parent) == os.path.abspath(self.output_dir)
            is_checkpoint = name not in self._left_out and CHECKPOINT.fullmatch(name)
            if is_own and is_checkpoint and self._waiting.qsize() < MOST_WAITING:
                self._waiting.put(path)
        if event.kind == "saving" and event.rank == 0:  # perhaps the same step again, in another attempt
            name = os.path.basename(event.payload.path or "")
            self._left_out.discard(name)
            self._removed.discard(name)
        if event.kind == "save-skipped" and event.rank == 0:
            self._left_out.add(f"checkpoint-{event.payload.step}")
            self._statements.append(self._skipped(event.payload))

    def take(self, note: Callable[[Payload], None]) -> List[Finding]:
        """The new findings. New notes go to `note`."""
        for _ in range(len(self._notes)):
            note(self._notes.popleft())
        return [self._statements.popleft() for _ in range(len(self._statements))]

    def end(self, final: Optional[str] = None) -> keeper_io_worker.Steps[None]:
        """No more saves follow. Waits for the rest, at most END_SECONDS, and copies `final` last."""
        self._waiting.put(None)
        deadline = time.monotonic() + END_SECONDS
        while self._thread.is_alive() and time.monotonic() < deadline:
            yield
        if self._copies is not None:
            self._copies.end(final)
            while self._copies.thread.is_alive() and time.monotonic() < deadline:
                yield
            if self._copies.thread.is_alive():
                self._statements.append(self._copies.unfinished())

    # ---- the thread ----

    def _work(self) -> None:
        while True:
            path = self._waiting.get()
            if path is None:
                return
            try:
                self._look_at(path)
            except Exception as error:
                self.say(run_events.SavesFault(path=path, error=f"{type(error).__name__}: {error}"))

    def _look_at(self, path: str) -> None:
        if os.path.basename(path) in self._removed:
            return  # saves come faster than they are verified, and a later one has replaced this one
        expect = {key: value for key, value in dict(self.task.get("adapter") or {}).items() if key != "step"}
        first, self.rehearsed = not self.rehearsed, True
        if first:
            expect.pop("trained", None)  # with a warm-up the first step's learning rate is 0
        report, trouble = self.call("verify", {"folder": path, "expect": expect})
        if report is None:
            self.say(run_events.Checkpoint(path=path, whole=None, why=trouble))
            return
        # All programs that report saves write folders, or files of a known kind: any other file blocks the path.
        in_the_way = not report["kind"] and os.path.isfile(path)
        damaged = in_the_way or any(f["verdict"] == BLOCK for f in report["findings"])
        if report["kind"] != "adapter" and not report["whole"] and not damaged:
            return  # other ranks' files may be on their own nodes
        self.say(run_events.Checkpoint(path=path, whole=report["whole"], step=report["step"]))
        if not report["whole"]:
            # For a script's own save this is not a rehearsal: other ranks may still write their part. An adapter of a
            # kind that cannot be judged here may be whole.
            self._statements.append(
                self._not_whole(
                    path, report, first and damaged and (in_the_way or report["kind"] == "adapter")
                )
            )
            return
        self._prune(int(self.task["keep"]))
        self._make_room(path)
        if self._copies is not None and os.path.basename(path) not in self._removed:
            self._copies.add(path)

    def _make_room(self, path: str) -> None:
        """If the next save may not fit, removes all but the newest and the best, and warns if that is not enough."""
        asked = {"folder": self.output_dir, "checkpoint": path}
        answer, _ = self.call("room", asked)
        if answer is None or answer["finding"]["verdict"] == "ok":
            return
        self._prune(1)
        answer, _ = self.call("room", asked)
        if answer is not None and answer["finding"]["verdict"] != "ok":
            self._statements.append(finding_from_json(answer["finding"]))

    def _prune(self, keep: int) -> None:
        asked = {"folder": self.output_dir, "keep": keep, "run_id": str(self.job["run_id"])}
        pruned, trouble = self.call("prune", {**asked, "expect": self.task.get("adapter")})
        if pruned is None:
            self.say(run_events.Pruned(removed=[], freed_bytes=0, why=trouble))
            self._statements.append(self._not_pruned(trouble))
        elif pruned["removed"]:
            self._removed.update(name for name in pruned["removed"] if CHECKPOINT.fullmatch(name))
            self.say(run_events.Pruned(removed=pruned["removed"], freed_bytes=pruned["freed_bytes"]))

    def state(self, finding: Finding) -> None:
        self._statements.append(finding)

    def say(self, content: Payload) -> None:
        self._notes.append(content)

    # ---- the findings ----

    def _not_whole(self, path: str, report: Mapping[str, Any], first: bool) -> Finding:
        seen = [finding_from_json(one) for one in report["findings"]]
        against = [f for f in seen if f.verdict not in ("ok", NOTE)]
        judged = first or any(f.verdict == BLOCK for f in seen) or not seen
        saw = f"{os.path.basename(path)} {'is not whole' if judged else 'could not be judged'}: "
        saw += "; ".join(f"{f.id}: {f.saw}" for f in against[:3])
        where = Where(node=self.job["node"], file=path)
        evidence = tuple(f"{f.id}: {f.saw}" for f in against[:20])
        if first:
            return Finding(
                "rehearsal-failed", BLOCK, where, saw, "a whole checkpoint",
                "the run could not save its training, so it stops at its first step and not after days.",
                "allranks explain " + (against[0].id if against else "rehearsal-failed"), evidence,
            )  # fmt: skip
        return Finding(
            "save-not-whole", WARN, where, saw, "a whole checkpoint",
            "a resume would go back to the one before it.",
            "look at its disk; the next save is looked at too.", evidence,
        )  # fmt: skip

    def _not_pruned(self, why: str) -> Finding:
        return Finding(
            "prune-failed", NOTE, Where(node=self.job["node"], file=self.output_dir),
            f"old checkpoints could not be removed: {why}", "old checkpoints are removed after each verified save",
            "each save fills the disk by one more checkpoint.",
            "allranks checkpoints prune PATH -n shows what would go and what is in the way.",
        )  # fmt: skip

    def _skipped(self, skipped: SaveSkipped) -> Finding:
        first = not self.rehearsed
        if skipped.unread:
            return Finding(
                "save-unread", BLOCK if first else WARN, Where(node=self.job["node"], rank=0, file=self.output_dir),
                f"step {skipped.step} was not saved: {skipped.why[:400]}", "a whole adapter",
                "the run could not save its training." if first
                else "the training continues; its progress from here is lost unless a later save succeeds.",
                "look for PEFT's error: a library that was updated, or a base model whose config cannot be read; "
                "the next save is tried again.",
            )  # fmt: skip
        planned, free = skipped.planned_bytes or 0, skipped.free_bytes or 0
        saw = f"{free / 2**20:,.1f} MiB are free"
        if skipped.why:  # it was tried: the disk filled up in the meantime, or a quota counts otherwise
            saw = f"{skipped.why[:300]} ({saw})"
        return Finding(
            "save-paused", BLOCK if first else WARN, Where(node=self.job["node"], file=self.output_dir),
            f"step {skipped.step} was not saved: {saw}",
            f"{planned / 2**20:,.1f} MiB for a save, and a tenth more",
            "the run could not save its training." if first
            else "the training continues; its progress from here is lost without a later save.",
            "free space on that disk; the next save is tried again. allranks checkpoints prune RUN",
        )  # fmt: skip


class Copies:
    """`save.copy_to`: copies whole checkpoints to other storage, one by one. If several wait, it copies the newest."""

    def __init__(self, root: str, run_id: str, saves: Saves):
        self.root, self.run_id, self.saves = root, run_id, saves
        self._waiting: "queue.Queue[Optional[str]]" = queue.Queue()
        self._now = ""
        self.thread = threading.Thread(target=self._work, name="copies", daemon=True)
        self.thread.start()

    def add(self, path: str) -> None:
        if self._waiting.qsize() < MOST_WAITING:
            self._waiting.put(path)

    def end(self, final: Optional[str]) -> None:
        if final:
            self._waiting.put(final)
        self._waiting.put(None)

    def _work(self) -> None:
        ending = False
        while not ending:
            paths = [self._waiting.get()]
            while not self._waiting.empty():
                paths.append(self._waiting.get())
            ending = None in paths
            wanted = [path for path in paths if path is not None]
            for path in wanted if ending else wanted[-1:]:
                self._now = path
                try:
                    self._copy(path)
                except Exception as error:
                    self.saves.say(run_events.SavesFault(path=path, error=f"{type(error).__name__}: {error}"))

    def unfinished(self) -> Finding:
        """The run ends before its last copy is complete."""
        return Finding(
            "copy-failed", WARN, Where(node=self.saves.job["node"], file=os.path.join(self.root, self.run_id)),
            f"the copy of {os.path.basename(self._now)} was not complete after {END_SECONDS:.0f} s", "a verified copy",
            "the last state of the training is only on the head node's own disk.",
            f"copy {self._now} before the node is given back.",
        )  # fmt: skip

    def _copy(self, path: str) -> None:
        name = os.path.basename(path)
        target = os.path.join(self.root, self.run_id, name if CHECKPOINT.fullmatch(name) else "adapter")
        asked = {"source": path, "target": target, "bytes_a_second": COPY_BYTES_A_SECOND}
        asked.update(keep=int(self.saves.task["keep"]), run_id=self.run_id)
        answer, trouble = self.saves.call("copy", asked)
        if answer is not None:
            self.saves.say(decode(run_events.Copied, answer))
            return
        self.saves.say(run_events.CopyFailed(path=path, target=target, why=trouble))
        if not os.path.isdir(path):
            return  # pruned in the meantime: a newer one is copied in its place
        self.saves.state(
            Finding(
                "copy-failed", WARN, Where(node=self.saves.job["node"], file=target),
                f"{name} could not be copied: {trouble}", "a verified copy",
                "until the next copy it is only on the head node's own disk.",
                "nothing, if the storage answers again: the next copy continues where this one stopped.",
            )
        )  # fmt: skip


def choose_start(
    job: Mapping[str, Any], record: Any, goes_on: Callable[[], bool], output: keeper_output.Output
) -> keeper_io_worker.Steps[Optional[Dict[str, Any]]]:
    """Handles `resume`: tells the ranks from which checkpoint to continue. Returns what they get in addition:
    `{"env": …}` if `{resume}` is in the script's arguments, else an empty dict. None, with findings, if the run must
    not start."""
    task = job["keep"]
    wanted = task.get("resume")
    if not wanted:
        return {}
    folder = str(task["output_dir"])
    path = None if wanted == "auto" else str(wanted)
    copies = os.path.join(str(task["copy_to"]), str(job["run_id"])) if task.get("copy_to") else None
    asked = {"folder": folder, "expect": task.get("adapter"), "path": path, "copies": copies}
    by_script = bool(task.get("script_resumes"))
    if by_script:
        answer, trouble = yield from output.newest_whole(goes_on)
    else:
        answer, trouble = yield from keeper_io_worker.call("earlier", asked, goes_on)
    if answer is None:
        again = "when the storage answers again: the same command."
        record.finding(resume_unknown(job["node"], path or folder, trouble, again))
        return None
    findings = [finding_from_json(one) for one in answer["findings"]]
    accepted = set(task.get("accept") or ())
    if findings and {f.id for f in findings} <= accepted:
        return resume_environment(path if by_script else None)  # a trainer reads it in its own way
    for finding in findings:
        record.finding(finding)
    found = answer["found"]
    path_of, step = (found["path"], found["step"]) if found else (None, None)
    passed_over = [decode(run_events.PassedOver, one) for one in answer["passed_over"]]
    record.note(run_events.Resume(from_=path_of, step=step, passed_over=passed_over))
    if found is None:
        return {} if path is None else None  # no verified checkpoint yet: the run begins
    if by_script:
        return resume_environment(str(found["path"]))
    chosen, trouble = yield from keeper_io_worker.call("choose", {"folder": folder, "path": found["path"]})
    return None if chosen is None else {}


def resume_environment(path: Optional[str]) -> Dict[str, Any]:
    return {} if path is None else {"env": {"ALLRANKS_RESUME_FROM": path}}


def resume_unknown(node: str, file: str, trouble: str, fix: str) -> Finding:
    """The finding before the first start or a restart if the checkpoint is unknown: the run does not train on a
    guess."""
    return Finding(
        "resume-unknown", UNKNOWN, Where(node=node, file=file),
        f"the checkpoint to continue from could not be read: {trouble}", "",
        "the run would begin from the start, or from an unverified checkpoint.", fix,
    )  # fmt: skip
