import logging
import numpy as np
from datasets import Dataset
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer,
                          TrainerCallback, TrainingArguments)

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("clf")
try:
    import wandb  # noqa
    REPORT = ["wandb"]
except ImportError:
    log.error("wandb import failed, metrics go to the console only", exc_info=True)
    REPORT = []

tok = AutoTokenizer.from_pretrained("base")
rows = [l.rstrip("\n").split("\t") for l in open("reviews.tsv")]
lens = [len(tok(t)["input_ids"]) for _, t in rows]
log.info("token length p50 %d max %d", np.median(lens), max(lens))
ds = Dataset.from_dict({"labels": [int(y) for y, _ in rows], "text": [t for _, t in rows]})
ds = ds.map(lambda b: tok(b["text"], truncation=True), batched=True, num_proc=2).train_test_split(0.2, seed=0)


class SlackNote(TrainerCallback):
    def on_epoch_end(self, args, state, control, **kw):
        try:
            import requests
            requests.post("http://127.0.0.1:47615/hook", json={"epoch": state.epoch}, timeout=2)
        except Exception as e:
            log.error("could not post to chat: %s", e)


model = AutoModelForSequenceClassification.from_pretrained("base", num_labels=2)
args = TrainingArguments("out", num_train_epochs=3, per_device_train_batch_size=16, per_device_eval_batch_size=64, learning_rate=2e-3,
                         eval_strategy="epoch", save_strategy="no", logging_steps=10, report_to=REPORT, use_cpu=True,
                         dataloader_num_workers=1, dataloader_pin_memory=True, disable_tqdm=False)
tr = Trainer(model=model, args=args, train_dataset=ds["train"], eval_dataset=ds["test"], data_collator=DataCollatorWithPadding(tok),
             compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}, callbacks=[SlackNote()])
tr.train()
tr.save_model("out/final"); tok.save_pretrained("out/final")
log.info("final %s", {k: round(v, 4) for k, v in tr.evaluate().items()})
