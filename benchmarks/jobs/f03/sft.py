import json, os, sys
import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

cfg = json.load(open(sys.argv[1]))
tok = AutoTokenizer.from_pretrained(os.path.expandvars(cfg["base"]))
model = AutoModelForCausalLM.from_pretrained(os.path.expandvars(cfg["base"]))
rows = [{"text": "hello there how are you"}] * 64
ds = Dataset.from_list(rows).map(lambda x: tok(x["text"]), remove_columns=["text"])
print("train rows:", len(ds))
model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **cfg["lora"]))
model.print_trainable_parameters()
Trainer(model=model, args=TrainingArguments("out", max_steps=10, report_to="none", per_device_train_batch_size=4),
        train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False)).train()
