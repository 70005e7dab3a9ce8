import argparse
from datasets import load_dataset
from transformers import AutoTokenizer, AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer

p = argparse.ArgumentParser()
p.add_argument("--model", default="base")
p.add_argument("--data", default="pairs.json")
a = p.parse_args()
print(f"model={a.model} data={a.data}", flush=True)
tok = AutoTokenizer.from_pretrained(a.model)
model = AutoModelForCausalLM.from_pretrained(a.model)
ds = load_dataset("json", data_files=a.data, split="train")
DPOTrainer(model, args=DPOConfig("out", max_steps=10), train_dataset=ds, processing_class=tok).train()
