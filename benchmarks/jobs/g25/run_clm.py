import warnings, logging, torch
from datasets import Dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments, TrainerCallback
warnings.simplefilter("always")
logging.basicConfig(level=logging.INFO)
tok = AutoTokenizer.from_pretrained("base"); model = AutoModelForSequenceClassification.from_pretrained("base", num_labels=3)
g = torch.Generator().manual_seed(0)
ids = torch.randint(4, 31, (96, 20), generator=g)
ds = Dataset.from_dict({"input_ids": ids.tolist(), "attention_mask": torch.ones_like(ids).tolist(), "labels": (ids.sum(1) % 3).tolist()})
class Notify(TrainerCallback):
    def on_epoch_end(self, args, state, control, **kw):
        try:
            import urllib.request; urllib.request.urlopen("http://127.0.0.1:8085/hook", data=b"epoch", timeout=1)
        except OSError as e:
            logging.error("notification failed: %s", e)
args = TrainingArguments("out", per_device_train_batch_size=8, num_train_epochs=3, logging_steps=2, learning_rate=2e-3, use_cpu=True, report_to=[], ddp_find_unused_parameters=True, save_strategy="no", dataloader_pin_memory=True, dataloader_num_workers=0)
t = Trainer(model=model, args=args, train_dataset=ds, eval_dataset=ds.select(range(30)), callbacks=[Notify()])
t.train(); m = t.evaluate(); t.log_metrics("eval", m); t.save_model("out/final")
