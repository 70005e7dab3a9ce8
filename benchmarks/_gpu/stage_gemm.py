"""Compute of one GPU against its data sheet: a matrix product in bf16, and a copy within its memory."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from allranks.plan.hardware import gpu_named
from benchmarks._gpu.parts import Machine, Part, program

TITLE = "Compute of one GPU: a matrix product and a copy, against the data sheet"
RANK = Path(__file__).parent / "_compute_rank.py"
MARK = "allranks-probe "

BANDWIDTH = {
    "H200": 4.8e12,
    "H100": 3.35e12,
    "A100 80GB": 2.039e12,
    "A100 40GB": 1.555e12,
    "L40S": 0.864e12,
    "T4": 0.32e12,
}
"""Memory bandwidth in bytes a second, from NVIDIA's data sheets: H200 SXM, H100 SXM, A100 SXM, L40S, T4. The peaks of
the matrix product are those of the planner's table (`plan/hardware.py`, the same data sheets, dense)."""

PRODUCT_SHARE, COPY_SHARE = 0.65, 0.80
"""The least shares of the data sheet that a healthy GPU reaches. cuBLAS comes to 70 to 80 % of the dense peak on
random data (the power limit holds it below), a copy to about 90 % of the bandwidth; a slowed or damaged GPU misses
these by far."""

MOST_ERROR = 1e-2
"""Of the product in bf16 against float64: rounding to 8 bits of mantissa is 2⁻⁹ a number, and 4e-3 at the worst."""


def compute(machine: Machine) -> dict[str, Any]:
    sizes = ("256", str(1 << 20), "3") if machine.tiny else ("8192", str(8 << 30), "20")
    env = dict(zip(("SIZE", "COPY_BYTES", "REPEATS"), sizes, strict=True), DEVICE=machine.device)
    return judged(said(program([str(RANK)], env, seconds=100)), machine.gpu)


def said(output: str) -> dict[str, dict[str, Any]]:
    """What the rank said, by its `at`."""
    found = [json.loads(line[len(MARK) :]) for line in output.splitlines() if line.startswith(MARK)]
    by_name = {one["at"]: one for one in found}
    if "done" not in by_name:
        raise RuntimeError(f"the compute test did not come to its end: {output[-1000:]}")
    return by_name


def judged(told: dict[str, dict[str, Any]], gpu: str | None) -> dict[str, Any]:
    """`met` is None where there is no data sheet to hold it against: then nothing is said to be healthy."""
    product, copy = told["multiplied"], told["copied"]
    peak = getattr(gpu_named(gpu), "flops", None)
    bandwidth = bandwidth_of(gpu)
    shares = {
        "product_share": product["flops"] / peak if peak else None,
        "copy_share": copy["bytes_per_second"] / bandwidth if bandwidth else None,
    }
    right = product["error"] <= MOST_ERROR and copy["wrong"] == 0
    met: bool | None = None
    if not right:
        met = False
    elif shares["product_share"] is not None and shares["copy_share"] is not None:
        met = shares["product_share"] >= PRODUCT_SHARE and shares["copy_share"] >= COPY_SHARE
    return {
        "begun": told["begun"],
        "flops": product["flops"],
        "error": product["error"],
        "size": product["size"],
        "spread": max(product["seconds"]) / statistics.median(product["seconds"]),
        "bytes_per_second": copy["bytes_per_second"],
        "wrong": copy["wrong"],
        "peak": peak,
        "bandwidth": bandwidth,
        **shares,
        "met": met,
    }


def bandwidth_of(gpu: str | None) -> float | None:
    """The data sheet's, by the same names as the planner's table: the longest that fits."""
    known = gpu_named(gpu)
    for name in sorted(BANDWIDTH, key=len, reverse=True):
        if known is not None and known == gpu_named(name):
            return BANDWIDTH[name]
    return None


PARTS = (Part("compute", compute, 120.0, ("torch",)),)


def table(parts: dict[str, dict[str, Any]]) -> str:
    one = parts["compute"]

    def of(share: float | None) -> str:
        return "no data sheet at hand" if share is None else f"{share:.0%} of the data sheet's"

    return (
        f"- {one['size']} × {one['size']} × {one['size']} in {one['begun']['dtype'].removeprefix('torch.')}, random "
        f"data: **{one['flops'] / 1e12:.0f} TFLOP/s**, {of(one['product_share'])} (aim ≥ {PRODUCT_SHARE:.0%}); error "
        f"against float64 {one['error']:.1e}.\n"
        f"- Copy within the GPU's memory, bytes read and written: **{one['bytes_per_second'] / 1e12:.2f} TB/s**, "
        f"{of(one['copy_share'])} (aim ≥ {COPY_SHARE:.0%}); {one['wrong']} bytes wrong."
    )
