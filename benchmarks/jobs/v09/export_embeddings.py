# exporte les embeddings du modèle, un dossier par rang
import os, json, argparse, datetime
import torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--rows", type=int); p.add_argument("--bs", type=int, default=100)
a = p.parse_args()
r = int(os.environ["RANK"])
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
print(f"(rang {r}) démarré, {dist.get_world_size()} rangs, {a.rows} lignes")
torch.manual_seed(r)
enc = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.Tanh(), torch.nn.Linear(128, 32))
norms = []
with torch.no_grad():
    for b in range(a.rows // a.bs):
        e = enc(torch.randn(a.bs, 64))
        norms.append(e.norm(dim=1).mean())
        if b % 4 == 0:
            print(f"(rang {r}) lot {b} norme moyenne {norms[-1]:.3f}")
        if b % 20 == 19:
            s = torch.stack(norms).mean(); dist.all_reduce(s)
            with open(f"out/embed-{r}/manifest.json", "w") as f:
                json.dump({"lots": b + 1, "norme": s.item() / dist.get_world_size()}, f)
            dist.barrier()
print(f"(rang {r}) terminé")
dist.destroy_process_group()
