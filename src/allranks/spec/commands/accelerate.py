"""`accelerate launch`: its options, its YAML, and the variables by which both reach a script (Accelerate 1.11).

`accelerate/utils/launch.py` sets these variables (`prepare_multi_gpu_env`, `prepare_deepspeed_cmd_env`); a test
compares ours with its own.
"""

from __future__ import annotations

from typing import Any

from allranks.core import NOTE
from allranks.spec.commands._command import (
    MODULE,
    NOT_PYTHON,
    Command,
    Form,
    Option,
    count,
    each,
    hostfile,
    key,
    own,
    port_or_any,
    refused,
)
from allranks.spec.commands._words import known
from allranks.spec.commands.torchrun import head, restarts
from allranks.spec.problems import Problems, Wrong, shown
from allranks.spec.tree import plain
from allranks.spec.yaml12 import parse

FSDP = {
    "fsdp_version": "1",
    "fsdp_sharding_strategy": "FULL_SHARD",
    "fsdp_reshard_after_forward": "true",
    "fsdp_offload_params": "false",
    "fsdp_min_num_params": "100000000.0",
    "fsdp_auto_wrap_policy": None,
    "fsdp_transformer_layer_cls_to_wrap": None,
    "fsdp_backward_prefetch": None,
    "fsdp_state_dict_type": None,
    "fsdp_forward_prefetch": "false",
    "fsdp_use_orig_params": "true",
    "fsdp_cpu_ram_efficient_loading": "true",
    "fsdp_sync_module_states": "true",
    "fsdp_activation_checkpointing": "false",
}
"""Accelerate's options of FSDP, each with the value that it hands over by default."""

AS_WRITTEN = (
    "fsdp_sharding_strategy",
    "fsdp_auto_wrap_policy",
    "fsdp_transformer_layer_cls_to_wrap",
    "fsdp_backward_prefetch",
    "fsdp_state_dict_type",
)
DEEPSPEED = {
    "zero_stage": "DEEPSPEED_ZERO_STAGE",
    "gradient_accumulation_steps": "GRADIENT_ACCUMULATION_STEPS",
    "gradient_clipping": "GRADIENT_CLIPPING",
    "offload_optimizer_device": "DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE",
    "offload_param_device": "DEEPSPEED_OFFLOAD_PARAM_DEVICE",
    "zero3_init_flag": "DEEPSPEED_ZERO3_INIT",
    "zero3_save_16bit_model": "DEEPSPEED_ZERO3_SAVE_16BIT_MODEL",
    "deepspeed_config_file": "DEEPSPEED_CONFIG_FILE",
    "deepspeed_moe_layer_cls_names": "DEEPSPEED_MOE_LAYER_CLS_NAMES",
}
PARALLELISM = {"dp_replicate_size": "1", "tp_size": "1", "cp_size": "1", "dp_shard_size": "1"}
DYNAMO = {
    "dynamo_mode": "default",
    "dynamo_use_fullgraph": "False",
    "dynamo_use_dynamic": "False",
    "dynamo_use_regional_compilation": "False",
}
KINDS = {"DEEPSPEED": "use_deepspeed", "FSDP": "use_fsdp", "MEGATRON_LM": "use_megatron_lm"}
DEFAULT_CONFIG = "~/.cache/huggingface/accelerate/default_config.yaml"
"""What `accelerate config` writes, and `accelerate launch` reads if no other file is given."""


def setting(name: str, takes: int = 1) -> Option:
    """An option of which the script hears through a variable."""

    def act(command: Command, value: str, said: str) -> None:
        command.settings[name] = "true" if takes == 0 else value

    return Option(takes, act)


SAGEMAKER = refused("allranks starts nothing at SageMaker.", "leave it out", takes=1)
SWITCHES = (
    "use_deepspeed use_fsdp use_megatron_lm use_parallelism_config dynamo_use_fullgraph dynamo_use_dynamic "
    "dynamo_use_regional_compilation fp8_use_autocast_during_eval"
)
VALUES = "dynamo_backend dynamo_mode"
GROUPS = {
    "parallelism_config": " ".join((*PARALLELISM, "cp_comm_strategy")),
    "megatron_lm": "tp_degree pp_degree num_micro_batches sequence_parallelism recompute_activations "
    "use_distributed_optimizer gradient_clipping",
    "fp8": "backend margin interval format amax_history_len amax_compute_algo override_linear_precision opt_level",
}
"""Options of which the script hears through a variable, in Accelerate's names."""

