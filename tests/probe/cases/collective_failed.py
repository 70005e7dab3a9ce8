from __future__ import annotations

from dataclasses import replace

from tests.probe.case import Simulated, fires, silent


def no_torch(sim: Simulated) -> None:
    ranks = list(sim.collectives[0].ranks)
    ranks[2] = replace(
        ranks[2], code=1, reached="begun", tail="ModuleNotFoundError: No module named 'torch'\n", wrong=None
    )
    ranks[0] = replace(ranks[0], code=None, reached="imported", wrong=None)
    sim.collectives = [replace(sim.collectives[0], ranks=tuple(ranks), stopped="a rank had failed")]


def hangs(sim: Simulated) -> None:
    ranks = tuple(replace(rank, code=None, reached="joined", wrong=None) for rank in sim.collectives[0].ranks)
    sim.collectives = [
        replace(sim.collectives[0], ranks=ranks, stopped="it was not over 45 s after the last rank")
    ]


def one_behind(sim: Simulated) -> None:
    hangs(sim)
    ranks = list(sim.collectives[0].ranks)
    ranks[2] = replace(ranks[2], reached="imported")
    sim.collectives = [replace(sim.collectives[0], ranks=tuple(ranks))]


def at_a_stage(reached: str):
    def change(sim: Simulated) -> None:
        hangs(sim)
        ranks = tuple(replace(rank, reached=reached) for rank in sim.collectives[0].ranks)
        sim.collectives = [replace(sim.collectives[0], ranks=ranks)]

    return change


def two_fail(sim: Simulated) -> None:
    ranks = list(sim.collectives[0].ranks)
    ranks[1] = replace(ranks[1], code=1, reached="imported", tail="first\n", wrong=None)
    ranks[2] = replace(ranks[2], code=1, reached="joined", tail="Connection reset by peer\n", wrong=None)
    sim.collectives = [replace(sim.collectives[0], ranks=tuple(ranks), stopped="a rank had failed")]


def one_fails_and_one_is_unreached(sim: Simulated) -> None:
    two_fail(sim)
    sim.collectives = [replace(sim.collectives[0], unreached={"n3": "ssh: no route"})]


def killed(code: int):
    """n2 is killed; the others report a closed connection."""

    def change(sim: Simulated) -> None:
        ranks = [
            replace(rank, code=1, reached="joined", tail="Connection closed by peer\n", wrong=None)
            for rank in sim.collectives[0].ranks
        ]
        ranks[2] = replace(ranks[2], code=code, tail="")
        sim.collectives = [replace(sim.collectives[0], ranks=tuple(ranks), stopped="a rank had failed")]

    return change


def ends_before_done(sim: Simulated) -> None:
    ranks = list(sim.collectives[0].ranks)
    ranks[2] = replace(ranks[2], code=0, reached="begun", wrong=None)
    sim.collectives = [replace(sim.collectives[0], ranks=tuple(ranks))]


def never_reports_its_end(sim: Simulated) -> None:
    ranks = list(sim.collectives[0].ranks)
    ranks[1] = replace(ranks[1], code=None)
    sim.collectives = [replace(sim.collectives[0], ranks=tuple(ranks))]


CASES = (
    fires(no_torch, node="n2", verdict="block", saw="No module named 'torch'"),
    fires(hangs, verdict="block", saw="4 ranks reached only `joined`: it waits for the others' data"),
    fires(
        at_a_stage("computed"),
        saw="4 ranks reached only `computed`: it waits for the others at the rendezvous",
    ),
    fires(at_a_stage("nowhere"), verdict="block"),
    fires(one_behind, node="n2", saw="1 rank reached only `imported`"),
    fires(two_fail, node="n1", saw="first"),
    fires(killed(-9), node="n2", saw="rank 2 was ended by SIGKILL after `joined`", fix="OOM killer"),
    fires(killed(-11), node="n2", saw="rank 2 was ended by SIGSEGV"),
    # NCCL's watchdog aborts a rank that only waited.
    fires(killed(-6), saw="rank 0 ended with code 1 after `joined`: Connection closed by peer"),
    fires(killed(-99), node="n2", saw="rank 2 ended with code -99"),
    fires(ends_before_done, node="n2", saw="reached only `begun`: it ended with code 0 before it was done"),
    fires(never_reports_its_end, node="n1", saw="did not pass. 1 rank reached only `done`"),
    # The ranks of an unreached node explain what the others wait for.
    fires(one_fails_and_one_is_unreached, node="n3", saw="could not be watched"),
    silent(),
)
