"""Every variable, argument and DeepSpeed key of the guides that this project comes from has its line.

The two DeepSpeed files, the two torchrun commands' arguments and the environments are written down here as those
guides give them.
"""

from __future__ import annotations

import ast
import dataclasses
import json
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from allranks import checks
from allranks.checks.lint import COSTLY, DROPPED, SET, VOID, WRONG, arguments, deepspeed, variables
from allranks.core import OK, facts_from_json
from tests.checks.recorded_clusters import cluster, in_run, planned

OFFLOAD = {
    "zero_optimization": {
        "stage": 3,
        "offload_optimizer": {"device": "cpu", "pin_memory": True},
        "offload_param": {"device": "cpu", "pin_memory": True},
        "overlap_comm": True,
        "contiguous_gradients": True,
        "reduce_bucket_size": 200000000,
        "stage3_prefetch_bucket_size": 200000000,
        "stage3_param_persistence_threshold": 1000000,
        "stage3_max_live_parameters": 500000000,
        "stage3_max_reuse_distance": 500000000,
        "stage3_gather_16bit_weights_on_model_save": True,
    },
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "bf16": {"enabled": "auto"},
    "activation_checkpointing": {
        "partition_activations": True,
        "cpu_checkpointing": True,
        "contiguous_memory_optimization": True,
        "synchronize_checkpoint_boundary": False,
    },
    "communication_data_type": "bf16",
    "wall_clock_breakdown": False,
}
NO_OFFLOAD = {
    "zero_optimization": {
        "stage": 3,
        "offload_optimizer": {"device": "none"},
        "offload_param": {"device": "none"},
        "overlap_comm": True,
        "contiguous_gradients": True,
        "reduce_bucket_size": 5e8,
        "stage3_prefetch_bucket_size": 5e8,
        "stage3_param_persistence_threshold": 1e6,
        "stage3_max_live_parameters": 1e9,
        "stage3_max_reuse_distance": 1e9,
        "stage3_gather_16bit_weights_on_model_save": True,
    },
    "train_micro_batch_size_per_gpu": 1,
    "gradient_accumulation_steps": 16,
    "gradient_clipping": 1.0,
    "bf16": {"enabled": True},
    "optimizer": {
        "type": "AdamW",
        "params": {"lr": 1e-5, "betas": [0.9, 0.98], "eps": 1e-8, "weight_decay": 0.01},
    },
    "scheduler": {
        "type": "WarmupDecayLR",
        "params": {
            "warmup_min_lr": 0,
            "warmup_max_lr": 1e-5,
            "warmup_num_steps": 100,
            "total_num_steps": 2000,
        },
    },
    "zero_allow_untested_optimizer": True,
    "activation_checkpointing": {
        "partition_activations": True,
        "cpu_checkpointing": False,
        "contiguous_memory_optimization": True,
        "synchronize_checkpoint_boundary": False,
    },
    "moe": {
        "enabled": True,
        "moe_param_group": True,
        "expert_parallel_size": 8,
        "top_k": 2,
        "min_capacity": 4,
        "capacity_factor": 1.25,
    },
    "communication_data_type": "bf16",
    "wall_clock_breakdown": True,
}
GENERAL = {
    "train_batch_size": 128,
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 4,
    "fp16": {"enabled": True},
    "zero_optimization": {
        "stage": 3,
        "reduce_bucket_size": 5e8,
        "overlap_comm": True,
        "contiguous_gradients": True,
    },
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
    "communication_data_type": "fp16",
    "pipeline": {"activation_checkpoint_interval": 1},
}
COMMAND = {
    "stage": "sft",
    "do_train": True,
    "model_name_or_path": "/nfs/DeepSeek-V3-bf16",
    "dataset": "all_creator_training",
    "template": "default",
    "finetuning_type": "lora",
    "lora_target": "q_proj,v_proj,k_proj,o_proj",
    "lora_rank": 16,
    "lora_alpha": 32,
    "output_dir": "/host_home/run",
    "overwrite_output_dir": True,
    "per_device_train_batch_size": 1,
    "gradient_accumulation_steps": 1,
    "learning_rate": 1e-5,
    "adam_beta2": 0.98,
    "weight_decay": 0.01,
    "warmup_steps": 100,
    "bf16": True,
    "deepspeed": "ds.json",
    "logging_steps": 1,
    "save_strategy": "steps",
    "save_steps": 50,
    "save_on_each_node": False,
    "save_safetensors": True,
    "save_only_model": True,
    "max_steps": 2000,
    "report_to": "tensorboard",
    "logging_dir": "/host_home/run/logs",
}
RAY_COMMAND = {
    **COMMAND,
    "preprocessing_num_workers": 4,
    "overwrite_cache": False,
    "lora_target": "self_attn.q_a_proj,self_attn.q_b_proj,self_attn.kv_a_proj_with_mqa,self_attn.kv_b_proj,"
    "self_attn.o_proj",
}
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": ("0,1,2,3,4,5,6,7", SET),
    "CUDA_DEVICE_ORDER": ("PCI_BUS_ID", SET),
    "LOCAL_WORLD_SIZE": ("8", DROPPED),
    "WORLD_SIZE": ("24", DROPPED),
    "RANK": ("0", DROPPED),
    "LOCAL_RANK": ("0", DROPPED),
    "MASTER_ADDR": ("10.18.122.130", DROPPED),
    "MASTER_PORT": ("39500", DROPPED),
    "NODE_RANK": ("0", VOID),
    "MASTER_NODE": ("node-0", VOID),
    "SLURM_JOB_NODELIST": ("node[0-2]", VOID),
    "SLURM_NNODES": ("3", VOID),
    "SLURM_ARRAY_TASK_ID": ("0", VOID),
    "NNODES": ("3", VOID),
    "NPROC_PER_NODE": ("8", VOID),
    "OUTPUT_DIR": ("/x", VOID),
    "DS_CONFIG": ("/x", VOID),
    "PYTORCH_CUDA_ALLOC_CONF": ("expandable_segments:True,garbage_collection_threshold:0.8", SET),
    "NCCL_DEBUG": ("WARN", SET),
    "NCCL_SOCKET_IFNAME": ("eth0", SET),
    "GLOO_SOCKET_IFNAME": ("eth0", SET),
    "NCCL_SOCKET_FAMILY": ("AF_INET", SET),
    "NCCL_P2P_DISABLE": ("1", COSTLY),
    "NCCL_IB_DISABLE": ("1", COSTLY),
    "NCCL_SHM_DISABLE": ("1", COSTLY),
    "OMP_NUM_THREADS": ("1", SET),
    "HF_ENABLE_PARALLEL_LOADING": ("true", VOID),
    "TORCH_NCCL_TIMEOUT_MS": ("3600000", VOID),
    "NCCL_TIMEOUT": ("1800", VOID),
    "NCCL_TIMEOUT_MS": ("5400000", VOID),
    "NCCL_PORT_RANGE": ("39500-39531", VOID),
    "TORCH_DISTRIBUTED_DEBUG": ("DETAIL", COSTLY),
    "NCCL_ASYNC_ERROR_HANDLING": ("1", COSTLY),
    "NCCL_IGNORE_CPU_AFFINITY": ("1", SET),
    "TORCH_NCCL_BLOCKING_WAIT": ("1", COSTLY),
    "NCCL_IB_HCA": ("mlx5_0", SET),
    "NCCL_NET_GDR_LEVEL": ("3", SET),
    "NCCL_IB_GID_INDEX": ("3", SET),
    "NCCL_IB_TIMEOUT": ("22", SET),
    "NCCL_BUFFSIZE": ("2097152", SET),
    "NCCL_P2P_LEVEL": ("NVL", SET),
    "NCCL_DEBUG_SUBSYS": ("ALL", COSTLY),
    "NCCL_TOPO_FILE": ("/path/to/topo.xml", SET),
    "DS_BUILD_OPS": ("1", VOID),
    "CUDA_HOME": ("/usr/local/cuda", SET),
}


