"""What people publish of a machine, through the readers of facts."""

from __future__ import annotations

import gzip

from allranks.node.facts import _pci, gpus, infiniband
from benchmarks import _capture_formats as formats
from benchmarks import _capture_reports as reports

SMI = """
Driver Version                            : 550.54.15
Attached GPUs                             : 1
GPU 00000000:17:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Product Architecture                  : Hopper
    Persistence Mode                      : Disabled
    MIG Mode
        Current                           : Enabled
    MIG Device
        Index                             : 0
        FB Memory Usage
            Total                         : 9856 MiB
    MIG Device
        Index                             : 1
    PCI
        Bus Id                            : 00000000:17:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 5
            Link Width
                Max                       : 16x
                Current                   : 8x
    Clocks Event Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Power Brake Slowdown       : Active
    FB Memory Usage
        Total                             : 81559 MiB
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 41
            Type                          : C
            Name                          : python train.py --key secret
            Used GPU Memory               : 512 MiB
"""

IBSTAT = """CA 'mlx5_0'
        CA type: MT4129
        Port 1:
                State: Active
                Physical state: LinkUp
                Rate: 400
                Link layer: InfiniBand
CA 'mlx5_1'
        CA type: MT4129
        Port 1:
                State: Down
                Physical state: Polling
                Rate: 10
                Link layer: InfiniBand
"""

LSPCI = """00:01.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (prog-if 00 [Normal decode])
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\tCapabilities: [148 v1] Access Control Services
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
01:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
\tNUMA node: 1
\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\tLnkSta:\tSpeed 32GT/s, Width x8 (downgraded)
"""


def test_the_text_of_nvidia_smi_is_read_as_its_xml_is():
    found = gpus.parse(formats.smi_xml(SMI))
    (gpu,) = found["list"]
    assert (found["driver"], gpu["architecture"], gpu["bus_id"]) == ("550.54.15", "Hopper", "0000:17:00.0")
    assert gpu["persistence"] is False and gpu["mig"] and gpu["mig_devices"] == 2
    assert gpu["pcie"]["width"] == 8 and gpu["pcie"]["most_width"] == 16
    assert gpu["clocks"]["slowed"] == ["hw_power_brake_slowdown", "hw_slowdown"]
    assert gpu["memory"]["total_bytes"] == 81559 << 20 and gpu["memory"]["used_bytes"] is None
    assert gpu["processes"] == [{"pid": 41, "type": "C", "name": "python", "used_bytes": 512 << 20}]


def test_ibstat_is_read_as_the_files_of_sys_are(tmp_path):
    formats.infiniband_tree(IBSTAT, tmp_path)
    found = infiniband.devices(str(tmp_path))
    ports = {name: device["ports"]["1"] for name, device in found.items()}
    assert (ports["mlx5_0"]["state"], ports["mlx5_0"]["rate_gbits"]) == ("ACTIVE", 400.0)
    assert (ports["mlx5_1"]["state"], ports["mlx5_1"]["physical"]) == ("DOWN", "Polling")
    assert found["mlx5_0"]["type"] == "MT4129" and ports["mlx5_0"]["counters"] == {}


def test_lspci_is_read_as_the_bus_is(tmp_path):
    formats.pci_tree(LSPCI, tmp_path)
    (gpu,) = _pci.gpus(str(tmp_path / "bus"))
    assert (gpu["width"], gpu["most_width"], gpu["numa"]) == ("8", "16", 1)
    assert gpu["above"] == ["0000:00:01.0"] == _pci.acs_redirects(str(tmp_path / "bus"))


def test_driver_610_appends_a_remark_to_its_versions():
    text = SMI.replace(
        "550.54.15", "610.57.04 [Deprecated; will be removed in CUDA 14.0. Use KMD Version instead]"
    )
    assert gpus.parse(formats.smi_xml(text))["driver"] == "610.57.04"


REPORT = """
uname: Linux host-7 6.5.0-17-generic #17 SMP
____________________________________________

/usr/bin/lspci -nn

02:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA102 [10de:2204] (rev a1)

____________________________________________

dmesg:

[    9.1] NVRM: API mismatch: the client has the version 525.125.06, but
[    9.1] NVRM: this kernel module has the version 515.65.01.  Please
[    9.2] NVRM: Xid (PCI:0000:02:00): 79, pid=1, GPU has fallen off the bus.
____________________________________________

*** /proc/modules
*** ls: -r--r--r-- 1 root root 0 2024-02-02 10:00:00 /proc/modules
nvidia_uvm 1540096 0 - Live 0x0
nvidia 56774656 1 nvidia_uvm, Live 0x0

____________________________________________

*** /proc/driver/nvidia/./version
*** ls: -r--r--r-- 1 root root 0 2024-02-02 10:00:00 /proc/driver/nvidia/./version
NVRM version: NVIDIA UNIX x86_64 Kernel Module  515.65.01  Wed Jul 20 14:00:58 UTC 2022

____________________________________________

/usr/bin/nvidia-smi --query

Failed to initialize NVML: Driver/library version mismatch

/usr/bin/nvidia-smi --query --unit
"""


def test_a_bug_report_tells_what_the_node_would_have_read(tmp_path):
    found = reports.facts(gzip.compress(REPORT.encode()), tmp_path)
    assert found["driver"]["modules"] == ["nvidia", "nvidia_uvm"]
    assert found["driver"]["module"] == {"version": "515.65.01", "open": False}
    assert found["driver"]["libraries"]["libcuda"] == ["525.125.06"]
    assert [one["xid"] for one in found["driver"]["xids"]] == [79]
    assert found["system"]["kernel"] == "6.5.0-17-generic"
    assert "version mismatch" in found["gpus"]["failed"]
    assert [one["kind"] for one in _pci.devices(str(tmp_path / "bus"))] == ["gpu"]
