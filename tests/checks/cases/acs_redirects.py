from tests.checks.case import Unreadable, fires, silent


def behind(*bridges, kind="gpu", address="0000:07:00.0"):
    return {"address": address, "kind": kind, "above": list(bridges)}


SWITCH = [
    behind("0000:01:00.0", "0000:00:01.0"),
    behind("0000:01:01.0", "0000:00:01.0", address="0000:08:00.0"),
]

CASES = (
    fires(
        "h100",
        {
            "node-1/driver/devices": SWITCH,
            "node-1/driver/acs_redirects": ["0000:00:1c.0", "0000:01:00.0", "0000:01:01.0"],
        },
        node="node-1",
        saw="2 PCIe bridges redirect traffic between devices: 0000:01:00.0, 0000:01:01.0",
    ),
    # A GPU and an InfiniBand device, here mlx5_1.
    fires(
        "h100",
        {
            "node-1/driver/devices": [
                behind("0000:01:00.0", "0000:00:01.0"),
                behind("0000:01:01.0", "0000:00:01.0", kind="network", address="0000:01:00.0"),
            ],
            "node-1/driver/acs_redirects": ["0000:01:01.0"],
        },
        node="node-1",
    ),
    # Each GPU has a root port of its own: their traffic passes the root with and without ACS.
    silent(
        "h100",
        {
            "node-1/driver/devices": [
                behind("0000:00:01.1"),
                behind("0000:00:01.3", address="0000:08:00.0"),
            ],
            "node-1/driver/acs_redirects": ["0000:00:01.1", "0000:00:01.3"],
        },
    ),
    # Two switches below two root ports: nothing redirects below the shared switch.
    silent(
        "h100",
        {
            "node-1/driver/devices": [
                behind("0000:02:00.0", "0000:01:00.0", "0000:00:01.0"),
                behind("0000:12:00.0", "0000:11:00.0", "0000:10:01.0", address="0000:08:00.0"),
            ],
            "node-1/driver/acs_redirects": ["0000:02:00.0", "0000:12:00.0", "0000:00:01.0"],
        },
    ),
    # Above disks, USB, or a network device that is not InfiniBand alone.
    silent(
        "h100",
        {"node-1/driver/devices": SWITCH, "node-1/driver/acs_redirects": ["0000:00:1c.0", "0000:00:1d.0"]},
    ),
    silent(
        "h100",
        {
            "node-1/driver/devices": [
                *SWITCH,
                behind("0000:00:1c.0", kind="network", address="0000:22:00.0"),
            ],
            "node-1/driver/acs_redirects": ["0000:00:1c.0"],
        },
    ),
    silent("h100", {"node-1/driver/devices": SWITCH, "node-1/driver/acs_redirects": None}),
    silent(
        "t4", {"localhost/driver/devices": SWITCH[:1], "localhost/driver/acs_redirects": ["0000:01:00.0"]}
    ),
    silent("h100", {"node-1/driver/devices": SWITCH, "node-1/driver/acs_redirects": Unreadable("x")}),
)