def keys_of(config: dict, above: str = "") -> list[str]:
    found = []
    for key, value in config.items():
        found.append(above + key)
        if isinstance(value, dict):
            found += keys_of(value, above + key + ".")
    return found


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_each_variable_of_the_guides_has_its_line(name):
    value, status = ENVIRONMENT[name]
    line = variables.line(name, value)
    assert line.status == status and line.why
    assert name in variables.KNOWN or line.status != SET, "a variable that is only handed on is not known"
    if status in (VOID, COSTLY):
        assert line.do


@pytest.mark.parametrize("config", [OFFLOAD, NO_OFFLOAD, GENERAL], ids=["offload", "no-offload", "general"])
@pytest.mark.parametrize("transformers", [True, False])
def test_each_deepspeed_key_of_the_guides_has_its_line(config, transformers):
    found = {line.name: line for line in deepspeed.lines(config, transformers=transformers)}
    assert set(found) == set(keys_of(config))
    assert all(line.why for line in found.values())
    assert not [line.name for line in found.values() if line.why == "of this block"], "each key is explained"


def test_what_becomes_of_the_guides_deepspeed_keys():
    def statuses(config, **how):
        return {line.name: line.status for line in deepspeed.lines(config, **how)}

    found = statuses(NO_OFFLOAD)
    assert found["moe"] == found["moe.top_k"] == VOID and found["activation_checkpointing"] == VOID
    assert found["wall_clock_breakdown"] == COSTLY and found["zero_optimization.overlap_comm"] == SET
    assert statuses(OFFLOAD, transformers=False)["gradient_clipping"] == WRONG, "auto without transformers"
    assert statuses(OFFLOAD)["wall_clock_breakdown"] == SET
    assert statuses({"zero_optimization": {"stge": 3}})["zero_optimization.stge"] == WRONG
    assert statuses({"zero_optimization": {"new": 3}}, zero_keys=["new"])["zero_optimization.new"] == SET


