"""What the hooks do when a library comes, with stand-ins for the libraries."""

from __future__ import annotations

import json
import types

import pytest

from allranks.core.rank_events import Gpu, Settings
from allranks.worker import (
    data_loading,
    deepspeed_hooks,
    gpu,
    guard,
    model_loading,
    moe,
    rank_identity,
    save_events,
    saver_hooks,
    settings,
    torch_hooks,
    transformers_hooks,
)
from allranks.worker.losses import Losses
from allranks.worker.rank_reporter import Rank


@pytest.fixture(autouse=True)
def no_trouble():
    del guard.TROUBLE[:]
    yield
    assert guard.TROUBLE == []


def a_rank(**more: str) -> Rank:
    environment = {"ALLRANKS_RUN_ID": "r", "ALLRANKS_NODE": "n", "RANK": "3", "LOCAL_RANK": "1", **more}
    found = rank_identity.here(environment)
    assert found is not None
    return Rank(found)


def test_shards_are_counted_while_a_model_is_read():
    seen = []
    rank = a_rank()

    class PreTrainedModel:
        @classmethod
        def from_pretrained(cls, name):
            seen.append(rank.phase)
            return cls._load_pretrained_model(cls(), None, ["a.safetensors", "b.safetensors"])

        @staticmethod
        def _load_pretrained_model(model, state, checkpoint_files):
            for file in checkpoint_files:
                seen.append((rank.shards, module.load_state_dict(file)))
            seen.append(rank.shards)
            return model

    module = types.SimpleNamespace(PreTrainedModel=PreTrainedModel, load_state_dict=lambda file: file[0])
    model_loading.on_modeling(rank, module)
    made = type("Mine", (PreTrainedModel,), {}).from_pretrained("x")
    assert type(made).__name__ == "Mine"
    assert seen == ["loading", ((0, 2), "a"), ((1, 2), "b"), (2, 2)]
    assert rank.shards is None and rank.phase == "preparing"


def test_the_newest_progress_bar_is_told_until_it_is_closed():
    class Bar:
        def __init__(self, disable=False, total=None, desc=""):
            self.disable, self.total, self.desc, self.n = disable, total, desc, 0

    rank = a_rank()
    model_loading.on_tqdm(rank, types.SimpleNamespace(tqdm=Bar))
    assert rank.progress() is None
    bar = Bar(total=61, desc="Loading weights: ")
    bar.n = 7
    hidden = Bar(disable=True)
    assert hidden.n == 0
    assert rank.progress() == {"what": "Loading weights", "done": 7, "total": 61}
    assert rank.phase == "preparing"
    bar.disable = True
    assert rank.progress() is None
    del bar
    assert rank.progress() is None


def test_batches_are_measured_by_their_input_ids():
    class Tensor:
        def __init__(self, *shape):
            self.shape = shape

        def dim(self):
            return len(self.shape)

        def numel(self):
            return self.shape[0] * (self.shape[1] if len(self.shape) > 1 else 1)

    assert data_loading.measure({"input_ids": Tensor(4, 64), "labels": Tensor(4, 64)}) == (4, 256)
    assert data_loading.measure((Tensor(8, 3), Tensor(8))) == (8, 0)
    assert (
        data_loading.measure([]) == (None, 0)
        and data_loading.measure(3) == (None, 0)
        and data_loading.measure({}) == (None, 0)
    )


class Scalar:
    """A loss as torch would give it."""

    def __init__(self, value, kind="cpu"):
        self.value, self.is_cpu, self.is_cuda = value, kind == "cpu", kind == "cuda"

    def numel(self):
        return 1

    def detach(self):
        return self

    def item(self):
        return self.value


def test_a_steps_loss_is_the_sum_in_a_plain_loop_and_the_mean_under_deepspeed():
    for mean, expected in ((False, 3.0), (True, 1.5)):
        rank = a_rank()
        losses = Losses(rank)
        losses.note(Scalar(1.0))
        losses.note(Scalar(2.0))
        losses.note(Scalar(9.0, "meta"))
        rank.end_step(1)
        losses.settle(mean)
        assert rank.held is not None and rank.held[1] == expected


