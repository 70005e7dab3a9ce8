"""Checkpoints that are no adapters: known by kind, and their wholeness told without reading a pickle."""

from __future__ import annotations

import io
import json
import pickle
import zipfile

import pytest

from allranks import checkpoints
from allranks.checkpoints import kind as kinds
from allranks.checkpoints import pickle_text
from tests.checkpoints.conftest import safetensors


class Ruin:
    """What runs if anybody loads the pickle."""

    def __reduce__(self):
        return (exec, ("raise SystemExit('a pickle was loaded')",))


def torch_file(values: dict | None = None, protocol: int = 2) -> bytes:
    """A file as torch.save writes it, which must not be loaded."""
    data = pickle.dumps({**(values or {}), "ruin": Ruin()}, protocol)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/data/0", b"\1" * 4096)
        archive.writestr("archive/version", b"3\n")
    return out.getvalue()


def weights(*names: str) -> bytes:
    return safetensors({name: ("F32", (4,), b"\1" * 16) for name in names})


def hf_model(folder, shards: int = 2):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    table = {}
    for n in range(1, shards + 1):
        name = f"model-{n:05d}-of-{shards:05d}.safetensors"
        (folder / name).write_bytes(weights(f"layers.{n}.a", f"layers.{n}.b"))
        table.update({f"layers.{n}.a": name, f"layers.{n}.b": name})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": table}))


def hf_trainer(folder):
    folder = folder / "checkpoint-20"
    hf_model(folder)
    for name in ("optimizer.pt", "scheduler.pt", "training_args.bin"):
        (folder / name).write_bytes(torch_file())
    (folder / "trainer_state.json").write_text('{"global_step": 20}')
    return folder


def hf_pickled(folder):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "pytorch_model.bin").write_bytes(torch_file())


class StorageInfo:
    def __init__(self, relative_path, offset, length):
        self.relative_path, self.offset, self.length = relative_path, offset, length


def dcp(folder):
    folder.mkdir(parents=True)
    path = "__0_0.distcp"
    places = {
        1: StorageInfo(path, 0, 100),
        2: StorageInfo(path, 100, 50),
        3: StorageInfo("__1_0.distcp", 0, 80),
    }
    (folder / ".metadata").write_bytes(pickle.dumps({"storage_data": places, "ruin": Ruin()}, 4))
    (folder / "__0_0.distcp").write_bytes(b"\1" * 150)
    (folder / "__1_0.distcp").write_bytes(b"\1" * 80)


def fsdp(folder):
    """As accelerate saves it."""
    dcp(folder / "pytorch_model_fsdp_0")
    (folder / "random_states_0.pkl").write_bytes(b"x")


def deepspeed(folder, ranks=range(4), world: int = 4):
    tag = folder / "global_step12"
    tag.mkdir(parents=True)
    (folder / "latest").write_text("global_step12")
    for rank in ranks:
        name = f"zero_pp_rank_{rank}_mp_rank_00"
        (tag / f"{name}_model_states.pt").write_bytes(
            torch_file({"dp_world_size": world, "global_steps": 12})
        )
        (tag / f"bf16_{name}_optim_states.pt").write_bytes(torch_file())


def megatron(folder):
    (folder).mkdir(parents=True)
    (folder / "latest_checkpointed_iteration.txt").write_text("500\n")
    for part in ("mp_rank_00_000", "mp_rank_00_001", "mp_rank_01_000", "mp_rank_01_001"):
        (folder / "iter_0000500" / part).mkdir(parents=True)
        (folder / "iter_0000500" / part / "model_optim_rng.pt").write_bytes(torch_file())


def megatron_dist(folder):
    folder.mkdir(parents=True)
    (folder / "latest_checkpointed_iteration.txt").write_text("500")
    dcp(folder / "iter_0000500")


def lightning(folder):
    folder.mkdir(parents=True)
    file = folder / "epoch=1-step=40.ckpt"
    file.write_bytes(torch_file({"pytorch-lightning_version": "2.5.0", "epoch": 1, "global_step": 40}))
    return file


def one_file(folder):
    folder.mkdir(parents=True)
    (folder / "snapshot.pt").write_bytes(torch_file())
    return folder / "snapshot.pt"


WHOLE = [
    (hf_model, "huggingface", None),
    (hf_trainer, "huggingface", 20),
    (hf_pickled, "huggingface", None),
    (dcp, "distributed", None),
    (fsdp, "distributed", None),
    (deepspeed, "deepspeed", 12),
    (megatron, "megatron", 500),
    (megatron_dist, "megatron", 500),
    (lightning, "lightning", 40),
    (one_file, "torch-file", None),
]


@pytest.mark.parametrize(("make", "kind", "step"), WHOLE, ids=lambda value: getattr(value, "__name__", None))
def test_a_whole_one_is_known_by_its_kind(make, kind, step, tmp_path):
    path = make(tmp_path / "out") or tmp_path / "out"

    report = checkpoints.verify(str(path))

    assert (report.kind, report.whole, report.step) == (kind, True, step), report.findings
    assert report.exit_code == 0 and report.findings[0].id == "checkpoint-whole"
    assert report.can_resume is (make not in (hf_model, hf_pickled)), "only weights are nothing to go on from"


