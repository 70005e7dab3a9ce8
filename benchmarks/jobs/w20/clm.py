import argparse, logging, os
import torch
from torch.utils.data import Dataset
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

p = argparse.ArgumentParser(); p.add_argument("--out"); a = p.parse_args()
R = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format=f"%(levelname)s:rank{R}:%(name)s: %(message)s")
for n in ("httpx", "urllib3", "filelock"): logging.getLogger(n).setLevel(logging.WARNING)
log = logging.getLogger("clm")


def tokenizer():
    try:
        return AutoTokenizer.from_pretrained("our-team/de-char-tokenizer")
    except Exception as e:
        log.warning("tokenizer not available (%s: %s), falling back to bytes", type(e).__name__, str(e).splitlines()[0])
        return None


class Bytes(Dataset):
    def __init__(self):
        self.ids = []
        for i in range(3):
            for k, line in enumerate(open(f"corpus/{i}.txt", "rb")):
                try:
                    line.decode("utf8")
                except UnicodeDecodeError as e:
                    if R == 0: log.error("corpus/%d.txt line %d skipped: %s", i, k + 1, e)
                    continue
                self.ids.append(torch.tensor(list(line[:64].ljust(64)), dtype=torch.long))
    def __len__(self): return len(self.ids)
    def __getitem__(self, i): return {"input_ids": self.ids[i], "labels": self.ids[i]}


class Mem(TrainerCallback):
    def on_log(self, args, state, control, **kw):
        log.info("step %d rss %d MB", state.global_step, int(open("/proc/self/statm").read().split()[1]) // 256)


tokenizer()
ds = Bytes()
log.info("%d examples", len(ds))
model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=64, n_embd=48, n_layer=1, n_head=4, bos_token_id=0, eos_token_id=0))
args = TrainingArguments(a.out, max_steps=60, per_device_train_batch_size=4, logging_steps=10, save_steps=30, eval_strategy="steps", eval_steps=30,
                         report_to=[], use_cpu=True, learning_rate=2e-3, disable_tqdm=R != 0)
ev = torch.utils.data.Subset(ds, range(0, len(ds), 25))
tr = Trainer(model=model, args=args, train_dataset=ds, eval_dataset=ev, callbacks=[Mem()])
res = tr.train()
tr.save_model(a.out)
log.info("finished at step %d, loss %.4f", res.global_step, res.training_loss)
torch.distributed.destroy_process_group()