OPTIONS: dict[str, Option] = {
    **each(
        "quiet q multi-gpu same-network tpu-cluster no-tpu-cluster tpu-use-sudo downcast-bf16 use-xpu", own(0)
    ),
    **each("machine-rank t tee log-dir role rdzv-backend rdzv-conf monitor-interval vm env", own()),
    **each("main-training-function deepspeed-multinode-launcher mpirun-hostfile mpirun-ccl", own()),
    **each("m module", MODULE),
    "config-file": setting("config_file"),
    "cpu": setting("use_cpu", 0),
    "tpu": refused("allranks trains on GPUs and processors.", "leave it out"),
    "mixed-precision": setting("mixed_precision"),
    "num-processes": count("total"),
    "num-machines": count("nodes"),
    "num-cpu-threads-per-process": Option(1, lambda c, v, s: c.variable("OMP_NUM_THREADS", v, s)),
    "enable-cpu-affinity": Option(0, lambda c, v, s: c.variable("ACCELERATE_CPU_AFFINITY", "1", s)),
    "gpu-ids": setting("gpu_ids"),
    "main-process-ip": Option(1, head),
    "main-process-port": key("network.port", port_or_any),
    "max-restarts": Option(1, restarts),
    "no-python": NOT_PYTHON,
    "deepspeed-hostfile": Option(1, hostfile),
    "deepspeed-exclusion-filter": refused(
        "a run file lists the nodes that train.", "nodes without them", takes=1
    ),
    "deepspeed-inclusion-filter": refused(
        "a run file lists the nodes that train.", "nodes: those alone", takes=1
    ),
    "offload-optimizer-nvme-path": setting("offload_optimizer_nvme_path"),
    "offload-param-nvme-path": setting("offload_param_nvme_path"),
    **each("aws-access-key-id aws-secret-access-key", SAGEMAKER),
    "debug": Option(0, lambda c, v, s: c.variable("ACCELERATE_DEBUG_MODE", "true", s)),
    **{name.replace("_", "-"): setting(name, 0) for name in SWITCHES.split()},
    **{name.replace("_", "-"): setting(name) for name in (*VALUES.split(), *FSDP, *DEEPSPEED)},
    **{
        f"{group}-{name}".replace("_", "-"): setting(f"{group}_{name}")
        for group, names in GROUPS.items()
        for name in names.split()
    },
}


class Accelerate(Form):
    def take_task(self, command: Command, program: str) -> None:
        if program in ("accelerate", "accelerate.commands.accelerate_cli"):
            super().take_task(command, program)


def read(command: Command) -> None:
    """The YAML under the options, then all of it as variables."""
    settings = command.settings
    path = settings.pop("config_file", None)
    if path is None and "use_cpu" not in settings:
        path = DEFAULT_CONFIG if command.has_file(DEFAULT_CONFIG) else None
        if path is not None:
            why = "accelerate reads it unless another file is given."
            command.note("launcher-dropped", NOTE, f"{path} is read.", why, "--config_file for another one")
    if path is not None:
        below(command, path)
    ready = variables(settings)
    for name, value in ready.items():
        command.variable(name, value, f"accelerate's {name}")
    if settings.get("gpu_ids") not in (None, "all", "None"):
        command.variable("CUDA_VISIBLE_DEVICES", settings["gpu_ids"], "accelerate --gpu_ids")
    if settings.get("use_cpu") == "true":
        command.cpu = True


def below(command: Command, path: str) -> None:
    """What `accelerate config` has written; an option wins over it without a word, as in Accelerate."""
    tree = parse(command.reads(command.here(known(path))), path, Problems())
    found = plain(tree) if tree is not None else None
    if not isinstance(found, dict):
        raise Wrong(f"{shown(path)}: it has no keys.", do="what `accelerate config` writes")
    if found.get("compute_environment") not in (None, "LOCAL_MACHINE"):
        raise Wrong(f"{shown(path)}: it is of SageMaker.", "allranks starts nothing there.", "a local one")
    kind = str(found.get("distributed_type") or "NO").upper()
    if kind in ("XLA", "TPU"):
        raise Wrong(
            f"{shown(path)}: it is of TPUs.", "allranks trains on GPUs and processors.", "another one"
        )
    settings = command.settings
    if kind in KINDS and not any(settings.get(name) for name in KINDS.values()):
        settings[KINDS[kind]] = "true"
        if kind == "DEEPSPEED":
            fields = [*(found.get("deepspeed_config") or {})]
            fields += (
                ["mixed_precision"]
                if found.get("mixed_precision") and "mixed_precision" not in settings
                else []
            )
            settings["deepspeed_fields"] = ",".join(map(str, fields))
    said = f"{path} says"
    counted = {"num_machines": "nodes", "num_processes": "total"}
    for name, what in counted.items():
        value = found.pop(name, None)
        if isinstance(value, int) and value > 0 and what not in command.counts:
            command.count(what, value, f"{said} {name}: {value}")
    if command.counts.get("nodes", (1, ""))[0] > 1 and found.get("main_process_ip"):
        head(command, str(found["main_process_ip"]), said)
    if found.get("main_process_port") and "network.port" not in command.keys:
        command.put("network.port", port_or_any(str(found["main_process_port"])), f"{said} main_process_port")
    for name, value in flattened(found).items():
        settings.setdefault(name, value)


