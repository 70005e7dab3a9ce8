"""The scheduler or the launcher refused the job.

## How it is found
SLURM's `Unable to create step for job`, `Batch job submission failed`, `Unable to allocate resources`, `Application
launch failed`, `Job credential expired`, Kubernetes' `FailedScheduling`, Ray's `No available node types can fulfill
resource request`, `Total available GPUs … is less than total desired GPUs`.

Easily confused with launch-args-mismatch, where processes were started with wrong arguments; slurm-preempt-or-timeout,
where the job ran and was ended.

## Why it matters
Nothing ran: the request does not fit what the cluster has or allows, or its daemons do not work together.

## What to do
Compare the request (nodes, GPUs, memory, account, partition, time) with `sinfo`, `scontrol show job JOB`, `kubectl
describe pod` or `ray status`. SLURM's `Job credential expired` and `Invalid job credential` mean that clocks or munge
keys of the nodes differ.

## Source
SLURM 26.11.0-0rc1 prints `Unable to create step for job`, `Application launch failed` in
`src/srun/launch.c`, `Unable to allocate resources` in `src/srun/allocate.c` and `job submission failed` in
`src/sbatch/sbatch.c`. Ray 2.60.0 prints `can fulfill resource request` in
`autoscaler/_private/autoscaler.py`. The other texts are as people posted them in public reports.

Topic: start
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import ENDED, Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(
    subject=(
        r"(?i)\b(?:not enough|insufficient|too few|no) (?:available |free |idle )?(?:gpus?"
        r"|nodes?|workers|cluster resources?"
        r"|resources) (?:are |is )?(?:available|free|left|in the cluster)\b|\bno (?:\w{1,20} )?resources (?:are "
        r"|is )?available\b|\bplacement groups?\b"
        r"|\bonly \d{1,5} (?:gpus?|nodes?)? ?(?:are|is) available in the cluster"
    ),
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\b(?:nodes? (?:are|is) available|insufficient (?:\w{1,20}[ ./]){0,3}(?:gpus?|cpus?|memory"
        r"|nvidia|resources?|quota|capacity|npus?|tpus?)|unschedulable|cannot schedule|(?:in|over"
        r"|out of) ?quota|(?:srun|sbatch|salloc): (?:fatal|error): (?!\S{1,80}: tasks? "
        r"|.{0,80}(?:already completing|[Tt]imed out|[Tt]erminat|abort))|ReqNodeNotAvail|quota (?:limit"
        r"|exceeded)|(?:cannot|can't|unable to|fail\w{0,3} to) allocate (?:\w{1,20} ){0,2}(?:gpus?|nodes?"
        r"|resources?|instances?)|exceed\w{0,4} (?:\w{1,20} )?quota|(?:no|insufficient)\w{0,10}_?capacity"
        r"|no[_ ]resources?|resources ?(?:un|not )available\w{0,10}|resource (?:configuration|request)"
        r"|instance types?|(?:pods?|jobs?|vcjob)\b.{0,80}\b(?:pending|queued)|launch failed requeued"
        r"|sbatch|salloc|(?:batch )?job (?:submission|submit|credential)|invalid (?:partition|account|qos"
        r"|generic resource)|gres|gang|podgroup|pod group|FailedScheduling|QOSMax\w{2,40}"
        r"|untolerated taints?|didn[’']t match pod|requested number of devices|unbound immediate|is forbidden"
        r"|admission webhook|error from server(?!.{0,200}waiting to start)|slurm controller"
        r"|[qb]sub: \w{1,40}|condor_submit|job rejected"
        r"|requested node configuration|placement group)\b"
    ),
    settles=r"\bslurm_persist_conn\w{0,30}|\bslurmdbd\b|\bnot a valid controller\b",
)
PATTERNS = (
    Pattern("No available agent to submit job", weight=90),  # Ray
    Pattern("Unable to create step for job", r"for job \d{1,12}: (?!Job/step already completing)"),
    Pattern("job submission failed"),
    Pattern(
        "ReqNodeNotAvail", r"ReqNodeNotAvail(?:.{0,40}UnavailableNodes:(?P<node>[\w.-]{1,80}))?", weight=90
    ),
    Pattern("Unable to allocate resources"),
    Pattern("Application launch failed", weight=96),
    Pattern("Task launch for", r"Task launch for \S{1,40} failed on node (?P<node>[\w.-]{1,80})", weight=98),
    Pattern("Invalid job credential", weight=98),
    Pattern("no matches for kind", r"no matches for kind \W{0,2}\w{2,60}", weight=90),  # Kubernetes
    Pattern("UnexpectedAdmissionError", weight=90),  # Kubernetes
    Pattern("FailedScheduling", weight=90),
    Pattern("OutOfmemory", weight=90),  # the kubelet
    Pattern("OutOfcpu", weight=90),
    Pattern("have enough resource", r"didn[’']t have enough resource", weight=90),
    Pattern("can fulfill resource request", weight=84),
    Pattern("Total available GPUs", r"is less than total desired GPUs"),
    Pattern("cannot be scheduled right now", weight=ENDED),
)
