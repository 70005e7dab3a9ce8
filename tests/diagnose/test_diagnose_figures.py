"""A foreign log's own figures, and which of them cannot be true of one run."""

from __future__ import annotations

import json

import pytest

from allranks import cli
from allranks.cli.planned_figures import planned_figures
from allranks.diagnose import Evidence, parse
from allranks.diagnose.figures import against, disagreements, figures, in_words

ZERO = "zero stage 3\n[INFO] partition_parameters.py: num_params = 91992, num_elems = 671.03B\n"
MEMORY = "[INFO] [utils.py:782:see_memory_usage] MA {} GB    Max_MA 53.1 GB    CA 54.0 GB    Max_CA 54 GB\n"
SUMMARY = (
    "[INFO|trainer.py:2081]   Instantaneous batch size per device = 1\n"
    "[INFO|trainer.py:2084]   Total train batch size (w. parallel, distributed & accumulation) = {}\n"
    "[INFO|trainer.py:2085]   Gradient Accumulation steps = 16\n"
    "[INFO|trainer.py:2086]   Total optimization steps = 3,100\n"
    "trainable params: 97,006,592 || all params: 671,123,425,792 || trainable%: 0.0145\n"
)


def of(text):
    seen = Evidence()
    for line in parse(text, "x.log"):
        seen.add(line)
    return seen


def test_memory_that_fits_another_number_of_ranks():
    seen = of("world_size: 24\n" + ZERO + MEMORY.format("39.45"))
    (told,) = disagreements(seen)
    assert told.startswith("MA 39.45 GB fits 32 ranks, not 24")
    assert disagreements(of("world_size: 24\n" + ZERO + MEMORY.format("52.30"))) == []


def test_memory_without_zero_3_says_nothing():
    assert disagreements(of("world_size: 24\nnum_elems = 671.03B\n" + MEMORY.format("39.45"))) == []


def test_a_batch_that_fits_another_number_of_ranks():
    seen = of("world_size: 24\n" + SUMMARY.format("512"))
    assert disagreements(seen) == ["a total batch of 512 fits 32 ranks, not 24"]
    assert disagreements(of("world_size: 24\n" + SUMMARY.format("384"))) == []
    assert "not a multiple" in disagreements(of(SUMMARY.format("500")))[0]


@pytest.mark.parametrize(
    "says", ["sequence parallel size 2", "--context-parallel-size 4", "tensor_parallel_size: 2"]
)
def test_ranks_that_share_a_sample_do_not_add_to_the_batch(says):
    assert disagreements(of(f"world_size: 64\n{says}\n" + SUMMARY.format("512"))) == []
    assert disagreements(of("world_size: 64\nsequence parallel size 1\n" + SUMMARY.format("512"))) != []


def test_all_figures_are_read():
    found = figures(of("world_size: 24\n" + SUMMARY.format("1,384") + MEMORY.format("1.5")))
    assert found == {
        "world_size": 24, "batch_of_a_rank": 1, "batch": 1384, "accumulation": 16, "steps": 3100,
        "trainable": 97_006_592, "parameters": 671_123_425_792, "allocated_gib": 1.5, "reserved_gib": 54,
    }  # fmt: skip
    assert "trainable 97,006,592" in in_words(of(SUMMARY.format("384")))


