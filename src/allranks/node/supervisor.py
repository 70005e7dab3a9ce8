"""The supervisor: one small program on each node that starts torchrun, reports what happens, and leaves nothing behind.

It does not judge. The keeper orders starts and stops. If the lease ends, or on SIGTERM and SIGINT, the supervisor stops
its ranks by itself. It writes every event to its journal before it sends it.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
import traceback
from typing import Any, Callable, Dict, List, Mapping, Optional, Set

from allranks.core import BadInput, Event, node_events, told
from allranks.core.messages import ToKeeper, ToSupervisor
from allranks.core.payloads import Payload, Refused, as_json, decode
from allranks.node import processes, shared_memory, spawn
from allranks.node.descendants import Descendants
from allranks.node.files import touch
from allranks.node.keeper_link import KeeperLink
from allranks.node.log_redaction import LogRedactor, ends_of_logs, files_with_secrets
from allranks.node.paths import Journal, RunDirectory, write_json
from allranks.node.preemption import WARNINGS, Preemption
from allranks.node.ranks import Ranks
from allranks.node.redaction import Redactor
from allranks.node.samples import Sampler, places_of
from allranks.node.secret_store import SecretStore
from allranks.node.signal_wakeup import SignalWakeup
from allranks.node.stall_evidence import Evidence
from allranks.node.stop import leave
from allranks.node.stopping import OWN_END, Stopping
from allranks.node.wire import LINE_BYTES

TURN_SECONDS = 0.2
"""How often files are looked at. A rank's end and a word of the keeper wake the loop at once."""

AWAY_SECONDS = 5.0
"""A turn that comes so late means that the machine was paused (a virtual machine moved, a cgroup frozen, a job
suspended), or that a disk held the supervisor up. Such a pause does not end the lease."""

SECOND = 1.0
SETTLE_SECONDS = 1.0
"""After torchrun's own end its helpers (resource trackers, loaders whose pipe closed) end by themselves."""

ALONE_SECONDS = 2.0
"""A torchrun whose ranks are all gone saves nothing, and may wait long for the other nodes' (its exit barrier)."""

NEXT_WAITS_SECONDS = 0.2
"""The same where the next attempt's torchrun is ready: nothing more is expected of this one than its exit."""

TRAINED_SECONDS = 5.0
"""After a rank's first step, until the next attempt's torchrun is made ready: first steps compile and fill caches, and
have the cores to themselves."""

KEEPER_SECONDS = 15.0
"""How long the keeper may take to end the run after a signal to its supervisor: verify, prune, report."""

LAST_WORDS_SECONDS = 3.0


