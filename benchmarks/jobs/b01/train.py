import json
import logging
import os

from transformers import (AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling,
                          Trainer, TrainingArguments, set_seed)
from datasets import Dataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("pretrain")


def build_dataset(tok):
    text = [f"the cat sat on the mat number {i}" for i in range(200)]
    ds = Dataset.from_dict({"text": text})
    return ds.map(lambda b: tok(b["text"], truncation=True, max_length=32), batched=True, remove_columns=["text"])


def main():
    set_seed(13)
    base = os.environ["TINY"]
    tok = AutoTokenizer.from_pretrained(base)
    model = AutoModelForCausalLM.from_pretrained(base)
    ds = build_dataset(tok).train_test_split(test_size=0.1)
    log.info("train=%d eval=%d", len(ds["train"]), len(ds["test"]))
    args = TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=4,
        num_train_epochs=1,
        evaluation_strategy="steps",
        eval_steps=20,
        logging_steps=5,
        save_total_limit=2,
        report_to="none",
        use_cpu=True,
    )
    trainer = Trainer(model=model, args=args, train_dataset=ds["train"], eval_dataset=ds["test"],
                      data_collator=DataCollatorForLanguageModeling(tok, mlm=False))
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
