"""Driver, PCI bus, topology and InfiniBand: recorded output in, facts out."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allranks.node.facts import _pci, driver, infiniband, topology
from allranks.node.facts._reading import Reading, Unreadable

CLOSED = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24 2024\nGCC version:  gcc 11.4.0\n"
)
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (dvs-builder@x)\n"


def test_the_kernel_module():
    assert driver.parse_module(CLOSED) == {"version": "535.161.08", "open": False}
    assert driver.parse_module(OPEN) == {"version": "570.124.06", "open": True}
    with pytest.raises(Unreadable):
        driver.parse_module("GCC version: 11.4.0\n")


def test_libraries_by_the_names_of_their_real_files():
    listing = (
        "1043 libs found in cache\n"
        "\tlibcuda.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so.1\n"
        "\tlibcuda.so (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so\n"
        "\tlibcuda.so.1 (libc6) => /lib/i386-linux-gnu/libcuda.so.1\n"
        "\tlibnvidia-ml.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libnvidia-ml.so.1\n"
        "\tlibcudart.so.12 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.12\n"
    )
    found = driver.parse_ldconfig(listing, lambda path: path.split(".so")[0] + ".so.570.124.06")
    assert found == {"libcuda": ["570.124.06"], "libnvidia-ml": ["570.124.06"]}
    assert driver.parse_ldconfig("", lambda path: path) == {"libcuda": [], "libnvidia-ml": []}


def test_versions_in_what_programs_say():
    assert driver.version_in("Fabric Manager version is : 535.161.08\n") == "535.161.08"
    assert driver.version_in("gcc 11.4.0") is None
    assert driver.version_in("") is None


def test_xids_of_the_kernels_log_without_command_lines():
    log = (
        "[ 12.0] NVRM: Xid (PCI:0000:53:00): 79, pid=900, name=python --token=x, GPU has fallen off the bus.\n"
        "[ 13.0] NVRM: Xid (PCI:0000:53:00): 79, pid='<unknown>', GPU has fallen off the bus.\n"
        "[ 14.0] NVRM: Xid (PCI:0000:07:00): 13, pid=1, name=a, Graphics Exception\n"
        "[ 15.0] usb 1-1: new device\n"
    )
    first, second = driver.parse_xids(log)
    assert (first["bus_id"], first["xid"], first["count"]) == ("0000:53:00", 79, 2)
    assert second["xid"] == 13 and "name=…" in second["last"]


def test_acs_control_of_a_bridges_configuration_space():
    space = bytearray(4096)
    struct.pack_into("<I", space, 0x100, 0x0001 | 1 << 16 | 0x140 << 20)  # AER, next at 0x140
    struct.pack_into("<I", space, 0x140, 0x000D | 1 << 16)  # ACS, the last
    struct.pack_into("<HH", space, 0x144, 0xFF, 0x1D)
    assert _pci.acs_control(bytes(space)) == 0x1D
    assert _pci.acs_control(bytes(256)) is None


@given(st.binary(max_size=4096))
def test_no_configuration_space_loops_or_breaks(space):
    found = _pci.acs_control(space)
    assert found is None or 0 <= found < 1 << 16


def test_the_pci_bus(tmp_path):
    for address, vendor, kind in (
        ("0000:07:00.0", "0x10de", "0x030200"),
        ("0000:08:00.0", "0x10de", "0x068000"),
        ("0000:09:00.0", "0x15b3", "0x020700"),
        ("0000:00:1f.0", "0x8086", "0x060100"),
    ):
        folder = tmp_path / address
        folder.mkdir()
        for name, text in (("vendor", vendor), ("device", "0x20b2"), ("class", kind), ("numa_node", "-1")):
            (folder / name).write_text(text + "\n")
    found = _pci.devices(str(tmp_path))
    assert [one["kind"] for one in found] == ["gpu", "nvswitch", "network"]
    assert found[0]["numa"] == -1 and found[0]["driver"] is None and found[0]["width"] is None
    assert _pci.devices(str(tmp_path / "nowhere")) == []


@pytest.mark.parametrize(
    ("by", "count"), [("nvidia", 3), ("nouveau", 3), (None, 3), ("vfio-pci", 2), ("pci-stub", 2)]
)
def test_a_gpu_that_a_guest_has_is_none_of_the_machines(monkeypatch, by, count):
    devices = [
        {"kind": "gpu", "driver": "nvidia"},
        {"kind": "gpu", "driver": "nvidia"},
        {"kind": "gpu", "driver": by},
    ]
    devices += [{"kind": "network", "driver": "vfio-pci"}]
    monkeypatch.setattr(driver._pci, "devices", lambda: devices)
    sent = []
    driver.read({}, Reading(sent.append))
    assert {"fact": "gpus_on_bus", "value": count} in sent


@pytest.mark.parametrize(
    ("cgroups", "job"),
    [
        ("0::/system.slice/slurmstepd.scope/job_417/step_0/user/task_0\n", "417"),
        ("12:devices:/slurm/uid_1000/job_9/step_batch\n3:cpuset:/slurm/uid_1000/job_9\n", "9"),
        ("0::/system.slice/node1_slurmstepd.scope/job_417/step_0\n", "417"),
        ("0::/user.slice/user-0.slice/session-3.scope\n", None),
        ("0::/builds/job_12/run\n", None),
        ("", None),
    ],
)
def test_the_slurm_job_of_a_control_group(cgroups, job):
    assert driver.parse_job(cgroups) == job


MATRIX = (
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV12\tPXB\tSYS\t0-63\t0\t\tN/A\n"
    "GPU1\tNV12\t X \tSYS\tPXB\t64-127\t1\t\tN/A\n"
    "NIC0\tPXB\tSYS\t X \tSYS\t\t\t\t\n"
    "NIC1\tSYS\tPXB\tSYS\t X \t\t\t\t\n\nLegend:\n\n  X    = Self\n\n"
    "NIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n"
)


def test_the_topology_matrix_names_network_devices():
    found = topology.parse_matrix(MATRIX)
    assert found["GPU0"] == {"GPU1": "NV12", "mlx5_0": "PXB", "mlx5_1": "SYS"}
    assert found["mlx5_1"]["GPU1"] == "PXB"


@pytest.mark.parametrize(
    "text", ["", "Failed to initialize NVML\n", "\tGPU0\tGPU1\nGPU0\t X\n", "\tGPU0\nGPU0 ???\n"]
)
def test_another_matrix_is_unreadable(text):
    with pytest.raises(Unreadable):
        topology.parse_matrix(text)


def test_nvlinks_active_and_inactive():
    text = (
        "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n\t Link 0: 25 GB/s\n\t Link 1: 26.562 GB/s\n"
        "\t Link 2: <inactive>\nGPU 1: Tesla T4 (UUID: GPU-2)\n"
    )
    assert topology.parse_nvlinks(text) == {"0": [25.0, 26.562, None], "1": []}
    assert topology.parse_nvlinks("nothing") == {}


@given(st.text(max_size=400))
def test_no_text_breaks_the_topologys_parsers(text):
    topology.parse_nvlinks(text)
    try:
        topology.parse_matrix("\tGPU0\tGPU1\n" + text)
    except Unreadable as error:
        assert str(error)


def test_infiniband_ports(tmp_path):
    port = tmp_path / "mlx5_0" / "ports" / "1"
    (port / "gids").mkdir(parents=True)
    (port / "gid_attrs" / "types").mkdir(parents=True)
    (port / "counters").mkdir()
    for name, text in (
        ("state", "4: ACTIVE"),
        ("phys_state", "5: LinkUp"),
        ("rate", "200 Gb/sec (4X HDR)"),
        ("link_layer", "Ethernet"),
        ("gids/0", "fe80:0000:0000:0000:0000:0000:0000:0000"),
        ("gids/3", "0000:0000:0000:0000:0000:ffff:0a15:0001"),
        ("gid_attrs/types/3", "RoCE v2"),
        ("counters/link_downed", "2"),
        ("counters/symbol_error", "garbage"),
    ):
        (port / name).write_text(text + "\n")
    found = infiniband.devices(str(tmp_path))["mlx5_0"]["ports"]["1"]
    assert (found["state"], found["physical"], found["layer"]) == ("ACTIVE", "LinkUp", "Ethernet")
    assert (found["rate_gbits"], found["rate"]) == (200.0, "4X HDR")
    assert [gid["index"] for gid in found["gids"]] == [3] and found["gids"][0]["type"] == "RoCE v2"
    assert found["counters"] == {"link_downed": 2}
    assert infiniband.devices(str(tmp_path / "none")) == {}


def test_rates_that_cannot_be_read():
    assert infiniband.parse_rate("garbage") == (None, None)
    assert infiniband.parse_rate(None) == (None, None)
    assert infiniband.parse_rate("2.5 Gb/sec") == (2.5, None)
