"""One rank of `benchmarks/save_kill.py`: a tiny adapter, saved after every step until somebody kills it.

_kill_rank.py OUT
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import deepspeed
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

from allranks.inside.loop import Checkpoints


def main() -> None:
    out = Path(sys.argv[1])
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4}
    base = LlamaForCausalLM(LlamaConfig(vocab_size=128, **sizes))
    model = get_peft_model(base, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    trained = [p for p in model.parameters() if p.requires_grad]
    config = {
        "train_micro_batch_size_per_gpu": 1,
        "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0},
    }
    engine, *_ = deepspeed.initialize(
        model=model, config=config, optimizer=torch.optim.AdamW(trained, lr=1e-2), model_parameters=trained
    )
    checkpoints = Checkpoints(engine, str(out / "run"), every=1)
    step = checkpoints.resume()
    if os.environ["RANK"] == "0":
        (out / "begun").write_text(str(step))
    while True:
        step += 1
        ids = torch.randint(0, 128, (1, 16))
        engine.backward(engine(input_ids=ids, labels=ids).loss)
        engine.step()
        checkpoints.step(step)
        if os.environ["RANK"] == "0":
            (out / "saved").write_text(str(step))


main()
