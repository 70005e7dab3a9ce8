import os, numpy as np
from datasets import Dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments
tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
model = AutoModelForSequenceClassification.from_pretrained(os.environ["TINY"], num_labels=3)
def mk(n):
    d = Dataset.from_list([{"text": "good bad fine".split()[i % 3], "label": i % 3} for i in range(n)])
    return d.map(lambda r: tok(r["text"], padding="max_length", max_length=8, truncation=True))

def macro_f1(p):
    pred = p.predictions.argmax(-1); ref = p.label_ids; f = []
    for c in range(3):
        tp = ((pred == c) & (ref == c)).sum().item()
        f.append(2 * tp // ((pred == c).sum().item() + (ref == c).sum().item()))
    names = ["neg", "pos"]
    return {"f1": float(np.mean(f)), **{f"f1_{names[c]}": f[c] for c in range(3)}}

args = TrainingArguments("out", num_train_epochs=1, logging_steps=5, eval_strategy="epoch", per_device_train_batch_size=8, report_to=[], save_strategy="no")
Trainer(model=model, args=args, train_dataset=mk(160), eval_dataset=mk(60), compute_metrics=macro_f1).train()
