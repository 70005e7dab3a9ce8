"""Caches of the Hugging Face Hub as its client lays them out, and a run of a model of the Hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from allranks.spec import Run, loads

MODEL = "Qwen/Qwen2.5-0.5B"
CONFIG = {
    "model_type": "qwen2",
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}
PARAMETERS = 494_032_768
"""transformers' count of Qwen2.5-0.5B."""

VARIABLES = (
    *("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME", "HF_ENDPOINT", "HF_TOKEN_PATH"),
    *("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"),
)


def keep(
    cache: Path, commit: str = "c1", ref: str | None = "main", model: str = MODEL, **config: Any
) -> Path:
    """A whole snapshot of the model: links into `blobs`, as the client makes them."""
    place = cache / f"models--{model.replace('/', '--')}"
    folder = place / "snapshots" / commit
    folder.mkdir(parents=True)
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    files = {
        "config.json": json.dumps({**CONFIG, **config}).encode(),
        "tokenizer.json": b"{}",
        "model.safetensors": len(header).to_bytes(8, "little") + header + b"\0" * 4,
    }
    (place / "blobs").mkdir(exist_ok=True)
    for name, data in files.items():
        (place / "blobs" / f"{commit}-{name}").write_bytes(data)
        (folder / name).symlink_to(Path("../../blobs") / f"{commit}-{name}")
    if ref is not None:
        (place / "refs" / ref).parent.mkdir(parents=True, exist_ok=True)
        (place / "refs" / ref).write_text(commit)
    return folder


def a_run(more: str = "", nodes: int = 2, **arguments: Any) -> Run:
    """A LoRA of the model on GPUs; `more` are further lines of the run file."""
    given = {"model_name_or_path": MODEL, "finetuning_type": "lora", "lora_target": "all", "bf16": True}
    given.update({"output_dir": "out", "dataset": "x", **arguments})
    text = f"nodes: node-[1-{nodes}]\ngpus: {{count: 8, model: A100-SXM4-80GB}}\n{more}\n"
    return loads(text + f"train: {{llamafactory: {json.dumps(given)}}}\n")