class Supervisor:
    """One node's supervisor. `key` proves the link; `keeper` is the head's keeper thread, None elsewhere."""

    def __init__(
        self,
        directory: RunDirectory,
        job: Mapping[str, Any],
        key: bytes,
        secrets: Mapping[str, str],
        keeper: Any = None,
    ):
        self.run_directory, self.job, self.keeper = directory, job, keeper
        self.directory = directory.node(str(job["node"]))
        self.node, self.run_id = self.directory.name, directory.run_id
        self.grace_seconds = float(job.get("grace_seconds", 10.0))
        self.secrets = {name: secrets[name] for name in job.get("secrets") or () if name in secrets}
        self.redactor = Redactor(self.secrets.values())
        self.secret_store = SecretStore(directory, self.node)
        folders = [self.directory.logs, self.directory.ranks, self.directory.stacks]
        self.log_redactor = LogRedactor(self.redactor, folders)
        self.journal = Journal(self.directory.journal, self.node)
        self.ranks = Ranks(self.node, self.directory.ranks)
        self.sampler = Sampler(places_of(job, self.directory.root))
        self.evidence = Evidence(self.node, job["argv"][0], self.directory.rank_stacks, self.sampler.groups)
        port = getattr(keeper, "port", None) or int(job["keeper"]["port"])
        self.link = KeeperLink(key, str(job["keeper"]["host"]), port, self.node)
        self.torchrun = spawn.Torchrun(job, self.directory, self.secrets, self.ranks.mailbox.environment)
        self.attempt: Optional[int] = None
        self.wanted_attempt: Optional[int] = None
        self.code: Optional[int] = None
        self.stopping: Optional[Stopping] = None
        self.stop_why = ""
        self.named: Set[str] = set()
        self.signalled: Optional[int] = None
        self.preemption = Preemption(job)
        self.ending_at: Optional[float] = None
        self.trained_at: Optional[float] = None
        self.turned_at = time.monotonic()
        self.lease_until = self.turned_at + float(job.get("lease_seconds", 30.0))
        self.next_second, self.next_alive, self.next_memory = 0.0, 0.0, 0.0

    def run(self, ready: Callable[[], None] = lambda: None) -> int:
        """Works until the keeper says `bye`, the lease ends or a signal comes; leaves no process behind.

        `ready` is called when the run directory and the signal handlers stand. The code is 0 if the last
        torchrun ended with 0, else 1. Raises OSError if the run directory cannot be written at first.
        """
        self._open()
        ready()
        try:
            while self.ending_at is None or self._is_busy():
                self._wait(TURN_SECONDS)
                self._turn()
        except BaseException:
            # A bug in allranks must not leave unwatched ranks. The report comes last: a disk may have failed.
            stopped = self._stopping(self.grace_seconds).run()
            self._tell(node_events.Swept(why="the supervisor failed", **stopped))
            self._say(traceback.format_exc())
            raise
        finally:
            self._close()
        return 0 if self.code == 0 else 1

    # ---- beginning and end ----

    def _open(self) -> None:
        self.run_directory.create(node=self.node)
        processes.adopt_orphans()
        self.wakeup = SignalWakeup((signal.SIGTERM, signal.SIGINT, *WARNINGS), self._on_signal)
        self.tree = Descendants(self.node, self.run_id, self.directory.processes)
        record = os.path.join(self.directory.root, shared_memory.NAME)
        self.memory = shared_memory.SharedMemory(record, processes.boot_id())
        me = processes.identify(self.node, self.run_id)
        self.secret_store.keep(self.secrets)
        self._tell(
            node_events.SupervisorStarted(process=node_events.Owned(**me.as_json()), clock=time.time())
        )
        write_json(self.directory.supervisor, processes.record_of(me))
        self.sampler.start()

    def _on_signal(self, number: int) -> None:
        self.signalled = number
        self.preemption.signals += 1

    def _close(self) -> None:
        """After this no secret is left anywhere, and the keeper has all events."""
        self.sampler.stop()
        self.log_redactor.turn()
        self.secret_store.destroy()
        self.torchrun.close()
        if not self._members():
            self.torchrun.temporary.remove(os.geteuid())  # of a torchrun that could not be started
        self.link.drain(LAST_WORDS_SECONDS)
        if self._keeper_lives():
            self.keeper.join(LAST_WORDS_SECONDS)  # its last words to the other nodes are still on their way
        self.link.close()
        self.ranks.close()
        self.memory.close()
        self.tree.close()
        self.journal.close()

    def _name_files_with_secrets(self) -> None:
        """The script's own files are the user's: the reader of the event decides about them."""
        for path in files_with_secrets(self.redactor, self.directory.work):
            if path not in self.named:
                self.named.add(path)
                self._tell(node_events.SecretFound(path=os.path.relpath(path, self.run_directory.root)))

    # ---- one turn ----

    def _wait(self, seconds: float) -> None:
        waiting = select.poll()
        for handle in (self.wakeup.handle, self.link.fileno(), self.torchrun.handle, *self.ranks.handles):
            if handle is not None:
                waiting.register(handle, select.POLLIN)
        waiting.poll(seconds * 1000)
        self.wakeup.clear()

    def _turn(self) -> None:
        for message in self.link.poll(0):
            self._hear(message)
        for event in [*self.ranks.read(), *self.ranks.gone(), *self.evidence.take()]:
            self._hear_rank(event)
        for sample in self.sampler.take():
            self._tell(sample)
        self._look_at_torchrun()
        if self.stopping is not None and self._only_torchrun_is_left(self.stopping):
            self.stopping.hurry(NEXT_WAITS_SECONDS if self.torchrun.next_is_ready else ALONE_SECONDS)
        if self.stopping is not None and self.stopping.step():
            self._swept(self.stopping)
        self._look_at_orders()
        if time.monotonic() >= self.next_second:
            self.next_second = time.monotonic() + SECOND
            self.evidence.kernel.read_new()
            self.tree.scan(self.torchrun.pid)
            self.sampler.ranks = {one.rank: one.pid for one in self.ranks.watched}
            self.secret_store.keep(self.secrets)
            if self.trained_at is not None and time.monotonic() >= self.trained_at + TRAINED_SECONDS:
                self._make_next_ready()
        if time.monotonic() >= self.next_memory:
            self.next_memory = time.monotonic() + shared_memory.LOOK_SECONDS
            self.memory.scan(self.tree.living())
        if time.monotonic() >= self.next_alive and self.link.tell(as_json(ToKeeper(alive=time.time()))):
            self.next_alive = time.monotonic() + SECOND
        self.log_redactor.turn()

    def _hear_rank(self, event: Event) -> None:
        self.preemption.can_save |= event.kind == "can-save"
        self.evidence.heed(event)
        if event.kind == "exception" or (event.kind in ("end", "rank-gone") and event.payload.code):
            self._make_next_ready()
        if event.kind == "beat" and event.payload.steps and self.trained_at is None:
            self.trained_at = time.monotonic()
        self._pass_on(event)

    def _is_busy(self) -> bool:
        """Whether something must still happen before we may end."""
        if self.torchrun.pid or self.stopping is not None:
            return True
        return self.ending_at is not None and time.monotonic() < self.ending_at and self._keeper_lives()

    def _keeper_lives(self) -> bool:
        return self.keeper is not None and self.keeper.is_alive()

    def _look_at_orders(self) -> None:
        now = time.monotonic()
        away, self.turned_at = now - self.turned_at, now
        if away > AWAY_SECONDS:
            self.lease_until += away  # the keeper may have been paused too, and gets as much time as before
        self._heed_preemption(now)
        if now > self.lease_until and self.ending_at is None:
            # Its leases may have come while we took this turn.
            for message in self.link.poll(0):
                self._hear(message)
        if now > self.lease_until and self.ending_at is None:
            why = f"no word of the keeper for {float(self.job.get('lease_seconds', 30.0)):g} s"
            why += f" ({self.link.why_lost})" if self.link.why_lost else ""
            self._tell(node_events.LeaseLost(why=why))
            self._begin_stop("lease-lost", self.grace_seconds)
            self.ending_at = now
        ready = not self.torchrun.pid and self.stopping is None and self.ending_at is None
        if self.wanted_attempt is not None and ready:
            attempt, self.wanted_attempt = self.wanted_attempt, None
            self._start(attempt)

    def _heed_preemption(self, now: float) -> None:
        """After a signal, or if the machine is about to go: ranks that can save get the time for it."""
        why = (
            signal.Signals(self.signalled).name if self.signalled is not None else self.preemption.asked(now)
        )
        if why is None or self.ending_at is not None:
            return
        if self.preemption.begins(now, bool(self.torchrun.pid) and self.stopping is None):
            self._tell(node_events.Notice(why=why, seconds=self.preemption.seconds))
        if not self.preemption.lasts(now, bool(self.torchrun.pid)):
            self._end_by_signal(why)

    def _end_by_signal(self, name: str) -> None:
        self._begin_stop(f"the supervisor received {name}", self.grace_seconds)
        self.ending_at = time.monotonic()
        if self._keeper_lives():
            # The whole run ends with its keeper: it gets the time to say so to the others and to report.
            self.ending_at += self.grace_seconds + KEEPER_SECONDS
            try:
                leave(self.run_directory, {"at": time.time(), "why": name})
            except OSError as error:
                self._say(f"keeper/stop.json: {error}")

    # ---- messages of the keeper ----

    def _hear(self, message: Dict[str, Any]) -> None:
        try:
            said = decode(ToSupervisor, message)
        except Refused as error:
            self._say(f"what the keeper said is refused: {error}")
            return
        if said.lease is not None:
            self.lease_until = time.monotonic() + said.lease
        if said.start is not None and (self.attempt is None or said.start > self.attempt):
            self.wanted_attempt = said.start
            self.torchrun.more, self.torchrun.place = dict(said.env), said.place
        if said.save:
            self._touch(self.directory.save_request)
        if said.stop is not None:
            self.wanted_attempt = None
            self._begin_stop(said.why, said.stop)
        if said.stacks:
            self._touch(self.directory.stacks_request)
            self.evidence.request(self.ranks.watched, self.tree.members())
        if said.logs is not None:
            ends = ends_of_logs(self.directory.logs, self.redactor, said.logs, LINE_BYTES // 8)
            self.link.send(as_json(ToKeeper(logs=ends)))
        if said.bye:
            if self.torchrun.pid and self.stopping is None:
                self._begin_stop("the run has ended", self.grace_seconds)
            self.ending_at = time.monotonic()

    def _touch(self, request: str) -> None:
        try:
            touch(request)
        except OSError as error:
            self._say(f"{request}: {error}")

    # ---- torchrun ----

    def _start(self, attempt: int) -> None:
        self.attempt, self.code, self.trained_at = attempt, None, None
        try:
            self.torchrun.start()
        except (OSError, BadInput) as error:
            self.code = 127
            self._tell(node_events.TorchrunEnded(code=127, failures=[], attempt=attempt, why=str(error)))
            return
        self.tree.scan(self.torchrun.pid)
        process = processes.identify(self.node, self.run_id, self.torchrun.pid)
        owned = node_events.Owned(**process.as_json())
        self._tell(node_events.TorchrunStarted(process=owned, attempt=attempt))

    def _make_next_ready(self) -> None:
        if self.attempt is not None and self.ending_at is None:
            self.torchrun.make_ready(self.attempt + 1)

    def _look_at_torchrun(self) -> None:
        code = self.torchrun.ended()
        if code is None:
            return
        self.code = code
        # Its ranks ended before it: their last lines belong before its own end.
        for event in [*self.ranks.read(), *self.ranks.gone()]:
            self._hear_rank(event)
        failed = self.torchrun.failures()
        self._tell(node_events.TorchrunEnded(code=code, failures=failed, attempt=self.attempt))
        if code:
            self._make_next_ready()
        if code == -signal.SIGKILL and self.stopping is None:
            self.evidence.ask_kernel()
        if self.stopping is None:
            self.stop_why = OWN_END
            self.stopping = self._stopping(self.grace_seconds, SETTLE_SECONDS)

    def _begin_stop(self, why: str, grace_seconds: float) -> None:
        self._tell(node_events.Stopping(why=why, grace_seconds=grace_seconds))
        self.memory.scan(self.tree.living())
        self.stop_why = why
        if self.stopping is not None:
            self.stopping.hurry(grace_seconds)
        else:
            self.stopping = self._stopping(grace_seconds)

    def _stopping(self, grace_seconds: float, settle_seconds: float = 0.0) -> Stopping:
        return Stopping(self._members, self.tree.as_process, grace_seconds, settle_seconds)

    def _only_torchrun_is_left(self, stopping: Stopping) -> bool:
        own = {self.torchrun.pid} - {0}
        return self.ranks.all_gone and bool(own) and {one.pid for one in stopping.left} == own

    def _members(self) -> List[processes.Stat]:
        """Also a torchrun that has its arguments and has not yet left the supervisor's session."""
        found, own = self.tree.members(), self.torchrun.pid
        stat = processes.read_stat(own) if own and all(one.pid != own for one in found) else None
        return [*found, stat] if stat is not None and stat.is_alive else found

    def _swept(self, stopping: Stopping) -> None:
        self.tree.scan(self.torchrun.pid)
        self._look_at_torchrun()
        self.stopping = None
        self._name_files_with_secrets()
        files = self.memory.free(os.getuid())
        folder = None if stopping.left else self.torchrun.temporary.remove(os.geteuid())
        files += [*([folder] if folder else []), *self.torchrun.free_locks(os.geteuid())]
        self._tell(node_events.Swept(why=self.stop_why, **stopping.report(), files=files))

    # ---- telling ----

    def _tell(self, payload: Payload) -> None:
        self._pass_on(told(payload, self.node))

    def _pass_on(self, event: Event) -> None:
        """To the journal first: it remains if the keeper cannot be reached."""
        try:
            data = self.redactor.json(dict(event.data))
        except RecursionError:  # a script's own line: it stays a sign of life
            data = {}
        safe = Event(event.at, event.kind, event.node, event.rank, data)
        self.journal.append(safe)
        self.link.send(as_json(ToKeeper(event=safe.as_json())))

    def _say(self, text: str) -> None:
        """To supervisor.log, which is standard error here, without a buffer: its disk may be the full one."""
        line = self.redactor.text(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {text}\n")
        try:
            os.write(sys.stderr.fileno(), line.encode("utf-8", "backslashreplace"))
        except OSError:
            pass  # the run continues without this line
