"""Which network a plan counts with."""

from __future__ import annotations

import pytest

from allranks.core import Facts
from allranks.plan import hardware
from allranks.spec import loads


@pytest.mark.parametrize("interface", ["eth0", "eth0.100", "bond0.20.3"])
def test_the_speed_of_an_interface_is_read_whatever_its_name(interface: str) -> None:
    """A VLAN's name has dots."""
    run = loads(
        "name: x\nnodes: [10.0.0.1, 10.0.0.2]\ngpus: 8\ntrain: {command: [/t.py]}\n"
        f"network: {{interface: {interface}}}\n"
    )
    network = {"network": {"interfaces": {interface: {"speed_mbits": 10_000}}}}
    facts = {node.name: Facts(node.name, 0.0, network) for node in run.cluster.nodes}
    found = hardware._fastest(run, facts, tcp=True)
    assert found is not None and (found.bytes_per_second, found.assumed) == (1.25e9, False)
