import os
import socket

import numpy as np
import torch
import torch.distributed as dist

rang = int(os.environ["OMPI_COMM_WORLD_RANK"])
taille = int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", rank=rang, world_size=taille)
print(f"[asr] processus {rang}/{taille} pid {os.getpid()}", flush=True)

ctc = torch.nn.Sequential(torch.nn.Linear(40, 64), torch.nn.ReLU(), torch.nn.Linear(64, 30))
for p in ctc.parameters():
    dist.broadcast(p.data, 0)
n_par = sum(p.numel() for p in ctc.parameters())
if rang == 0:
    print(f"[asr] modèle: {n_par} paramètres", flush=True)

chemin = f"scratch/asr/train_fr_{rang:02d}.npy"
x = torch.from_numpy(np.load(chemin))
print(f"[asr] {rang}: {len(x)} énoncés lus dans {chemin}", flush=True)
opt = torch.optim.SGD(ctc.parameters(), 0.1)
for ep in range(4):
    for b in x.split(64):
        perte = torch.logsumexp(ctc(b), 1).mean()
        opt.zero_grad()
        perte.backward()
        for p in ctc.parameters():
            dist.all_reduce(p.grad)
        opt.step()
    print(f"[asr] {rang}: époque {ep} perte {perte.item():.4f}", flush=True)
dist.destroy_process_group()
