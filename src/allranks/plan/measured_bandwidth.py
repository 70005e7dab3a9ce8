"""The network as `allranks probe FILE --json` measured it, in place of a line rate from a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.core.untrusted import number
from allranks.plan.hardware import Network


def network_of(document: Mapping[str, Any]) -> Network | None:
    """The best of the NCCL collectives that passed, else the slowest TCP link between two nodes; None without either.

    A collective's figure is its bus bandwidth (nccl-tests, PERFORMANCE.md), which on a ring is what leaves a node.
    One by gloo says nothing of NCCL's network; TCP does, as what sockets reach at least.
    """
    passed = [
        (rate, str(one.get("step")), one.get("ranks"))
        for one in _rows(document, "collectives")
        if one.get("passed") is True and one.get("backend") == "nccl" and (rate := _rate(one))
    ]
    if passed:
        rate, step, ranks = max(passed, key=lambda row: row[0])
        return Network("this network", rate, f"probed: {step}, {ranks} ranks", False)
    links = [
        (rate, f"{one.get('from')} to {one.get('to')}")
        for one in _rows(document, "links")
        if (rate := _rate(one))
    ]
    if not links:
        return None
    rate, pair = min(links)
    return Network("this network", rate, f"probed: the slowest link, {pair}", False)


def _rows(document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    rows = document.get(key)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _rate(row: Mapping[str, Any]) -> float:
    """Bytes per second; 0 if the value is not a positive number."""
    return max(0.0, number(row.get("bytes_per_second")) or 0.0)
