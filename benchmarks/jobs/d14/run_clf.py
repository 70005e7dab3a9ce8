import sys, torch, numpy as np
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments, EarlyStoppingCallback, set_seed)
from datasets import Dataset
set_seed(11)
tok = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForSequenceClassification.from_pretrained(sys.argv[1], num_labels=2)
rng = np.random.default_rng(0)
words = ["the", "cat", "dog", "ran", "home", "a", "mat", "sat"]
def mk(n): return Dataset.from_list([{**tok(" ".join(rng.choice(words, 6)), padding="max_length", max_length=16, truncation=True), "label": int(rng.integers(2))} for _ in range(n)])
def metrics(p):
    pred = p.predictions.argmax(-1); return {"accuracy": float((pred == p.label_ids).mean()), "errors": int((pred != p.label_ids).sum())}
args = TrainingArguments("clf_out", num_train_epochs=30, per_device_train_batch_size=8, eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, logging_strategy="epoch", load_best_model_at_end=True, metric_for_best_model="eval_loss", greater_is_better=False, report_to=[], use_cpu=True, ddp_backend="gloo", learning_rate=5e-3)
tr = Trainer(model, args, train_dataset=mk(96), eval_dataset=mk(48), compute_metrics=metrics, callbacks=[EarlyStoppingCallback(early_stopping_patience=2)])
out = tr.train()
if tr.is_world_process_zero(): print(f"stopped at epoch {tr.state.epoch} of {args.num_train_epochs}; best {tr.state.best_model_checkpoint}")
print(tr.evaluate())
