import argparse, torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, DataCollatorForLanguageModeling

p = argparse.ArgumentParser()
p.add_argument("--model"); p.add_argument("--data"); p.add_argument("--steps", type=int, default=100)
a = p.parse_args()
tok = AutoTokenizer.from_pretrained(a.model)
model = AutoModelForCausalLM.from_pretrained(a.model)
lines = [l.strip() for l in open(a.data) if l.strip()]
ds = Dataset.from_dict({"text": lines})
ds = ds.map(lambda b: tok(b["text"], truncation=True, max_length=64), batched=True, remove_columns=["text"])
print(ds)
trainer = Trainer(model=model, args=TrainingArguments("out", max_steps=a.steps, per_device_train_batch_size=4, logging_steps=5, report_to=[]),
                  train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False))
trainer.train()
trainer.save_model("out/final")
