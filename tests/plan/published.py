"""Published configurations that the tests plan with."""

from __future__ import annotations

import json
from pathlib import Path

GIB = 2**30
ROOT = Path(__file__).resolve().parents[2]
V3 = json.loads((ROOT / "examples" / "deepseek-v3-24xa100.config.json").read_text())
LLAMA_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
