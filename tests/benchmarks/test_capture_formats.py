"""What people publish of a machine, through the readers of facts."""

from __future__ import annotations

from allranks.node.facts import _pci, gpus, infiniband
from benchmarks import _capture_formats as formats

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
