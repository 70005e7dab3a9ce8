"""A port that the run needs is taken.

## How it is found
`The server socket has failed to listen on any local network address ... EADDRINUSE`; older: `Address
already in use`.

Easily confused with two harmless warnings `failed to bind` without the error `failed to listen`; also harmless is
vLLM's "Port * is already in use, trying port *".

## Why it matters
Another process holds the port: of a job of several nodes the rendezvous port on the head. Mostly it is an earlier run
that did not end or was only suspended with Ctrl-Z. The new run cannot begin.

## What to do
Stop the old run by its own means (`allranks clean RUN`, `ss -ltnp` shows the holder), or take another port.

## Source
PyTorch prints `The server socket has failed to bind to` in `torch/csrc/distributed/c10d/socket.cpp`;
`libtorch_cpu.so` of version 2.13 has it and `failed to listen on any`. `Address already in use` is glibc's
text for EADDRINUSE, `sysdeps/gnu/errlist.h`.

Topic: start
"""

from __future__ import annotations

from allranks.core.causes import PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import WEAK, Pattern
from allranks.diagnose.symptoms.master_unreachable_firewall import CAUSE as MASTER_UNREACHABLE_FIREWALL

CAUSE = Cause(__name__, restart=PASSES, explains=(MASTER_UNREACHABLE_FIREWALL,))
COMPLAINT = Complaint(
    subject=(
        r"(?i)\baddress (?:is )?(?:already )?in use|\bEADDRINUSE"
        r"|\bport (?:\d{2,5} )?(?:is )?(?:already )?(?:in use|used by"
        r"|being used|not available|occupied)|\berrno[: ]{1,2}98\b|\bfailed to bind|\bbind\b.{0,40}\bfail"
        r"|\u7aef\u53e3.{0,10}\u5360\u7528"
    ),
)
PATTERNS = (
    Pattern("failed to listen on any", r"EADDRINUSE|[Aa]ddress already in use"),
    Pattern("EADDRINUSE", without=("trying port",)),
    Pattern("failed to listen on any", weight=90),
    Pattern("Address already in use", raised=True, without=("trying port",)),
    Pattern("address already in use", raised=True, without=("trying port",)),
    Pattern("failed to bind to", r"errno: 98", weight=WEAK),
)
