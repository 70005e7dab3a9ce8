"""A node cannot resolve the head's name.

## How it is found
`The IPv4/IPv6 network addresses of (host, port) cannot be retrieved (gai error: -2|-3 ...)`, again and
again, then a time-out.

Easily confused with a harmless line: `The hostname of the client socket cannot be retrieved. err=-3`. It reports a
missing reverse name, also in healthy runs.

## Why it matters
That node cannot find the head: its DNS or /etc/hosts does not know the name.

## What to do
Put the name into DNS or /etc/hosts of that node (in containers: --add-host, a headless service), or give
the head's address instead of its name.

## Source
`Name or service not known` and `Temporary failure in name resolution` are glibc's,
`sysdeps/posix/gai_strerror-strs.h`. PyTorch prints `network addresses of … cannot be retrieved` in
`torch/csrc/distributed/c10d/socket.cpp`. OpenSSH prints `Could not resolve hostname` in `ssh.c`. The other
texts are as people posted them in public reports.

Topic: network
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import WEAK, Pattern
from allranks.diagnose.symptoms.gloo_address_127 import CAUSE as GLOO_ADDRESS_127

CAUSE = Cause(__name__, explains=(GLOO_ADDRESS_127,))
_HUB = ("huggingface", "hf.co", "https://", "pypi")
COMPLAINT = Complaint(
    subject=(
        r"(?i)name resolution|\b(?:host ?name|host|address|fqdn|domain)s?\b.{0,60}\b(?:not"
        r"|n't|cannot) (?:be )?resolve|resolv(?:e|ing) (?:the )?(?:host|name|address)|getaddrinfo"
        r"|gethostbyname"
        r"|\bDNS\b|nodename nor servname|unknown host\b|no address associated"
    ),
)
PATTERNS = (
    Pattern("network addresses of", r"cannot be retrieved \(gai error"),
    Pattern(
        "Could not resolve hostname",
        r"(?<!\S)\S{1,120}: (?:Name or service|Temporary failure|No address|nodename)",
    ),
    Pattern("Name or service not known", raised=True, without=_HUB),
    Pattern("Temporary failure in name resolution", raised=True, without=_HUB),
    Pattern("nodename nor servname provided", raised=True, without=_HUB),
    # getaddrinfo's numbers, whatever the language of the words is: EAI_NONAME and EAI_AGAIN
    Pattern("[Errno -", r"\[Errno -[23]\] ", weight=90, without=_HUB),
    Pattern("gaierror", r"gaierror\b.{0,10}\[Errno (?:8|11001|11002|11004)\]", weight=90, without=_HUB),
    Pattern("resolve hostname to a", weight=WEAK),
)
