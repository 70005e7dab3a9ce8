import argparse, json, os, sys, time
import torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM, AutoTokenizer

class Out:
    def __init__(self, r): self.r, self.t0 = r, time.time()
    def __call__(self, *a):
        print(f"+{time.time()-self.t0:6.1f}s  r{self.r}  »", *a, file=sys.stderr)

def worker(rank, n, a):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="48113")
    dist.init_process_group("gloo", rank=rank, world_size=n)
    say = Out(rank)
    torch.manual_seed(1); torch.set_num_threads(1)
    tok = AutoTokenizer.from_pretrained("base")
    model = AutoModelForCausalLM.from_pretrained("base")
    say("tokenizer", len(tok), "tokens; model embeddings", tuple(model.get_input_embeddings().weight.shape))
    net = DDP(model)
    rows = [json.loads(l) for l in open(f"shards/chat-{rank:03d}.jsonl")]
    say("shard", f"chat-{rank:03d}", len(rows), "conversations")
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    step = 0
    for ep in range(a.epochs):
        for i in range(0, len(rows), 4):
            chunk = rows[i:i + 4]
            enc = tok([r["text"] for r in chunk], padding=True, return_tensors="pt")
            y = enc.input_ids.masked_fill(enc.attention_mask == 0, -100)
            loss = net(input_ids=enc.input_ids, attention_mask=enc.attention_mask, labels=y).loss
            opt.zero_grad(); loss.backward(); opt.step(); step += 1
            say(f"ep {ep} step {step} loss {loss.item():.4f} rows {chunk[0]['id']}..{chunk[-1]['id']}")
    if rank == 0: model.save_pretrained("final")
    dist.barrier(); dist.destroy_process_group()

if __name__ == "__main__":
    p = argparse.ArgumentParser(); p.add_argument("--nprocs", type=int); p.add_argument("--epochs", type=int); a = p.parse_args()
    mp.spawn(worker, args=(a.nprocs, a), nprocs=a.nprocs)
