"""Somebody ended a torchrun by a signal.

## How it is found
`Received 1 death signal, shutting down workers`, `Received Signals.SIGHUP death signal`, `SignalException:
Process * got signal: 1`. While a run is watched: torchrun ends by SIGKILL, or after such a line, before any of its
ranks failed and before allranks stopped anything.

Easily confused with slurm-preempt-or-timeout, where SLURM says so; any earlier error of a rank, after which
somebody stopped a run that hung.

## Why it matters
Signal 1 is a closed terminal (nohup does not protect torchrun), and signal 2 is Ctrl-C. Signal 15 comes from a
scheduler, a person or a host that runs out of memory. Signal 9 comes from the kernel's OOM killer or a person. All
ranks of the node end with it.

## What to do
Start it in a separate session (setsid, tmux, `allranks run --detach`); for 15 and 9 look at the scheduler, `dmesg
-T`, and pod events.

## Source
PyTorch 2.13 prints `death signal` in `torch/distributed/elastic/agent/server/api.py` and raises `got
signal` in `torch/distributed/elastic/multiprocessing/api.py`.

Topic: ends
"""

from __future__ import annotations

from allranks.core.causes import END, PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import ENDED, Pattern

CAUSE = Cause(__name__, kind=END, hearsay=True, reason_on_node=True, restart=PASSES)
COMPLAINT = Complaint(
    subject=r"\b(?:SIGHUP|SignalException|(?:[Ss]ignals?|signal:) 1)\b|\b[Hh]ang ?up signal",
    hints=r"\b(?:SIGTERM|death signal|closing signal|signal 15|signal: 15)\b",
)
PATTERNS = (
    Pattern("death signal", r"Received (?:Signals\.)?\w{1,60} death signal", weight=ENDED),
    Pattern("got signal", r"Process \d{1,12} got signal: \d{1,12}", weight=ENDED),
    Pattern("closing signal", r"Sending process \d{1,12} closing signal (?:SIGHUP|SIGINT)", weight=ENDED - 1),
    Pattern("api.SignalException", weight=ENDED - 5),
)
