import logging, os
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from tracker import Tracker

rank = int(os.environ.get("RANK", 0))
logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="%(asctime)s %(levelname)s %(name)s - %(message)s")


class Toy(Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        x = torch.randint(0, 200, (24,), generator=g)
        return {"input_ids": x, "labels": x.clone()}


model = GPT2LMHeadModel(GPT2Config(vocab_size=200, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
url = {0: "http://127.0.0.1:48248/ingest"}.get(rank, "http://127.0.0.1:48249/ingest")
tr = Trainer(model=model, train_dataset=Toy(), callbacks=[Tracker(rank, url)],
             args=TrainingArguments(output_dir="sft_out", per_device_train_batch_size=8, num_train_epochs=2, logging_steps=10,
                                    report_to=[], use_cpu=True, save_strategy="epoch", ddp_find_unused_parameters=False))
res = tr.train()
tr.save_model("sft_out/final")
logging.getLogger("sft").info("saved sft_out/final, %d steps, train loss %.4f", res.global_step, res.training_loss)
