import os
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, HfArgumentParser, Trainer, TrainingArguments
(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
tok = AutoTokenizer.from_pretrained(os.environ["TINY"]); model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
ds = Dataset.from_list([{"text": "abc def"}] * 100).map(lambda r: tok(r["text"]), remove_columns="text")
Trainer(model=model, args=args, train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False)).train()
