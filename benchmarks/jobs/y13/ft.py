# 摘要微调任务
import os
from datasets import load_dataset
from transformers import DataCollatorWithPadding, T5ForConditionalGeneration, Trainer, TrainingArguments, default_data_collator
ds = load_dataset("json", data_files="pairs.jsonl", split="train")
model = T5ForConditionalGeneration.from_pretrained("t5-xxs")
args = TrainingArguments("runs/sum", per_device_train_batch_size=4, max_steps=60, logging_steps=5, save_steps=20, save_total_limit=2, use_cpu=True, learning_rate=1e-3, ddp_find_unused_parameters=False)
Trainer(model, args, train_dataset=ds, data_collator=default_data_collator).train()
