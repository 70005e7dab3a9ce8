"""The keeper: takes a run through its phases on the head node, hears every event, judges, ends it.

It runs as a thread of the head's supervisor, so it lives and dies with it. Nothing of it needs the
controller: a closed terminal or a dead laptop ends nothing. It dials nobody; supervisors dial it.

Phases here: launch → watch → verify → prune → report. What came before (check, plan, prepare) was the
controller's and stands in the job as `before`.
"""

from __future__ import annotations

import threading
import time
import traceback
from typing import Any, Callable, Dict, List, Mapping, Optional, Set

from allranks.core import BLOCK, Diagnosis, Event, Finding, event_from_json
from allranks.diagnose.catalogue import cause
from allranks.monitor import ANSWER_SECONDS, Watch, start_patience
from allranks.node.paths import RunDirectory, read_json
from allranks.node.processes import identify
from allranks.runs import keeper_finish, keeper_listener, keeper_restart, keeper_saves, keeper_spares
from allranks.runs.keeper_alerts import alerts_of
from allranks.runs.keeper_provisional import FirstWord
from allranks.runs.keeper_record import Record
from allranks.runs.keeper_respawn_wait import places_now, settle
from allranks.runs.keeper_stop_request import (
    STOP_MARGIN_SECONDS,
    StopRequest,
    after_the_end,
    fault,
    no_training,
)


