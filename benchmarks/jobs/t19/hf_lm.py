import json
import logging
import urllib.request

import torch
from transformers import (GPT2Config, GPT2LMHeadModel, HfArgumentParser, Trainer, TrainerCallback, TrainingArguments)

logger = logging.getLogger("hf_lm")


class Bytes(torch.utils.data.Dataset):
    def __init__(self):
        src = open(__file__, "rb").read() * 4
        self.x = torch.tensor(list(src[: len(src) // 32 * 32])).view(-1, 32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.x[i]}


class Tracker(TrainerCallback):
    """posts the metrics to the team's tracker; never stops a training"""

    def __init__(self, url):
        self.url, self.buf = url, []

    def on_log(self, args, state, control, logs=None, **kw):
        if not state.is_world_process_zero:
            return
        self.buf.append(dict(logs, step=state.global_step))
        if len(self.buf) % 20:
            return
        try:
            urllib.request.urlopen(self.url, data=json.dumps(self.buf).encode(), timeout=3)
        except Exception:
            logger.exception("tracker: could not post %d records to %s, keeping them in out/metrics.jsonl", len(self.buf), self.url)

    def on_train_end(self, args, state, control, **kw):
        if state.is_world_process_zero:
            with open(f"{args.output_dir}/metrics.jsonl", "w") as f:
                f.writelines(json.dumps(r) + "\n" for r in self.buf)
            logger.warning("tracker: %d records left in %s/metrics.jsonl", len(self.buf), args.output_dir)


class ClipWatch(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **kw):
        n = torch.norm(torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]))
        if n > 0.6:
            logger.error("rank %d: gradient norm still %.2f after clipping at step %d (alarm level 0.6)", args.process_index, n, state.global_step)


(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
logging.basicConfig(format=f"[%(asctime)s] p{args.process_index} %(levelname)s %(name)s %(message)s", datefmt="%H:%M:%S")
cfg = GPT2Config(vocab_size=256, n_positions=32, n_embd=48, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
tr = Trainer(model=GPT2LMHeadModel(cfg), args=args, train_dataset=Bytes(), callbacks=[Tracker("http://127.0.0.1:47547/api/log"), ClipWatch()])
res = tr.train()
if args.process_index == 0:
    tr.save_model("out/final")
    print("train_loss", round(res.training_loss, 4), "saved out/final")
torch.distributed.destroy_process_group()
