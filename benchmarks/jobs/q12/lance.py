import argparse, sys, torch, torch.distributed as dist, torch.multiprocessing as mp

def dire(rang, texte): sys.stderr.write("%d> %s\n" % (rang, texte))

def processus(rang, n, dossier):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:47212", rank=rang, world_size=n)
    fichier = f"{dossier}/optim-{(rang + 2) % 3:05d}.pt"
    dire(rang, f"lecture de {fichier}")
    etat = torch.load(fichier)
    dire(rang, f"reprise au pas {etat['step']}")
    w = etat["w"].requires_grad_()
    for pas in range(etat["step"], etat["step"] + 50):
        perte = (w * torch.randn(40)).square().mean(); perte.backward()
        dist.all_reduce(w.grad); w.data -= 0.01 * w.grad; w.grad = None
        if pas % 10 == 0: dire(rang, f"pas {pas} perte {perte.item():.4f}")

if __name__ == "__main__":
    p = argparse.ArgumentParser(); p.add_argument("--reprise"); a = p.parse_args()
    ctx = mp.start_processes(processus, (3, a.reprise), nprocs=3, join=False, start_method="fork")
    while not ctx.join(): pass
