"""The series of odd but healthy runs: what is drawn, what counts, and a few of its kinds for some seconds."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from benchmarks._healthy import results, short
from benchmarks._healthy.trial import BESIDE, INSIDE, KINDS, trial

SAMPLE = ("scary-words", "closed-descriptors", "shm-full", "controller-killed")


def test_every_kind_has_words_and_a_seed_draws_the_same_again() -> None:
    assert len(KINDS) >= 25 and len({kind.__doc__ for kind in KINDS.values()}) == len(KINDS)
    for name in INSIDE:
        assert len({INSIDE[name](Random(f"{name} 3"), 3).drawn for _ in range(2)}) == 1
    for name in BESIDE:
        assert len({BESIDE[name](Random(f"{name} 3")).drawn for _ in range(2)}) == 1


def test_a_trial_counts_by_what_was_shown_and_left() -> None:
    good = {"kind": "plain", "seed": 0, "trained": True, "errors": [], "alarms": [], "left": [], "said": []}
    assert results.is_good(good) and results.cell(good) == "ok" and results.cell(None) == "–"
    assert results.cell({**good, "said": ["disk-filling node-1: full"] * 2}) == "ok (disk-filling)"
    for name in ("errors", "alarms", "left"):
        bad = {**good, name: ["rank-silent node-1: a | b"]}
        assert not results.is_good(bad) and results.cell(bad) == f"**{name}** rank-silent node-1: a b"
    assert results.cell({**good, "trouble": "no root"}) == "not made"


def test_the_first_try_and_the_last_one_are_kept_apart(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "healthy.jsonl")
    good = {"kind": "plain", "seed": 0, "trained": True, "errors": [], "alarms": [], "left": [], "said": []}
    results.keep({**good, "trouble": "no root"})
    results.keep({**good, "errors": ["over"], "trained": False})
    results.keep(good)
    page = results.page(KINDS)
    assert "1 kinds, 1 trials: **0** runs ended" in page and "the other kinds: 0 of 1 trials" in page
    assert "| nothing odd at all | ok |" in page


def test_short_runs_are_made_until_there_are_so_many() -> None:
    known = [{"short": 0}, {"short": 1, "trouble": "no root"}]
    assert short.missing(3 * short.RUNS, known) == [1, 2]


@pytest.mark.seldom
@pytest.mark.lengthy
@pytest.mark.timeout(600)
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces of its own need root")
def test_a_few_kinds_end_well_and_leave_nothing() -> None:
    with ThreadPoolExecutor(len(SAMPLE)) as threads:
        found = list(threads.map(lambda kind: trial(kind, 0, after=2.0), SAMPLE))
    for one in found:
        assert results.is_good(one) and one["trained"], one
