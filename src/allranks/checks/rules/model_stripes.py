"""The model's files are on few of the storage targets of a Lustre file system.

## How it is found
The stripe count of the model's weight files, by `lfs getstripe --stripe-count`, on nodes whose model folder is on
Lustre. Together they are compared with the count that NERSC recommends for a file of the model's size. A model of many
files is spread by their number alone.

## Why it matters
All ranks read the model at the same time. A storage target delivers at most its own bandwidth, so a file on one target
loads as slowly as if it were the only one.

## What to do
`lfs migrate --stripe-count N FILE` spreads a file that is there. `lfs setstripe --stripe-count N FOLDER` holds for the
files that are written into the folder later.

## Source
NERSC documentation, "Lustre File Striping Recommendations": 1 to 10 GB on 8 targets, 10 to 100 GB on 24, more than
100 GB on 72. lfs-getstripe(1), lfs-migrate(1).

Topic: storage
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.rules import model_missing
from allranks.checks.rules.model_missing import is_weights
from allranks.core.quantities import in_bytes
from allranks.core.text import plural
from allranks.core.untrusted import mapping, number

NEEDS = ("storage.model",)
UNKNOWN_BLOCKS = False
applies = model_missing.applies
KEY = "train.llamafactory.model_name_or_path"

SMALL_BYTES, SMALL_TARGETS = 10**9, 8
MEDIUM_BYTES, MEDIUM_TARGETS = 10 * 10**9, 24
LARGE_BYTES, LARGE_TARGETS = 100 * 10**9, 72


def check(context: Context) -> Findings:
    for view in context.machines:
        model = view.map("storage.model")
        counts = {name: number(count) for name, count in mapping(model.get("stripes")).items()}
        sizes = {n: number(s) or 0 for n, s in mapping(model.get("files")).items() if is_weights(n)}
        known = [int(count) for count in counts.values() if count]
        if not known:
            continue
        total, wanted = sum(sizes.values()), targets(sum(sizes.values()))
        have = sum(known) + (len(sizes) - len(known)) * min(known)
        if have < wanted:
            yield context.note(
                KEY,
                saw=f"{in_bytes(total)} of the model are on {plural(have, 'storage target')} of Lustre on {view.name}",
                expected=f"{wanted} targets",
                why="all ranks read the model at once, and few targets deliver it slowly.",
                fix=f"lfs migrate --stripe-count {-(-wanted // len(sizes))} FILE, for each weight file of the model",
            )
            return


def targets(total: float) -> int:
    """The recommended stripes of a model of this many bytes; 1 below 1 GB."""
    steps = ((LARGE_BYTES, LARGE_TARGETS), (MEDIUM_BYTES, MEDIUM_TARGETS), (SMALL_BYTES, SMALL_TARGETS))
    return next((count for least, count in steps if total >= least), 1)
