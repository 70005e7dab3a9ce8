from __future__ import annotations

from tests.checks.case import fires, silent


def _roce(kind: str) -> dict:
    return {
        "state": "ACTIVE",
        "layer": "Ethernet",
        "rate_gbits": 400.0,
        "gids": [{"index": 3, "gid": "::ffff:10.21.0.1", "type": kind, "interface": "ib0"}],
    }


CASES = (
    fires("h100", {"run/env/NCCL_IB_GID_INDEX": "3"}, verdict="note", saw="are InfiniBand"),
    fires(
        "h100",
        {"run/env/NCCL_IB_GID_INDEX": "3", "node-1/infiniband/devices/mlx5_0/ports/1": _roce("IB/RoCE v1")},
        node="node-1",
        verdict="block",
        saw="RoCE v1",
    ),
    silent(
        "h100",
        {
            "run/env/NCCL_IB_GID_INDEX": "3",
            **{f"*/infiniband/devices/mlx5_{n}/ports/1": {**_roce(""), "gids": []} for n in range(8)},
        },
    ),
    silent("h100"),
    silent("a100", {"run/env/NCCL_IB_GID_INDEX": "3"}),
)
