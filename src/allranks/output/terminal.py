"""Shows a run while it lives: a live area on a terminal, plain lines in a pipe, nothing with --json."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Group
from rich.live import Live

from allranks.core import BLOCK, UNKNOWN, WARN, Blocked, Event
from allranks.core.log_noise import Lines, Noise
from allranks.core.node_events import GpuSample
from allranks.core.run_states import FINAL
from allranks.core.text import natural
from allranks.core.untrusted import integer, listing, number
from allranks.monitor import Progress, RunState, event_handlers
from allranks.monitor.progress import PHASES as RANK_PHASES
from allranks.monitor.progress import operator_of, progress_of
from allranks.output.base_bytes import BaseBytes
from allranks.output.console import Out
from allranks.output.loss_course import LossCourse
from allranks.output.messages import first_word, print_findings, print_summary, say_findings, waits_for
from allranks.output.report_findings import count_text, folded
from allranks.output.report_text import compact_seconds, count, loss_text, seconds, share
from allranks.output.terminal_frame import NodeLine, Snapshot, doing, extent, frame, node_line, order
from allranks.output.terminal_ranks import ENDED, RankLine, rank_lines

__all__ = ["LiveView", "print_findings", "print_summary"]

EVERY_SECONDS = 10.0
"""The time between two progress lines in a pipe: the log of one hour has 360 of them."""

FRESH_SECONDS = 0.4
LAST = 1 << 60
"""The sort key that puts a node without ranks after the others."""


class LiveView:
    """Shows a run from its events: `with LiveView(name) as view: view.add(event)`.

    If an event comes twice (from the controller, then from its copy in the journal), the second one is ignored.
    """

    def __init__(
        self,
        name: str = "",
        quiet: bool = False,
        out: Out | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.name, self.quiet = name, quiet
        self.out = out or Out()
        self.clock = clock
        self.run = RunState()
        self.lock = threading.RLock()
        self.live: Live | None = None
        self.lines = not self.out.live
        self.said: set[str] = set()
        self.before: Counter[str] = Counter()
        """The controller's events before the launch. If the clocks differ, their copies in the journal have other
        times."""
        self.pending: list[dict[str, Any]] = []
        self.checked: list[dict[str, Any]] = []
        self.losses = LossCourse()
        self.loss_rank: int | None = None
        self.shards: dict[int, tuple[int, int]] = {}
        self.base_bytes = BaseBytes()
        self.preparing: dict[str, str] = {}
        self.silent: dict[str, float] = {}
        self.first_at: float | None = None
        self.heard_at = clock()
        self.line_at = -math.inf
        self.line_step: int | str | None = None
        self.line_doing = ""
        self.progress, self.progress_at = Progress(), -math.inf
        self.rank_lines: list[RankLine] = []
        self.run_id = ""
        self.hint = ""
        self.warned: dict[str, int] = {}
        self.saved: tuple[int | None, float] | None = None
        self.log, self.noise, self.last_line = Lines(), Noise(), ""

    # ---- start and end ----

    def __enter__(self) -> LiveView:
        if self.out.live and not self.quiet:
            self.live = Live(
                get_renderable=self.render,
                console=self.out.console,
                refresh_per_second=8,
                redirect_stdout=False,
                redirect_stderr=False,
                vertical_overflow="ellipsis",
            )
            self.live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Leaves the last frame on the screen. The verb reports what stopped the launch."""
        with self.lock:
            if kind is not None and issubclass(kind, Blocked):
                self.pending.clear()
            self.flush()
            self.progress_at = -math.inf
            if self.lines and not self.quiet:
                self.progress_line(last=True)
        if self.live is not None:
            self.live.stop()
            self.live = None

    def render(self) -> Group:
        with self.lock:
            return Group(*frame(self.out, self.snapshot(), self.clock(), self.out.console.height - 1))

    def follows(self, run_id: str) -> None:
        """From here on the run no longer needs this process, and its journal tells the events from the first one."""
        self.run_id, self.hint = (
            run_id,
            f"Ctrl-C detaches: the run continues.  Logs: allranks logs {run_id} -f",
        )

    def add_log(self, text: str) -> None:
        """Takes a piece of a rank's log. The live area shows its last line."""
        with self.lock:
            for line in self.log.add(text):
                if line.strip() and not self.noise.holds(line):
                    self.last_line = line

    # ---- events ----

    def add(self, event: Event) -> None:
        """Takes one event. Never raises, whatever a node sent."""
        if self.quiet:
            return
        with self.lock:
            self.heard_at = self.clock()
            if event.kind in ("phase", "state", "finding", "diagnosis") and self.known(event):
                return
            if event.kind == "finding":
                self.pending.append(dict(event.data))
                return
            if event.kind == "preparing":
                self.on_step(str(event.node), str(event.data.get("what", "")))
                return
            if event.kind == "silent":
                self.on_silent(listing(event.data.get("nodes")), number(event.data.get("seconds")) or 0.0)
                return
            self.flush()
            if event.kind == "diagnosis" and event.data.get("provisional") is True:
                say_findings(self.out, folded([first_word(event.data)]))
            if event.kind == "resume" and event.data.get("from"):
                self.on_resume(str(event.data["from"]), integer(event.data.get("step")))
            before = self.run.phase
            if self.lines and event.kind == "phase" and before == "watch":
                self.progress_line(last=True)
            turns = self.lines and (self.turns(event) or self.due(self.clock()))
            self.note(event)
            event_handlers.apply(self.run, event)
            if event.kind == "phase":
                self.on_phase(before)
            if turns:
                self.progress_line()

    def known(self, event: Event) -> bool:
        content = json.dumps([event.kind, event.data], sort_keys=True, default=str)
        key = f"{round(event.at, 6)} {content}"
        is_copy = bool(self.run_id) and self.before[content] > 0
        self.before[content] += -1 if is_copy else int(not self.run_id)
        is_known = is_copy or key in self.said
        self.said.add(key)
        return is_known

    def note(self, event: Event) -> None:
        """Keeps values that the frame needs in addition to `watch`: the first moment, the course of the loss, the
        shards that were read."""
        # A rank's event may come from the script itself, so an old time in it is not the beginning of the run.
        if self.first_at is None or (event.rank is None and event.at < self.first_at):
            self.first_at = event.at
        if event.kind == "saved" and event.data.get("step") is not None:
            self.saved = (integer(event.data.get("step")), event.at)
        if event.kind != "beat" or event.rank is None:
            return
        self.base_bytes.note(event.rank, event.at, event.data.get("progress"))
        read, total = event.data.get("shard"), event.data.get("shards")
        if isinstance(read, int) and isinstance(total, int) and 0 <= read <= total:
            self.shards[event.rank] = (read, total)
        rows = event.data.get("steps")
        losses = [float(row[1]) for row in rows if is_loss(row)] if isinstance(rows, list) else []
        if not losses or (self.loss_rank is not None and event.rank > self.loss_rank):
            return
        if event.rank != self.loss_rank:
            self.loss_rank, self.losses = event.rank, LossCourse()
        self.losses.add(losses)

    def flush(self) -> None:
        """Prints the findings that came together, folded over nodes. Those that are fine are only counted."""
        findings, self.pending = self.pending, []
        if not findings:
            return
        if self.run.phase in (None, "check"):
            self.checked += findings
        shown = [f for f in findings if f.get("verdict") != "ok"]
        for finding in shown:
            if finding.get("verdict") in (WARN, BLOCK, UNKNOWN):
                name = str(finding.get("id"))
                self.warned[name] = self.warned.get(name, 0) + 1
        if shown:
            say_findings(self.out, folded(shown))

    def on_phase(self, before: str | None) -> None:
        if before in (None, "check") and self.checked:
            self.out.line(("checked  ", "dim"), count_text(folded(self.checked)))
            self.checked = []

    def on_step(self, node: str, what: str) -> None:
        """Shows a node's next step of preparation: in its own line of the live area; in a log, in a new line if the
        step is new."""
        fresh = what not in self.preparing.values()
        self.preparing[node] = what
        if self.lines and fresh:
            self.out.line(("prepare  ", "dim"), what, ("  " + node, "dim"))

    def on_resume(self, path: str, step: int | None) -> None:
        """Tells where the training goes on, which `--resume auto` leaves to allranks."""
        self.out.line(
            ("resume   ", "dim"), f"from step {step:,}  " if step is not None else "", (path, "dim")
        )

    def on_silent(self, names: list[Any], seconds: float) -> None:
        """Shows which nodes have not answered the check yet: one line each in the live area; in a log, a line when
        they change."""
        before, self.silent = self.silent, {str(name): seconds for name in names}
        if self.lines and self.silent and set(self.silent) != set(before):
            self.out.line(("check    ", "dim"), waits_for(list(self.silent), seconds))

    # ---- the shown values ----

    def snapshot(self) -> Snapshot:
        now = self.clock()
        if now - self.progress_at >= FRESH_SECONDS:
            self.progress, self.progress_at = progress_of(self.run), now
            self.rank_lines = rank_lines(self.progress, self.gpus_of_ranks())
        run, progress = self.run, self.progress
        ended = run.state in FINAL
        elapsed = (run.at or 0.0) - (self.first_at if self.first_at is not None else run.at or 0.0)
        elapsed += 0.0 if ended else max(0.0, now - self.heard_at)  # it continues while nothing is heard
        behind = min(self.shards.values(), key=lambda s: s[0] / max(s[1], 1), default=None)
        names = list(run.nodes)
        by_node: dict[str, dict[int, Any]] = {name: {} for name in names}
        for rank, one in progress.ranks.items():
            if one.node is not None:
                by_node.setdefault(one.node, {})[rank] = one
        notes = {line.rank: line.note for line in self.rank_lines if line.weight < ENDED}
        lines = [
            node_line(
                name,
                ranks,
                self.trouble(name),
                "joined" if self.joined(name) else "",
                self.gpus_of(name),
                notes.get(next(iter(ranks)), "") if len(ranks) == 1 and not ended else "",
            )
            for name, ranks in sorted(
                by_node.items(), key=lambda item: (min(item[1], default=LAST), natural(item[0]))
            )
            if ranks or self.joined(name)
        ]
        if run.phase == "check" and self.silent:
            lines = [
                NodeLine((name,), f"no answer for {seconds:.0f} s")
                for name, seconds in sorted(self.silent.items(), key=lambda item: natural(item[0]))
            ]
        if run.phase == "prepare":
            lines = [NodeLine((name,), what) for name, what in sorted(self.preparing.items(), key=by_name)]
        return Snapshot(
            self.name,
            run.phase or "",
            run.state or "",
            progress,
            self.losses.values(),
            behind,
            elapsed,
            lines,
            ended,
            run_id=self.run_id or self.name,
            base_bytes=self.base_bytes.text(),
            gpus=[(f"{n} GPU {gpu.index}", gpu) for n in names for gpu in self.gpus_of(n)]
            if not ended
            else [],
            ranks=self.rank_lines if not ended else [],
            saved=self.saved_text(),
            warnings=self.warned_text(),
            last_line=self.last_line,
            hint=self.hint,
        )

    def gpus_of(self, name: str) -> Sequence[GpuSample]:
        return self.run.nodes[name].gpus if name in self.run.nodes else ()

    def gpus_of_ranks(self) -> dict[int, GpuSample]:
        by_uuid = {gpu.uuid: gpu for node in self.run.nodes.values() for gpu in node.gpus if gpu.uuid}
        ranks = self.run.ranks.values()
        return {rank.rank: by_uuid[rank.uuid] for rank in ranks if rank.uuid in by_uuid}

    def saved_text(self) -> str:
        if self.saved is None:
            return ""
        step, at = self.saved
        ago = (self.run.at or at) - at
        return ("" if step is None else f"step {count(step)}, ") + f"{compact_seconds(ago)} ago"

    def warned_text(self) -> str:
        said = [name + (f" ({times:,} times)" if times > 1 else "") for name, times in self.warned.items()]
        return f"{sum(self.warned.values()):,}: {', '.join(said)}" if said else ""

    def joined(self, name: str) -> bool:
        node = self.run.nodes.get(name)
        return node is not None and node.joined_at is not None

    def trouble(self, name: str) -> str:
        node = self.run.nodes.get(name)
        if node is None or node.lost_at is None or self.run.state in FINAL or node.ended_at is not None:
            return ""
        return "connection lost"

    def progress_line(self, last: bool = False) -> None:
        """In a pipe: prints a line when the current work changes, and otherwise at most one in ten seconds."""
        now, word = self.clock(), self.word()
        if self.run.phase is None or (word == self.line_doing and not (last or self.due(now))):
            return
        self.progress_at = -math.inf
        snapshot = self.snapshot()
        step = snapshot.base_bytes or extent(snapshot)[0]
        if word == self.line_doing and step == self.line_step:
            return
        self.line_at, self.line_doing, self.line_step = now, word, step
        self.out.line(
            (f"{compact_seconds(snapshot.elapsed_seconds):>7}  ", "dim"), plain_line(snapshot, word)
        )

    def word(self) -> str:
        """The current work, without the cost of a whole frame: it is needed whenever a rank's phase changes."""
        phases = [order(r.phase) for r in self.run.ranks.values() if r.phase]
        behind = min(phases, default=len(RANK_PHASES))
        phase = RANK_PHASES[behind] if behind < len(RANK_PHASES) else None
        now = Progress(phase=phase, **operator_of(self.run.ranks.values()))
        word = doing(Snapshot(phase=self.run.phase or "", progress=now))
        # A save or the last rank's end takes only seconds, so it gets no line in a log.
        brief = word in ("saving", "ending") or (phase == "compiling" and self.line_doing == "training")
        return "training" if brief else word

    def due(self, now: float) -> bool:
        return now - self.line_at >= EVERY_SECONDS

    def turns(self, event: Event) -> bool:
        """Whether the event may change the current work. This is cheap, because it is called for every event."""
        if event.kind in ("phase", "state"):
            return True
        rank = None if event.rank is None else self.run.ranks.get(event.rank)
        return event.kind == "beat" and (rank is None or rank.phase != event.data.get("phase"))


