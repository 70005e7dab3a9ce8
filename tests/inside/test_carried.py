"""The bytes that a node received: the named interfaces and the InfiniBand ports, whatever else there is."""

from __future__ import annotations

from pathlib import Path

from allranks.inside import carried

DEVICES = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets
    lo: 1000 1 0 0 0 0 0 0 1000 1
  eth0: 2000000000000 5 0 0 0 0 0 0 7 7
 bond0:     30 1 0 0 0 0 0 0 7 7
"""


def files(folder: Path) -> tuple[str, str]:
    devices = folder / "dev"
    devices.write_text(DEVICES)
    for name, words in (("mlx5_0", "100"), ("mlx5_1", "broken")):
        counters = folder / "ib" / name / "ports" / "1" / "counters"
        counters.mkdir(parents=True)
        (counters / "port_rcv_data").write_text(words + "\n")
    return str(devices), str(folder / "ib")


def test_the_named_interface_and_the_ports_in_octets(tmp_path: Path) -> None:
    places = files(tmp_path)
    assert carried.received({"NCCL_SOCKET_IFNAME": "=eth0"}, *places) == 2_000_000_000_000 + 400
    assert carried.received({"GLOO_SOCKET_IFNAME": "lo"}, *places) == 1000 + 400
    both = {"GLOO_SOCKET_IFNAME": "bond0", "NCCL_SOCKET_IFNAME": "=bond0"}
    assert carried.received(both, *places) == 30 + 400


def test_without_a_name_all_but_the_loopback(tmp_path: Path) -> None:
    places = files(tmp_path)
    assert carried.received({"NCCL_SOCKET_IFNAME": "eth"}, *places) == 2_000_000_000_030 + 400
    assert carried.received({"NCCL_IB_DISABLE": "1"}, *places) == 2_000_000_000_030


def test_what_cannot_be_read_is_no_number(tmp_path: Path) -> None:
    assert carried.received({}, str(tmp_path / "none"), str(tmp_path)) is None
    broken = tmp_path / "broken"
    broken.write_text("a\nb\n eth0\n lo: x y\n\n")
    assert carried.received({}, str(broken), str(tmp_path / "none")) == 0


def test_the_kernels_own_file_can_be_read() -> None:
    assert isinstance(carried.received({"GLOO_SOCKET_IFNAME": "lo"}), int)
