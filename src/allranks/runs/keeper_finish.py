"""The end of a run, on the head: verifies the adapter, proves its effect, prunes old checkpoints, writes the report."""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from allranks.core import BLOCK, NOTE, UNKNOWN, Finding, Where, finding_from_json, run_events
from allranks.core.run_states import NOT_SEEN
from allranks.node import memory
from allranks.node.paths import RunDirectory, write_text
from allranks.runs import keeper_io_worker, keeper_output, keeper_saves
from allranks.runs.keeper_io_worker import Steps
from allranks.runs.keeper_listener import HELD_UP_SECONDS
from allranks.runs.keeper_record import Record

LOOK_AGAIN_SECONDS = 30.0
"""The time between two searches for a checkpoint to continue from. A remount or a file server's failover takes
minutes (`keeper_listener.HELD_UP_SECONDS`)."""

PROOF_SECONDS = 600.0
"""Loading a base model that fits into a quarter of the memory takes minutes at most."""

PROOF_MEMORY_SHARE = 0.25
"""The proof loads the base model once more. A quarter of the free memory leaves the node usable, and is ten times
what the first example runs needed. The adapter of a larger base is verified by its files alone, and a note says so."""

PROOF = """
import runpy, sys
sys.path.insert(0, sys.argv.pop(1))
runpy.run_module("allranks.worker.proof", run_name="__main__", alter_sys=True)
"""
"""Runs the proof from the bundle in the training environment, where allranks need not be installed."""


