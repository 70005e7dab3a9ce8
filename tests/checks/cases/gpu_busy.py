from __future__ import annotations

from tests.checks.case import fires, silent


def _process(**about) -> list:
    return [
        {"pid": 900, "type": "C", "name": "python", "uid": 1003, "run": None, "used_bytes": 70 << 30, **about}
    ]


CASES = (
    fires(
        "a100", {"node-1/gpus/list/3/processes": _process()}, node="node-1", verdict="block", saw="uid 1003"
    ),
    fires("a100", {"node-1/gpus/list/3/processes": _process(run="0902-a")}, node="node-1", saw="run 0902-a"),
    fires("a100", {"node-1/gpus/list/3/memory/used_bytes": 9 << 30}, node="node-1", verdict="warn"),
    fires(
        "t4",
        {"localhost/gpus/list/0/processes": _process(type="G", name="Xorg", used_bytes=9 << 20)},
        verdict="note",
    ),
    # Programs of a desktop compute a little: `C+G`.
    fires(
        "t4",
        {"localhost/gpus/list/0/processes": _process(type="C+G", name="nautilus", used_bytes=1 << 30)},
        verdict="note",
    ),
    fires(
        "t4",
        {"localhost/gpus/list/0/processes": _process(type="C+G", name="blender", used_bytes=(1 << 30) + 1)},
        verdict="block",
    ),
    silent("a100"),
    # GPU 7 is not used by four ranks a node.
    silent(
        "a100",
        {
            "node-1/gpus/list/7/processes": _process(),
            "run/cluster/nodes/0/gpus": 4,
            "run/cluster/nodes/1/gpus": 4,
            "run/cluster/nodes/2/gpus": 4,
        },
    ),
    silent("cpu", {"node-1/gpus/list": [{"processes": _process()}]}),
    fires("a100", {"node-1/gpus/list/3/memory/used_bytes": (1 << 30) + 1}, verdict="warn"),
    silent("a100", {"node-1/gpus/list/3/memory/used_bytes": 1 << 30}),
)
