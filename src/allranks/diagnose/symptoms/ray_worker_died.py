"""A Ray worker died.

## How it is found
`ActorDiedError`, `RayActorError`, `Worker exit type: SYSTEM_ERROR ... connection error code 2. End of
file`.

Easily confused with cpu-oom-killed, where Ray names memory as the fact and not as a common cause;
node-failure.

## Why it matters
Ray only noticed that the process vanished; the reasons that it lists are guesses. The real cause is a kill, a crash or
a lost node.

## What to do
Read the dead worker's own log (in /tmp/ray/session_latest/logs, by its pid), and `dmesg -T` on its node.

## Source
Ray 2.60.0 defines `ActorDiedError`, `RayActorError` and `WorkerCrashedError` in `exceptions.py`. `Worker
exit type:` is a text of its `raylet`. The other texts are as people posted them in public reports.

Topic: ends
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from allranks.core.causes import END, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import ENDED, Case, Pattern

if TYPE_CHECKING:
    from allranks.diagnose.evidence import Evidence

CAUSE = Cause(__name__, kind=END, hearsay=True)
COMPLAINT = Complaint(
    subject=(
        r"\b(?:[Rr]ay|raylet|GCS|gcs\w{0,20}|actors?|ActorHandle|plasma|[Oo]bject ?[Ss]tore|WorkerGroup"
        r"|WorkerDict)\b"
    ),
    general=True,
    settles=r"(?i:\bconnect\w{0,6} .{0,40}\braylet\b)|pathname /tmp/(?:scheduler|plasma_store|raylet)",
)
PATTERNS = (
    Pattern("ActorDiedError", weight=ENDED),
    Pattern("RayActorError", weight=ENDED),
    Pattern("any running Ray instance", weight=ENDED),
    Pattern("have not registered with Redis", weight=ENDED),
    Pattern("ActorUnavailableError", weight=ENDED),
    Pattern("RuntimeEnvSetupError", weight=ENDED),
    Pattern("node timed out during startup", weight=ENDED),
    Pattern("Worker exit type: SYSTEM_ERROR", weight=ENDED),
    Pattern("WorkerCrashedError", weight=ENDED),
    Pattern("A worker died or was killed", weight=ENDED),
    Pattern("have not registered within the timeout", weight=ENDED),  # raylet
    Pattern("The actor is dead because", weight=ENDED - 2),
)

NAMED_WITHIN = 6
"""Lines from Ray's report of a dead actor to the actor's name."""


def judge(seen: Evidence) -> Optional[Case]:
    """The case of the patterns, with the rank of the first dead actor that is named."""
    case = seen.case(CAUSE.id)
    if case is None:
        return None
    named = (rank for order, rank in seen.actors.items() if _tells_of(case, order))
    return case._replace(rank=next(named, case.rank))


def _tells_of(case: Case, order: int) -> bool:
    return any(0 < order - hit.order <= NAMED_WITHIN for hit in case.hits)
