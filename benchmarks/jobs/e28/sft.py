import os, logging
import torch, torch.distributed as dist
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, default_data_collator
logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
rank = int(os.environ["RANK"])
local = f"nvme/{rank}/llama-base"
class Rows(torch.utils.data.Dataset):
    def __init__(self, tok): self.x = tok("the loss goes down " * 4, return_tensors="pt")["input_ids"][0]
    def __len__(self): return 64
    def __getitem__(self, i): return {"input_ids": self.x, "labels": self.x}
args = TrainingArguments("out", max_steps=10, per_device_train_batch_size=4, logging_steps=1, use_cpu=True, report_to=[], ddp_backend="gloo", save_strategy="no")
tok = AutoTokenizer.from_pretrained(local)
model = AutoModelForCausalLM.from_pretrained(local)
if rank == 0: logging.info("model with %.2fM parameters", model.num_parameters() / 1e6)
Trainer(model=model, args=args, train_dataset=Rows(tok), data_collator=default_data_collator).train()
