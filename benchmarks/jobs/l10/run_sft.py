import os
import torch
from datasets import Dataset
from transformers import AutoTokenizer, AutoModelForCausalLM, Trainer, TrainingArguments, DataCollatorForLanguageModeling

tok = AutoTokenizer.from_pretrained(os.environ["TINY"])
tok.pad_token = tok.pad_token or tok.eos_token
model = AutoModelForCausalLM.from_pretrained(os.environ["TINY"])
ds = Dataset.from_dict({"text": [f"the {i} sum is {i*i}" for i in range(96)]})
ds = ds.map(lambda e: tok(e["text"], truncation=True, max_length=32), remove_columns=["text"])

def compute_metrics(p):
    from sacrebleu import corpus_bleu
    preds = tok.batch_decode(p.predictions, skip_special_tokens=True)
    refs = tok.batch_decode(p.label_ids.clip(min=0), skip_special_tokens=True)
    return {"bleu": corpus_bleu(preds, [refs]).score}

args = TrainingArguments("out", per_device_train_batch_size=8, max_steps=12, logging_steps=2, use_cpu=True,
                         report_to=[], save_strategy="no")
tr = Trainer(model, args, train_dataset=ds, eval_dataset=ds.select(range(16)), compute_metrics=compute_metrics,
             preprocess_logits_for_metrics=lambda l, y: l.argmax(-1),
             data_collator=DataCollatorForLanguageModeling(tok, mlm=False))
tr.train()
if tr.is_world_process_zero():
    print("Training completed. Running final evaluation", flush=True)
m = tr.evaluate()
tr.save_model("out/final")
print(m)
