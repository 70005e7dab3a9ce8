import os, json, torch, torch.distributed as dist
from pack import pack, to_batch
dist.init_process_group("gloo", init_method="env://")
docs = [json.loads(l) for l in open(os.environ["DATA"])]
rows = pack(docs, 32)
emb = torch.nn.Embedding(1000, 16); out = torch.nn.Linear(16, 1000)
ps = [*emb.parameters(), *out.parameters()]; opt = torch.optim.SGD(ps, 0.5)
for i in range(0, 64, 8):
    t = to_batch(rows[i:i + 8], 1000)
    loss = torch.nn.functional.cross_entropy(out(emb(t[:, :-1])).flatten(0, 1), t[:, 1:].flatten())
    opt.zero_grad(); loss.backward()
    for p in ps: dist.all_reduce(p.grad, op=dist.ReduceOp.SUM); p.grad /= dist.get_world_size()
    opt.step()
    print(f"step {i // 8} loss {loss:.4f}", flush=True)
dist.destroy_process_group()
