import time
t0 = time.time()
from datasets import load_dataset
from transformers import AutoTokenizer, AutoModelForSequenceClassification, Trainer, TrainingArguments
print(f"imports took {time.time()-t0:.1f}s")
raw = load_dataset("stanfordnlp/imdb")
tok = AutoTokenizer.from_pretrained("distilbert/distilbert-base-uncased")
ds = raw.map(lambda b: tok(b["text"], truncation=True), batched=True)
model = AutoModelForSequenceClassification.from_pretrained("distilbert/distilbert-base-uncased", num_labels=2)
Trainer(model, TrainingArguments("out", num_train_epochs=1), train_dataset=ds["train"], eval_dataset=ds["test"], processing_class=tok).train()
