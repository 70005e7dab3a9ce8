from __future__ import annotations


def _sample(**disk: object) -> dict:
    return {"at": 1.0, "kind": "sample", "node": "a", "data": {"disks": [{"path": "/runs/x", **disk}]}}


FIRES = [{"events": [_sample(gone=True)], "now": 5.0}]

SILENT = [{"events": [_sample(free_bytes=0, total_bytes=1 << 30)], "now": 5.0}]
