from __future__ import annotations


def _start(rank: int, pid: int, host: str = "a", pids: str = "pid:[4026531836]") -> dict:
    data = {"pid": pid, "start_time": 7, "boot_id": "boot", "host": host, "pid_namespace": pids}
    return {"at": 1.0 + rank, "kind": "start", "node": "a", "rank": rank, "data": data}


FIRES = [{"events": [_start(0, 10), _start(1, 10)]}]

SILENT = [
    {"events": [_start(0, 10), _start(1, 11)]},
    {"events": [_start(0, 10), _start(0, 10)]},
    {"events": [_start(0, 57, pids="pid:[1]"), _start(1, 57, pids="pid:[2]")]},
    {"events": [_start(0, 57, host="pod-0", pids=""), _start(1, 57, host="pod-1", pids="")]},
]
