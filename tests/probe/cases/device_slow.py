from __future__ import annotations

from dataclasses import replace

from tests.probe.case import Simulated, fires, silent

H100 = "NVIDIA H100 80GB HBM3"
USUAL, COPIED = 600e12, 2400e9


def timed(*flops: float, device: str | None = H100, copied: dict[int, float] | None = None):
    """Four ranks, one a node, with these operations a second; those that are not named have the usual."""

    def change(sim: Simulated) -> None:
        ranks = [
            replace(
                rank,
                device=device,
                flops=flops[rank.rank] if rank.rank < len(flops) else USUAL,
                copied=(copied or {}).get(rank.rank, COPIED),
            )
            for rank in sim.collectives[0].ranks
        ]
        sim.collectives = [replace(sim.collectives[0], ranks=tuple(ranks))]

    return change


CASES = (
    fires(
        timed(USUAL, 0.77 * USUAL),
        node="n1",
        verdict="warn",
        saw="of rank 1 computes at 462 TFLOP/s, the others'",
    ),
    silent(timed(USUAL, 0.79 * USUAL)),
    fires(timed(copied={2: 0.77 * COPIED}), node="n2", verdict="warn", saw="copies its memory at 1,848 GB/s"),
    silent(timed(copied={2: 0.79 * COPIED})),
    # All slow alike: only the data sheet shows it (989 TFLOP/s).
    fires(timed(*[0.32 * 989e12] * 4), verdict="note", saw="32% of its data sheet's"),
    silent(timed(*[0.34 * 989e12] * 4)),
    # A GPU that no table knows is compared with the others alone.
    silent(timed(*[1e12] * 4, device="NVIDIA Unheard 9000")),
    fires(timed(5e10, 5e10, 5e10, 0.95e10, device=None), node="n3", saw="the processor of rank 3"),
    silent(timed(5e10, 5e10, 5e10, 1.05e10, device=None)),
    silent(),
)
