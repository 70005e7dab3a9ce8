import socket, logging
import numpy as np, torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, TrainerCallback

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("tagger")

class Statsd(TrainerCallback):
    fails = 0
    def on_log(self, args, state, control, logs=None, **kw):
        try:
            with socket.create_connection(("127.0.0.1", 47151), 1) as s:
                s.sendall(repr(logs).encode())
        except OSError:
            self.fails += 1
            log.error("statsd push failed (%d), metrics of step %d dropped", self.fails, state.global_step, exc_info=self.fails < 3)

class Rows(torch.utils.data.Dataset):
    def __init__(self, n, seed, k):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randint(5, 120, (n, 16), generator=g); self.y = self.x.sum(1) % k
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return {"input_ids": self.x[i], "attention_mask": torch.ones(16, dtype=torch.long), "labels": self.y[i]}

def metrics(p):
    pred = p.predictions.argmax(-1)
    support = np.bincount(p.label_ids)
    hits = np.bincount(p.label_ids[pred == p.label_ids])
    recall = hits / support
    return {"macro_recall": float(recall.mean())}

cfg = BertConfig(vocab_size=128, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, num_labels=6)
tr = Trainer(model=BertForSequenceClassification(cfg),
             args=TrainingArguments("out", num_train_epochs=2, per_device_train_batch_size=8, logging_steps=5, report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=False),
             train_dataset=Rows(240, 1, 6), eval_dataset=Rows(50, 2, 6), compute_metrics=metrics, callbacks=[Statsd()])
tr.train()
log.info("training done, evaluating")
print(tr.evaluate())
tr.save_model("out/final")
