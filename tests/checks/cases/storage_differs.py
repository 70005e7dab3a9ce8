from __future__ import annotations

from tests.checks.case import fires, silent


def _nfs(source: str) -> dict:
    return {
        ("*", "storage", "paths", "/home/ubuntu/runs", "type"): "nfs4",
        ("*", "storage", "paths", "/home/ubuntu/runs", "source"): source,
    }


CASES = (
    fires(
        "a100",
        {**_nfs("nas:/runs"), ("node-2", "storage", "paths", "/home/ubuntu/runs", "type"): "ext4"},
        node="node-2",
        saw="a disk of the node's own",
    ),
    fires(
        "a100",
        {**_nfs("nas:/runs"), ("node-1", "storage", "paths", "/home/ubuntu/runs", "source"): "old:/runs"},
    ),
    silent("a100", _nfs("nas:/runs")),
    silent(
        "a100",
        {
            **_nfs("nas:/runs"),
            ("node-1", "storage", "paths", "/home/ubuntu/runs", "source"): "10.0.0.9:/runs",
            ("node-1", "shared"): {"folders": {"/home/ubuntu/runs": {"writer": "node-0", "done": True}}},
        },
    ),
    silent("a100"),
)
