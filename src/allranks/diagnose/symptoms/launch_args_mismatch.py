"""The nodes were started with different or wrong launch arguments.

## How it is found
World sizes that differ between nodes, `1/16 clients joined`, `--node_rank is not set correctly`, `no extra nodes
available via hostfile`, a process that looks for its store at another port than the others, `invalid device ordinal`
(more processes than GPUs), `run.py: error:` (torchrun itself does not understand its arguments; it reads its script's
too, and takes `--node` for a short `--node-rank`). Or the ranks do not fit together, and only one of them shows
another argument (`--layers 6`, where all others have `--layers 4`).

Easily confused with rendezvous-timeout, where the arguments are right and a node is late.

## Why it matters
The ranks do not belong to one run: they wait for others that never come, or each trains alone.

## What to do
Compare the launch lines of all nodes: the same --nnodes, --nproc_per_node and rendezvous address, a
--node_rank of its own each; under SLURM start with srun. `allranks plan --render torchrun` writes them.

## Source
DeepSpeed 0.19.8 raises `node_rank is not set correctly` and `no extra nodes available via hostfile` in
`launcher/runner.py`. NCCL 2.30.7 prints `has already checked in` in `src/bootstrap.cc`. The other texts are
as people posted them in public reports.

Topic: settings
"""

from __future__ import annotations

import re
from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.differences import only_one_differs
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.ports import other_port
from allranks.diagnose.speakers import quiet_rank
from allranks.diagnose.symptom import STRONG, WEAK, Case, Hit, Pattern
from allranks.diagnose.symptoms.collective_mismatch import CAUSE as COLLECTIVE_MISMATCH
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.diagnose.symptoms.master_unreachable_firewall import CAUSE as MASTER_UNREACHABLE_FIREWALL
from allranks.diagnose.symptoms.rendezvous_timeout import CAUSE as RENDEZVOUS_TIMEOUT

CAUSE = Cause(__name__, by_comparison=True, explains=(COLLECTIVE_MISMATCH,))
_UNFIT = (COLLECTIVE_MISMATCH.id,)
_APART = (RENDEZVOUS_TIMEOUT.id, COLLECTIVE_TIMEOUT_STRAGGLER.id)
_OF_WORLD = re.compile(r"(?i)nnodes|world[_ ]?size|nproc")
_UNREACHED = (RENDEZVOUS_TIMEOUT.id, MASTER_UNREACHABLE_FIREWALL.id)
_WAITS = re.compile(
    r"wait timeout after \d{1,12}ms, keys: /default_pg/\d{1,9}//\w{1,20}//\d{1,9}/(\d{1,7})\b"
)
"""Gloo's ranks write their addresses to the store under such keys, which end with the rank."""

FEWEST = 2
"""So many ranks must have begun to work together."""

MANY = 8
"""With this many clients wanted and one joined, no launcher started the others (the signatures' 1/16)."""
CLAIM = Claim(
    subject=(
        r"(?i:\b(?:process group|torch\.distributed|distributed (?:environment|backend|package)"
        r"|torch distributed)\b.{0,60}"
        r"(?:not|n't|un)[ -]?(?:\w{1,10} )?(?:initiali[sz]ed|set ?up|started|launched)"
        r"|\bprocess group\b.{0,20}must be initiali[sz]ed)|\binit_process_group\b"
        r"|\b(?:MASTER_ADDR|MASTER_PORT|LOCAL_RANK|WORLD_SIZE)\b.{0,60}\b(?i:not|n't|missing"
        r"|unset|must|should|invalid"
        r"|expected|required|none|wrong|empty|set)\b|\b(?i:not|missing|invalid|expected"
        r"|no|set|specify|environment"
        r"|variables?|KeyError|key|find|read)\b.{0,60}\b(?:MASTER_ADDR|MASTER_PORT|LOCAL_RANK|WORLD_SIZE)\b"
        r"|(?i:\b(?:find|get|determine|detect|infer|know) (?:any |the |its |my )?(?:local "
        r"|global |node )?rank\b"
        r"|\bnum(?:ber)?[_ ](?:of[_ ])?(?:processes|nodes|machines|tasks|hosts)\b|\bn(?:nodes"
        r"|tasks)\b|\bnode_?rank\b"
        r"|\b(?:available|enough|total|more) slots\b|\bprocess(?:es)? (?:number|count)\b|\bnumber of slots)"
    ),
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\b(?:enough|available|total|few|more) (?:available )?slots\b|\benough (?:node entries"
        r"|available slots)"
        r"|\bjob failed to map\b|\bmpirun cannot map|\bspawn more processes than|\bmore processes (?:requested"
        r"|than)"
    ),
    hints=(
        r"(?i)\bworld ?size|\bTF_CONFIG\b|\bnproc\w{0,12}|\bnnodes\b|\bnode_?rank|\bhostfile"
        r"|\bslots\b|\blocal_?rank\b"
        r"|\binvalid device ordinal|\bnum_(?:gpus|processes|machines|nodes)\b|\bnumber of (?:processes"
        r"|nodes|gpus|slots)"
    ),
)
PATTERNS = (
    Pattern("Hostfile contains a bad entry", weight=92),  # DeepSpeed
    Pattern(
        "environment variable",
        r"environment variable `?'?(?:(?:NODE_|LOCAL_)?RANK|(?:LOCAL_)?WORLD_SIZE|MASTER_(?:ADDR"
        r"|PORT))\b.{0,20}"
        r"\bnot set",
        weight=90,
    ),
    Pattern("not enough slots available in the system", weight=90),  # Open MPI: -np against the host file
    Pattern("allocated for this job are already filled", weight=90),  # Open MPI
    Pattern("node_rank is not set correctly"),
    Pattern("run.py: error:", r"\brun\.py: error: .{1,300}"),
    Pattern("no extra nodes available via hostfile"),
    Pattern("invalid device ordinal", weight=90),
    Pattern(
        "MisconfigurationException",
        r"You requested gpu|devices|num_nodes|number of GPUs",
        weight=88,
        without=("TPU",),
    ),
    Pattern("number of devices must be", r"either a multiple of", weight=94),
    Pattern("Invalid rank", r"[Ii]nvalid rank \d{1,12}, rank should be in the interval"),
    Pattern("has already checked in", r"(?:rank (?P<rank>\d{1,7}) of \d{1,7} ranks )?has already checked in"),
    Pattern("KeyError", r"KeyError: '(?:RANK|LOCAL_RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT)'", raised=True),
    Pattern("is larger than the number of GPUs"),
    Pattern(
        "environment variable not set",
        r"(?:RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT) environment variable not set",
    ),
    Pattern("nproc_per_node", r"(?i)nproc.{0,40}(?:exceed|greater than|larger than)"),
    Pattern(
        "environment variable",
        r"expected, but not set.{0,20}|environment variable (?:RANK|WORLD_SIZE|MASTER_ADDR"
        r"|MASTER_PORT) expected",
        raised=True,
    ),
)


