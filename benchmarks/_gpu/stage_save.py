"""Saves of an adapter under ZeRO-3 on a GPU: stock transformers against ours (`benchmarks/save.py` with DEVICE)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks import save
from benchmarks._gpu.parts import Machine, Part

TITLE = "Saves on a GPU: an adapter under ZeRO-3 against stock's"
AIM = 1.0
"""At most this share of stock's time. The aim of 1/20 is one of several ranks, whose gathers a rank alone has not."""


def one(machine: Machine) -> dict[str, Any]:
    """One rank: what it gathers is its own."""
    size, saves = (("64", "8"), 1) if machine.tiny else (("512", "64"), 5)
    found = save.run(Path(sys.executable), size, saves, 1, machine.device, 220.0)
    shares = {
        kind: found["ours"][kind]["seconds"] / found["stock"][kind]["seconds"]
        for kind in ("adapter", "checkpoint")
    }
    met = found["equal"] and all(share <= AIM for share in shares.values())
    return {**found, "shares": shares, "met": None if machine.tiny and found["equal"] else met}


PARTS = (Part("one", one, 240.0, ("torch", "transformers", "deepspeed", "peft")),)


def table(parts: dict[str, dict[str, Any]]) -> str:
    found = parts["one"]
    rows = [
        f"A DeepSeek-V3-shaped MoE of {found['parameters']:,} parameters, LoRA r=16, one rank, ZeRO-3, bf16; medians, "
        f"in turns; the adapters are {'the same bytes' if found['equal'] else '**NOT the same bytes**'} (transformers "
        f"{found['transformers']}, DeepSpeed {found['deepspeed']}).",
        "",
        "| | stock | ours | ours against stock |",
        "|---|---|---|---|",
    ]
    for kind, share in found["shares"].items():
        stock, ours = (found[who][kind]["seconds"] for who in ("stock", "ours"))
        rows.append(f"| {kind} | {stock:.3f} s | {ours:.3f} s | {share:.2f} |")
    return "\n".join(rows)