class Keeper(threading.Thread):
    """One run's keeper. `port` is known as soon as the constructor returns."""

    def __init__(
        self,
        directory: RunDirectory,
        job: Dict[str, Any],
        key: bytes,
        report: Optional[Callable[[str], str]] = None,
        secrets: Optional[Mapping[str, str]] = None,
    ):
        super().__init__(name="keeper", daemon=True)
        self.directory, self.job, self.task = directory, job, dict(job["keep"])
        self.report = report
        self.nodes: List[str] = list(self.task["nodes"])
        self.listener = keeper_listener.listener_on(key, job["keeper"], self.nodes)
        self.port = self.listener.port
        self.record = Record(directory, job, self.nodes, alerts_of(job, secrets or {}))
        self.record.also = getattr(report, "add", None)
        self.watch = Watch({**self.task["expect"], "head": job["node"]})
        self.places = keeper_spares.Places(self.task)
        self.joined: Dict[str, bool] = {}
        self.ended: Dict[str, int] = {}
        self.tails: Dict[str, Dict[str, str]] = {}
        self.trouble_at: Optional[float] = None
        self.settle_seconds = keeper_restart.SETTLE_SECONDS
        self.stop_why: Optional[str] = None
        self.blocking: List[Finding] = []
        self.leases = keeper_listener.Leases(self.listener, self.joined, float(job["lease_seconds"]))
        self.started = False
        self.lost: Set[str] = set()
        self.restarts = keeper_restart.Restarts(int(self.task.get("restarts") or 0))
        self.attempt: Dict[str, Any] = {"start": 0}
        self.stopping: Optional[Dict[str, Any]] = None
        self.saves = keeper_saves.Saves(self.job)
        self.notice: Optional[str] = None
        self.asked = StopRequest(directory, job)
        self.first_word = FirstWord(self.record.first_word)

    def run(self) -> None:
        """Never raises: a fault of ours is a finding and ends the run, it does not leave it unwatched."""
        self.leases.start()
        try:
            self.record.begin(identify(self.job["node"], self.job["run_id"]), self.port)
            self._life()
        except Exception as error:
            self._tell_all({"stop": self.job["grace_seconds"], "why": "keeper-fault"})
            self.record.finding(fault(self.job["node"], error, traceback.format_exc()))
            self.record.end("failed", "the keeper failed")
        finally:
            self._dismiss()

    def _life(self) -> None:
        self.record.phase("launch")
        finish = keeper_finish.Finish(self.directory, self.job, self.record, self._pulse)
        ready = self._gather() and finish.open_output()
        if not ready or not keeper_saves.choose_start(self.job, self.record, self._pulse):
            return self._give_up(finish)
        while True:
            self._tell_to_start()
            self._watch()
            if not self._has_failed() or self._aborted_after_the_end():
                return self._finish(finish, "succeeded")
            self._hear_evidence()
            self._stop_all(self.stop_why or self.notice or "the run failed")
            if self.stop_why == "asked" or self.notice:
                return self._finish(finish, "stopped")
            if not self._starts_again(finish):
                return self._finish(finish, "failed")

    def _tell_to_start(self) -> None:
        self.started = True
        for node in self.places.at:
            self.listener.send(node, self._start_of(node))
        self.record.state("running")
        self.record.phase("watch")

    def _start_of(self, node: str) -> Dict[str, Any]:
        return {**self.attempt, **self.places.of(node)}

    def _has_failed(self) -> bool:
        return bool(self.stop_why is not None or self.trouble_at is not None or self.notice)

    def _aborted_after_the_end(self) -> bool:
        whole = self.stop_why is None and not self.notice and not self.blocking
        finding = after_the_end(self.watch.run, self.task["expect"]) if whole else None
        if finding is not None:
            self.record.finding(finding)
            self._stop_all(finding.id)
        return finding is not None

    def _starts_again(self, finish: keeper_finish.Finish) -> bool:
        """Whether the whole job is started again, with the same ranks; then all is ready for it."""
        cause = self._cause()
        ranks = self.watch.run.ranks.values()
        step = max((r.step for r in ranks if r.step is not None), default=None)
        told = any(r.beat_at is not None for r in ranks)
        self.places.failed(cause)
        swaps, alone = places_now(self)
        unable = self.places.unable(swaps)
        decision = self.restarts.decide(cause, step, alone, bool(swaps), unable, told)
        if decision.again or self.restarts.budget:
            self.record.note("restart", {"again": decision.again, "why": decision.why})
        # Without a checkpoint of this run the word of its own beginning stands: it goes on from where that began.
        looked = finish.go_on(keep_word=bool(self.task.get("resume"))) if decision.again else None
        if looked is None:
            return False
        resume = looked["found"]
        if cause is not None:
            self.record.diagnosis(cause)
        self.record.finding(keeper_restart.restarted(cause, decision, resume, swaps))
        placed = settle(self, swaps, decision.wait_seconds, self._wait_before)
        if placed is None:
            return False
        for note in self.places.apply(placed):
            self.record.note("replaced", note)
            self.watch.run.nodes.pop(str(note["node"]), None)
        self._forget_attempt()
        self.places.introduce(placed, self.watch, time.time())
        self.attempt = dict(keeper_restart.attempt_of(self.restarts.used, resume))
        return True

    def _wait_before(self, seconds: float) -> None:
        if seconds:
            self.record.phase("back-off", f"{seconds:.0f} s")
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and read_json(self.directory.keeper.stop) is None:
            self._turn()
        if read_json(self.directory.keeper.stop) is not None:
            self.stop_why = "asked"

    def _forget_attempt(self) -> None:
        """What the last attempt left is no sign of the next; the clocks' offsets and who is there remain."""
        self.watch = self.watch.again()
        self.ended.clear()
        self.tails.clear()
        self.trouble_at = self.stop_why = self.stopping = None
        self.blocking = []
        self.first_word = FirstWord(self.record.first_word)
        self.record.forget_attempt()

    def _give_up(self, finish: keeper_finish.Finish) -> None:
        """Before any rank was started: somebody asked to stop, or a finding says why it cannot begin."""
        asked = self.stop_why == "asked"
        self._stop_all("asked to stop" if asked else "the run could not begin")
        self.record.end("stopped" if asked else "failed", "before any rank was started")
        finish.report(self.report)

    def _gather(self) -> bool:
        """Waits for every supervisor; False and a finding for each that did not come."""
        deadline = time.monotonic() + float(self.task["join_seconds"])
        late = False
        while len(self.joined) < len(self.nodes) and not late and not self.stop_why:
            late = time.monotonic() > deadline  # once more then: a disk may have held up the turn before
            self._turn()
        missing = [node for node in self.nodes if node not in self.joined]
        for node in () if self.stop_why else missing:
            self.record.finding(keeper_listener.did_not_join(node, self.job, self.directory.root, self.port))
        return not missing and not self.stop_why

    def _watch(self) -> None:
        """Until every torchrun has ended well, or trouble has settled, or somebody asked to stop."""
        while self.stop_why is None:
            self._turn()
            self.first_word.look(self.watch, bool(self.stop_why or self.notice or self.blocking))
            if all(node in self.ended for node in self.places.at):
                return
            if self.trouble_at is not None and time.monotonic() - self.trouble_at > self.settle_seconds:
                return

    def _pulse(self) -> bool:
        """One turn while something else goes on: a long proof must not cost the supervisors their leases."""
        self._turn()
        return self.stop_why is None

    def _turn(self) -> None:
        for message in self.leases.heard():
            if message.kind == "joined":
                self._on_joined(message.node)
            elif message.kind == "lost":
                self.lost.add(message.node)
                self._hear(Event(time.time(), "lost", message.node, None, message.data))
                if self.started and message.node in self.places.spares:
                    self.record.finding(keeper_listener.spare_lost(message.node))
            else:
                self._on_message(message.node, message.data)
        for statement in [*self.watch.tick(time.time()), *self.saves.take(self.record.note)]:
            self._state(statement)
        why = start_patience.due(self.watch.run, time.time())
        if why:
            self._ask_for_evidence(why, quiet=True)
        self._heed_stop()
        self.record.sent()
        self.record.flush()

    def _heed_stop(self) -> None:
        word = self.asked.heed(time.monotonic()) if self.stop_why is None else ""
        if word == "save" and self.notice is None:
            self.notice = "asked to stop: the ranks were asked to save and to end"
            self._tell_all({"save": True})
        elif word == "stop":
            self.stop_why = "asked"

    def _on_joined(self, node: str) -> None:
        """Also after a broken connection: what matters is said again, since a send is no receipt."""
        self.joined[node] = True
        self.lost.discard(node)
        self._hear(Event(time.time(), "joined", node))
        self.listener.send(node, {"lease": self.job["lease_seconds"]})
        if self.stopping is not None:
            self.listener.send(node, self.stopping)
        elif self.started and self.places.trains(node):
            self.listener.send(node, self._start_of(node))
        elif self.started and node not in self.places.spares:
            self.listener.send(node, {"stop": self.job["grace_seconds"], "why": "a spare has its place"})

    def _on_message(self, node: str, data: Dict[str, Any]) -> None:
        if "alive" in data:
            self.places.alive(node, self.watch, time.time())
        logs = data.get("logs")
        if isinstance(logs, dict):
            self.tails[node] = {str(k): str(v) for k, v in logs.items()}
        if "event" not in data:
            return
        try:
            event = event_from_json(data["event"])
        except ValueError:
            return
        if not self.places.trains(node):
            return self._hear(self.watch.corrected(event, time.time()))
        if event.kind == "can-save":
            self.asked.can_save = True
        if event.kind == "notice" and event.rank is None and self.notice is None:
            self.notice = f"{event.data.get('why')} on {node}: the ranks were asked to save and to end"
            self._tell_all({"save": True})
        if event.kind == "torchrun-ended" and event.rank is None:  # a rank's own lines may claim anything
            code = event.data.get("code")
            self.ended[node] = code if isinstance(code, int) else 1
        if keeper_restart.is_trouble(event) and self.trouble_at is None:
            self.trouble_at = time.monotonic()
            again = self.restarts.used < self.restarts.budget
            self.settle_seconds = keeper_restart.settle_seconds(event, self.watch.run.ranks, self.job, again)
        now = time.time()
        self._hear(self.watch.corrected(event, now), now)

    def _hear(self, event: Event, arrived: Optional[float] = None) -> None:
        """Into the journal, and before the judge; `event` is on the head's clock, and `arrived` by it."""
        self.record.event(event)
        if not self.places.trains(event.node):
            return self.places.keep(event)
        self.saves.add(event)
        for statement in self.watch.add(event, arrived=arrived):
            self._state(statement)

    def _state(self, statement: Any) -> None:
        """A finding that blocks ends the run; anything else is written down."""
        if isinstance(statement, Diagnosis):
            self.record.diagnosis(statement)
            return
        self.record.finding(statement)
        if cause(statement.id).asks_ranks and start_patience.due_again(self.watch.run, time.time()):
            self._ask_for_evidence(statement.id)
        if statement.verdict == BLOCK:
            self.blocking.append(statement)
            if self.stop_why is None:
                self.stop_why = statement.id

    def _ask_for_evidence(self, why: str, **more: bool) -> None:
        """Stacks, collectives, process states of all ranks: what they do now is gone once they are stopped."""
        stands = not more and start_patience.is_fresh(self.watch.run, time.time())
        about = {"why": why, **more, **({"stands": True} if stands else {})}
        self._hear(Event(time.time(), "evidence", self.job["node"], None, about))
        if not stands:
            self._tell_all({"stacks": True})

    def _hear_evidence(self) -> None:
        """Before the ranks of a stalled run are stopped: the answers that are still on their way."""
        run = self.watch.run
        if not cause(self.stop_why or "").asks_ranks or run.asked_at is None:
            return
        left = ANSWER_SECONDS - (time.time() - run.asked_at)  # a clock that was set since makes it no longer
        until = time.monotonic() + min(max(left, 0.0), ANSWER_SECONDS)
        while time.monotonic() < until and run.held_up is None:
            self._turn()

    # ---- the end ----

    def _stop_all(self, why: str) -> None:
        """Asks every supervisor for its logs' ends and to stop; waits until those that are heard have."""
        self.record.phase("stop", why)
        self.record.forget_swept()  # what was swept at a torchrun's own end does not answer this stop
        self._tell_all({"logs": 65536})
        self.stopping = {"stop": self.job["grace_seconds"], "why": why}
        self._tell_all(self.stopping)
        deadline = time.monotonic() + float(self.job["grace_seconds"]) + STOP_MARGIN_SECONDS
        late = False
        while not self._all_swept() and not late:
            late = time.monotonic() > deadline  # once more then, as in `_gather`
            self._turn()

    def _all_swept(self) -> bool:
        heard = [node for node in self.joined if node not in self.lost]
        return all(node in self.record.swept or node in self.record.left for node in heard)

    def _finish(self, finish: keeper_finish.Finish, state: str) -> None:
        if state == "failed":
            self._name_the_cause()
        over = state != "succeeded"
        why = {"failed": "the run failed", "stopped": self.notice or "asked to stop"}
        if over:
            # Before all that storage may hold up: whoever stops a run or its supervisor waits for seconds only.
            self.record.end(state, why[state])
            finish.look_for_adapter()
        else:
            self.record.state_now["diagnosis"] = None  # an earlier attempt's; the journal keeps it
            state = finish.verify(no_training(self.watch.run))
        self.saves.end(self._turn, finish.output_dir if state == "succeeded" else None)
        finish.prune()
        if not over:
            self.record.end(state, why.get(state, ""))
        finish.report(self.report)

    def _name_the_cause(self) -> None:
        verdict = self._cause()
        if verdict is not None:
            self.record.diagnosis(verdict)
            if not self.blocking:
                self.record.finding(verdict.as_finding())

    def _cause(self) -> Optional[Diagnosis]:
        """What all events and the ends of all logs say together. A node sends its logs before it stops."""
        for node, logs in self.tails.items():
            for name, text in logs.items():
                self.watch.add_log(node, name, text)
        self.tails.clear()
        return self.watch.verdict(time.time())

    def _tell_all(self, message: Dict[str, Any]) -> None:
        for node in list(self.joined):
            self.listener.send(node, message)

    def _dismiss(self) -> None:
        """The last word to every supervisor, so that none waits for its lease to end."""
        self.leases.end()
        self.record.close()
        try:
            self._tell_all({"bye": True})
            self.listener.poll(keeper_listener.POLL_SECONDS)
            self.listener.close()
        except OSError:
            pass


def keep(
    directory: RunDirectory,
    job: Mapping[str, Any],
    key: bytes,
    secrets: Mapping[str, str],
    report: Optional[Callable[[str], str]] = None,
) -> Keeper:
    """Starts the keeper's thread; called by the head's supervisor at its start.

    Of the secrets only the alerts need any: what supervisors send is masked already. `report` renders the run directory
    at a path as HTML, a face that this room does not know; its `add`, where it has one, hears all events as JSON.
    """
    keeper = Keeper(directory, dict(job), key, report, secrets)
    keeper.start()
    return keeper
