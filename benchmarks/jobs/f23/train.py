import os
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments
tok = AutoTokenizer.from_pretrained(os.environ["TINY"]); model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
ds = Dataset.from_list([{"text": "the cat sat on the mat"}] * 100).map(lambda r: tok(r["text"]), remove_columns="text")
args = TrainingArguments("out", max_steps=20, logging_steps=10, save_strategy="no", report_to=[], disable_tqdm=True)
t = Trainer(model=model, args=args, train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False))
t.train()
model.save_pretrained("out/final")
print("saved to out/final")