class Finish:
    """The keeper's work after the last rank has ended."""

    def __init__(
        self,
        directory: RunDirectory,
        job: Dict[str, Any],
        record: Record,
        goes_on: Callable[[], bool],
        output: keeper_output.Output,
    ):
        """`goes_on` returns False if the run was asked to stop."""
        self.output = output
        self.directory, self.job, self.task, self.record = directory, job, job["keep"], record
        self.goes_on = goes_on
        self.output_dir = str(self.task["output_dir"])

    def open_output(self) -> Steps[bool]:
        """Makes the output folder and marks it as this run's. False, with a finding, if that is not possible."""
        asked = {"folder": self.output_dir, "run_id": self.job["run_id"]}
        answer, trouble = yield from keeper_io_worker.call("open", asked)
        if answer is None:
            saw, why = (
                f"the output folder cannot be made: {trouble}",
                "the first save would end the run, hours from now.",
            )
            fix = "save: {to: a folder that the run's user may write on the head node}"
            self.record.finding(self._finding("output-not-writable", BLOCK, saw, why, fix))
        return answer is not None

    def _finding(
        self, name: str, verdict: str, saw: str, why: str = "", fix: str = "", evidence: Sequence[str] = ()
    ) -> Finding:
        """A finding about the output folder."""
        where = Where(node=self.job["node"], file=self.output_dir)
        return Finding(name, verdict, where, saw, why=why, fix=fix, evidence=tuple(evidence))

    # ---- verify ----

    def verify(self, doubt: Optional[Finding] = None) -> Steps[str]:
        """Verifies the adapter, and returns the run's last state. A run that trains an adapter is `succeeded` only if
        the adapter is whole. `doubt` is recorded, too."""
        self.record.phase("verify")
        if doubt is not None:
            self.record.finding(doubt)
        wanted = self.task.get("adapter")
        if not wanted:
            return (yield from self._verify_saves(doubt))
        asked = {"folder": self.output_dir, "expect": dict(wanted)}
        report, trouble = yield from keeper_io_worker.call("verify", asked, self.goes_on)
        if report is None:
            self.record.finding(self._unverified(trouble))
            return "failed"
        for finding in report["findings"]:
            self.record.finding(finding_from_json(finding))
        summary = {**summary_of(report), "path": self.output_dir, "whole": report["whole"]}
        if not report["whole"]:
            self.record.adapter(run_events.Adapter(**summary))
            return "failed"
        proof = yield from self._prove(str(wanted["base_model"]))
        self.record.adapter(run_events.Adapter(**{**summary, **proof}))
        return "failed" if proof.get("changed") is False else "succeeded"

    def _verify_saves(self, doubt: Optional[Finding]) -> Steps[str]:
        """The last state of a script or a full fine-tune, by its saves."""
        against = yield from self._look_at_saves()
        if against is not None:
            self.record.finding(against)
            return "failed"
        return NOT_SEEN if doubt is not None and doubt.verdict == UNKNOWN else "succeeded"

    def _look_at_saves(self) -> Steps[Optional[Finding]]:
        yield from self._newest_adapter()
        return (yield from keeper_output.record_saves(self.output, self.record))

    def _unverified(self, trouble: str) -> Finding:
        return self._finding(
            "adapter-unverified",
            UNKNOWN,
            f"the output folder could not be read: {trouble}",
            "whether the adapter is whole is not known, so the run is not called a success.",
            f"when the storage answers again: allranks checkpoints verify {self.output_dir}",
        )

    def look_for_rest(self) -> Steps[None]:
        """Records the newest whole checkpoint or save after a failure or a stop."""
        if self.task.get("adapter"):
            yield from self._newest_adapter()
        else:
            yield from self._look_at_saves()

    def _newest_adapter(self) -> Steps[None]:
        asked = {"folder": self.output_dir, "expect": self.task.get("adapter")}
        answer, trouble = yield from keeper_io_worker.call("newest", asked)
        if trouble:
            self.record.finding(self._unverified(trouble))
        newest = (answer or {}).get("found")
        if newest is not None:
            self.record.adapter(run_events.Adapter(**summary_of(newest), whole=True))

    def go_on(self, keep_word: bool, is_to_end: Callable[[], bool]) -> Steps[Optional[Dict[str, Any]]]:
        """`{"found": report}` of the newest verified checkpoint, from which the next attempt continues, or `{"found":
        None}`. None if that could not be found out; then nothing starts again.

        The ranks read its path in the output folder (`worker/trainer_checkpoints.py`). If there is no checkpoint, an
        earlier path is removed, or kept with `keep_word`. If the storage does not answer, it is asked again for a
        while.
        """
        asked = {"folder": self.output_dir, "expect": self.task.get("adapter"), "keep_word": keep_word}
        deadline = time.monotonic() + HELD_UP_SECONDS
        while True:
            if self.task.get("script_resumes"):
                answer, trouble = yield from self.output.newest_whole()
            else:
                answer, trouble = yield from keeper_io_worker.call("go_on", asked)
            trouble = trouble or str((answer or {}).get("unchosen") or "")
            if not trouble:
                return answer
            if time.monotonic() > deadline or not (yield from self._wait_to_look_again(trouble, is_to_end)):
                break
        again = "when the storage answers again: the same command with --resume auto."
        self.record.finding(keeper_saves.resume_unknown(self.job["node"], self.output_dir, trouble, again))
        why = f"the checkpoint to continue from is not known: {trouble}"
        self.record.note(run_events.Restart(again=False, why=why))
        return None

    def _wait_to_look_again(self, trouble: str, is_to_end: Callable[[], bool]) -> Steps[bool]:
        """Waits before the next try. Returns False if the run must end. (`goes_on` may be False for any failed run.)"""
        self.record.phase(
            "back-off", f"{LOOK_AGAIN_SECONDS:.0f} s: the output folder cannot be used: {trouble}"
        )
        until = time.monotonic() + LOOK_AGAIN_SECONDS
        while time.monotonic() < until and not is_to_end():
            yield
        return not is_to_end()

    # ---- proof ----

    def _prove(self, base: str) -> Steps[Dict[str, Any]]:
        """Loads the adapter onto its base in the training environment and compares outputs."""
        too_big = self._too_big(base)
        if too_big:
            self.record.finding(too_big)
            return {"changed": None}
        self.record.phase("prove")
        held = [keeper_io_worker.LEASH + PROOF, *keeper_io_worker.leash(PROOF_SECONDS, parent=0)]
        argv = [self.task["python"], "-c", *held, self.job["inside"], "--base", base]
        argv += ["--adapter", self.output_dir, "--json"]
        answer, trouble = yield from self._run(argv)
        if answer is None or "changed" not in answer:
            trouble = trouble or str((answer or {}).get("error", "it printed no result"))
            self.record.finding(self._unproved(trouble))
            return {"changed": None}
        self._judge_proof(answer)
        fits = not any(answer.get("loaded", {}).get(kind) for kind in ("missing", "unexpected"))
        return {"changed": answer["changed"] and fits, "max_difference": answer.get("max_difference")}

    def _judge_proof(self, answer: Dict[str, Any]) -> None:
        """Records errors: tensors that do not belong to the base model, or an adapter that does not change anything."""
        loaded = answer.get("loaded") or {}
        stray = [f"{kind}: {name}" for kind in ("missing", "unexpected") for name in loaded.get(kind) or ()]
        why = "a model with it is untrained, in whole or in part."
        fix = f"check lora_target and the learning rate; allranks checkpoints verify {self.output_dir}"
        if stray:
            saw = f"{len(stray)} of its tensors do not fit the base model."
            self.record.finding(self._finding("adapter-does-not-fit", BLOCK, saw, why, fix, stray[:20]))
        if answer["changed"] is False:
            saw, told = (
                "the base model's output is the same with and without the adapter.",
                json.dumps(answer, sort_keys=True),
            )
            self.record.finding(self._finding("adapter-without-effect", BLOCK, saw, why, fix, [told[:500]]))

    def _run(self, argv: List[str]) -> Steps[Tuple[Optional[Dict[str, Any]], str]]:
        env = dict(os.environ, **self.job["env"])
        env.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
        try:
            child = subprocess.Popen(
                argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except OSError as error:
            return None, str(error)
        out, err, trouble = yield from keeper_io_worker.wait_for(child, PROOF_SECONDS, goes_on=self.goes_on)
        if trouble:
            return None, trouble
        try:
            return json.loads(out.decode("utf-8", "replace").strip().splitlines()[-1]), ""
        except (ValueError, IndexError):
            tail = err.decode("utf-8", "replace").strip().splitlines()
            return None, tail[-1] if tail else f"exit code {child.returncode}"

    def _too_big(self, base: str) -> Optional[Finding]:
        size, free = folder_bytes(base), memory.machine().get("memory_available_bytes")
        if size == 0 or free is None:
            return self._unproved(f"{base} is not readable here as a folder")
        if size <= PROOF_MEMORY_SHARE * free:
            return None
        return self._finding(
            "adapter-not-loaded",
            NOTE,
            f"the base model has {size / 2**30:.1f} GiB; {free / 2**30:.1f} GiB of memory are free here.",
            "the adapter was verified by its tensors and was not loaded onto its base.",
            "load it where the base fits: python -m allranks.worker.proof --base … --adapter …",
        )

    def _unproved(self, trouble: str) -> Finding:
        return self._finding(
            "adapter-unproved",
            UNKNOWN,
            f"the adapter could not be loaded onto its base: {trouble}",
            "its tensors are whole, but its effect on the model is not proved.",
            "load it by hand with peft.PeftModel.from_pretrained.",
        )

    # ---- prune and report ----

    def prune(self) -> Steps[None]:
        """Removes old checkpoints in the run's own output folder. A failed prune never fails a run."""
        self.record.phase("prune")
        asked = {"folder": self.output_dir, "keep": int(self.task["keep"]), "run_id": str(self.job["run_id"])}
        asked["expect"] = self.task.get("adapter")
        pruned, trouble = yield from keeper_io_worker.call("prune", asked)
        if pruned is None:
            saw = f"old checkpoints could not be removed: {trouble}"
            self.record.finding(self._finding("prune-failed", NOTE, saw))
            return
        for finding in pruned["findings"]:
            self.record.finding(finding_from_json(finding))
        self.record.note(run_events.Pruned(removed=pruned["removed"], freed_bytes=pruned["freed_bytes"]))

    def report(self, render: Optional[Callable[[str], str]]) -> None:
        """Writes report.html beside the journal. `render` comes from the output room."""
        if render is None:
            return
        self.record.flush(now=True)  # the page reads it
        try:
            write_text(self.directory.keeper.report, render(self.directory.root))
        except Exception as error:
            # The run is over and its state is written, so a report that cannot be written is only a note.
            self.record.note(run_events.ReportFailed(error=f"{type(error).__name__}: {error}"))


def summary_of(report: Dict[str, Any]) -> Dict[str, Any]:
    """The part of an adapter's report that goes into state.json."""
    return {**{key: report[key] for key in ("path", "tensors", "parameters", "step")}, "changed": None}


def folder_bytes(folder: str) -> int:
    """The bytes of the files directly in `folder` (a model has no subfolders that matter); 0 if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sum(entry.stat().st_size for entry in entries if entry.is_file())
    except OSError:
        return 0