class Number:
    """A tensor of one number on a pretended GPU, whose value arrives when its stream has come so far."""

    def __init__(self, value):
        self.value, self.is_cpu, self.is_cuda = value, False, True

    def numel(self):
        return 1

    def detach(self):
        return self

    float = detach

    def reshape(self, shape):
        return self

    def item(self):
        raise AssertionError("asking a GPU for a number waits for everything before it")

    def copy_(self, other, non_blocking):
        assert non_blocking
        self.value = other.value

    def __float__(self):
        return self.value


@pytest.fixture
def cuda(monkeypatch):
    """torch with a GPU that is as far as the test says."""
    arrived = []
    event = types.SimpleNamespace(query=lambda: bool(arrived), record=lambda: None)
    properties = types.SimpleNamespace(
        name="NVIDIA A100-SXM4-80GB", uuid="5f2c", pci_domain_id=0, pci_bus_id=0x53, pci_device_id=0
    )
    module = types.SimpleNamespace(
        arrived=arrived,
        is_initialized=lambda: True,
        is_current_stream_capturing=lambda: False,
        memory_allocated=lambda: 5,
        max_memory_allocated=lambda: 7,
        Event=lambda: event,
        current_device=lambda: 0,
        get_device_properties=lambda index: properties,
    )
    stacked = lambda values: types.SimpleNamespace(  # noqa: E731 (a stand-in for torch.stack)
        sum=lambda: Number(sum(v.value for v in values)), mean=lambda: None
    )
    torch = types.SimpleNamespace(cuda=module, stack=stacked, empty=lambda *a, **k: Number(0.0), float32=None)
    monkeypatch.setattr(guard, "loaded", {"torch": torch}.get)
    return module


def test_a_gpus_loss_is_not_waited_for_and_comes_with_its_own_step(cuda):
    rank = a_rank()
    losses = Losses(rank)
    for step, value in ((1, 4.0), (2, 3.0)):
        losses.note(Number(value))
        rank.end_step(step)
        losses.settle(False)
        rank.release()
    # The first is on its way, the second was not sampled: it is not yet time for another.
    assert [record[:2] for record in rank.records] == [[2, None]]
    assert rank.gpu_memory == {"gpu_bytes": 5, "gpu_peak_bytes": 7}
    cuda.arrived.append(True)
    losses.note(Number(2.0))
    rank.end_step(3)
    losses.settle(False)
    rank.release()
    assert [record[:2] for record in rank.records] == [[2, None], [1, 4.0], [3, None]]


def test_nothing_is_asked_of_a_gpu_that_records_a_graph(cuda):
    cuda.is_current_stream_capturing = lambda: True
    cuda.memory_allocated = None
    rank = a_rank()
    losses = Losses(rank)
    losses.note(Number(4.0))
    rank.end_step(1)
    losses.settle(False)
    rank.release()
    assert [record[:2] for record in rank.records] == [[1, None]]


def test_a_gpu_is_named_as_nvidia_smi_names_it(cuda):
    expected = {"name": "NVIDIA A100-SXM4-80GB", "uuid": "GPU-5f2c", "bus_id": "00000000:53:00.0"}
    assert gpu.identity() == expected
    rank = a_rank()
    settings.tell(rank, Settings(world_size=8))
    (_, start), (_, told) = rank.events
    assert (start.KIND, start.gpu, told.KIND, told.world_size) == ("start", Gpu(**expected), "settings", 8)
    cuda.is_initialized = lambda: False
    assert gpu.identity() is None


def test_a_scaled_loss_is_told_as_it_was_before_scaling():
    rank = a_rank()
    losses = Losses(rank)
    scaled = Scalar(65536.0)
    torch_hooks.remember(scaled, Scalar(1.0))
    losses.note(scaled)
    rank.end_step(1)
    losses.settle(False)
    assert rank.held is not None and rank.held[1] == 1.0


