import json, os
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

rank = int(os.environ["RANK"])


class Notes(torch.utils.data.Dataset):
    def __init__(self, path, lo=8, hi=24):
        raw = [json.loads(l)["ids"] for l in open(path)]
        self.rows = [r[:hi] + [0] * (hi - len(r)) for r in raw if len(r) >= lo]
        print(f"rank {rank}: {path}: {len(raw)} notes, {len(self.rows)} kept (>= {lo} tokens)", flush=True)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        t = torch.tensor(self.rows[i])
        return {"input_ids": t, "labels": t.clone()}


model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=32, n_embd=32, n_layer=2, n_head=2))
args = TrainingArguments(output_dir="out", use_cpu=True, ddp_backend="gloo", per_device_train_batch_size=2, num_train_epochs=2,
                         logging_steps=5, save_strategy="no", report_to=[], disable_tqdm=True, ddp_timeout=25)
Trainer(model=model, args=args, train_dataset=Notes(f"notes.{rank}.jsonl")).train()
if rank == 0:
    print("ok")
