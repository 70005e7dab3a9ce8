"""Alerts: the head node calls `alerts.webhook` and `alerts.command` for findings and the end of the run.

A separate thread sends them, so a dead address does not delay anything. Findings in quick succession go out as one
message, and the same finding is not sent again within `FOLD_SECONDS`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from typing import Any, Deque, Dict, List, Mapping, Optional, Tuple

from allranks.core import BLOCK, UNKNOWN, WARN
from allranks.core.run_events import Alert
from allranks.node.ownership import RUN_ID_VARIABLE
from allranks.runs.keeper_io_worker import GIVE_UP_SECONDS, LEASH, leash, run_out, wait_for

GATHER_SECONDS = 10.0
"""The time between two messages. Findings within it go out together. The first message goes out at once."""

FOLD_SECONDS = 300.0
MOST_FINDINGS = 100
"""At most so many findings per message; the others are only counted. A fault that 8,000 ranks share must not become 8
MB in a chat."""

WEBHOOK_SECONDS = 10.0
COMMAND_SECONDS = 30.0
TRIES = (0.0, 1.0, 4.0)
CLOSE_SECONDS = 15.0
"""Time for the last message at the end of a run. A command that still runs after it is ended."""

WORTH = {WARN: (WARN, UNKNOWN, BLOCK), BLOCK: (BLOCK,), "end": ()}
"""By `alerts.level`: the verdicts that are sent. The end of the run always is."""
INHERITED = ("PATH", "HOME", "USER", "LANG", "TZ", "http_proxy", "https_proxy", "no_proxy")
_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")

OWN_GROUP = """
trouble = os.dup(2)
os.dup2(1, 2)
os.setpgid(0, 0)
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
try:
    os.execvp(sys.argv[1], sys.argv[1:])
except OSError as error:
    os.write(trouble, str(error.strerror).encode())
    sys.exit(127)