def test_an_engines_steps_are_counted_where_the_optimizer_moves():
    class DeepSpeedEngine:
        global_steps = 0
        micro = 0
        optimizer = object()
        module = types.SimpleNamespace(parameters=lambda: [])

        def backward(self, loss):
            return loss

        def step(self):
            self.micro += 1
            self.global_steps = self.micro // 2

        def get_lr(self):
            return [0.5]

    rank = a_rank()
    deepspeed_hooks.on_engine(rank, types.SimpleNamespace(DeepSpeedEngine=DeepSpeedEngine))
    library = types.SimpleNamespace(initialize=lambda **kwargs: (made, None, None, None))
    made = DeepSpeedEngine()
    deepspeed_hooks.on_deepspeed(rank, library)
    assert library.initialize(model=None)[0] is made
    assert rank.owner == "deepspeed" and rank.events[-1][1].KIND == "settings"
    for value in (4.0, 2.0, 1.0, 1.0):
        made.backward(Scalar(value))
        made.step()
    assert [(r[0], r[1], r[5]) for r in rank.records] == [(1, 3.0, 0.5), (2, 1.0, 0.5)]
    rank.owner = "trainer"
    made.backward(Scalar(1.0))
    made.step()
    assert len(rank.records) == 2


class PipelineStage:
    """DeepSpeed's PipelineEngine: its `train_batch` steps the optimizer itself and tells all stages the loss."""

    global_steps, num_stages = 0, 2
    optimizer = object()
    module = types.SimpleNamespace(parameters=lambda: [])

    def train_batch(self, data_iter=None):
        self.global_steps += 1
        return Scalar(5.0 - self.global_steps)


def test_a_pipelines_batch_is_a_step_and_ends_an_evaluation():
    class PipelineEngine(PipelineStage):
        pass

    rank, ended = a_rank(), []
    rank.evaluation = types.SimpleNamespace(end=lambda: ended.append(True))
    deepspeed_hooks.on_pipeline(rank, types.SimpleNamespace(PipelineEngine=PipelineEngine))
    made = PipelineEngine()
    deepspeed_hooks.initialized(rank, (made, None, None, None))
    assert [made.train_batch().value for _ in range(2)] == [4.0, 3.0]
    assert [r[:2] for r in rank.records] == [[1, 4.0], [2, 3.0]] and ended == [True, True]
    assert rank.phase == "training" and rank.step == 2
    rank.owner = "trainer"
    made.train_batch(data_iter=iter(()))
    assert len(rank.records) == 2


@pytest.mark.parametrize("name", ["num_stages", "mp_world_size"])
def test_a_stage_or_a_slice_of_a_model_is_not_compared_with_others(monkeypatch, name):
    monkeypatch.setattr(settings.digest, "trainable", lambda found: "aa")
    parameter = types.SimpleNamespace(
        numel=lambda: 7, requires_grad=True, is_floating_point=lambda: True, dtype="torch.bfloat16"
    )
    module = types.SimpleNamespace(parameters=lambda: [parameter])
    for size, expected in ((1, (7, 7, "aa")), (2, (None, None, None))):
        made = types.SimpleNamespace(module=module, **{name: size})
        found = settings.of_engine(a_rank(), made, None)
        seen = found.trainable_parameters, found.total_parameters, found.trainable_digest
        assert seen == expected


# ---- moe ----


class ModuleList(list):
    pass


class Block:
    def __init__(self, *children, **attributes):
        self.children = children
        vars(self).update(attributes)

    def modules(self):
        yield self
        for child in self.children:
            yield from child.modules()


class DeepseekV3MoE(Block):
    pass


@pytest.fixture
def libraries(monkeypatch):
    marked = []
    torch = types.SimpleNamespace(nn=types.SimpleNamespace(ModuleList=ModuleList))
    deepspeed = types.SimpleNamespace(
        utils=types.SimpleNamespace(set_z3_leaf_modules=lambda model, kinds: marked.extend(kinds))
    )
    monkeypatch.setattr(guard, "loaded", {"torch": torch, "deepspeed": deepspeed}.get)
    return marked


THREE = {"zero_optimization": {"stage": 3}}


def test_separate_experts_become_one_leaf_under_zero3(libraries):
    routed = DeepseekV3MoE(experts=ModuleList([1, 2]), gate="router")
    model = Block(Block(routed), Block(experts=ModuleList([1, 2])))
    note = moe.arrange((), {"model": model, "config": THREE})[0]
    assert libraries == [DeepseekV3MoE] and note.startswith("DeepseekV3MoE: marked as ZeRO-3 leaf")


