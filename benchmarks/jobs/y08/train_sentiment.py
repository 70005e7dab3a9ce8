import argparse, platform
import numpy as np, torch, transformers, datasets
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments, set_seed

p = argparse.ArgumentParser(); p.add_argument("--data"); p.add_argument("--init"); p.add_argument("--out"); a = p.parse_args()
print(f"python {platform.python_version()}  torch {torch.__version__}  transformers {transformers.__version__}  datasets {datasets.__version__}")
set_seed(42)
tok = AutoTokenizer.from_pretrained(a.init)
ds = load_dataset("parquet", data_files=a.data, split="train").train_test_split(0.2, seed=42)
ds = ds.map(lambda b: tok(b["text"], truncation=True, return_token_type_ids=False), batched=True)
model = AutoModelForSequenceClassification.from_pretrained(a.init, num_labels=2)
args = TrainingArguments(
    output_dir=a.out,
    overwrite_output_dir=True,
    evaluation_strategy="steps",
    eval_steps=25,
    per_device_train_batch_size=16,
    num_train_epochs=2,
    learning_rate=5e-4,
    no_cuda=True,
    report_to=[],
)
trainer = Trainer(model=model, args=args, train_dataset=ds["train"], eval_dataset=ds["test"], data_collator=DataCollatorWithPadding(tok),
                  compute_metrics=lambda e: {"acc": float((np.argmax(e.predictions, -1) == e.label_ids).mean())})
trainer.train()
print(trainer.evaluate())
