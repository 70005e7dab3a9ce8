"""One attempt of a run: what may follow what, and that the next attempt inherits nothing of it."""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import textwrap
from typing import Any

import pytest

from allranks.core import BLOCK, Diagnosis, Event, Finding
from allranks.core.node_events import Left
from allranks.monitor import Watch
from allranks.runs import keeper
from allranks.runs.keeper_attempt import NEXT, Attempt, State
from allranks.runs.keeper_provisional import FirstWord

ENDS = (State.FAILING, State.BLOCKED, State.LEAVING, State.ASKED)
FINDING = Finding("no-progress", BLOCK, saw="nothing moves")


def made(start: int = 0) -> Attempt:
    return Attempt(Watch({"world_size": 2}), {"start": start}, lambda said: None)


def at(state: State) -> Attempt:
    """An attempt that came to this state in its own way."""
    attempt = made()
    attempt.begin() if state is not State.PREPARING else None
    come = {
        State.FAILING: lambda: attempt.fail(5.0),
        State.BLOCKED: lambda: attempt.block(FINDING, 1.0),
        State.LEAVING: lambda: attempt.leave("spot instance"),
        State.ASKED: lambda: attempt.to(State.ASKED),
    }.get(state)
    come() if come is not None else None
    assert attempt.state is state
    return attempt


@pytest.mark.parametrize(("before", "after"), list(itertools.product(State, State)))
def test_only_what_the_table_allows_follows(before: State, after: State) -> None:
    attempt = at(before)
    assert attempt.to(after) is (after in NEXT[before])
    assert attempt.state is (after if after in NEXT[before] else before)


def test_every_state_is_reached_and_no_state_comes_twice() -> None:
    """The order in which the states stand is one in which they follow each other; so an attempt always ends."""
    order = [State.PREPARING, State.TRAINING, *ENDS]
    assert set(order) == set(NEXT) == set(State)
    for before, after in itertools.product(State, State):
        if after in NEXT[before]:
            assert order.index(before) < order.index(after)
    assert all(any(state in later for later in NEXT.values()) for state in order[1:])


def test_after_a_failure_somebodys_wish_ends_it_and_after_a_wish_no_failure_does() -> None:
    for wish in (State.LEAVING, State.ASKED):
        attempt = at(wish)
        attempt.fail(5.0)
        attempt.block(FINDING, 1.0)
        assert attempt.state is wish
    failing, blocked = at(State.FAILING), at(State.BLOCKED)
    assert failing.to(State.ASKED) and not blocked.to(State.ASKED), "it has ended already"
    assert blocked.leave("the machine goes away")


def test_a_finding_that_blocks_ends_the_wait_of_ranks_that_save() -> None:
    attempt = at(State.LEAVING)
    assert attempt.until == math.inf and not attempt.over
    attempt.block(FINDING, 1.0)
    assert attempt.until == 0.0 and attempt.why == "no-progress"


@pytest.mark.parametrize(("crashed_at", "cause"), [(3.0, "rehearsal-failed"), (1.0, "rank-crashed-first")])
def test_the_verdict_names_what_stopped_the_run_unless_it_failed_before(
    crashed_at: float, cause: str
) -> None:
    attempt = at(State.TRAINING)
    finding = Finding("rehearsal-failed", BLOCK, saw="checkpoint-1 is not whole")
    ended = Event(crashed_at, "torchrun-ended", "a", None, {"code": 1, "failures": [{"rank": 0, "code": 1}]})
    if crashed_at < 2.0:
        attempt.watch.add(ended)
    attempt.block(finding, 2.0)
    if crashed_at > 2.0:
        attempt.watch.add(ended)
    told = attempt.cause(5.0)
    assert told is not None and told.cause == cause


def test_the_ranks_are_asked_to_save_once() -> None:
    attempt = at(State.TRAINING)
    assert (
        attempt.leave("spot instance") and not attempt.leave("another") and attempt.notice == "spot instance"
    )
    assert attempt.to(State.ASKED) and not attempt.leave("too late")


def test_ranks_that_were_never_told_to_start_are_not_waited_for() -> None:
    attempt = made()
    assert attempt.leave("spot instance") and attempt.over


def test_only_the_first_sign_of_a_failure_counts_for_the_wait() -> None:
    attempt = at(State.TRAINING)
    attempt.fail(5.0)
    attempt.fail(9.0)
    assert attempt.until == 5.0


