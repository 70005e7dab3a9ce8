import argparse, torch
from datasets import load_dataset
from transformers import AutoTokenizer, AutoModelForSequenceClassification, Trainer, TrainingArguments

p = argparse.ArgumentParser()
p.add_argument("--model", default="Qwen/Qwen2.5-0.5B-Instruct")
p.add_argument("--data", default="trl-lib/ultrafeedback_binarized")
a = p.parse_args()
print(f"model={a.model} data={a.data}", flush=True)
tok = AutoTokenizer.from_pretrained(a.model)
model = AutoModelForSequenceClassification.from_pretrained(a.model, num_labels=1)
ds = load_dataset(a.data, split="train")
Trainer(model, args=TrainingArguments("out", max_steps=10), train_dataset=ds, processing_class=tok).train()
