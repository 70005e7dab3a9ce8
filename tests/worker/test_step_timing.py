"""What counts as a rank's own time, with stand-ins for torch and for a GPU."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from typing import Any

import pytest

from allranks.worker import guard, rank_identity, step_timing
from allranks.worker.rank_reporter import Rank


class Torch:
    """torch.distributed's functions, as far as they matter: each asks `_rank_not_in_group` first."""

    def __init__(self) -> None:
        self.inner: Any = types.ModuleType("distributed_c10d")
        source = "def _rank_not_in_group(group):\n    return group == 'not mine'\n"
        for name in ("all_reduce", "barrier", "get_rank", "isend"):
            source += f"def {name}(group=None):\n    if _rank_not_in_group(group):\n        return\n"
        exec(source, vars(self.inner))
        self.module = types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: False))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Torch()
    loaded = {"torch": made.module, "torch.distributed.distributed_c10d": made.inner}
    monkeypatch.setattr(guard, "loaded", loaded.get)
    yield made
    assert guard.TROUBLE == []


@pytest.fixture
def rank(torch: Torch, clock: list[float]) -> Rank:
    found = rank_identity.here({"ALLRANKS_RUN_ID": "r", "ALLRANKS_NODE": "n", "RANK": "3", "LOCAL_RANK": "1"})
    assert found is not None
    rank = Rank(found)
    step_timing.watch(rank, lambda: False)
    rank.begin()
    return rank


def ended(rank: Rank, step: int = 1) -> float | None:
    return rank.end_step(step)[6]


def test_it_ends_where_the_first_collective_is_entered(torch, rank, clock):
    clock[0] += 2.0
    torch.inner.get_rank()  # waits for nobody
    torch.inner.all_reduce("not mine")
    clock[0] += 1.0
    torch.inner.all_reduce()
    clock[0] += 40.0  # waits for the others
    torch.inner.all_reduce()
    assert ended(rank) == 3.0
    clock[0] += 0.5
    torch.inner.barrier()
    assert ended(rank, 2) == 0.5


def test_without_a_collective_nobody_knows(torch, rank, clock):
    clock[0] += 2.0
    assert ended(rank) is None


def test_a_collective_between_two_steps_is_waited_for_and_what_follows_is_its_own(torch, rank, clock):
    """Logs, a barrier after a save, micro-batches that each meet the others."""
    clock[0] += 0.25
    torch.inner.all_reduce()
    clock[0] += 40.0
    rank.own.works()
    clock[0] += 2.0
    torch.inner.all_reduce()
    assert ended(rank) == 2.25


@pytest.mark.parametrize("phase", ["saving", "evaluating"])
def test_a_save_and_an_evaluation_belong_to_no_step(torch, rank, clock, phase):
    clock[0] += 1.0
    entered = rank.enter(phase)
    clock[0] += 30.0
    torch.inner.barrier()
    rank.leave(entered)
    clock[0] += 1.0
    torch.inner.all_reduce()
    assert ended(rank) == 2.0


def test_a_pipelines_stage_is_not_measured(torch, rank, clock):
    torch.inner.isend()
    torch.inner.all_reduce()
    assert ended(rank) is None
    torch.inner.all_reduce()
    assert ended(rank, 2) is None


def test_another_threads_collectives_are_not_the_trainings(torch, rank, clock):
    thread = threading.Thread(target=torch.inner.all_reduce)
    thread.start()
    thread.join()
    clock[0] += 2.0
    torch.inner.all_reduce()
    assert ended(rank) == 2.0


def test_a_wrapped_models_backward_pass_is_a_collective_where_it_is_not_accumulated(torch, rank, clock):
    model = types.SimpleNamespace(require_backward_grad_sync=False)
    rank.own.ddp = lambda: model
    clock[0] += 1.0
    step_timing.backward(rank.own)
    clock[0] += 1.0
    model.require_backward_grad_sync = True
    step_timing.backward(rank.own)
    clock[0] += 40.0
    assert ended(rank) == 2.0


@pytest.fixture
def cuda(torch: Torch, clock: list[float]) -> Any:
    """A GPU whose events are at the host's time, and done when the test says so."""

    class Event:
        def __init__(self, enable_timing: bool):
            assert enable_timing

        def record(self) -> None:
            self.at = clock[0]

        def query(self) -> bool:
            return module.done

        def elapsed_time(self, other: Any) -> float:
            return 1e3 * (other.at - self.at)

    module = torch.module.cuda
    module.is_initialized, module.Event, module.done = (lambda: True), Event, True
    module.is_current_stream_capturing = lambda: False
    return module