"""
"""Follows `LEASH` and becomes the command, in a process group that can be ended as a whole. It does not start a
session: a process that leaves the supervisor's session counts as a rank's (`node/descendants.py`), and allranks would
stop it with the ranks. The signals that Python ignores get their default handlers. If the start fails, the error goes
over a descriptor that `exec` closes."""


class _Group(subprocess.Popen):
    """Leads a process group. Call `kill` before `wait`: until then the pid cannot belong to another process."""

    def kill(self) -> None:
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass  # it has not made its group yet
        super().kill()


class Alerts:
    """One run's alerts. Without a webhook and a command it does nothing and starts no thread.

    `{NAME}` in the webhook's address stands for the run's secret NAME, so that no address with a token is stored. The
    command gets the secrets in its environment.
    """

    def __init__(self, wanted: Mapping[str, Any], secrets: Mapping[str, str], about: Mapping[str, Any]):
        """`about` is added to every message: `run`, `name`, `node`."""
        self.webhook = str(wanted.get("webhook") or "")
        self.command = [str(word) for word in wanted.get("command") or ()]
        self.worth = WORTH[wanted.get("level") or WARN]
        self.secrets, self.about = dict(secrets), dict(about)
        self.outcomes: Deque[Alert] = deque(maxlen=256)
        self._waiting: List[Dict[str, Any]] = []
        self._folded = 0
        self._said: Dict[Tuple[Any, ...], float] = {}
        self._wake, self._lock, self._over = threading.Event(), threading.Lock(), False
        self._given_up = False
        self._thread: Optional[threading.Thread] = None
        if self.webhook or self.command:
            self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)
            self._thread.start()

    def finding(self, data: Mapping[str, Any]) -> None:
        """Queues a finding, given as JSON, if its verdict is worth a message. Notes are not sent."""
        if data.get("verdict") in self.worth:
            where = dict(data.get("where") or {})
            self._add((data.get("id"), data.get("verdict"), where.get("node"), where.get("rank")), data)

    def end(self, state: str, diagnosis: Optional[Mapping[str, Any]], why: str = "") -> None:
        """Queues the end of a run. `stopped` is sent, too, since another person may have stopped it."""
        data = {"id": f"run-{state}", "state": state, "why": why, "diagnosis": diagnosis}
        self._add(("end", state), data)

    def take(self) -> List[Alert]:
        """The messages since the last call, for the journal."""
        return [self.outcomes.popleft() for _ in range(len(self.outcomes))]

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Sends the waiting messages, and gives up after `seconds`; a command is ended then."""
        self._over = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(seconds)
            self._given_up = True
            self._thread.join(GIVE_UP_SECONDS)

    def _add(self, key: Tuple[Any, ...], data: Mapping[str, Any]) -> None:
        if self._thread is None:
            return
        now = time.monotonic()
        with self._lock:
            known = self._said.get(key)
            if known is not None and now - known < FOLD_SECONDS:
                self._folded += 1
                return
            self._said[key] = now
            self._waiting.append(dict(data))
        self._wake.set()

    # ---- the thread ----

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            self._send_waiting()
            if self._over:
                self._send_waiting()
                return
            deadline = time.monotonic() + GATHER_SECONDS
            while time.monotonic() < deadline and not self._over:
                time.sleep(0.1)

    def _send_waiting(self) -> None:
        with self._lock:
            found, self._waiting = self._waiting, []
            folded, self._folded = self._folded, 0
        if not found:
            return
        text, folded = text_of(self.about, found), folded + max(0, len(found) - MOST_FINDINGS)
        message = {**self.about, "at": time.time(), "text": text, "folded": folded}
        message["findings"] = found[:MOST_FINDINGS]
        shown = {**message, "text": plain(text)}
        for to, send, told in (("webhook", self._call, shown), ("command", self._start, message)):
            if getattr(self, to):
                why = send(json.dumps(told).encode())
                self.outcomes.append(Alert(to=to, ok=not why, findings=len(found), why=why))

    def _call(self, body: bytes) -> str:
        """Posts the message. Returns the error, without the address, which may contain a token."""
        unknown = [name for name in _NAME.findall(self.webhook) if name not in self.secrets]
        if unknown:
            return f"{{{unknown[0]}}} in alerts.webhook is not one of the run's secrets"
        address = _NAME.sub(lambda match: self.secrets[match.group(1)], self.webhook)
        from allranks.runs.keeper_webhook import post  # saves 40 ms of imports for a run without a webhook

        why = ""
        for pause in TRIES:
            time.sleep(0.0 if self._over else pause)
            why, again = post(address, body, WEBHOOK_SECONDS)
            if not again:
                break
        return why

    def _start(self, body: bytes) -> str:
        """Runs the command. Returns the error. At its time limit, and at `close`, its whole process group is ended."""
        if self._given_up:
            return "the command was not started: the run was over"
        env = {name: os.environ[name] for name in INHERITED if name in os.environ}
        env.update(self.secrets)
        env[RUN_ID_VARIABLE] = str(self.about.get("run"))
        argv = [sys.executable, "-I", "-S", "-c", LEASH + OWN_GROUP, *leash(COMMAND_SECONDS), *self.command]
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        try:
            child = _Group(argv, stdin=pipe, stdout=nothing, stderr=pipe, env=env, cwd="/")
        except OSError as error:
            return f"the command could not be started: {error.strerror}"
        _, said, trouble = run_out(wait_for(child, COMMAND_SECONDS, body, lambda: not self._given_up))
        if trouble and self._given_up:
            return "the command did not end before the run did, and was killed"
        if trouble:
            return f"the command did not end within {COMMAND_SECONDS:.0f} s, and was killed"
        if said and child.returncode == 127:
            return f"the command could not be started: {said.decode('utf-8', 'replace')}"
        return f"the command ended with code {child.returncode}" if child.returncode else ""


def alerts_of(job: Mapping[str, Any], secrets: Mapping[str, str]) -> Alerts:
    """The alerts of a run."""
    task = job["keep"]
    about = {"run": job["run_id"], "name": task.get("name"), "node": job["node"]}
    return Alerts(task.get("alerts") or {}, secrets, about)


def text_of(about: Mapping[str, Any], found: List[Dict[str, Any]]) -> str:
    """One line for a person. Chat programs show the key `text` of the message."""
    parts = []
    for data in found[:3]:
        if "state" in data:
            cause = dict(data.get("diagnosis") or {})
            parts.append(f"{data['state']}" + (f": {cause.get('cause')} {place(cause)}" if cause else ""))
        else:
            parts.append(f"{data.get('id')} {place(data)}: {data.get('saw')}")
    more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
    line = f"allranks {about.get('run')}: " + "; ".join(part.strip() for part in parts) + more
    return "".join(c if c.isprintable() else " " for c in line)[:1000]


def plain(text: str) -> str:
    """Escapes the text for a chat: parts of it come from logs, and must not notify a channel or become links.

    It uses Slack's own escapes (docs.slack.dev, Formatting message text), and a zero-width space after each `@` for
    chats that read a bare `@channel`.
    """
    for sign, escape in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "@\u200b")):
        text = text.replace(sign, escape)
    return text


def place(data: Mapping[str, Any]) -> str:
    where = dict(data.get("where") or {})
    rank = where.get("rank")
    return " ".join(str(p) for p in (where.get("node"), None if rank is None else f"rank {rank}") if p)