@pytest.mark.parametrize("command", [COMMAND, RAY_COMMAND], ids=["torchrun", "ray"])
def test_each_argument_of_the_guides_commands_has_its_line(command):
    for name, value in command.items():
        line = arguments.line(name, value)
        assert line.why and (name in arguments.KNOWN or line.status != SET), name
    assert arguments.line("save_safetensors", True).status == WRONG
    assert arguments.line("save_safetensors", True, transformers=(4, 52, 4)).status == SET
    assert arguments.line("local_rank", 0).status == VOID
    assert arguments.line("output_dir", "x").status == DROPPED


def installed_arguments() -> set[str]:
    """The training arguments of the installed sources, read and not imported; without those that no user sets."""
    site = Path(find_spec("transformers").origin).parents[1]  # type: ignore[union-attr, arg-type] # installed
    files = [
        *(site / "llamafactory" / "hparams").glob("*.py"),
        *(site / "transformers").glob("training_args*.py"),
    ]
    found = set()
    for node in (node for file in files for node in ast.parse(file.read_text()).body):
        if isinstance(node, ast.ClassDef) and node.name != "EvaluationArguments":
            for field in node.body:
                told = ast.unparse(field) if isinstance(field, ast.AnnAssign) else "ClassVar"
                if "ClassVar" not in told and "init=False" not in told and not told.startswith("_"):
                    found.add(told.partition(":")[0])
    return found


def test_the_known_arguments_are_those_of_the_installed_version():
    pinned = json.loads(arguments.NAMES_FILE.read_text())
    made_from = (pinned["llamafactory"], pinned["transformers"])
    assert (version("llamafactory"), version("transformers")) == made_from, arguments.NAMES_FILE
    assert arguments.names() == installed_arguments()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("lora_rnak", "lora_rank"),
        ("learning_rat", "learning_rate"),
        ("gradient_acumulation_steps", "gradient_accumulation_steps"),
        ("per_device_batch_size", "per_device_train_batch_size"),
        ("cutoff_length", "cutoff_len"),
        ("num_epochs", "num_train_epochs"),
    ],
)
def test_a_misspelt_argument_gets_the_nearest_right_name(written, meant):
    line = arguments.line(written, 1)
    assert line.status == WRONG and line.do.startswith(meant), (line.do, written)
    assert arguments.line(meant, 1).status == SET


def judged_with(config=None, env=None, train=None):
    found = cluster("a100")
    if env:
        found.run = dataclasses.replace(found.run, env=env)
    if train:
        found.run = in_run(found.run, ["train", "arguments"], train)
    if config:
        found.run = dataclasses.replace(found.run, deepspeed="/home/ubuntu/ds.json")
        found.deepspeed = json.loads(json.dumps(config))
    facts = [facts_from_json(one) for one in found.nodes.values()]
    plan = planned(found, facts)
    findings = [*plan.findings, *checks.judge(facts, plan, found.run)]
    return {f.id for f in findings if f.verdict != OK}, checks.settings(facts, plan, found.run)


def test_the_no_offload_file_against_the_torchrun_command():
    train = {k: v for k, v in COMMAND.items() if k not in ("output_dir", "deepspeed", "save_steps")}
    train["dataset_dir"] = "/nfs/data"
    ids, settings = judged_with(NO_OFFLOAD, train=train)
    assert {"deepspeed-contradicts", "deepspeed-key-void", "argument-refused"} <= ids
    assert "deepspeed-key-ignored" in ids, "wall_clock_breakdown"
    named = {line.name for line, _ in settings}
    assert set(keys_of(NO_OFFLOAD)) <= named and set(train) <= named


def test_the_offload_file_has_no_contradiction():
    ids, _ = judged_with(OFFLOAD)
    assert "deepspeed-contradicts" not in ids and "deepspeed-key-void" in ids


def test_the_smoke_test_environment():
    env = {
        name: value
        for name, (value, status) in ENVIRONMENT.items()
        if status != DROPPED and name[:3] != "NOD"
    }
    ids, settings = judged_with(env=env)
    assert {
        "variable-unread",
        "variable-old-name",
        "transport-disabled",
        "blocking-wait",
        "debug-left-on",
    } <= ids
    assert {"alloc-conf", "variables-contradict"} <= ids
    assert {line.name for line, _ in settings} >= set(env)
