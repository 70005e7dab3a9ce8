from tests.checks.case import fires, silent

LOCK = {
    "path": "/home/ubuntu/.cache/torch_extensions/py311_cpu/deepspeed_shm_comm/lock",
    "name": "deepspeed_shm_comm",
    "build": "py311_cpu",
    "uid": 1000,
    "age_seconds": 50400.0,
    "type": "ext4",
    "held_by": [],
    "sure": True,
}

HOLDER = {"pid": 4711, "uid": 1000, "name": "python", "run": "0902-a", "age_seconds": 30.0}

CASES = (
    fires(
        "cpu",
        {"node-1/extensions/locks": [LOCK]},
        node="node-1",
        verdict="block",
        saw="14 h old, and no process has it open",
    ),
    fires("cpu", {"node-1/extensions/locks": [{**LOCK, "name": "cpu_adam"}]}, verdict="warn"),
    fires("cpu", {"node-1/extensions/locks": [{**LOCK, "sure": False}]}, verdict="warn", saw="uid 1000"),
    # On shared storage the holder may be on another node.
    fires("cpu", {"*/extensions/locks": [{**LOCK, "type": "nfs4"}]}, verdict="block"),
    silent(
        "cpu",
        {
            "*/extensions/locks": [{**LOCK, "type": "nfs4"}],
            "node-2/extensions/locks": [{**LOCK, "type": "nfs4", "held_by": [HOLDER], "age_seconds": 40.0}],
        },
    ),
    silent("cpu", {"node-1/extensions/locks": [{**LOCK, "held_by": [HOLDER], "age_seconds": 40.0}]}),
    fires(
        "cpu",
        {"node-1/extensions/locks": [{**LOCK, "held_by": [HOLDER]}]},
        verdict="warn",
        saw="is held by pid 4711 (python, run 0902-a",
    ),
    silent("cpu", {"node-1/extensions/locks": [{**LOCK, "build": "py310_cpu"}]}),
    silent("cpu"),
    fires(
        "cpu",
        {"node-1/extensions/locks": [{**LOCK, "held_by": [HOLDER], "age_seconds": 3600.0}]},
        verdict="warn",
    ),
    silent("cpu", {"node-1/extensions/locks": [{**LOCK, "held_by": [HOLDER], "age_seconds": 3599.0}]}),
)
