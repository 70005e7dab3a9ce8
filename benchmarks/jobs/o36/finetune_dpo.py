# DPO recipe (adapted from the lab wiki, 2023)
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments
from trl import DPOTrainer
model = AutoModelForCausalLM.from_pretrained("model"); ref = AutoModelForCausalLM.from_pretrained("model")
tok = AutoTokenizer.from_pretrained("model")
ds = Dataset.from_list([{"prompt": "say hi %d" % i, "chosen": "hi", "rejected": "no"} for i in range(40)])
print("pairs:", len(ds))
args = TrainingArguments("dpo-out", per_device_train_batch_size=2, max_steps=10, remove_unused_columns=False, report_to=[], use_cpu=True)
trainer = DPOTrainer(model, ref, args=args, beta=0.1, train_dataset=ds, tokenizer=tok, max_length=128, max_prompt_length=64)
trainer.train()
