from __future__ import annotations

from tests.checks.case import fires, silent


def _seen(done: bool | None, **more: str) -> dict:
    return {("node-1", "shared"): {"folders": {"/nfs/runs": {"writer": "node-0", "done": done, **more}}}}


CASES = (
    fires("a100", _seen(False), node="node-1", verdict="warn", saw="is not there on node-1"),
    fires("a100", _seen(None, reason="/nfs/runs: Permission denied"), verdict="warn", saw="denied"),
    silent("a100", _seen(True)),
    silent("a100"),
)