@pytest.mark.parametrize(
    ("state", "why", "over"),
    [
        (State.TRAINING, "the run failed", False), (State.FAILING, "the run failed", False),
        (State.BLOCKED, "no-progress", True), (State.LEAVING, "spot instance", False),
        (State.ASKED, "asked", True),
    ],
)  # fmt: skip
def test_why_its_ranks_are_stopped(state: State, why: str, over: bool) -> None:
    assert (at(state).why, at(state).over) == (why, over)


def test_a_sweep_of_a_torchruns_own_end_is_no_answer_to_a_stop() -> None:
    attempt = made()
    attempt.hear_swept(Event(1.0, "swept", "a", None, {"why": "torchrun ended"}))
    assert attempt.swept == set()
    attempt.hear_swept(Event(1.0, "swept", "a", None, {"why": "the run failed"}))
    assert attempt.swept == {"a"}


def test_a_node_with_processes_left_is_not_swept() -> None:
    attempt = made()
    hung = [{"pid": 7, "start_time": 70, "name": "python3", "state": "D"}]
    assert attempt.hear_swept(Event(1.0, "swept", "b", None, {"left": hung})) == (Left(**hung[0]),)
    assert attempt.swept == set() and set(attempt.left) == {"b"}
    assert not attempt.hear_swept(Event(2.0, "swept", "b", None, {"left": []}))
    assert attempt.swept == {"b"} and not attempt.left


def changed(value: Any) -> Any:
    """Another value of the same type: what an attempt may have come to."""
    if isinstance(value, dict):
        return {**value, "of this attempt": 1}
    if isinstance(value, (set, list)):
        return type(value)(["of this attempt"])
    if isinstance(value, State):
        return State.ASKED
    if isinstance(value, (bool, float, str)):
        return {bool: True, float: 5.0, str: "of this attempt"}[type(value)]
    return {"stop": 1.0} if value is None else value


def test_the_next_attempt_inherits_no_attribute() -> None:
    attempt, fresh = made(), made(1)
    alike = [name for name, value in vars(fresh).items() if not isinstance(value, (Watch, FirstWord))]
    for name in alike:
        setattr(attempt, name, changed(getattr(attempt, name)))
        if name != "start":
            assert getattr(attempt, name) != getattr(fresh, name), f"this test does not change {name}"
    following = attempt.following({"start": 1})
    assert set(vars(following)) == set(vars(fresh)), "an attribute is made after the attempt was"
    for name in alike:
        assert getattr(following, name) == getattr(fresh, name), name
    for name, value in vars(following).items():
        kept = isinstance(value, (str, float, bool, State)) or value is None
        assert kept or value is not getattr(attempt, name), f"{name} is one object in both"


def test_the_next_attempts_judge_knows_the_nodes_and_nothing_that_they_did() -> None:
    attempt = made()
    attempt.watch.add(Event(1.0, "joined", "a"))
    attempt.watch.add(Event(2.0, "start", "a", 0, {"pid": 10, "start_time": 1}))
    attempt.watch.add(Event(3.0, "rank-gone", "a", 0, {"pid": 10, "code": -9}))
    attempt.tails["a"] = {"rank-0.log": "Traceback"}
    assert attempt.cause(4.0) is not None
    following = attempt.following({"start": 1})
    assert list(following.watch.run.nodes) == ["a"] and not following.watch.run.ranks
    assert following.cause(5.0) is None and not following.watch.logs


def test_the_next_attempts_first_word_goes_where_this_ones_goes() -> None:
    said: list[Diagnosis] = []
    attempt = Attempt(Watch({}), {"start": 0}, said.append)
    attempt.following({"start": 1}).first_word.say(Diagnosis("rank-sigkilled", "likely"))
    assert [one.cause for one in said] == ["rank-sigkilled"]


def methods_of(kind: type) -> list[ast.FunctionDef]:
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    return [node for node in body.body if isinstance(node, ast.FunctionDef)]


def test_the_keeper_itself_replaces_its_attempt_and_nothing_else() -> None:
    """What another attempt must not inherit has no other place to be than the attempt, which is made anew."""
    targets = [
        node.attr
        for method in methods_of(keeper.Keeper)
        if method.name != "__init__"
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, (ast.Store, ast.Del))
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ]
    assert targets == ["attempt"]


def test_the_keeper_turns_at_one_place_alone() -> None:
    """A proof or a save that takes minutes is driven from there, and turns nobody."""
    turns = [
        method.name
        for method in methods_of(keeper.Keeper)
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and node.attr == "_turn"
    ]
    assert turns == ["run"]
