import os
from transformers import AutoModelForTokenClassification, AutoTokenizer, Trainer, TrainingArguments

MODEL = os.environ["TINY"]
print("loading", MODEL)
tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForTokenClassification.from_pretrained(MODEL, num_labels=9)
args = TrainingArguments(
    output_dir="ner-out",
    evaluation_strategy="epoch",
    learning_rate=2e-5,
    per_device_train_batch_size=16,
    num_train_epochs=3,
    weight_decay=0.01,
)
trainer = Trainer(model, args, train_dataset=[], eval_dataset=[], tokenizer=tokenizer)
trainer.train()
