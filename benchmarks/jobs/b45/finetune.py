import argparse, os

parser = argparse.ArgumentParser(description="LoRA fine-tuning")
parser.add_argument("--base_model", required=True)
parser.add_argument("--data_path", default="data.json")
parser.add_argument("--lr", type=float, default=2e-4)
parser.add_argument("--lora_r", type=int, default=8)
parser.add_argument("--num_epochs", type=int, default=1)
parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
args = parser.parse_args()

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

model = get_peft_model(AutoModelForCausalLM.from_pretrained(args.base_model), LoraConfig(r=args.lora_r))
model.print_trainable_parameters()
