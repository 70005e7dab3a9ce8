import sys, glob, logging, torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
logging.basicConfig(level=logging.INFO, format="%(levelname)s|%(name)s|%(message)s")
logger = logging.getLogger("finetune")
class DS(torch.utils.data.Dataset):
    def __len__(self): return 96
    def __getitem__(self, i):
        ids = (torch.arange(24) * (i + 3)) % 26 + 4
        return {"input_ids": ids, "labels": ids}
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
args = TrainingArguments("out", use_cpu=True, per_device_train_batch_size=4, max_steps=int(sys.argv[2]), save_steps=3, logging_steps=2, report_to="none")
ckpts = sorted(glob.glob("out/checkpoint-*"), key=lambda p: -int(p.rsplit("-")[-1])) + [None]
for ck in ckpts:
    try:
        tr = Trainer(model=model, args=args, train_dataset=DS())
        out = tr.train(resume_from_checkpoint=ck)
        break
    except Exception:
        logger.exception("Could not resume from %s, trying an older one", ck)
tr.save_model("out/final")
if tr.is_world_process_zero(): print(out.metrics)