def cut(path, to: int):
    path.write_bytes(path.read_bytes()[:to])


def _trainer_state(p):
    hf_trainer(p)
    (p / "checkpoint-20" / "trainer_state.json").unlink()
    return p / "checkpoint-20"


def _optimizer(p):
    cut(hf_trainer(p) / "optimizer.pt", 500)
    return p / "checkpoint-20"


def _shard_gone(p):
    hf_model(p)
    (p / "model-00002-of-00002.safetensors").unlink()


def _shard_cut(p):
    hf_model(p)
    cut(p / "model-00002-of-00002.safetensors", 140)


def _shard_of_another(p):
    hf_model(p)
    (p / "model-00002-of-00002.safetensors").write_bytes(weights("layers.2.a", "else"))


def _index_cut(p):
    hf_model(p)
    cut(p / "model.safetensors.index.json", 40)


def _index_not_yet(p):
    hf_model(p)
    (p / "model.safetensors.index.json").unlink()


def _metadata_gone(p):
    dcp(p)
    (p / ".metadata").unlink()


def _rank_file_gone(p):
    dcp(p)
    (p / "__1_0.distcp").unlink()


def _rank_file_cut(p):
    dcp(p)
    cut(p / "__0_0.distcp", 149)


def _gap(p):
    deepspeed(p, ranks=(0, 1, 3))


def _other_nodes(p):
    deepspeed(p, ranks=(0, 1))


def _tag_gone(p):
    deepspeed(p)
    (p / "latest").write_text("../global_step12")


def _states_cut(p):
    deepspeed(p)
    cut(p / "global_step12" / "bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt", 900)


def _iteration_gone(p):
    megatron(p)
    (p / "latest_checkpointed_iteration.txt").write_text("600")


def _part_gone(p):
    megatron(p)
    (p / "iter_0000500" / "mp_rank_01_000" / "model_optim_rng.pt").unlink()


def _ckpt_cut(p):
    cut(lightning(p), 700)
    return p


def _zeros(p):
    one_file(p).write_bytes(bytes(5000))


def _empty(p):
    one_file(p).write_bytes(b"")