def test_a_block_is_known_by_its_form_and_not_by_its_name(libraries):
    moe.arrange((), {"model": Block(Block(experts=ModuleList([1, 2]), router="r")), "config": THREE})
    assert libraries == [Block]


@pytest.mark.parametrize(
    ("experts", "config", "leaf"),
    [
        (ModuleList([1, 2]), {"zero_optimization": {"stage": 2}}, False),
        (ModuleList([1, 2]), None, False),
        (ModuleList([1, 2]), THREE, True),
        (ModuleList([1]), THREE, False),
        ("one tensor", THREE, False),
        (ModuleList([1, 2]), {"zero_optimization": "odd"}, False),
    ],
)
def test_nothing_else_is_marked(libraries, experts, config, leaf):
    model = Block(DeepseekV3MoE(experts=experts, gate="router", _z3_leaf=leaf))
    assert moe.arrange((), {"model": model, "config": config}) == (None, None) and libraries == []


@pytest.mark.parametrize(
    ("experts", "config", "said", "marks"),
    [
        (
            "one tensor",
            THREE,
            "is left out: no block of this model has experts of a known form.",
            False,
        ),
        (
            ModuleList([1, 2]),
            THREE,
            "is left out: this DeepSpeed's parameter coordinator is not known. Deep",
            True,
        ),
        (ModuleList([1, 2]), {"zero_optimization": {"stage": 2}}, "needs ZeRO-3.", False),
    ],
)
def test_lockstep_that_cannot_be_leaves_the_leaf_and_says_so(libraries, experts, config, said, marks):
    model = Block(DeepseekV3MoE(experts=experts, gate="router"))
    note, lockstep = moe.arrange((), {"model": model, "config": config}, "lockstep:8")
    assert note.startswith("train.experts: lockstep " + said) and lockstep is None
    assert libraries == ([DeepseekV3MoE] if marks else [])


def test_the_stage_is_found_where_deepspeed_finds_it(tmp_path):
    path = tmp_path / "ds.json"
    path.write_text(json.dumps(THREE))
    arguments = types.SimpleNamespace(deepspeed_config=str(path))
    for arguments_given in (
        {"config": THREE},
        {"config_params": THREE},
        {"config": str(path)},
        {"args": arguments},
    ):
        assert moe.stage((), arguments_given) == 3
    assert moe.stage((arguments, None), {}) == 3


# ---- trainer ----


def test_a_trainers_loss_comes_with_its_log():
    class Base:
        pass

    rank = a_rank()
    heard = transformers_hooks.callback(rank, Base)()
    state = types.SimpleNamespace(global_step=1, max_steps=9, num_train_epochs=1)
    quiet, logs = types.SimpleNamespace(should_log=False), types.SimpleNamespace(should_log=True)
    rank.begin()
    heard.on_step_end(None, state, quiet)
    state.global_step = 2
    heard.on_step_end(None, state, logs)
    assert [record[0] for record in rank.records] == [1]  # the second waits for its loss
    heard.on_log(None, state, logs, logs={"loss": "2.5", "learning_rate": 1e-4})
    heard.on_log(None, state, logs, logs={"eval_loss": 9.0})
    assert [(r[0], r[1], r[5]) for r in rank.records] == [(1, None, None), (2, 2.5, 1e-4)]


def test_a_loss_that_the_log_leaves_out_is_told():
    """transformers logs the average of the other losses in the place of a NaN."""

    class Base:
        pass

    class Trainer:
        def training_step(self, loss):
            return loss

    rank, found = a_rank(), []
    heard = transformers_hooks.callback(rank, Base)()
    trainer = type(
        "Ours", (Trainer,), {"training_step": transformers_hooks.keeping_loss(Trainer.training_step)}
    )()
    logs = types.SimpleNamespace(should_log=True)
    rank.begin()
    for step, loss in enumerate((2.0, float("nan"), float("inf"), 1.0), 1):
        assert str(trainer.training_step(loss)) == str(loss)
        state = types.SimpleNamespace(global_step=step, max_steps=9, num_train_epochs=1)
        heard.on_step_end(None, state, logs)
        heard.on_log(None, state, logs, logs={"loss": 0.0})
        found.append(str(rank.records[-1][1]))
    transformers_hooks.losses[0] = None
    assert found == ["0.0", "nan", "inf", "0.0"]


