"""The keeper takes a run through its phases on the head node: it hears every event, judges it, and ends the run.

It is a thread of the head's supervisor and does not need the controller: the run survives a closed terminal or a dead
laptop. It opens no connections; supervisors connect to it. Its phases are launch → watch → verify → prune → report.
The controller did check, plan and prepare; the job has the events of these phases as `before`.

The run's life (`_life`) is a generator. It yields whenever it waits, and only `run` then receives and judges events.
So supervisors keep their leases during a proof or a save that takes minutes.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
import traceback
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Set

from allranks.core import BLOCK, Diagnosis, Event, node_events, run_events, told
from allranks.core.messages import ToSupervisor
from allranks.core.payloads import as_json
from allranks.diagnose.catalogue import cause
from allranks.monitor import ANSWER_SECONDS, Watch, start_patience
from allranks.node.paths import RunDirectory, read_object
from allranks.node.processes import identify
from allranks.runs import keeper_finish, keeper_listener, keeper_restart, keeper_saves, keeper_spares
from allranks.runs.keeper_alerts import alerts_of
from allranks.runs.keeper_attempt import Attempt, State
from allranks.runs.keeper_io_worker import Steps
from allranks.runs.keeper_record import Record
from allranks.runs.keeper_stop_request import (
    STOP_MARGIN_SECONDS,
    StopRequest,
    after_the_end,
    fault,
    no_training,
    processes_left,
)


class Keeper(threading.Thread):
    """One run's keeper. `port` is set when the constructor returns."""

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
        alerts = alerts_of(job, secrets or {})
        self.record = Record(directory, job, self.nodes, alerts, getattr(report, "add", None))
        self.places = keeper_spares.Places(self.task)
        self.joined: Dict[str, bool] = {}
        self.lost: Set[str] = set()
        self.refused: Set[str] = set()
        self.leases = keeper_listener.Leases(self.listener, self.joined, float(job["lease_seconds"]))
        self.restarts = keeper_restart.Restarts(int(self.task.get("restarts") or 0))
        self.saves = keeper_saves.Saves(self.job)
        self.asked = StopRequest(directory, job)
        watch = Watch({**self.task["expect"], "head": job["node"]})
        self.attempt = Attempt(watch, {"start": 0}, self.record.first_word)
        """Everything that the next attempt must not inherit."""

    def run(self) -> None:
        """Never raises. An error of the keeper itself becomes a finding and ends the run: nothing would watch it."""
        self.leases.start()
        try:
            self.record.begin(identify(self.job["node"], self.job["run_id"]), self.port)
            for _ in self._life():
                self._turn()
        except Exception as error:
            self._tell_all(ToSupervisor(stop=self.job["grace_seconds"], why="keeper-fault"))
            self.record.finding(fault(self.job["node"], error, traceback.format_exc()))
            self.record.end("failed", "the keeper failed")
        finally:
            self._dismiss()

    def _life(self) -> Steps[None]:
        self.record.phase("launch")
        finish = keeper_finish.Finish(self.directory, self.job, self.record, self._goes_on, self.saves.output)
        ready = (yield from self._gather()) and (yield from finish.open_output())
        choosing = keeper_saves.choose_start(self.job, self.record, self._goes_on, self.saves.output)
        start = (yield from choosing) if ready else None
        if start is None:
            return (yield from self._give_up(finish))
        self.attempt.start.update(start)
        while True:
            self._tell_to_start()
            yield from self._watch()
            if self.attempt.state is State.TRAINING or (yield from self._aborted_after_the_end()):
                return (yield from self._finish(finish, "succeeded"))
            yield from self._hear_evidence()
            yield from self._stop_all(self.attempt.why)
            if self.attempt.state in (State.LEAVING, State.ASKED):
                return (yield from self._finish(finish, "stopped"))
            following = yield from self._following(finish)
            if following is None:
                return (yield from self._finish(finish, "stopped" if self.attempt.notice else "failed"))
            self.attempt = following

    def _goes_on(self) -> bool:
        return not self.attempt.over

    def _tell_to_start(self) -> None:
        self.attempt.begin()
        for node in self.places.at:
            self._say(node, self._start_of(node))
        self.record.state("running")
        self.record.phase("watch")

    def _start_of(self, node: str) -> ToSupervisor:
        """With the order to save, if it may have missed that: without its ranks none saves."""
        more: Dict[str, Any] = {"save": True} if self.attempt.state is State.LEAVING else {}
        return ToSupervisor(**self.attempt.start, **self.places.of(node), **more)

    def _aborted_after_the_end(self) -> Steps[bool]:
        failing = self.attempt.state is State.FAILING
        finding = after_the_end(self.attempt.watch.run, self.task["expect"]) if failing else None
        if finding is not None:
            self.record.finding(finding)
            yield from self._stop_all(finding.id)
        return finding is not None

    def _following(self, finish: keeper_finish.Finish) -> Steps[Optional[Attempt]]:
        """The next attempt, with the same ranks, once everything is ready for it; None if there is none."""
        cause = self.attempt.cause(time.time())
        ranks = self.attempt.watch.run.ranks.values()
        step = max((r.step for r in ranks if r.step is not None), default=None)
        told = any(r.beat_at is not None for r in ranks)
        self.places.failed(cause)
        nodes = keeper_restart.Nodes(self.job, self.record, self.places, self.joined, self.lost, self.attempt)
        swaps, alone = nodes.placed()
        unable = self.places.unable(swaps)
        decision = self.restarts.decide(cause, step, alone, bool(swaps), unable, told)
        if decision.again or self.restarts.budget:
            self.record.note(run_events.Restart(again=decision.again, why=decision.why))
        if not decision.again:
            return None
        # If this run has no checkpoint, it starts from the same point as the first time.
        looked = yield from finish.go_on(bool(self.task.get("resume")), self._is_to_end)
        if looked is None:
            return None
        resume = looked["found"]
        if cause is not None:
            self.record.diagnosis(cause)
        self.record.finding(keeper_restart.restarted(cause, decision, resume, swaps))
        placed = yield from nodes.wait(swaps, decision.wait_seconds, self._back_off)
        if placed is None:
            return None
        for note in self.places.apply(placed):
            self.record.note(note)
            self.attempt.watch.run.nodes.pop(note.node, None)
        self.record.forget_attempt(resume)
        following = self.attempt.following(keeper_restart.attempt_of(self.restarts.used, resume))
        self.places.introduce(placed, following.watch, time.time())
        return following

    def _back_off(self, seconds: float) -> Steps[bool]:
        """Waits before a restart. False if the run must end."""
        if seconds:
            self.record.phase("back-off", f"{seconds:.0f} s")
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self._is_to_end():
            yield
        return not self._is_to_end()

    def _is_to_end(self) -> bool:
        """Whether a failed run must not start again: the machine goes away, or a stop was requested."""
        return bool(self.attempt.notice) or bool(read_object(self.directory.keeper.stop))

    def _give_up(self, finish: keeper_finish.Finish) -> Steps[None]:
        """Ends an attempt that started no rank: a stop was requested, or a finding says why it cannot begin."""
        asked = self.attempt.state in (State.LEAVING, State.ASKED)
        yield from self._stop_all("asked to stop" if asked else "the run could not begin")
        self.record.end("stopped" if asked else "failed", "before any rank was started")
        finish.report(self.report)

    def _gather(self) -> Steps[bool]:
        """Waits for every supervisor. False, with a finding for each one that did not come."""
        patience, late = keeper_listener.Patience(float(self.task["join_seconds"])), False
        while len(self.joined) < len(self.nodes) and not late and self._goes_on():
            late = patience.is_over(len(self.joined))  # one turn more: a disk may have delayed the last one
            yield
        missing = [node for node in self.nodes if node not in self.joined]
        for node in missing if self._goes_on() else ():
            self.record.finding(keeper_listener.did_not_join(node, self.job, self.directory.root, self.port))
        return not missing and self._goes_on()

    def _watch(self) -> Steps[None]:
        """Waits until every torchrun has ended without an error, a failure has settled, or a stop was requested."""
        attempt = self.attempt
        while not attempt.over:
            yield
            last = all(node in attempt.ended for node in self.places.at) or time.monotonic() > attempt.until
            attempt.first_word.update(attempt.watch, attempt.decided, last)
            if last:
                return

    def _turn(self) -> None:
        for message in self.leases.heard():
            if message.kind == "joined":
                self._on_joined(message.node)
            elif message.kind == "lost":
                self.lost.add(message.node)
                self._hear(told(run_events.Lost(**message.data), message.node))
                if self.attempt.order is not None and message.node in self.places.spares:
                    self.record.finding(keeper_listener.spare_lost(message.node))
            else:
                self._on_message(message.node, message.data)
        watch = self.attempt.watch
        self._state_all([*watch.tick(time.time()), *self.saves.take(self.record.note)])
        why = start_patience.due(watch.run, time.time())
        if why:
            self._ask_for_evidence(why, quiet=True)
        self._heed_stop()
        self.record.sent()
        self.record.flush()

    def _heed_stop(self) -> None:
        if self.attempt.over:
            return
        word = self.asked.heed(time.monotonic(), self.attempt.can_save)
        if word == "save":
            self._leave("asked to stop")
        elif word == "stop":
            self.attempt.to(State.ASKED)

    def _leave(self, why: str) -> None:
        if self.attempt.leave(f"{why}: the ranks were asked to save and to end"):
            self._tell_all(ToSupervisor(save=True))

    def _on_joined(self, node: str) -> None:
        """Handles a supervisor that joins, perhaps again. Orders that may not have arrived are sent again."""
        self.joined[node] = True
        self.lost.discard(node)
        self._hear(told(run_events.Joined(), node))
        self._say(node, ToSupervisor(lease=self.job["lease_seconds"]))
        order = self.attempt.order
        if order is not None and "start" not in order:
            self._say(node, ToSupervisor(**order))
        elif order is not None and self.places.trains(node):
            self._say(node, self._start_of(node))
        elif order is not None and node not in self.places.spares:
            self._say(node, ToSupervisor(stop=self.job["grace_seconds"], why="a spare has its place"))

    def _on_message(self, node: str, data: Dict[str, Any]) -> None:
        attempt = self.attempt
        said, event, wrong = keeper_listener.read(data)
        if wrong and node not in self.refused:
            self.refused.add(node)
            self._hear(told(node_events.EventRefused(why=wrong), node))
        if said.logs is not None:
            attempt.tails[node] = dict(said.logs)
        now = time.time()
        if event is None:  # a sign of life
            return self.places.alive(node, attempt.watch, now)
        if not self.places.trains(node):
            return self._hear(attempt.watch.corrected(event, now))
        if event.kind == "can-save":
            attempt.can_save = True
        if event.kind == "notice" and event.rank is None:
            self._leave(f"{event.payload.why} on {node}")
        if event.kind == "torchrun-ended" and event.rank is None:  # a rank could write any line itself
            attempt.ended[node] = 1 if event.payload.code is None else event.payload.code
        if keeper_restart.is_trouble(event) and attempt.until == math.inf:
            again = self.restarts.used < self.restarts.budget
            ranks = attempt.watch.run.ranks
            attempt.fail(time.monotonic() + keeper_restart.settle_seconds(event, ranks, self.job, again))
        self._hear(attempt.watch.corrected(event, now), now)

    def _hear(self, event: Event, arrived: Optional[float] = None) -> None:
        """Writes and judges an event. Its time and `arrived` are on the head's clock."""
        self.record.event(event)
        if event.kind == "swept" and event.node and event.rank is None:
            left = self.attempt.hear_swept(event)
            if left:
                self.record.finding(processes_left(event.node, left))
        if not self.places.trains(event.node):
            return self.places.keep(event)
        self.saves.add(event)
        self._state_all(self.attempt.watch.add(event, arrived=arrived))

    def _state_all(self, statements: Iterable[Any]) -> None:
        for statement in statements:
            self._state(statement)

    def _state(self, statement: Any) -> None:
        """Records a finding or a diagnosis; an error ends the run."""
        if isinstance(statement, Diagnosis):
            self.record.diagnosis(statement)
            return
        self.record.finding(statement)
        if cause(statement.id).asks_ranks and start_patience.due_again(self.attempt.watch.run, time.time()):
            self._ask_for_evidence(statement.id)
        if statement.verdict == BLOCK:
            self.attempt.block(statement, time.time())

    def _ask_for_evidence(self, why: str, **more: bool) -> None:
        """Asks all ranks for stacks, collectives and process states, before anything is stopped."""
        stands = not more and start_patience.is_fresh(self.attempt.watch.run, time.time())
        self._hear(told(run_events.Evidence(why=why, stands=stands, **more), self.job["node"]))
        if not stands:
            self._tell_all(ToSupervisor(stacks=True))

    def _hear_evidence(self) -> Steps[None]:
        """Waits for answers that are still on their way, before the ranks of a stalled run are stopped."""
        run = self.attempt.watch.run
        if not cause(self.attempt.why).asks_ranks or run.asked_at is None:
            return
        left = ANSWER_SECONDS - (time.time() - run.asked_at)  # no longer than that, even if a clock was set
        until = time.monotonic() + min(max(left, 0.0), ANSWER_SECONDS)
        while time.monotonic() < until and run.held_up is None:
            yield

    # ---- the end ----

    def _stop_all(self, why: str) -> Steps[None]:
        """Asks every supervisor for the ends of its logs and then to stop. Waits for the supervisors that are heard."""
        self.record.phase("stop", why)
        self._tell_all(ToSupervisor(logs=65536))
        order = {"stop": self.job["grace_seconds"], "why": why}
        self.attempt.stop(order)
        self._tell_all(ToSupervisor(**order))
        deadline = time.monotonic() + float(self.job["grace_seconds"]) + STOP_MARGIN_SECONDS
        late = False
        while not self._all_swept() and not late:
            late = time.monotonic() > deadline  # then one more turn, as in `_gather`
            yield

    def _all_swept(self) -> bool:
        heard = [node for node in self.joined if node not in self.lost]
        return all(node in self.attempt.swept or node in self.attempt.left for node in heard)

    def _finish(self, finish: keeper_finish.Finish, state: str) -> Steps[None]:
        if state == "failed":
            self._name_the_cause()
        over = state != "succeeded"
        why = {"failed": "the run failed", "stopped": self.attempt.notice or "asked to stop"}
        if over:
            # Before anything that storage may delay: a person who stops a run waits only seconds.
            self.record.end(state, why[state])
            yield from finish.look_for_rest()
        else:
            self.record.drop_verdict()
            state = yield from finish.verify(no_training(self.attempt.watch.run))
            if state == "failed" and self.attempt.state is State.ASKED:
                state = "stopped"  # somebody stopped it before the adapter was verified
        yield from self.saves.end(finish.output_dir if state == "succeeded" else None)
        self._state_all(self.saves.take(self.record.note))
        yield from finish.prune()
        if not over:
            self.record.end(state, why.get(state, ""))
        finish.report(self.report)

    def _name_the_cause(self) -> None:
        verdict = self.attempt.cause(time.time())
        if verdict is not None:
            self.record.diagnosis(verdict, self.attempt.ends)
            if not self.attempt.blocking:
                self.record.finding(verdict.as_finding())

    def _say(self, node: str, message: ToSupervisor) -> None:
        self.listener.send(node, as_json(message))

    def _tell_all(self, message: ToSupervisor) -> None:
        for node in list(self.joined):
            self._say(node, message)

    def _dismiss(self) -> None:
        """Tells every supervisor that the keeper ends: none then waits for the end of its lease."""
        self.leases.end()
        self.record.close()
        with contextlib.suppress(OSError):
            self._tell_all(ToSupervisor(bye=True))
            self.listener.poll(keeper_listener.POLL_SECONDS)
            self.listener.close()


def keep(
    directory: RunDirectory,
    job: Mapping[str, Any],
    key: bytes,
    secrets: Mapping[str, str],
    report: Optional[Callable[[str], str]] = None,
) -> Keeper:
    """Starts the keeper's thread; the head's supervisor calls it at its start. Only the alerts need `secrets`:
    supervisors mask secrets before they send anything. `report` renders the run directory at a path as HTML. Its
    `add`, if it has one, gets all events as JSON."""
    keeper = Keeper(directory, dict(job), key, report, secrets)
    keeper.start()
    return keeper
