"""The faults' benchmark: whom a fault comes to, and what of all that was said of it counts."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks import _fault_judge as judging
from benchmarks import _fault_results as results
from benchmarks._fault import HEAD, draw, line_of, victim
from benchmarks._fault_acts import ACTS
from benchmarks._fault_trial import stoppable
from benchmarks._faults import FAULTS


def outcome(name: str, node: int = 2, rank: int = 1) -> results.Outcome:
    made = results.begun("ours", name, FAULTS[name].phases[0], 0, 1)
    made.node, made.rank = node, rank
    return made


def said(at: float, name: str, node: str | None, rank: int | None = None, **more: Any) -> dict[str, Any]:
    data = {"id": name, "verdict": "warn", "where": {"node": node, "rank": rank}, **more}
    return {"at": 100.0 + at, "kind": "finding", "node": "node1", "rank": None, "data": data}


def final(at: float, cause: str, node: str, rank: int | None = None, **more: Any) -> dict[str, Any]:
    data = {"cause": cause, "where": {"node": node, "rank": rank}, **more}
    return {"at": 100.0 + at, "kind": "diagnosis", "node": "node1", "rank": None, "data": data}


def test_an_alarm_about_another_place_is_counted_and_is_no_noticing() -> None:
    made = outcome("power-off")
    judging.judge(made, [said(0.2, "loss-nan", "node1", 0), said(10.0, "node-lost", "node2")], 100.0)
    assert (made.noticed, made.named) == (10.0, 10.0)
    assert made.elsewhere == ["0.2 loss-nan node1 rank 0"]
    assert made.right_place and made.right_cause


def test_a_statement_without_a_place_blames_nobody_and_notices_nothing() -> None:
    made = outcome("sleep")
    judging.judge(made, [said(13.0, "no-progress", None)], 100.0)
    assert (made.noticed, made.elsewhere, made.right_place) == (None, [], False)


def test_a_fault_of_no_single_place_is_named_by_the_right_words_alone() -> None:
    made = outcome("apart")
    named = said(20.0, "no-progress", None, saw="Suspect: node2 and node3 do not reach each other: rank 2's")
    judging.judge(made, [said(13.0, "no-progress", None), named], 100.0)
    assert (made.noticed, made.named, made.right_cause) == (13.0, 20.0, True)


def test_a_death_counts_at_its_place_alone() -> None:
    made = outcome("sigkill")
    gone = {"kind": "rank-gone", "data": {"code": -9}}
    events = [
        {**gone, "at": 100.1, "node": "node3", "rank": 2},
        {**gone, "at": 100.4, "node": "node2", "rank": 1},
    ]
    assert not judging.judge(made, events, 100.0)
    assert made.noticed == 0.4


@pytest.mark.parametrize(
    ("fault", "right", "wrong"),
    [
        (
            "sigstop",
            said(11, "rank-silent", "node2", 1),
            said(11, "rank-holds-up", "node2", 1, saw="rank 1 holds up the others: it is at loop.py:9"),
        ),
        (
            "mismatch",
            said(11, "rank-holds-up", "node2", 1, saw="it is in broadcast number 3, the others in all_reduce"),
            said(11, "rank-silent", "node2", 1),
        ),
        (
            "loader",
            said(11, "rank-holds-up", "node2", 1, saw="it waits for its data loader at loop.py:9"),
            said(11, "no-progress", "node2", 1),
        ),
        ("oom", final(3, "cpu-oom-killed", "node2", 1), final(3, "rank-sigkilled", "node2", 1)),
        ("power-off", said(10, "node-lost", "node2"), said(10, "supervisor-lost", "node2")),
    ],
)  # fmt: skip
def test_each_fault_has_right_statements_of_its_own(fault: str, right: dict, wrong: dict) -> None:
    made = outcome(fault)
    judging.judge(made, [right], 100.0)
    assert made.right_cause
    judging.judge(made, [wrong], 100.0)
    assert made.right_place and not made.right_cause


def test_a_rank_that_sleeps_is_named_with_its_line() -> None:
    made, line = outcome("sleep"), line_of('ACTS["sleep"]')
    assert line > 0
    event = said(14, "rank-holds-up", "node2", 1)
    event["data"]["where"]["line"] = line + 1
    judging.judge(made, [event], 100.0)
    assert not made.right_cause
    event["data"]["where"]["line"] = line
    judging.judge(made, [event], 100.0)
    assert made.right_cause


def test_the_diagnosis_counts_before_an_alarm() -> None:
    made = outcome("sigkill")
    events = [said(1, "rank-sigkilled", "node2", 1), final(6, "rank-crashed-first", "node3", 2)]
    judging.judge(made, events, 100.0)
    assert (made.named, made.right_place, made.right_cause) == (1.0, False, False)


def test_three_seeds_come_to_all_nodes_and_the_head_is_spared_where_it_takes_the_keeper_along() -> None:
    for name, fault in FAULTS.items():
        for phase in fault.phases:
            for ranks in (1, 4):
                drawn = [victim(fault, name, phase, seed, ranks) for seed in range(3)]
                assert {node for node, _ in drawn} == set(fault.nodes)
                assert all(rank // ranks == node - 1 for node, rank in drawn)
    assert HEAD in FAULTS["sigkill"].nodes and HEAD not in FAULTS["power-off"].nodes


def test_rows_of_the_old_form_are_kept_and_stand_in_no_table(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "faults.jsonl"
    monkeypatch.setattr(results, "RESULTS", path)
    path.write_text(json.dumps({"by": "ours", "fault": "sigkill", "phase": "steady", "left": 0}) + "\n")
    assert results.known() == {}
    results.keep(outcome("sigkill"))
    assert len(path.read_text().splitlines()) == 2
    text = results.table(results.tries())
    assert len(results.known()) == 1 and text.count("| sigkill |") == 1
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_bench_through_its_own_ends(number: int) -> None:
    ended = []
    with pytest.raises(SystemExit) as caught, stoppable():
        try:
            os.kill(os.getpid(), number)
            time.sleep(60)
        finally:
            os.kill(os.getpid(), number)  # a second one does not cut the ends short
            ended.append(number)
    assert ended == [number] and caught.value.code == 128 + number


def test_each_kind_is_made_by_the_script_or_from_outside_and_names_lines_that_are_there() -> None:
    by_the_rig = {name for name, fault in FAULTS.items() if fault.inject is not None or fault.before}
    assert len(FAULTS) >= 45 and set(ACTS) <= set(FAULTS)
    assert set(FAULTS) - set(ACTS) <= by_the_rig
    for name, fault in FAULTS.items():
        assert fault.right or fault.goes_on, name
        for one in fault.right:
            assert not one.line or line_of(one.line) > 0, (name, one.line)


def test_the_second_series_is_drawn_by_its_number_alone_and_holds_pairs() -> None:
    series = [draw(FAULTS, number) for number in range(1, 41)]
    assert series == [draw(FAULTS, number) for number in range(1, 41)]
    pairs = [one for one in series if len(one.kinds) > 1]
    assert 5 <= len(pairs) <= 15 and len({name for one in series for name in one.kinds}) > 20
    for one in series:
        assert one.phase in FAULTS[one.kinds[0]].phases and len(set(one.places)) == len(one.kinds)
    for one in pairs:
        assert all(FAULTS[name].pairs for name in one.kinds)


def test_of_two_faults_at_once_either_is_right_with_its_own_place_and_not_with_the_others() -> None:
    made = outcome("sigkill", 2, 1)
    made.second, made.second_node, made.second_rank = "nan", 3, 2
    for event, right in (
        (final(3, "rank-sigkilled", "node2", 1), True),
        (final(3, "loss-nan", "node3", 2), True),
        (final(3, "loss-nan", "node2", 1), False),
    ):
        judging.judge(made, [event], 100.0)
        assert (made.right_place, made.right_cause) == (True, right)
    judging.judge(made, [final(3, "rank-sigkilled", "node1", 0)], 100.0)
    assert (made.right_place, made.right_cause) == (False, False)


def test_a_fault_that_must_not_disturb_may_be_told_rightly_and_of_nothing_else() -> None:
    made = outcome("run-folder", 2, 1)
    assert judging.judge(made, [said(3, "folder-gone", "node2", 1)], 100.0)
    assert not judging.judge(made, [said(3, "rank-silent", "node2", 1)], 100.0)


def test_a_trial_that_was_repeated_counts_with_its_first_try_too_and_is_marked(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "faults.jsonl")
    missed, repeated, held = results.drawn(7), results.drawn(7), results.drawn(9)
    repeated.again = "its fault is fixed"
    for one in (repeated, held):
        one.right_place = one.right_cause = True
    for one in (missed, held, repeated):
        results.keep(one)
    text = results.table(results.tries())
    firsts, newest = text.split("With the newest try")
    assert "right cause **50%**" in firsts and "- bad-json + leaves" in firsts
    assert (
        "right cause **100%**" in newest
        and "- its fault is fixed: 1 measured, 0 with the same verdict" in newest
    )
    assert "| 7: bad-json + leaves (again) |" in newest and "| 9: bad-checkpoint |" in newest


def test_the_sample_of_older_trials_stays_the_same_when_it_is_measured(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "faults.jsonl")
    for number, name in enumerate(("sigkill", "nan", "slow", "gil", "oom", "disk")):
        one = outcome(name)
        one.form = results.FORM if number == 0 else 2
        results.keep(one)
    sample = results.older(3)
    assert len({one.key for one in sample}) == 3 and "sigkill" not in {one.fault for one in sample}
    sample[0].again = "older code"
    results.keep(sample[0])
    assert [one.key for one in results.older(3)] == [one.key for one in sample]
    assert "- older code: 1 measured" in results.table(results.tries())
