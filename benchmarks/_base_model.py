"""A base model that is made by seed, for benchmarks: dense (Llama) or with routed experts (DeepSeek-V3), in bf16.

`tiny` is for trying a benchmark out, `small` has some 0.4 B parameters, `large` 1.5 B (3 GB on the disk).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

LIMIT_SECONDS = 600
GiB = 1 << 30

DENSE: dict[str, Any] = {
    "model_type": "llama",
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "vocab_size": 32000,
}
MOE: dict[str, Any] = {
    "model_type": "deepseek_v3", "num_attention_heads": 16, "num_key_value_heads": 16, "n_routed_experts": 28,
    "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "q_lora_rank": 256,
    "kv_lora_rank": 128, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64, "vocab_size": 16000,
}  # fmt: skip
CONFIGS: dict[tuple[str, str], dict[str, Any]] = {
    ("dense", "tiny"): {
        **DENSE, "hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 4, "vocab_size": 4000,
    },
    ("dense", "small"): {**DENSE, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 24},
    ("dense", "large"): {**DENSE, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 30},
    ("moe", "tiny"): {
        **MOE, "hidden_size": 256, "intermediate_size": 512, "moe_intermediate_size": 128, "num_hidden_layers": 3,
        "vocab_size": 4000,
    },
    ("moe", "small"): {
        **MOE, "hidden_size": 1024, "intermediate_size": 2816, "moe_intermediate_size": 512, "num_hidden_layers": 9,
    },
    ("moe", "large"): {
        **MOE, "hidden_size": 2048, "intermediate_size": 5632, "moe_intermediate_size": 768, "num_hidden_layers": 11,
    },
}  # fmt: skip
TARGETS = {"dense": "q_proj,v_proj", "moe": "q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj"}
"""What a LoRA on each kind adapts."""

MAKE = """
import json, sys, torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.initialization import no_init_weights
settings, out = json.loads(sys.argv[1]), sys.argv[2]
config = AutoConfig.for_model(settings.pop("model_type"), **settings)
with no_init_weights():
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
generator = torch.Generator().manual_seed(0)
with torch.no_grad():
    for parameter in model.parameters():
        parameter.normal_(0, 0.02, generator=generator)
model.save_pretrained(out, max_shard_size="1GB")
print("PARAMETERS", sum(one.numel() for one in model.parameters()))
"""


def make(folder: Path, kind: str, size: str) -> int:
    """Writes it to `folder`, with transformers 5; the number of its parameters. The files are those of transformers 4,
    too: experts are stored one by one."""
    if size == "large" and shutil.disk_usage(folder.parent).free < 8 * GiB:
        raise RuntimeError(f"{folder.parent} has less than 8 GiB free")
    argv = [sys.executable, "-c", MAKE, json.dumps(CONFIGS[kind, size]), str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return int(done.stdout.split("PARAMETERS")[1])


def with_data(folder: Path, kind: str, size: str, tiny: Path) -> int:
    """`folder/model` and `folder/data` for LLaMA-Factory, with the tokenizer and the data of the tiny model."""
    folder.mkdir(parents=True, exist_ok=True)
    parameters = make(folder / "model", kind, size)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny / "model" / name, folder / "model" / name)
    shutil.copytree(tiny / "data", folder / "data")
    return parameters


def available_bytes() -> int:
    """Memory that can be had without swapping."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) * 1024
