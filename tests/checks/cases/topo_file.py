from __future__ import annotations

from tests.checks.case import fires, silent

GUIDES = """<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:00:00.0">
      <gpu dev="0" sm="80" rank="0" gdr="1"/>
      <gpu dev="1" sm="80" rank="1" gdr="1"/>
    </pci>
  </cpu>
</system>
"""

GOOD = """<system version="1"><cpu numaid="0" affinity="ffff" arch="x86_64" vendor="AuthenticAMD" familyid="143"
modelid="49"><pci busid="0000:07:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
<gpu dev="0" sm="80" rank="0" gdr="1"/></pci></cpu></system>"""

NAMED = {"run/env/NCCL_TOPO_FILE": "/etc/topo.xml"}


def _file(text: str | None) -> dict:
    state = {"exists": False} if text is None else {"exists": True, "bytes": len(text), "text": text}
    return {**NAMED, ("*", "storage", "files", "/etc/topo.xml"): state}


CASES = (
    fires("a100", _file(None), node="node-1", verdict="block", saw="is not there"),
    fires("a100", _file(GUIDES), saw="puts 2 devices on one PCI function"),
    fires("a100", _file("<system"), saw="is not XML"),
    fires(
        "a100", _file(GOOD.replace('class="0x030200" ', "")), saw="has a <pci> without class (0000:07:00.0)"
    ),
    fires("a100", _file(GOOD.replace("<gpu", "<other")), saw="describes no GPU"),
    silent("a100", _file(GOOD)),
    silent("a100"),
)
