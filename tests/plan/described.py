"""What transformers says of models that are not described here (`plan/meta_device.py`), kept in `data/described.json`,
so that fast tests plan them without it. `python -m tests.plan.described` writes the file again; a test of training
compares it with transformers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from allranks.plan import meta_device
from tests.plan import test_meta_device, test_vision_memory, test_vision_models

FILE = Path(__file__).parent / "data" / "described.json"
NOT_COUNTED = "llava_next"


def configs() -> dict[str, dict[str, Any]]:
    """Small models: other families, counted towers of two blocks, a tower that is not counted, one with experts."""
    found = {name: {"model_type": name, **config} for name, config in test_meta_device.OTHERS.items()}
    for name in test_vision_memory.CONFIGS:
        config = json.loads(json.dumps(test_vision_memory.the_config(name)))
        config["vision_config"]["depth" if name.startswith("qwen") else "num_hidden_layers"] = 2
        found[name] = config
    for name in (NOT_COUNTED, "qwen3_vl_moe"):
        found[name] = test_vision_models.a_config(name)
    return found


def now() -> dict[str, Any]:
    """Asks transformers."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    return {name: json.loads(json.dumps(meta_device.describe(config))) for name, config in configs().items()}


if __name__ == "__main__":
    lines = [f'"{name}": {json.dumps(one, separators=(",", ":"))}' for name, one in now().items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
