"""A rank was ended by a signal that did not come from the run.

## How it is found
A rank ended by SIGTERM, SIGHUP or SIGINT before allranks stopped anything and before its torchrun had a reason to
end it: the node's journal has the order. In logs alone: `exitcode : -15` of a process to which torchrun did not
send a `closing signal`.

Easily confused with torchelastic-signal, where torchrun itself got the signal and passed it on;
rank-sigkilled, for SIGKILL; slurm-preempt-or-timeout, where SLURM says so.

## Why it matters
Something asked that process to end: earlyoom or systemd-oomd because memory ran out, a scheduler (`scancel` of a
step), a container's stop, a person with `kill`. The other ranks only lost their peer.

## What to do
On that node look at `journalctl -u earlyoom -u systemd-oomd`, the scheduler's log (`sacct`), and who ran `kill`
there. If the machine was short of memory: fewer data loader workers, or more memory for the job.

## Source
PyTorch 2.13 prints `closing signal` in `torch/distributed/elastic/multiprocessing/api.py` and the table
with `exitcode` in `torch/distributed/elastic/multiprocessing/errors/__init__.py`. The node's journal gives
the order of events.

Topic: ends
"""

from __future__ import annotations

import signal
from typing import List, Optional

from allranks.core.causes import END, PASSES, Cause
from allranks.diagnose.closings import told_to_end
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.store import Exit
from allranks.diagnose.symptom import CRASH, ENDED, WEAK, Case, Hit, Pattern
from allranks.diagnose.symptoms.rank_sigkilled import only_rank

CAUSE = Cause(__name__, kind=END, hearsay=True, restart=PASSES, repeats_on="rank")
FROM_OUTSIDE = (0, -signal.SIGTERM, -signal.SIGHUP, -signal.SIGUSR1, -signal.SIGUSR2, -signal.SIGXCPU)
"""No process raises these signals by a fault of its own."""
PATTERNS = (
    Pattern(
        "]Terminated", r"(?:it/s|s/it)[^\]]{0,80}\]Terminated\s{0,4}$", weight=WEAK
    ),  # behind a progress bar
    Pattern("Terminated", r"^[\s*`\"]{0,4}Terminated[\s*`\"]{0,4}$", weight=ENDED),
    Pattern("Terminated", r"line \d{1,12}:\s{1,9}\d{1,12} Terminated\b", weight=ENDED),
    Pattern("DataLoader worker", r"is killed by signal: Terminated", weight=WEAK - 20),
    Pattern("SIGTERM", told_to_end("SIGTERM"), weight=ENDED),
    Pattern(
        "timeout: sending signal", r"^timeout: sending signal (?:TERM|KILL|INT) to command", weight=WEAK
    ),  # coreutils
    Pattern("received by PID", r"\*\*\* SIGTERM \(", weight=ENDED),  # glog
    Pattern("Termination signal", r"`Termination signal` is detected", weight=ENDED),  # Paddle
    Pattern(
        "code",
        r"(?i)\b(?:return|exit|error)[ _-]?code\W{0,4}(?:(?:is|was|of)\W{1,3})?(?:-15|143)\b",
        weight=WEAK,
    ),
    Pattern("] Terminated", r"(?:it/s|s/it)[^\]]{0,80}\] Terminated\s{0,4}$", weight=WEAK),
)


def judge(seen: Evidence) -> Optional[Case]:
    """The first process that ended by a SIGTERM which its own launcher did not send, if nothing else failed."""
    ended = _terminated(seen) or _named_alone(seen)
    if not ended:
        return seen.case("rank-terminated")
    first = min(ended, key=lambda e: (e.at if e.at is not None else float("inf"), e.order))
    hits = tuple(Hit("rank-terminated", CRASH, e.line, e.order, e.at, 0) for e in [first, *ended][:4])
    rank = first.rank if first.rank is not None else only_rank(seen, first.local)
    return Case("rank-terminated", CRASH, hits, "likely", rank=rank, node=seen.node_of(first.line))


def _terminated(seen: Evidence) -> List[Exit]:
    """Processes that a SIGTERM ended and that are not among those which their launcher closed."""
    if not seen.closed_pids or any(e.code not in (-15, 0) for e in seen.exits):
        return []
    ours = {pid for _, pid in seen.closed_pids}
    return [e for e in seen.exits if e.code == -15 and e.pid is not None and e.pid not in ours]


def _named_alone(seen: Evidence) -> List[Exit]:
    """The only process that its launcher names, and not in a table of all: it was the first to end. The others at most
    lost their connections to it."""
    if any(e.code not in FROM_OUTSIDE or (e.code and e.pid is not None) for e in seen.exits):
        return []
    if any(not (one.communication or seen.survived(one)) for _, one in seen.raised()):
        return []
    named = [e for e in seen.exits if e.code and e.rank is not None]
    return named[:1] if len({e.rank for e in named}) == 1 else []
