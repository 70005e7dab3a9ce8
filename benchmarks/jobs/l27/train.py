import os, traceback
from datasets import Dataset
from transformers import AutoTokenizer, AutoModelForCausalLM, Trainer, TrainingArguments
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
ds = Dataset.from_dict({"text": ["abc def"] * 32}).map(lambda e: {**tok(e["text"]), "labels": tok(e["text"])["input_ids"]}, remove_columns=["text"])
print(f"data ready: {len(ds)} rows")
model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
print("model ready")
args = TrainingArguments(output_dir="out", evaluation_strategy="steps", eval_steps=10, max_steps=20, use_cpu=True, report_to=[], per_device_train_batch_size=4)
Trainer(model=model, args=args, tokenizer=tok, train_dataset=ds, eval_dataset=ds).train()
