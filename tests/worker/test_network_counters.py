"""The bytes that a node received: the named interfaces and the InfiniBand ports, whatever else there is."""

from __future__ import annotations

from pathlib import Path

from allranks.core import procfs
from allranks.worker import network_counters

DEVICES = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets
    lo: 1000 1 0 0 0 0 0 0 1000 1
  eth0: 2000000000000 5 0 0 0 0 0 0 7 7
  eth1: 20 1 0 0 0 0 0 0 7 7
 bond0: 2000000000020 1 0 0 0 0 0 0 7 7
bond0.100: 2000000000010 1 0 0 0 0 0 0 7 7
docker0: 300 1 0 0 0 0 0 0 7 7
 veth1: 300 1 0 0 0 0 0 0 7 7
"""
BELOW = {"bond0": ["eth0", "eth1"], "bond0.100": ["bond0"], "docker0": ["veth1"]}
ETHERNET, PORTS = 2_000_000_000_020, 400


def files(folder: Path, real: tuple[str, ...] = ("eth0", "eth1")) -> tuple[str, str, str]:
    """The kernel's table, two InfiniBand ports, and sysfs: a bond of two, a VLAN on it, a bridge of a container."""
    devices = folder / "dev"
    devices.write_text(DEVICES)
    for name, words in (("mlx5_0", "100"), ("mlx5_1", "broken")):
        counters = folder / "ib" / name / "ports" / "1" / "counters"
        counters.mkdir(parents=True)
        (counters / "port_rcv_data").write_text(words + "\n")
    for name in ("lo", "eth0", "eth1", "bond0", "bond0.100", "docker0", "veth1"):
        (folder / "net" / name).mkdir(parents=True)
    for name in real:
        (folder / "net" / name / "device").mkdir()
    for above, names in BELOW.items():
        for below in names:
            (folder / "net" / above / f"lower_{below}").symlink_to(f"../{below}")
            (folder / "net" / below / f"upper_{above}").symlink_to(f"../{above}")
    return str(devices), str(folder / "ib"), str(folder / "net")


def test_the_named_interface_and_the_ports_in_octets(tmp_path: Path) -> None:
    places = files(tmp_path)
    assert network_counters.received({"NCCL_SOCKET_IFNAME": "=eth0"}, *places) == 2_000_000_000_000 + PORTS
    assert network_counters.received({"NCCL_SOCKET_IFNAME": "=eth1", "NCCL_IB_DISABLE": "1"}, *places) == 20
    both = {"GLOO_SOCKET_IFNAME": "bond0", "NCCL_SOCKET_IFNAME": "=bond0"}
    assert network_counters.received(both, *places) == ETHERNET + PORTS


def test_without_a_name_every_byte_of_hardware_is_counted_once(tmp_path: Path) -> None:
    """Not in the bond, the VLAN and the bridge again, which only pass it on."""
    places = files(tmp_path)
    assert network_counters.received({"NCCL_SOCKET_IFNAME": "eth"}, *places) == ETHERNET + PORTS
    assert network_counters.received({"NCCL_IB_DISABLE": "1"}, *places) == ETHERNET


def test_a_bond_that_is_named_with_its_members_is_counted_once(tmp_path: Path) -> None:
    places = files(tmp_path)
    named = {"GLOO_SOCKET_IFNAME": "eth0,bond0,eth1", "NCCL_IB_DISABLE": "1"}
    assert network_counters.received(named, *places) == ETHERNET


def test_a_machine_of_virtual_interfaces_alone_counts_the_lowest(tmp_path: Path) -> None:
    places = files(tmp_path, real=())
    assert network_counters.received({"NCCL_IB_DISABLE": "1"}, *places) == ETHERNET + 300


def test_the_loopback_is_nobodys_own(tmp_path: Path) -> None:
    """It carries what all programs of the machine send: no count is better than one of everybody's."""
    devices, infiniband, network = files(tmp_path)
    none = str(tmp_path / "none")
    assert network_counters.received({"GLOO_SOCKET_IFNAME": "lo"}, devices, none, network) is None
    assert network_counters.received({"GLOO_SOCKET_IFNAME": "lo"}, devices, infiniband, network) == PORTS


def test_what_cannot_be_read_is_no_number(tmp_path: Path) -> None:
    assert network_counters.received({}, str(tmp_path / "none"), str(tmp_path)) is None
    broken = tmp_path / "broken"
    broken.write_text("a\nb\n eth0\n lo: x y\n\n")
    assert network_counters.received({}, str(broken), str(tmp_path / "none")) is None


def test_the_kernels_own_table_can_be_read() -> None:
    rows = network_counters.rows_of(procfs.NET_DEV)
    assert rows is not None and "lo" in rows
