import os, logging, torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed
from textds import Pages
rank = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format="%(levelname)s|%(process)d|%(message)s")
set_seed(1)


class ShardTrainer(Trainer):
    # every rank reads its own part, no distributed sampler
    def get_train_dataloader(self):
        return torch.utils.data.DataLoader(self.train_dataset, batch_size=8, num_workers=2, collate_fn=self.data_collator)


ds = Pages(rank)
logging.info("rank %d: %d pages, %d characters", rank, len(ds), sum(map(len, ds.text)))
model = BertForSequenceClassification(BertConfig(vocab_size=100, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96))
args = TrainingArguments("out", max_steps=450, per_device_train_batch_size=8, logging_steps=10, save_strategy="no", report_to=[],
                         use_cpu=True, ddp_backend="gloo", disable_tqdm=rank != 0)
ShardTrainer(model=model, args=args, train_dataset=ds).train()
logging.info("rank %d: done", rank)