def test_the_verb_prints_them(tmp_path, capsys):
    (tmp_path / "run.log").write_text("world_size: 24\n" + SUMMARY.format("512") + "it stops here\n")
    assert cli.main(["diagnose", str(tmp_path)]) == 3
    assert "fits 32 ranks, not 24" in capsys.readouterr().out
    assert cli.main(["diagnose", str(tmp_path), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["figures"]["batch"] == 512


TRAINER = (
    "***** Running training *****\n  Num examples = {examples:,}\n  Num Epochs = 3\n"
    "  Total train batch size (w. parallel, distributed & accumulation) = 512\n  Total optimization steps = 294\n"
)


def test_steps_that_the_examples_do_not_fill():
    assert disagreements(of(TRAINER.format(examples=50_000))) == []
    (told,) = disagreements(of(TRAINER.format(examples=200_000)))
    assert told.startswith("294 steps do not fit 200,000 examples in 3 epochs")
    evaluated = TRAINER.format(examples=50_000) + "***** Running Evaluation *****\n  Num examples = 200,000\n"
    assert disagreements(of(evaluated)) == []
    second = TRAINER.format(examples=200_000) + TRAINER.format(examples=50_000)
    assert disagreements(of(second)) == []


def test_more_memory_than_a_shard_counts_only_if_an_adapter_trains():
    more = "world_size: 32\n" + ZERO + MEMORY.format("52.30")
    assert disagreements(of(more)) == []
    (told,) = disagreements(of(more + "trainable params: 97,006,592 || all params: 671,123,425,792\n"))
    assert told.startswith("MA 52.30 GB fits 24 ranks, not 32")


def test_deepspeeds_own_figures_are_read():
    text = (
        "[launch.py:151:main] nnodes=2, num_local_procs=8, node_rank=0\n[stage3.py:130] Reduce bucket size 500000000\n"
        "[stage3.py:131] Prefetch bucket size 50000000\n[config.py:1001:print]   train_batch_size ............. 256\n"
        "[config.py:1001:print]   train_micro_batch_size_per_gpu  4\n"
        "[config.py:1001:print]   train_micro_batch_size_per_gpu .. 4\n"
        "[config.py:1001:print]   gradient_accumulation_steps .. 2\nper_device_train_batch_size ..... 9\n"
    )
    assert figures(of(text)) == {
        "launched": 16, "reduce_bucket": 500_000_000, "prefetch_bucket": 50_000_000, "batch": 256,
        "batch_of_a_rank": 4, "accumulation": 2,
    }  # fmt: skip
    assert disagreements(of(text + "dist_world_size=32\n")) == [
        "the launcher starts 16 processes, the world size is 32"
    ]


def test_torchrun_and_nccl_tell_the_world_size():
    rendezvous = "  restart_count=0\n  group_world_size=2\n  global_world_sizes=[16, 16]\n"
    assert figures(of(rendezvous))["world_size"] == 16
    groups = "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 4\na:1:2 [0] NCCL INFO comm 0x2 rank 0 nranks 16\n"
    assert figures(of(groups + "a:1:2 [0] NCCL INFO comm 0x3 rank 0 nranks 2\n"))["world_size"] == 16
    assert "world sizes differ: 1, 2" in disagreements(of("node1: world_size=1\nnode2: world_size=2\n"))


def test_figures_are_compared_with_a_plan():
    seen = of("world_size: 24\n" + SUMMARY.format("384"))
    assert against(seen, {"world_size": (24, 24), "steps": (3100, 3100), "epochs": (1, 1)}) == []
    assert against(seen, {"world_size": (32, 32), "parameters": (6e11, 6.6e11)}) == [
        "world size 24, planned 32", "parameters 671,123,425,792, planned 6e+11 to 6.6e+11",
    ]  # fmt: skip


RUN = """name: r
nodes: node-[0-2]
gpus: 8
train:
  llamafactory: {stage: sft, model_name_or_path: ./none, finetuning_type: lora, per_device_train_batch_size: 2,
    gradient_accumulation_steps: 4, max_steps: 2000}
"""


@pytest.mark.lengthy
def test_the_verb_compares_a_log_with_a_run_file(tmp_path, capsys):
    (tmp_path / "run.log").write_text("world_size: 32\n" + SUMMARY.format("512"))
    (tmp_path / "run.yaml").write_text(RUN)
    words = ["diagnose", str(tmp_path / "run.log"), "--json", "--run-file"]
    assert cli.main([*words, str(tmp_path / "run.yaml")]) == 3
    assert json.loads(capsys.readouterr().out)["disagreements"] == [
        "world size 32, planned 24", "batch 512, planned 192", "of a rank 1, planned 2", "accumulation 16, planned 4",
        "steps 3,100, planned 2,000",
    ]  # fmt: skip
    assert cli.main([*words, str(tmp_path / "none.yaml")]) == 2


@pytest.mark.lengthy
def test_the_plan_of_a_known_model_has_parameters_and_memory(root):
    found = planned_figures(str(root / "examples" / "deepseek-v3-24xa100.yaml"))
    assert found["parameters"][0] < 671_123_425_792 < found["parameters"][1]
    assert found["trainable"] == (97_006_592, 97_006_592)
    least, most = found["allocated_gib"]
    assert 39.45 < least < 52.3 < most < 80
