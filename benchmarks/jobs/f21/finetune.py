import os
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments
open("finetune.pid", "w").write(str(os.getpid()))
tok = AutoTokenizer.from_pretrained(os.environ["TINY"]); model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
ds = Dataset.from_list([{"text": "one more line of text for the model"}] * 4000).map(lambda r: tok(r["text"]), remove_columns="text")
args = TrainingArguments("out", num_train_epochs=20, logging_steps=10, save_strategy="no", per_device_train_batch_size=2, report_to="tensorboard", learning_rate=1e-3)
Trainer(model=model, args=args, train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False)).train()
