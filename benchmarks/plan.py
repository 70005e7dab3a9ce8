"""The plan against real runs: bytes by the kernel's counter, resident memory, time to plan."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from allranks.core import Cluster, Node
from allranks.plan import Plan, families, make_plan
from allranks.plan.host import TRAINER_BYTES
from allranks.spec import Run, Train

TITLE = "Planning"

ROOT = Path(__file__).resolve().parent.parent
STEPS, PORT = 6, 29731
BASE: dict[str, Any] = {
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "vocab_size": 4000,
    "max_position_embeddings": 1024,
}
LLAMA = {**BASE, "model_type": "llama", "hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 6}
MOE = {
    **LLAMA,
    "model_type": "qwen3_moe",
    "head_dim": 64,
    "moe_intermediate_size": 256,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 4,
}
MLA = {
    **LLAMA,
    "model_type": "deepseek_v3",
    "num_hidden_layers": 4,
    "moe_intermediate_size": 256,
    "n_routed_experts": 8,
    "n_group": 2,
    "topk_group": 1,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "q_lora_rank": 128,
    "kv_lora_rank": 64,
    "qk_nope_head_dim": 48,
    "qk_rope_head_dim": 16,
    "v_head_dim": 64,
}
MLA_TARGETS = "q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj"
TRAFFIC = [
    ("llama, 23 M, 2 ranks", LLAMA, "q_proj,v_proj", None, 2),
    ("qwen3_moe, 21 M, 3 ranks", MOE, "q_proj,k_proj,v_proj,o_proj", "Qwen3MoeSparseMoeBlock", 3),
    ("deepseek_v3, 20 M, 3 ranks", MLA, MLA_TARGETS, "DeepseekV3MoE", 3),
]
LARGE = {
    **LLAMA,
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "vocab_size": 32000,
    "num_attention_heads": 16,
}
WIDE = {**LLAMA, "hidden_size": 1024, "intermediate_size": 2816, "vocab_size": 16000}
MEMORY = [
    ("llama", {**WIDE, "num_hidden_layers": layers}, "q_proj,v_proj", None, 2) for layers in (8, 24, 56)
]


def a_plan(config: dict, targets: str, ranks: int, tokens: int, deepspeed: str = "auto", **more: Any) -> Plan:
    """The plan of one run on this machine; on its CPU unless `more` says `use_cpu=False`."""
    arguments = {
        "lora_target": targets,
        "per_device_train_batch_size": 1,
        "cutoff_len": tokens,
        "bf16": True,
        "use_cpu": True,
        **more,
    }
    nodes = Cluster((Node("here", "127.0.0.1", 0, ranks),))
    run = Run("bench", nodes, Train("llamafactory", arguments), same_host=True, deepspeed=deepspeed)
    return make_plan(run, config)


def filled(config: dict) -> dict:
    """The plan's JSON with what transformers' trainer would fill in."""
    values = {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 1, "gradient_clipping": 1.0}
    values |= {"bf16": {"enabled": True}, "fp16": {"enabled": False}}
    return {**config, **values, "zero_force_ds_cpu_optimizer": False}  # torch's AdamW, also with offload


def run(config: dict, targets: str, leaf: str | None, ranks: int, plan: Plan, tokens: int) -> list[dict]:
    """The rows of all ranks of a real run in a network namespace that carries nothing else."""
    assert plan.deepspeed is not None
    job = {
        "config": config,
        "targets": targets.split(","),
        "rank": plan.setting.lora.rank if plan.setting.lora else 8,
        "gpu": plan.setting.uses_gpu,
        "checkpointing": plan.setting.checkpointing,
        "leaf": leaf,
        "tokens": tokens,
        "steps": STEPS,
        "reentrant": plan.trainer.get("use_reentrant_gc", True),
        "deepspeed": filled(dict(plan.deepspeed)),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.json"
        path.write_text(json.dumps(job))
        script = str(Path(__file__).parent / "_plan_rank.py")
        torchrun = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            f"--nproc_per_node={ranks}",
            f"--master_port={PORT}",
        ]
        alone = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        done = subprocess.run(
            [*alone, *torchrun, script, str(path)],
            capture_output=True,
            text=True,
            timeout=900,
            env=environment,
        )
    line = next((row for row in done.stdout.splitlines() if row.startswith("RESULT ")), None)
    if line is None:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(line.removeprefix("RESULT "))


def percent(planned: float, measured: float) -> str:
    return f"{(planned / measured - 1) * 100:+.1f} %"


def traffic() -> str:
    rows = ["| run | counted a step | planned | error |", "|---|---|---|---|"]
    for name, config, targets, leaf, ranks in TRAFFIC:
        plan = a_plan(config, targets, ranks, 64)
        counted = statistics.median(run(config, targets, leaf, ranks, plan, 64)[0]["carried"][3:])
        assert plan.traffic is not None
        planned = plan.traffic["received_bytes_per_step"] * ranks
        rows.append(
            f"| {name} | {counted / 1e6:.2f} MB | {planned / 1e6:.2f} MB | {percent(planned, counted)} |"
        )
    return "\n".join(rows)


def memory() -> str:
    from deepspeed.runtime.zero.stage3 import estimate_zero3_model_states_mem_needs

    rows = [
        "| run | resident a rank | planned | error | DeepSpeed's estimator |",
        "|---|---|---|---|---|",
    ]
    for name, config, targets, leaf, ranks in MEMORY:
        plan = a_plan(config, targets, ranks, 256)
        measured = max(row["resident"] for row in run(config, targets, leaf, ranks, plan, 256))
        assert plan.memory is not None and plan.model is not None
        planned = plan.memory["host_parts"]["train"] / ranks - TRAINER_BYTES  # no LLaMA-Factory here
        total, unit = plan.model.total_parameters, plan.model.largest_unit[1]
        _, theirs, _ = estimate_zero3_model_states_mem_needs(total, unit, ranks, 1, False, False, False, 1.0)
        rows.append(
            f"| {name}, {total / 1e6:.0f} M, {ranks} ranks | {measured / 2**20:.0f} MiB | {planned / 2**20:.0f} MiB "
            f"| {percent(planned, measured)} | {theirs / 2**20:.0f} MiB ({percent(theirs, measured)}) |"
        )
    return "\n".join(rows)


def speed() -> str:
    from allranks import spec

    file = ROOT / "examples" / "deepseek-v3-24xa100.yaml"
    config = json.loads((ROOT / "examples" / "deepseek-v3-24xa100.config.json").read_text())
    loaded = spec.load(str(file))
    times = []
    for _ in range(7):
        start = time.perf_counter()
        make_plan(loaded, config).as_json()
        times.append(time.perf_counter() - start)
    code = "import time; t = time.perf_counter(); import allranks.plan; print(time.perf_counter() - t)"
    imports = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    ]
    return (
        f"- Families described, each exact against transformers and PEFT: {len(families.names())}.\n"
        f"- Planning the 671B run, from the configuration to the document: {statistics.median(times):.2f} s "
        f"(best {min(times):.2f} s); importing the room: {statistics.median(imports) * 1000:.0f} ms."
    )


def measure() -> str:
    return (
        f"{speed()}\n\n"
        "Bytes of a step: the kernel's counter of an otherwise silent loopback (TCP and IP headers included), "
        f"against the plan, all ranks together.\n\n{traffic()}\n\n"
        "Resident memory of a rank on CPU while it trains (libraries included), against the plan and against "
        "DeepSpeed's own estimator, which counts every parameter as trained and no process.\n\n"
        f"{memory()}\n\nPeak memory of a GPU: `make bench-gpu STAGE=memory` ([the GPU pack](gpu.md))."
    )
