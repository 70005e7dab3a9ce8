"""How GPUs and network devices hang together: `nvidia-smi topo -m` and `nvidia-smi nvlink -s`."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping

from allranks.node.facts import _commands
from allranks.node.facts._reading import Reading, Unreadable

SECONDS = 20.0

RELATIONS = ("X", "SYS", "NODE", "PHB", "PXB", "PIX")
"""From far to near, of nvidia-smi's legend, besides `NV<links>`."""


def read(request: Mapping[str, Any], reading: Reading) -> None:
    if not _commands.which_anywhere("nvidia-smi"):
        reading.put("matrix", {})
        reading.put("nvlinks", {})
        return
    reading.fact("matrix", lambda: parse_matrix(_commands.output(["nvidia-smi", "topo", "-m"], 15.0)))
    reading.fact("nvlinks", lambda: parse_nvlinks(_commands.run(["nvidia-smi", "nvlink", "-s"], 15.0).out))


def parse_matrix(output: str) -> Dict[str, Dict[str, str]]:
    """Row → column → relation (`NV12`, `PIX`, …); NICs by their device's name where the legend tells it."""
    rows = [without_escapes(row) for row in output.splitlines()]
    header = next((n for n, row in enumerate(rows) if re.match(r"\s+GPU0\b", row)), None)
    if header is None:
        said = next((row.strip() for row in rows if row.strip()), "nothing")
        raise Unreadable(f"nvidia-smi topo -m said: {said[:200]}")
    columns = re.findall(r"GPU\d+|NIC\d+|mlx\w+|bnxt_re\w+|efa\w+", rows[header])
    names = dict(re.findall(r"^\s*(NIC\d+):\s*(\S+)", "\n".join(rows), re.MULTILINE))
    found: Dict[str, Dict[str, str]] = {}
    for row in rows[header + 1 :]:
        words = row.split()
        if not words or words[0] not in columns:
            continue
        cells = words[1 : len(columns) + 1]
        if len(cells) < len(columns) or not all(c in RELATIONS or re.fullmatch(r"NV\d+", c) for c in cells):
            raise Unreadable(f"nvidia-smi topo -m printed a row that cannot be read: {row.strip()[:120]}")
        found[names.get(words[0], words[0])] = {
            names.get(column, column): cell for column, cell in zip(columns, cells) if cell != "X"
        }
    return found


def parse_nvlinks(output: str) -> Dict[str, List[Any]]:
    """GPU index → GB/s of each link, None for an inactive one; empty for GPUs without NVLink."""
    found: Dict[str, List[Any]] = {}
    gpu = None
    for row in without_escapes(output).splitlines():
        head = re.match(r"GPU (\d+):", row)
        link = re.match(r"\s+Link \d+:\s*(?:(\d+(?:\.\d+)?) GB/s|<?inactive>?)", row)
        if head:
            gpu = head.group(1)
            found[gpu] = []
        elif link and gpu is not None:
            found[gpu].append(float(link.group(1)) if link.group(1) else None)
    return found


def without_escapes(text: str) -> str:
    """nvidia-smi underlines its header also if no terminal reads it."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
