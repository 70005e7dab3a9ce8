import argparse, logging, sys, urllib.request
import torch, transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, TrainerCallback
from datasets import Dataset

logging.basicConfig(format="[%(levelname)s|%(filename)s:%(lineno)d] %(asctime)s >> %(message)s", level=logging.INFO, stream=sys.stdout)
logger = logging.getLogger(__name__)
ap = argparse.ArgumentParser(); ap.add_argument("--model"); ap.add_argument("--output_dir"); a = ap.parse_args()

def load_model(path):
    for impl in ("flash_attention_2", "eager"):
        try:
            m = AutoModelForCausalLM.from_pretrained(path, attn_implementation=impl)
            logger.info("loaded %s with attn_implementation=%s", path, impl)
            return m
        except (ImportError, ValueError) as e:
            logger.error("could not load the model with %s", impl, exc_info=e)

class Tracker(TrainerCallback):
    url = "http://127.0.0.1:9/api/runs"
    offline = False
    def on_log(self, args, state, control, logs=None, **kw):
        if not state.is_world_process_zero or self.offline: return
        try:
            urllib.request.urlopen(self.url, data=str(logs).encode(), timeout=2)
        except OSError:
            logger.exception("tracker: POST %s failed, switching to offline mode", self.url)
            self.offline = True

args = TrainingArguments(a.output_dir, per_device_train_batch_size=2, max_steps=12, logging_steps=3, report_to=[], save_strategy="no", use_cpu=True)
tok = AutoTokenizer.from_pretrained(a.model)
model = load_model(a.model)
text = ["the quick brown fox jumps over the lazy dog", "hello world, how are you today"] * 20
def enc(r):
    ids = tok(r["text"])["input_ids"][:8]
    ids = ids + [0] * (8 - len(ids))
    return {"input_ids": ids, "labels": ids}
ds = Dataset.from_dict({"text": text}).map(enc, remove_columns="text")
tr = Trainer(model=model, args=args, train_dataset=ds, callbacks=[Tracker()])
tr.train()
tr.save_model()
if tr.is_world_process_zero():
    logger.info("Model weights saved in %s/model.safetensors", a.output_dir)