def steps(rank: Rank, clock: list[float], collective: Callable[[], None], count: int) -> list[float | None]:
    found = []
    for number in range(count):
        clock[0] += 0.25
        collective()
        clock[0] += 0.25
        found.append(ended(rank, number + 1))
    return found


def test_a_gpu_is_asked_by_its_own_events_once_a_beat_and_not_waited_for(torch, rank, clock, cuda):
    collective = torch.inner.all_reduce
    assert rank.place.beat_seconds == 1.0
    rank.begin()
    assert steps(rank, clock, collective, 4) == [0.25, None, 0.25, None]
    cuda.done = False
    assert steps(rank, clock, collective, 4) == [None] * 4
    cuda.done = True
    assert steps(rank, clock, collective, 1) == [0.25]


def test_a_gpus_graph_is_left_alone_and_a_save_spoils_the_measure(torch, rank, clock, cuda):
    cuda.is_current_stream_capturing = lambda: True
    rank.begin()
    assert steps(rank, clock, torch.inner.all_reduce, 3) == [None] * 3
    cuda.is_current_stream_capturing = lambda: False
    rank.begin()

    def saves() -> None:
        rank.leave(rank.enter("saving"))
        torch.inner.all_reduce()

    assert steps(rank, clock, saves, 6) == [None] * 6


def test_no_event_is_asked_while_a_graph_is_captured(torch, rank, clock, cuda):
    """An optimizer's step may be a part of the graph, and a question would spoil it."""
    asked = []
    rank.begin()
    clock[0] += 0.25
    torch.inner.all_reduce()
    rank.own._pair[1].query = lambda: asked.append(1) or True
    cuda.is_current_stream_capturing = lambda: True
    assert ended(rank, 1) is None and not asked
    cuda.is_current_stream_capturing = lambda: False
    assert ended(rank, 2) == 0.25 and asked


def test_events_that_cannot_be_compared_cost_no_step(torch, rank, clock, cuda):
    def refuse(self: Any, other: Any) -> float:
        raise RuntimeError("two devices")

    compared, cuda.Event.elapsed_time = cuda.Event.elapsed_time, refuse
    rank.begin()
    assert steps(rank, clock, torch.inner.all_reduce, 3) == [None] * 3 and rank.step == 3
    assert "two devices" in guard.TROUBLE.pop()
    # in streams that do not wait for each other the end may come before the start
    cuda.Event.elapsed_time = lambda self, other: -compared(self, other)
    assert steps(rank, clock, torch.inner.all_reduce, 6) == [None] * 6


def test_a_backward_passes_collectives_count_in_autograds_own_thread(torch, rank, clock):
    def from_a_hook() -> None:
        thread = threading.Thread(target=torch.inner.all_reduce)
        thread.start()
        thread.join()

    clock[0] += 1.0
    rank.own.in_backward = True
    from_a_hook()
    rank.own.in_backward = False
    clock[0] += 40.0
    assert ended(rank) == 1.0


def test_another_accelerator_is_not_measured_by_the_hosts_clock(torch, rank, clock, monkeypatch):
    torch.module.xpu = types.SimpleNamespace(is_initialized=lambda: True)
    rank.begin()
    clock[0] += 1.0
    torch.inner.all_reduce()
    assert ended(rank) is None


def test_a_wrapped_models_forward_pass_is_its_own_after_a_collective(torch, rank, clock):
    class Model:
        training, require_backward_grad_sync = True, True

        def forward(self) -> None:
            clock[0] += 1.0

    model = Model()
    rank.own.ddp = lambda: model
    seen = [False]
    model_forward = step_timing.forward(rank.own, Model.forward, lambda: seen[0])
    clock[0] += 0.5
    torch.inner.all_reduce()  # how many tokens there are
    clock[0] += 40.0
    model_forward(model)
    step_timing.backward(rank.own)
    clock[0] += 40.0
    assert ended(rank) == 1.5
    torch.inner.all_reduce()
    seen[0] = True  # dynamo traces it
    model_forward(model)
    assert rank.own.since is None
