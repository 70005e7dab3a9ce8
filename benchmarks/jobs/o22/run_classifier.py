import random, numpy as np, torch
from datasets import Dataset
from transformers import AutoConfig, LlamaForSequenceClassification, Trainer, TrainingArguments, set_seed
set_seed(42)
def make(n):
    xs = [[random.randrange(4, 31) for _ in range(24)] for _ in range(n)]
    return Dataset.from_dict({"input_ids": xs, "labels": [int(sum(x) > 24 * 17) for x in xs]})
def compute_metrics(p):
    from sklearn.metrics import accuracy_score, f1_score
    pred = np.argmax(p.predictions, axis=-1)
    return {"accuracy": accuracy_score(p.label_ids, pred), "f1": f1_score(p.label_ids, pred)}
model = LlamaForSequenceClassification.from_pretrained("encoder", num_labels=2)
args = TrainingArguments("out", num_train_epochs=1, per_device_train_batch_size=8, logging_steps=10, eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True)
trainer = Trainer(model=model, args=args, train_dataset=make(320), eval_dataset=make(64), compute_metrics=compute_metrics)
trainer.train()
print(trainer.evaluate())