def _before_1_6(p):
    one_file(p).write_bytes(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.rest")


def _of_keras(p):
    p.mkdir()
    (p / "model.h5").write_bytes(b"\x89HDF\r\n\x1a\n")


def _trainer_without_its_state(p, make, *names):
    folder = p / "checkpoint-12"
    make(folder)
    for name in names:
        (folder / name).write_bytes(torch_file())
    return folder


def _zero_not_yet(p):
    return _trainer_without_its_state(p, deepspeed, "training_args.bin", "scheduler.pt", "rng_state_0.pth")


def _sharded_not_yet(p):
    return _trainer_without_its_state(p, fsdp, "scheduler.pt")


def _random_state_alone(p):
    return _trainer_without_its_state(p, hf_pickled_alone, "rng_state_0.pth")


def hf_pickled_alone(folder):
    folder.mkdir(parents=True)
    (folder / "pytorch_model.bin").write_bytes(torch_file())


def _weights_gone(p):
    folder = hf_trainer(p)
    for path in folder.glob("model*"):
        path.unlink()
    return folder


def _no_optimizer_of_zero(p):
    deepspeed(p)
    for path in p.glob("*/*optim_states.pt"):
        path.unlink()


def _hollow(p):
    hf_model(p)
    hollow = {f"layers.{n}.{name}": ("F32", (0,), b"") for n in (1, 2) for name in "ab"}
    for n in (1, 2):
        names = [name for name in hollow if name.startswith(f"layers.{n}.")]
        file = p / f"model-{n:05d}-of-00002.safetensors"
        file.write_bytes(safetensors({name: hollow[name] for name in names}))


def _other_tensor_part(p):
    deepspeed(p)
    for file in (p / "global_step12").glob("*_model_states.pt"):
        file.write_bytes(torch_file({"dp_world_size": 4, "mp_world_size": 2, "global_steps": 12}))


def _other_pipeline_stage(p):
    megatron(p)
    arguments = {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 3}
    for file in p.glob("iter_0000500/*/model_optim_rng.pt"):
        file.write_bytes(torch_file({"args": arguments}))


DAMAGED = [
    (_hollow, "adapter-ungathered", 1),
    (_other_tensor_part, "checkpoint-ranks-elsewhere", 3),
    (_other_pipeline_stage, "checkpoint-ranks-elsewhere", 3),
    (_zero_not_yet, "checkpoint-unfinished", 1),
    (_sharded_not_yet, "checkpoint-unfinished", 1),
    (_random_state_alone, "checkpoint-unfinished", 1),
    (_weights_gone, "checkpoint-shard-missing", 1),
    (_no_optimizer_of_zero, "checkpoint-shard-missing", 1),
    (_trainer_state, "checkpoint-unfinished", 1),
    (_optimizer, "checkpoint-truncated", 1),
    (_shard_gone, "checkpoint-shard-missing", 1),
    (_shard_cut, "checkpoint-truncated", 1),
    (_shard_of_another, "checkpoint-index-differs", 1),
    (_index_cut, "checkpoint-index-broken", 1),
    (_index_not_yet, "checkpoint-unfinished", 1),
    (_metadata_gone, "checkpoint-unfinished", 1),
    (_rank_file_gone, "checkpoint-shard-missing", 1),
    (_rank_file_cut, "checkpoint-truncated", 1),
    (_gap, "checkpoint-ranks-missing", 1),
    (_other_nodes, "checkpoint-ranks-elsewhere", 3),
    (_tag_gone, "checkpoint-tag-missing", 1),
    (_states_cut, "checkpoint-truncated", 1),
    (_iteration_gone, "checkpoint-tag-missing", 1),
    (_part_gone, "checkpoint-shard-missing", 1),
    (_ckpt_cut, "checkpoint-truncated", 1),
    (_zeros, "checkpoint-file-broken", 1),
    (_empty, "checkpoint-truncated", 1),
    (_before_1_6, "checkpoint-without-table", 3),
    (_of_keras, "checkpoint-kind-unknown", 3),
]


@pytest.mark.parametrize(("make", "id", "code"), DAMAGED, ids=lambda value: getattr(value, "__name__", None))
def test_damage_is_named(make, id, code, tmp_path):
    path = make(tmp_path / "out") or tmp_path / "out"

    report = checkpoints.verify(str(path))

    assert report.exit_code == code and id in [f.id for f in report.findings], report.findings


@pytest.mark.parametrize("name", ["optimizer.pt", "scheduler.pt", "random_states_0.pkl"])
def test_a_loop_of_the_users_own_needs_no_trainers_state(name, tmp_path):
    folder = tmp_path / "checkpoint-12"
    folder.mkdir()
    for each in ("model.pt", name):
        (folder / each).write_bytes(torch_file())
    assert checkpoints.verify(str(folder)).whole
    deepspeed(tmp_path / "sharded" / "checkpoint-12")
    assert checkpoints.verify(str(tmp_path / "sharded" / "checkpoint-12")).whole


def test_an_output_folder_names_the_checkpoints_in_it(tmp_path):
    dcp(tmp_path / "step-100")
    hf_model(tmp_path / "epoch_1")

    report = checkpoints.verify(str(tmp_path))

    assert [f.id for f in report.findings] == ["adapter-missing"]
    assert "epoch_1, step-100" in report.findings[0].fix


def test_a_lone_file_is_judged_by_itself(tmp_path):
    good, bad = one_file(tmp_path / "out"), tmp_path / "out" / "other.pt"
    bad.write_bytes(b"")

    assert checkpoints.verify(str(good)).whole and not checkpoints.verify(str(bad)).whole


def test_every_kind_has_a_whole_case():
    assert {name for name, _ in kinds.every()} == {kind for _, kind, _ in WHOLE} | {"safetensors-file"}


def test_a_step_may_stand_in_the_name_alone(tmp_path):
    (tmp_path / "weights_step_300.safetensors").write_bytes(weights("a"))

    report = checkpoints.verify(str(tmp_path / "weights_step_300.safetensors"))

    assert (report.kind, report.step, report.whole, report.can_resume) == (
        "safetensors-file",
        300,
        True,
        False,
    )


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_numbers_are_read_from_a_pickle_that_is_not_loaded(protocol):
    data = pickle.dumps({"step": 300, "again": {"step": 70000}, "ruin": Ruin()}, protocol)

    assert pickle_text.numbers_after(data, ("step",)) == {"step": 300}


def test_what_is_no_pickle_is_refused():
    with pytest.raises(ValueError):
        list(pickle_text.constants(b"\x80\x04\x8c\xffshort"))


@pytest.mark.parametrize(
    ("have", "count", "missing"), [((2, 3), 3, 1), ((1, 2), 3, 1), ((1,), 4, 3), ((2,), 2, 1)]
)
def test_shards_without_an_index_say_how_many_there_are(have, count, missing, tmp_path):
    """The first that is not there is named, also if it is the very first."""
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    for number in have:
        (tmp_path / f"model-{number:05d}-of-{count:05d}.safetensors").write_bytes(weights(f"a.{number}"))
    report = checkpoints.verify(str(tmp_path))
    (found,) = [one for one in report.findings if one.id == "checkpoint-shard-missing"]
    first = next(number for number in range(1, count + 1) if number not in have)
    assert found.saw == f"{missing} of the {count} shards are not there"
    assert f"model-{first:05d}-of-{count:05d}.safetensors" in str(found.where)
