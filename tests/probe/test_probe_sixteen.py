"""1 to 3 bad nodes among 16 real ones: a sample of the simulated cases of test_probe_blame."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.harness.on_rig import RigDesk, machines
from tests.probe.test_probe_on_rig import DATA, LET_IN, connections, filtered, said
from tests.rig.rig import Rig

pytestmark = [pytest.mark.rig, pytest.mark.seldom]
OUT = ["OUTPUT", *DATA, "!", "-o", "lo", "-j", "DROP"]
INTO = ["INPUT", *DATA, "!", "-i", "lo", "-j", "DROP"]
OUT_TO_HEAD = ["OUTPUT", "-p", "tcp", "--dport", "39500", "-j", "ACCEPT"]


rig = machines(16)


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_set_of_bad_nodes(rig: Rig, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    bad = {n: chance.choice(("in", "out", "both")) for n in chance.sample(range(2, 17), seed + 1)}
    rules = {
        number: ([LET_IN, INTO] if side != "out" else []) + ([OUT_TO_HEAD, OUT] if side != "in" else [])
        for number, side in bad.items()
    }
    with filtered(rig, rules):
        answer = connections(RigDesk(rig, tmp_path))
    names = {"in": "data-ports-closed", "both": "data-ports-closed", "out": "node-cut-off"}
    assert said(answer) == {(names[side], f"node{number}") for number, side in bad.items()}
