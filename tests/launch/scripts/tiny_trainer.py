"""transformers' Trainer on a LoRA adapter of two small layers, without DeepSpeed; a step takes --seconds, or one second
for as long as --slow-until is not there."""

from __future__ import annotations

import argparse
import os
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

VALUES = 64


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        ids = torch.randint(0, VALUES, (8,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "labels": ids}


class Slow(TrainerCallback):
    def __init__(self, seconds: float, slow_until: str):
        self.seconds, self.slow_until = seconds, slow_until

    def on_step_end(self, args, state, control, **kwargs):
        slow = self.slow_until and not os.path.exists(self.slow_until)
        time.sleep(1.0 if slow else self.seconds)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--slow-until", default="")
    asked = parser.parse_args()
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VALUES, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2
    )
    model = get_peft_model(LlamaForCausalLM(config), LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
    out = os.environ["ALLRANKS_OUTPUT_DIR"]
    arguments = TrainingArguments(
        output_dir=out, max_steps=asked.steps, save_steps=5, save_total_limit=3, learning_rate=1e-2, use_cpu=True,
        per_device_train_batch_size=1, report_to=[], disable_tqdm=True, logging_steps=1,
    )  # fmt: skip
    slow = Slow(asked.seconds, asked.slow_until)
    trainer = Trainer(model=model, args=arguments, train_dataset=Samples(), callbacks=[slow])
    trainer.train()
    trainer.save_model(out)


if __name__ == "__main__":
    main()
