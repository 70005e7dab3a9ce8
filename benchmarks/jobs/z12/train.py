import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
from data import Tickets, NUM_LABELS

cfg = BertConfig(vocab_size=128, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                 max_position_embeddings=64, num_labels=NUM_LABELS)
args = TrainingArguments(output_dir="out", per_device_train_batch_size=8, num_train_epochs=2, logging_steps=10, report_to=[],
                         dataloader_num_workers=1, save_strategy="no", seed=17, use_cpu=True)
tr = Trainer(model=BertForSequenceClassification(cfg), args=args, train_dataset=Tickets("tickets.csv"))
tr.train()
