from __future__ import annotations


def _start(rank: int, host: str, uuid: str, boot_id: str) -> dict:
    data = {"pid": 100 + rank, "start_time": rank, "boot_id": boot_id, "host": host}
    data["gpu"] = {"uuid": uuid, "bus_id": "0000:53:00.0"}
    return {"at": 1.0 + rank, "kind": "start", "node": host, "rank": rank, "data": data}


FIRES = [{"events": [_start(0, "a", "GPU-1", "boot-a"), _start(1, "alias-of-a", "GPU-1", "boot-a")]}]

SILENT = [{"events": [_start(0, "a", "GPU-1", "boot-a"), _start(1, "b", "GPU-2", "boot-b")]}]
