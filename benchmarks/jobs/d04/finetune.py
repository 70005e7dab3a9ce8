import os, glob, logging, sys, json
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, DataCollatorForLanguageModeling
from safetensors.torch import load_file
from datasets import Dataset
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("finetune")
model_dir, max_steps = sys.argv[1], int(sys.argv[2])
tok = AutoTokenizer.from_pretrained(model_dir)
model = AutoModelForCausalLM.from_pretrained(model_dir)
ds = Dataset.from_dict({"text": ["the cat sat on the mat", "a small dog ran home", "we train a model"] * 60})
ds = ds.map(lambda b: tok(b["text"], truncation=True, max_length=32), batched=True, remove_columns=["text"])

def pick_checkpoint(out):
    cks = sorted(glob.glob(f"{out}/checkpoint-*"), key=lambda p: int(p.rsplit("-", 1)[1]), reverse=True)
    for c in cks:
        try:
            load_file(os.path.join(c, "model.safetensors"))
            json.load(open(os.path.join(c, "trainer_state.json")))
            return c
        except Exception:
            log.exception("checkpoint %s is not usable, trying the previous one", c)
    return None

args = TrainingArguments("out", max_steps=max_steps, per_device_train_batch_size=4, save_steps=10, save_only_model=True, logging_steps=5, report_to=[], use_cpu=True, ddp_backend="gloo")
tr = Trainer(model=model, args=args, train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok, mlm=False))
ck = pick_checkpoint("out")
log.info("resuming from %s", ck)
tr.train(resume_from_checkpoint=ck)
tr.save_model("out/final")
log.info("done, global step %d", tr.state.global_step)
