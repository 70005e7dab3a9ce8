import os, sys, logging
import torch
import torch.distributed as dist
from datasets import Dataset
from transformers import AutoTokenizer, AutoModelForCausalLM, DataCollatorForLanguageModeling
from torch.utils.data import DataLoader

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stdout)
log = logging.getLogger("finetune")

dist.init_process_group("gloo")
rank = dist.get_rank()
path = "base"
tok = AutoTokenizer.from_pretrained(path)
model = AutoModelForCausalLM.from_pretrained(path)
if rank == 0:
    log.info("loaded %s, %.2fM parameters", path, sum(p.numel() for p in model.parameters()) / 1e6)
texts = ["a b c " * (1 + i % 5) for i in range(64)]
ds = Dataset.from_dict({"text": texts}).map(lambda x: tok(x["text"]), remove_columns=["text"])
dl = DataLoader(ds.shard(dist.get_world_size(), rank), batch_size=4, collate_fn=DataCollatorForLanguageModeling(tok, mlm=False))
model = torch.nn.parallel.DistributedDataParallel(model)
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
log.info("rank %d starts training, %d batches", rank, len(dl))
for step, batch in enumerate(dl):
    loss = model(**batch).loss
    loss.backward(); opt.step(); opt.zero_grad()
    if rank == 0:
        log.info("step %d loss %.4f", step, loss.item())
if rank == 0:
    model.module.save_pretrained("out")
