"""Writes the keeper's record: the merged journal, line by line, and the current state, as one small file."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Set

from allranks.core import Diagnosis, Event, Finding, Process, run_events, told
from allranks.core.events import Content
from allranks.core.payloads import as_json
from allranks.core.rank_events import Beat
from allranks.core.untrusted import number
from allranks.node.paths import Journal, RunDirectory, write_json
from allranks.node.processes import record_of
from allranks.runs import keeper_log_ends
from allranks.runs.keeper_alerts import Alerts
from allranks.runs.keeper_engine import Lost
from allranks.runs.keeper_reserve import Reserve
from allranks.runs.keeper_stop_request import journal_unwritten

STATE_EVERY_SECONDS = 1.0
"""How often steps and findings may rewrite state.json. A change of state or phase rewrites it at once. It contains
all findings: with one write per finding, 400 findings took 2.2 s, and 8,000 (one per rank) took a quarter of an
hour."""

WRITE_SHARE = 0.1
"""At most this share of the keeper's time goes into rewriting a large state."""

AT_ONCE = ("state", "phase", "diagnosis")

SENDING_SECONDS = 30.0
"""A job may take so long from the controller to its node. A difference of the clocks that is not larger cannot be told
from that, and does not change the order of the phases."""


class Record:
    """The keeper's journal and state. It never raises if the disk is lost: the run is worth more than its log."""

    def __init__(
        self,
        directory: RunDirectory,
        job: Dict[str, Any],
        nodes: List[str],
        alerts: Optional[Alerts] = None,
        also: Optional[Callable[[Dict[str, Any]], Any]] = None,
    ):
        """`also` gets every event of the journal as JSON; it builds the report while the run trains."""
        self.alerts, self.engine = alerts or Alerts({}, {}, {}), Lost(directory, nodes)
        self.directory, self.node = directory, job["node"]
        self.also = also
        self.journal, self.reserve = Journal(directory.keeper.journal), Reserve(directory.keeper.reserve)
        self.before = list(job["keep"].get("before") or ())
        self.sent_at = number(job["keep"].get("sent_at"))
        self.said: Set[tuple] = set()
        self.state_now: Dict[str, Any] = {
            "id": job["run_id"],
            "name": job["keep"].get("name"),
            "file": job["keep"].get("file"),
            "typed": job["keep"].get("typed") or [],
            "state": "starting",
            "phase": "launch",
            "why": "",
            "step": None,
            "total_steps": None,
            "nodes": nodes,
            "findings": [],
            "diagnosis": None,
            "of_earlier": False,  # the diagnosis is of an attempt before the present one
            "adapter": None,
            "can_save": False,
            "saved": None,
            "saves": [],
            "output_dir": job["keep"].get("output_dir"),
            "started_at": time.time(),
            "ended_at": None,
        }
        self.verdict: Optional[Dict[str, Any]] = None
        """The last verdict; the state may already hold a provisional one of the next attempt."""
        self.lead: Optional[int] = None
        """The rank whose step counts for the run."""
        self.refused = False
        """Whether the journal has refused a line; the alerts report that once."""
        self.dirty, self.next_write = True, float("-inf")

    def begin(self, process: Process, port: int) -> None:
        write_json(self.directory.keeper.identity, {"process": record_of(process), "port": port})
        self.reserve.take()
        ahead = self._clock_ahead()
        for event in self.before:
            at = event["at"] + ahead
            self._append(Event(at, event["kind"], event.get("node"), None, event.get("data") or {}))
            if event["kind"] == "finding":
                self.state_now["findings"].append(event["data"])
        self.flush(now=True)

    def _clock_ahead(self) -> float:
        """How far this machine's clock is ahead of the one that started the run, in seconds: the events before the
        launch have the other clock's times."""
        if self.sent_at is None:
            return 0.0
        ahead = time.time() - self.sent_at
        return 0.0 if 0.0 <= ahead <= SENDING_SECONDS else ahead

    def event(self, event: Event) -> None:
        """Writes a node's event to the journal, and its short form to the state."""
        self._append(event)
        if event.kind == "can-save":
            self.state_now["can_save"], self.dirty = True, True
        if event.kind == "saved" and event.rank == 0 and event.payload.path:
            self.state_now["saved"] = {"step": event.payload.step, "path": event.payload.path}
            self.dirty = True
        if event.kind == "beat":
            self._beat(event, event.payload)

    def _beat(self, event: Event, beat: Beat) -> None:
        """Takes the step of the lowest rank that reports one. It may be lower than before: a second training in the
        same script counts from one again."""
        leads = event.rank is not None and (self.lead is None or event.rank <= self.lead)
        if beat.step is not None and leads:
            self.lead = event.rank
            if beat.step != self.state_now["step"]:
                self.state_now["step"], self.dirty = beat.step, True
        if beat.total_steps is not None:
            self.state_now["total_steps"] = beat.total_steps

    def phase(self, phase: str, why: str = "") -> None:
        self.state_now["phase"] = phase
        self.note(run_events.Phase(phase=phase, why=why))

    def state(self, state: str, why: str = "") -> None:
        self.state_now.update(state=state, why=why)
        self.note(run_events.State(state=state, why=why))

    def finding(self, finding: Finding) -> None:
        """Writes a finding once per attempt: the same statement about the same place is not repeated."""
        key = (finding.id, finding.where, finding.saw)
        if key in self.said:
            return
        self.said.add(key)
        data = finding.as_json()
        self.state_now["findings"].append(data)
        self.note(finding)
        self.alerts.finding(data)

    def diagnosis(self, diagnosis: Diagnosis, ends: Optional[keeper_log_ends.Tails] = None) -> None:
        """Writes the verdict. `ends` are the ends of all logs; only those that the report shows are kept."""
        if ends is not None:
            keeper_log_ends.write(self.directory.keeper.log_ends, ends, diagnosis.where)
        self.verdict = self.state_now["diagnosis"] = diagnosis.as_json()
        self.state_now["of_earlier"] = False
        self.note(diagnosis)

    def first_word(self, diagnosis: Diagnosis) -> None:
        """Writes the provisional diagnosis, before all nodes were heard. The verdict replaces it. Only the verdict
        causes an alert."""
        first = replace(diagnosis, provisional=True)
        self.state_now.update(diagnosis=first.as_json(), of_earlier=False)
        self.note(first)

    def forget_attempt(self, resume: Optional[Mapping[str, Any]] = None) -> None:
        """Prepares the next attempt: the state keeps only the last attempt's verdict, and the same finding may come
        again. `resume` is the checkpoint from which it continues."""
        self.said.clear()
        self.drop_first_word()
        self.lead = None
        self.state_now.update(step=None, why="", can_save=False, of_earlier=True)
        if resume is not None:
            self.note(run_events.Resume(from_=str(resume["path"]), step=resume["step"]))

    def drop_first_word(self) -> None:
        """Removes the provisional diagnosis if no verdict follows: the run did not fail after all, starts again, or
        the keeper failed. The verdict of an earlier attempt comes back."""
        if (self.state_now["diagnosis"] or {}).get("provisional"):
            self.state_now.update(diagnosis=self.verdict, of_earlier=self.verdict is not None)

    def drop_verdict(self) -> None:
        """Removes the verdict of an earlier attempt, because the run has succeeded. The journal keeps it."""
        self.state_now["diagnosis"] = None

    def adapter(self, adapter: run_events.Adapter) -> None:
        self.state_now["adapter"] = as_json(adapter)
        self.note(adapter)

    def saves(self, saves: List[Dict[str, Any]]) -> None:
        """Writes the script's saves, as `keeper_output` judged them."""
        self.state_now["saves"], self.dirty = saves, True

    def end(self, state: str, why: str = "") -> None:
        """Writes the run's last state. A later finding (no room for a copy) is still written and sent."""
        self.state_now["ended_at"] = time.time()
        self.reserve.give()
        self.drop_first_word()
        self.state(state, why)
        self.alerts.end(state, self.state_now["diagnosis"], why)

    def close(self) -> None:
        """Waits for some seconds until the last alerts are sent."""
        self.alerts.close()
        self.sent()
        if self.dirty:
            self.flush(now=True)

    def sent(self) -> None:
        """Writes which alerts were sent and which failed, and the engine's reports since the last call."""
        for finding in self.engine.take():
            self.finding(finding)
        for outcome in self.alerts.take():
            self.note(outcome)

    def flush(self, now: bool = False) -> None:
        """Writes state.json if something changed. It costs so little that it can be called every turn."""
        clock = time.monotonic()
        if not now and (not self.dirty or clock < self.next_write):
            return
        try:
            write_json(self.directory.keeper.state, self.state_now)
        except OSError:
            pass  # a full disk: the next turn tries again, and the journal counts its lost lines
        else:
            self.dirty = False
        after = time.monotonic()
        self.next_write = after + max(STATE_EVERY_SECONDS, (after - clock) / WRITE_SHARE)

    def note(self, content: Content) -> None:
        """Writes an event of the keeper itself."""
        self._append(told(content, self.node))
        if isinstance(
            content, run_events.Resume
        ):  # late heartbeats of the attempt before may have set it again
            self.state_now["step"], self.lead = None, None
        self.dirty = True
        self.flush(now=content.KIND in AT_ONCE)

    def _append(self, event: Event) -> None:
        if not self.journal.append(event) and not self.refused:
            self.refused = True
            self.finding(journal_unwritten(self.journal.error, self.node, self.journal.path))
        if self.also is not None:
            self.also(event.as_json())
