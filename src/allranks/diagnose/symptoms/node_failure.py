"""A node failed.

## How it is found
`srun: error: Node failure on <host>`, `DUE TO NODE FAILURE` (the host after ON in that line is the batch
host, not the failed one), Ray's `marked dead because the detector has missed too many heartbeats`.

Easily confused with peer-node-network-broken, where the machine lives.

## Why it matters
The machine or its daemon is gone, and every rank on it; the others lost their peers.

## What to do
Look at the node (power, kernel log, BMC, network), leave it out, and resume from the last verified
checkpoint.

## Source
SLURM 26.11.0-0rc1 prints `Node failure on` in `src/api/step_launch.c` and `src/salloc/salloc.c`. `marked
dead because the` is in `gcs_server` of Ray 2.60.0; Ray defines `NodeDiedError` in `exceptions.py`. The
other texts are as people posted them in public reports.

Topic: ends
"""

from __future__ import annotations

from allranks.core.causes import PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.slurm_preempt_or_timeout import CAUSE as SLURM_PREEMPT_OR_TIMEOUT

CAUSE = Cause(__name__, restart=PASSES, explains=(SLURM_PREEMPT_OR_TIMEOUT,))
COMPLAINT = Complaint(
    subject=(
        r"(?i)\bnodes?\b.{0,40}\bmarked (?:as )?dead|\bmissed? (?:too many )?heartbeats?"
        r"|\braylet\b.{0,60}(?:terminat|dead|died|killed|exit)|\bnodes?\b.{0,80}\b(?:dead"
        r"|died|lost"
        r"|unhealthy|unreachable|down|preempted|terminated|evicted|disconnected|not ready)\b|\b(?:lost"
        r"|dead|failed|unhealthy|unreachable|terminated) (?:\w{1,20} )?(?:nodes?|hosts?|machines?"
        r"|instances?)\b|NotReady|\b(?:vms?|instances?|machines?|hosts?)\b.{0,30}\b(?:terminated"
        r"|preempted|reclaimed|rebooted|crashed|powered off|went (?:down|offline))|\bspot (?:instance"
        r"|vm).{0,60}(?:terminat|preempt|reclaim)"
        r"|communication with (?:a )?remote daemon|\bwatchdog: BUG|\b(?:soft|hard) lockup|\bkernel panic"
        r"|\u8282\u70b9.{0,8}(?:\u6389\u7ebf|\u5b95\u673a|\u6302\u4e86|\u5931\u8054|\u6545\u969c)"
    ),
    general=True,
)
PATTERNS = (
    Pattern("Node failure on", r"Node failure on (?P<node>[\w.-]{1,80})"),
    Pattern("DUE TO NODE FAILURE"),
    Pattern(
        "marked dead because the",
        r"(?:(?:ip|address): (?P<node>[\w.:-]{1,80}) .{0,80})?"
        r"marked dead because the (?:detector|monitor|raylet) has missed",
    ),
    Pattern("NODE_FAIL", weight=90),
    Pattern("it was running on is dead or unavailable", weight=90),  # Ray
    Pattern("Not responding", r"^\s{0,8}(?P<node>\S{1,80})\s.{0,200}\bdown\*", weight=80),  # sinfo
    Pattern(
        "lost communication with", r"(?:ORTE|PRTE) has lost communication with a remote daemon", weight=90
    ),
    Pattern("Remote daemon", r"Remote daemon: .{0,40} on node (?P<node>[\w.-]{1,80})", weight=90),
    Pattern("NodeDiedError", weight=90),
    Pattern("got no heartbeat", r"Removing worker-\S{1,80} because we got no heartbeat", weight=90),  # Spark
)
