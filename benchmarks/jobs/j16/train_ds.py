import argparse, os, json, torch, deepspeed
from deepspeed.utils import logger
p = argparse.ArgumentParser(); p.add_argument("--local_rank", type=int, default=0); p = deepspeed.add_config_arguments(p); args = p.parse_args()
class PackingError(ValueError): pass
def pack(docs, max_len=32):
    out, cur = [], []
    for d in docs:
        if len(d["tokens"]) > max_len:
            raise PackingError(f"document {d['id']} has {len(d['tokens'])} tokens, block size is {max_len}")
        if len(cur) + len(d["tokens"]) > max_len: out.append(cur); cur = []
        cur = cur + d["tokens"]
    return out
deepspeed.init_distributed("gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
docs = json.load(open("docs.json"))
net = torch.nn.parallel.DistributedDataParallel(torch.nn.EmbeddingBag(64, 16)); opt = torch.optim.SGD(net.parameters(), .1)
for ep in range(3):
    mine = docs[ep * 60:(ep + 1) * 60][rank::world]
    blocks = pack(mine)
    n = torch.tensor(len(blocks)); torch.distributed.all_reduce(n, op=torch.distributed.ReduceOp.MIN)
    for b in blocks[:int(n)]:
        l = net(torch.tensor([b])).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
    if rank == 0: logger.info(f"chunk {ep}: {int(n)} blocks, loss {l.item():.4f}")