@pytest.mark.parametrize(
    ("output_dir", "more", "model", "is_due"),
    [
        ("/out/run-1", {}, {"peft_config": {}}, True),
        ("/out/../out/run-1/", {}, {"peft_config": {}}, True),
        ("out", {}, {"peft_config": {}}, False),  # the script's own folder: nobody asked for a save there
        ("/out/run-1/deeper", {}, {"peft_config": {}}, False),
        ("/out/run-1", {"ALLRANKS_REHEARSE": "0"}, {"peft_config": {}}, False),
        ("/out/run-1", {}, {}, False),
    ],
)
def test_the_first_step_is_saved_only_where_the_keeper_looks(monkeypatch, output_dir, more, model, is_due):
    for name, value in {"ALLRANKS_OUTPUT_DIR": "/out/run-1", **more}.items():
        monkeypatch.setenv(name, value)
    rehearsal = transformers_hooks.Rehearsal()
    assert rehearsal.is_due(types.SimpleNamespace(**model), output_dir) is is_due
    assert rehearsal.is_due(types.SimpleNamespace(peft_config={}), "/out/run-1") is False, "once"


def test_a_save_through_another_name_of_the_runs_folder_is_told_by_its_own(tmp_path, monkeypatch):
    """The keeper compares names: a script may resolve links, and the folder may be one."""
    (tmp_path / "scratch" / "run-1").mkdir(parents=True)
    (tmp_path / "saves").symlink_to(tmp_path / "scratch")
    own = tmp_path / "saves" / "run-1"
    monkeypatch.setenv("ALLRANKS_OUTPUT_DIR", str(own))
    told, rank = [], a_rank()
    monkeypatch.setattr(rank, "emit", told.append)
    for path in (own.resolve() / "checkpoint-1", tmp_path / "else" / "checkpoint-1"):
        save_events.finish(rank, save_events.begin(rank, path))
    assert [one.path for one in told] == [str(own / "checkpoint-1")] * 2 + [
        str(tmp_path / "else" / "checkpoint-1")
    ] * 2
    rehearsal = transformers_hooks.Rehearsal()
    assert rehearsal.is_due(types.SimpleNamespace(peft_config={}), own.resolve())


def test_a_save_of_lightning_is_told_with_its_path(tmp_path, monkeypatch):
    """It saves to memory, and writes that."""
    told = []
    rank = a_rank()
    monkeypatch.setattr(rank, "emit", told.append)
    module = types.SimpleNamespace(_atomic_save=lambda checkpoint, filepath: filepath.write_bytes(checkpoint))
    saver_hooks.on_lightning(rank, module)
    path = tmp_path / "epoch=0.ckpt"
    module._atomic_save(b"x", path)
    assert [one.path for one in told] == [str(path)] * 2
    assert told[1].inode == path.stat().st_ino


def test_a_state_of_accelerate_is_one_save_of_its_folder(tmp_path, monkeypatch):
    told = []
    rank = a_rank()
    monkeypatch.setattr(rank, "emit", told.append)

    class Accelerator:
        project_configuration = types.SimpleNamespace(automatic_checkpoint_naming=False)
        project_dir, save_iteration = str(tmp_path), 3

        def save_state(self, output_dir=None, **more):
            return save_events.begin(rank, tmp_path / "random_states_0.pkl")

    saver_hooks.on_accelerate(rank, types.SimpleNamespace(Accelerator=Accelerator))
    assert Accelerator().save_state(str(tmp_path / "epoch_1")) is None
    Accelerator.project_configuration.automatic_checkpoint_naming = True
    Accelerator().save_state()
    folders = [str(tmp_path / "epoch_1"), str(tmp_path / "checkpoints" / "checkpoint_3")]
    assert [one.path for one in told] == [folders[0]] * 2 + [folders[1]] * 2
