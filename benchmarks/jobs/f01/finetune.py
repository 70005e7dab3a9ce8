import logging, os
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments, set_seed

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s - %(message)s")
log = logging.getLogger("finetune")
set_seed(11)
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
model = AutoModelForSequenceClassification.from_pretrained(os.environ["TINY"], num_labels=2)
log.info("model has %.1fk parameters", sum(p.numel() for p in model.parameters()) / 1e3)
ds = load_dataset("csv", data_files={"train": "data/train.csv"}, cache_dir="cache")
log.info("dataset: %s", ds)
ds = ds["train"].map(lambda b: tok(b["text"], truncation=True, max_length=32, padding="max_length"), batched=True)
Trainer(model=model, args=TrainingArguments("out", max_steps=20, report_to=[]), train_dataset=ds).train()