def by_name(item: tuple[str, str]) -> Any:
    return natural(item[0])


def is_loss(row: Any) -> bool:
    """Whether a heartbeat's row has a loss: a number, including `nan` and `inf`."""
    if not isinstance(row, (list, tuple)) or len(row) < 2:
        return False
    return number(row[1]) is not None or (isinstance(row[1], float) and not math.isfinite(row[1]))


def plain_line(snapshot: Snapshot, word: str) -> str:
    """One line for a log: phase, progress, loss, step time, speed, time left."""
    parts = [word]
    done, total, what = extent(snapshot)
    if done is not None:
        parts.append(f"{what} {count(done)}" + (f" of {count(total)}" if total else ""))
    if snapshot.base_bytes:
        parts.append(snapshot.base_bytes)
    progress = snapshot.progress if snapshot.phase == "watch" else Progress()
    if progress.loss is not None:
        parts.append(f"loss {loss_text(progress.loss)}")
    if progress.step_seconds is not None:
        text = f"{seconds(progress.step_seconds)} per step"
        if progress.data_seconds is not None and progress.step_seconds > 0:
            text += f", {share(min(progress.data_seconds / progress.step_seconds, 1.0))} waiting for data"
        parts.append(text)
    if progress.tokens_per_second:
        parts.append(f"{count(float(round(progress.tokens_per_second)))} tokens/s")
    if progress.seconds_left:
        parts.append(f"{compact_seconds(progress.seconds_left)} left")
    return "  ".join(parts)
