import argparse, datetime, os, time, json, pathlib
import torch, torch.distributed as dist

def tokenise(lang):
    """Tokenised corpus of a language; one process makes it, guarded by a lock file."""
    lock, out = pathlib.Path(f"cache/tok-{lang}.lock"), pathlib.Path(f"cache/tok-{lang}.pt")
    t0 = time.time(); n = 0
    while lock.exists():
        if n % 5 == 0:
            o = json.loads(lock.read_text())
            print(f"[{R}/{lang}] cache lock held by {o['host']}:{o['pid']} (age {time.time()-o['since']:.0f}s), waiting ... {time.time()-t0:.0f}s", flush=True)
        n += 1; time.sleep(1)
    lock.write_text(json.dumps({"host": os.uname().nodename, "pid": os.getpid(), "since": time.time()}))
    t = torch.randint(0, 500, (200, 16)); torch.save(t, out); lock.unlink()
    print(f"[{R}/{lang}] tokenised {t.numel()} tokens in {time.time()-t0:.1f}s", flush=True)
    return t

p = argparse.ArgumentParser(); p.add_argument("--languages"); a = p.parse_args()
R = int(os.environ["RANK"])
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=15))
dist.barrier()
lang = a.languages.split(",")[R]
tok = tokenise(lang)
emb = torch.nn.Embedding(500, 16); head = torch.nn.Linear(16, 500)
ps = [*emb.parameters(), *head.parameters()]
for q in ps: dist.broadcast(q.data, 0)
opt = torch.optim.SGD(ps, 0.1)
for s in range(25):
    b = tok[s * 8:s * 8 + 8]
    loss = torch.nn.functional.cross_entropy(head(emb(b[:, :-1])).flatten(0, 1), b[:, 1:].flatten())
    opt.zero_grad(); loss.backward()
    for q in ps: dist.all_reduce(q.grad)
    opt.step(); print(f"[{R}/{lang}] {s} {loss.item():.3f}")