def judge(seen: Evidence) -> Optional[Case]:
    """Six more cases. A process looks for its store at another port. Nodes log different world sizes. Only one of many
    processes joined a rendezvous. Too many processes came to a barrier. A rank shows another argument than all others.
    A rank waits for one that the others do not count."""
    case = seen.case("launch-args-mismatch")
    if case is not None and case.weight > WEAK:
        return case
    other = other_port(seen)
    if other is not None:
        found = [h for s in _UNREACHED for h in seen.hits.get(s, ()) if str(other.port) in h.line.text]
        notes = (
            f"one process looks for its store at port {other.port}, the others wait at port {other.others}",
        )
        return Case("launch-args-mismatch", STRONG, tuple(found[:4]), "likely", rank=other.rank, notes=notes)
    joined = [h for h in seen.hits.get(RENDEZVOUS_TIMEOUT.id, ()) if h.group("joined") is not None]
    if joined and all(h.group("joined") == "1" and int(h.group("wanted") or 0) >= MANY for h in joined):
        why = "One process joined of many: the launcher started no other."
        return Case("launch-args-mismatch", STRONG, tuple(joined), "likely", why=why)
    crowded = [h for h in seen.hits.get(RENDEZVOUS_TIMEOUT.id, ()) if _too_many(h) and not seen.survived(h)]
    if crowded:
        why = "More processes came to the barrier than the world has: some belong to another launch, or count wrongly."
        return Case("launch-args-mismatch", STRONG, tuple(crowded), "likely", why=why)
    sizes = {node: min(s) for node, s in seen.world_sizes.items() if node is not None and len(s) == 1}
    if len(set(sizes.values())) > 1 and (joined or seen.blamers() or seen.hits.get(RENDEZVOUS_TIMEOUT.id)):
        notes = tuple(f"{node}: world size {size}" for node, size in sorted(sizes.items())[:4])
        return Case("launch-args-mismatch", STRONG, tuple(joined[:1]), "likely", notes=notes)
    return _told_by_arguments(seen) or _waits_for_nobody(seen) or case


def _told_by_arguments(seen: Evidence) -> Optional[Case]:
    """The ranks do not fit together, and only one of them shows another argument."""
    other = only_one_differs(seen)
    if other is None or not other.is_of_launch:
        return None
    names = (*_UNFIT, *_APART) if _OF_WORLD.search(other.said) is not None else _UNFIT
    hits = [h for s in names for h in seen.hits.get(s, ()) if not seen.survived(h)]
    if not hits:
        return None
    return Case(CAUSE.id, STRONG + 1, tuple(hits[:4]), "likely", rank=other.rank, notes=(other.note,))


def _waits_for_nobody(seen: Evidence) -> Optional[Case]:
    """A process waits at the start for the address of a rank, while others, which need all addresses too, have begun to
    work together: it counts more ranks than they do."""
    if any(source.again[0] or source.agent[0] for source in seen.sources.values()):
        return None  # the others may have been of an earlier attempt
    late = seen.hits.get(COLLECTIVE_TIMEOUT_STRAGGLER.id, ())
    waits = [(h, found) for h in late for found in [_WAITS.search(h.line.text)] if found is not None]
    waited = {int(found.group(1)) for _, found in waits}
    at_work = {h.line.rank for h in late if h.line.rank is not None} - {h.line.rank for h, _ in waits}
    if len(waited) != 1 or waited <= at_work or len(at_work) < FEWEST:
        return None
    hits = tuple(hit for hit, _ in waits[:4])
    rank = seen.rank_of(hits[0].line)
    rank = quiet_rank(seen) if rank is None else rank
    if rank in {h.line.rank for h in late if h not in hits and h.line.rank is not None}:
        return None  # it was started again
    why = "It waits for a rank that the others do not count: they began to work together without it."
    return Case(CAUSE.id, STRONG, hits, "likely", rank=rank, why=why)


def _too_many(hit: Hit) -> bool:
    return int(hit.group("count") or 0) > int(hit.group("size") or hit.group("count") or 0)