def flattened(found: dict[str, Any]) -> dict[str, str]:
    """The YAML's keys as the options of the same names."""
    flat: dict[str, str] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            prefix = {"fsdp_config": "fsdp_", "fp8_config": "fp8_", "dynamo_config": "dynamo_"}.get(name, "")
            for key, inner in value.items():
                key = str(key) if str(key).startswith(prefix) else prefix + str(key)
                if inner is not None:
                    flat[key] = worded(inner)
        elif value is not None:
            flat[name] = worded(value)
    return flat


def worded(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_on(settings: dict[str, str], name: str) -> bool:
    return settings.get(name, "").lower() == "true"


def variables(settings: dict[str, str]) -> dict[str, str]:
    """What Accelerate's launcher would put into the ranks' environment."""
    env = {"ACCELERATE_MIXED_PRECISION": settings.get("mixed_precision", "no").lower()}
    if is_on(settings, "use_cpu"):
        env["ACCELERATE_USE_CPU"] = "true"
    if settings.get("dynamo_backend", "no").lower() != "no":
        env["ACCELERATE_DYNAMO_BACKEND"] = settings["dynamo_backend"].upper()
        for name, default in DYNAMO.items():
            value = settings.get(name, default)
            env[f"ACCELERATE_{name.upper()}"] = value if name == "dynamo_mode" else value.capitalize()
    for name, part in (
        ("use_deepspeed", deepspeed),
        ("use_fsdp", fsdp),
        ("use_megatron_lm", megatron),
        ("use_parallelism_config", parallelism),
    ):
        if is_on(settings, name):
            env |= {f"ACCELERATE_{name.upper()}": "true", **part(settings)}
    if env["ACCELERATE_MIXED_PRECISION"] == "fp8":
        env |= {
            f"ACCELERATE_{name.upper()}": value for name, value in settings.items() if name.startswith("fp8_")
        }
    return env


def fsdp(settings: dict[str, str]) -> dict[str, str]:
    env = {}
    for name, default in FSDP.items():
        value = settings.get(name, default)
        if value is not None:
            key = name.upper().replace("TRANSFORMER_LAYER_CLS", "TRANSFORMER_CLS")
            env[key] = value if name in AS_WRITTEN else value.lower()
    return env


def megatron(settings: dict[str, str]) -> dict[str, str]:
    given = {
        "megatron_lm_tp_degree": "1",
        "megatron_lm_pp_degree": "1",
        "megatron_lm_gradient_clipping": "1.0",
    }
    return {k.upper(): v for k, v in {**given, **settings}.items() if k.startswith("megatron_lm_")}


def parallelism(settings: dict[str, str]) -> dict[str, str]:
    found = {
        name: settings.get(f"parallelism_config_{name}", default) for name, default in PARALLELISM.items()
    }
    return {f"PARALLELISM_CONFIG_{name.upper()}": value for name, value in found.items()}


def deepspeed(settings: dict[str, str]) -> dict[str, str]:
    env = {"ACCELERATE_CONFIG_DS_FIELDS": settings.get("deepspeed_fields", "").lower()}
    for name, variable in DEEPSPEED.items():
        if name in settings:
            value = settings[name]
            is_text = name in ("deepspeed_config_file", "zero_stage", "deepspeed_moe_layer_cls_names")
            env[f"ACCELERATE_{variable}"] = value if is_text else value.lower()
    return env


FORM = Accelerate(
    programs=("accelerate", "accelerate-launch"),
    modules=("accelerate.commands.launch", "accelerate.commands.accelerate_cli"),
    options=OPTIONS,
    task=("launch",),
    example="accelerate launch train.py",
    read=read,
    ranks=True,
    every_gpu=True,
)
