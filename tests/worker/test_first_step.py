"""Which phase a rank tells while its first step, a compiler or the end of a loop of the script's own goes on."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator

import pytest

from allranks.worker import compilation, deepspeed_hooks, flight_recorder, guard, rank_identity
from allranks.worker import evaluation as evaluating
from allranks.worker.rank_reporter import Rank


@pytest.fixture
def rank() -> Iterator[Rank]:
    del guard.TROUBLE[:]
    found = rank_identity.here({"ALLRANKS_RUN_ID": "r", "ALLRANKS_NODE": "n", "RANK": "3", "LOCAL_RANK": "1"})
    assert found is not None
    yield Rank(found)
    assert guard.TROUBLE == []


class Handler:
    """As torch._dynamo.callback has it: it is asked at the outermost begin and end."""

    def __init__(self):
        self.start_callbacks, self.asked = [], []

    def run_start_callbacks(self, args):
        self.asked.append(args)

    def run_end_callbacks(self, args):
        self.asked.append(args)


def test_a_compilation_is_a_phase_of_its_own_and_no_part_of_a_step(rank, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    handler = Handler()
    compilation.on_dynamo(rank, types.SimpleNamespace(callback_handler=handler))
    rank.reach("training")
    rank.begin()
    rank.wake.clear()
    handler.run_start_callbacks("frame 0")
    assert rank.phase == "compiling" and not rank.wake.is_set()  # no beat for each of a thousand short ones
    clock[0] += 40.0
    handler.run_end_callbacks("frame 0")
    assert rank.phase == "training" and handler.asked == ["frame 0", "frame 0"]
    clock[0] += 1.0
    assert rank.end_step(1)[2] == 1.0
    handler.run_end_callbacks("one that never began")
    assert rank.phase == "training"


def test_a_graph_that_is_recorded_is_not_disturbed_by_our_question(rank, monkeypatch):
    asked = []
    monkeypatch.setattr(flight_recorder, "entries", lambda: asked.append(1) or [])
    entered = rank.enter("compiling")
    flight_recorder.report(rank)
    rank.leave(entered)
    assert asked == []


def test_a_graph_that_the_script_records_itself_is_compiling(rank):
    class CUDAGraph:
        def capture_begin(self) -> str:
            return rank.phase

        def capture_end(self) -> None:
            raise RuntimeError("spoilt")

    compilation.on_graphs(rank, types.SimpleNamespace(CUDAGraph=CUDAGraph))
    graph = CUDAGraph()
    assert graph.capture_begin() == "compiling"
    with pytest.raises(RuntimeError, match="spoilt"):
        graph.capture_end()
    assert rank.phase != "compiling"
    compilation.on_graphs(rank, types.SimpleNamespace())


def test_a_forked_child_waits_for_no_lock_of_ours(rank, monkeypatch):
    """The heart may have held it at the fork, and nobody gives it back in the child."""
    rank.wake = types.SimpleNamespace(set=lambda: pytest.fail("the lock was asked for"))
    monkeypatch.setattr("os.getpid", lambda: 1)
    rank.first_step()
    rank.leave(rank.enter("saving"))
    assert rank.phase == "importing"


def test_the_build_of_an_operator_is_compiling_also_where_it_fails(rank):
    seen = []

    def load(name):
        seen.append(rank.phase)
        if name == "bad":
            raise RuntimeError("nvcc")
        return name

    module = types.SimpleNamespace(load=load)
    compilation.on_extensions(rank, module)
    assert module.load("good") == "good"
    with pytest.raises(RuntimeError, match="nvcc"):
        module.load("bad")
    assert seen == ["compiling"] * 2 and rank.phase == "importing"


@pytest.fixture
def torch(monkeypatch):
    fake = types.SimpleNamespace(is_grad_enabled=lambda: fake.grad, grad=True)
    monkeypatch.setitem(sys.modules, "torch", fake)
    return fake


def test_the_first_batch_that_is_read_with_an_optimizer_begins_the_first_step(rank, torch):
    evaluation = evaluating.Evaluation(rank)
    rank.reach("preparing")
    evaluation.fetches()  # a look at the data
    assert rank.phase == "preparing"
    rank.is_prepared = True
    torch.grad = False
    evaluation.fetches()  # an evaluation before the training
    assert rank.phase == "preparing"
    torch.grad = True
    evaluation.fetches()
    assert rank.phase == "training" and rank.step is None


def test_a_trainer_says_itself_when_it_trains(rank, torch):
    rank.has_trainer = rank.is_prepared = True
    rank.reach("preparing")
    evaluating.Evaluation(rank).fetches()
    assert rank.phase == "preparing"


def test_an_engines_first_forward_pass_begins_its_first_step(rank):
    seen = []

    class DeepSpeedEngine:
        training, optimizer, global_steps = False, object(), 0
        module = types.SimpleNamespace(parameters=lambda: [])

        def forward(self):
            seen.append(rank.phase)

        def backward(self, loss):
            return loss

        def step(self):
            self.global_steps += 1

    def initialize():
        seen.append(rank.phase)
        return made, None, None, None

    library = types.SimpleNamespace(initialize=initialize)
    deepspeed_hooks.on_engine(rank, types.SimpleNamespace(DeepSpeedEngine=DeepSpeedEngine))
    deepspeed_hooks.on_deepspeed(rank, library)
    made = DeepSpeedEngine()
    rank.reach("training")  # a script that had looked at a batch
    library.initialize()
    made.forward()  # it evaluates
    rank._base = 1
    made.forward()
    made.training = True
    made.forward()
    assert seen == ["preparing", "training", "preparing", "training"]


LOOP = """
import sys, time, torch, torch.distributed as dist, torch.utils.cpp_extension as extension
from allranks.worker import activation
rank, seen = activation.ACTIVE, []
def note(what):
    seen.append((what, rank.phase))
def compiler(graph, inputs):
    note("compiler")
    return graph.forward
class Rows(torch.utils.data.Dataset):
    def __len__(self): return 12
    def __getitem__(self, n):
        if not rank.step: note("row")
        return torch.full((4,), float(n))
dist.init_process_group("gloo", init_method="file://" + sys.argv[0] + ".store", rank=0, world_size=1)
extension._jit_compile = lambda *args, **kwargs: note("operator")
extension.load("op", [])
model = torch.nn.Linear(4, 1)
step = torch.compile(model, backend=compiler, dynamic=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
note("prepared")
for size in (2, 3):
    if size == 3:
        torch._dynamo.reset()
    for batch in torch.utils.data.DataLoader(Rows(), batch_size=size):
        step(batch).sum().backward()
        note("first step") if not rank.step else None
        optimizer.step()
note("trained")
dist.destroy_process_group()
note("destroyed")
import json
open(sys.argv[0] + ".json", "w").write(json.dumps(seen))
"""


@pytest.mark.training
def test_a_real_loop_tells_its_first_step_its_compiler_and_its_end(node):
    told = node.run(LOOP)
    assert told.code == 0, told.log + told.outside
    seen = [tuple(one) for one in json.loads((node.root / "work" / "train0.py.json").read_text())]
    assert set(seen[:2]) == {("operator", "compiling"), ("prepared", "preparing")}
    assert set(seen[2:]) == {
        ("row", "training"), ("compiler", "compiling"), ("first step", "training"), ("trained", "training"),
        ("destroyed", "done"),
    }  # fmt: skip
    # Of the second shape, too, though dynamo forgot its callbacks.
    assert seen.count(("compiler", "compiling")) == 2
    assert not [beat["trouble"] for beat in told.all("beat") if "trouble" in beat]
