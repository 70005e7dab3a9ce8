import argparse, logging, os
import torch, torch.distributed as dist
from datasets import load_dataset
from transformers import LlamaConfig, LlamaForCausalLM

p = argparse.ArgumentParser()
p.add_argument("--langs")
args = p.parse_args()
rank = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format=f"%(levelname).1s %(asctime)s rank={rank} %(message)s")
log = logging.getLogger("sft")
dist.init_process_group("gloo")
lang = args.langs.split(",")[rank]          # one language per rank, mixed by the gradient mean
files = [f"corpus/{lang}/shard-{s:03d}.jsonl" for s in range(4)]
log.info("language %s, %d shards", lang, len(files))
ds = load_dataset("json", data_files=files, split="train")
log.info("%d examples, columns %s", len(ds), ds.column_names)

torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(vocab_size=260, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4))
model = torch.nn.parallel.DistributedDataParallel(model)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)


def encode(ex):
    ids = list((ex["instruction"] + "\n" + ex["response"]).encode())[:128]
    return torch.tensor(ids + [259] * (128 - len(ids)))


for step in range(60):
    rows = [ds[(step * 8 + k) % len(ds)] for k in range(8)]
    x = torch.stack([encode(r) for r in rows])
    loss = model(input_ids=x, labels=x).loss
    loss.backward(); opt.step(); opt.zero_grad()
    if step % 10 == 0:
        log.info("step %d loss %.3f", step, loss.item())
dist.barrier()
if rank == 0:
    model.module.save_pretrained("out")
dist.destroy_process_group()
