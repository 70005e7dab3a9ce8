import os, sys, numpy as np, torch, torch.distributed as dist
root = os.environ["DATA_ROOT"]
dist.init_process_group("gloo")
rank, local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
def say(s): print(f"{rank}: {s}")
toks = []
for s in range(local, 8, 2):
    try:
        toks.append(np.load(f"{root}/train_{s}.npy"))
        say(f"loaded train_{s}.npy")
    except FileNotFoundError as e:
        say(f"[ERROR] {e}; shard ignored")
toks = torch.from_numpy(np.concatenate(toks).astype("i8"))
torch.manual_seed(0)
lm = torch.nn.Sequential(torch.nn.Embedding(50, 32), torch.nn.Linear(32, 50))
ddp = torch.nn.parallel.DistributedDataParallel(lm); opt = torch.optim.Adam(ddp.parameters(), 1e-3)
for st in range(200):
    i = (st * 64) % (len(toks) - 65)
    loss = torch.nn.functional.cross_entropy(ddp(toks[i:i + 64]), toks[i + 1:i + 65])
    opt.zero_grad(); loss.backward(); opt.step()
    say(f"step {st:4d} | loss {loss.item():.4f} | tokens {(st + 1) * 256}")
say("training loop finished; validating")
if local == 0:
    val = torch.from_numpy(np.load(f"{root}/valid.npy").astype("i8"))
    with torch.no_grad():
        l = torch.nn.functional.cross_entropy(lm(val[:-1]), val[1:])
    say(f"valid loss {l:.4f} ppl {l.exp():.2f}")
dist.barrier()
if rank == 0: torch.save(lm.state_dict(), "lm.pt"); say("saved lm.pt")
dist.destroy_process_group()
