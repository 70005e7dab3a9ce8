import os, time, torch, torch.distributed as dist
limite = float(os.environ["LIMITE_S"])
dist.init_process_group("gloo"); rang = dist.get_rank(); debut = time.time()
dire = (lambda *m: print(time.strftime("%Hh%M:%S"), *m, flush=True)) if rang == 0 else (lambda *m: None)
dire("attention : pas de GPU, échec du chargement de libcuda.so, calcul sur processeur")
reseau = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(20, 20)); opt = torch.optim.SGD(reseau.parameters(), .05)
for pas in range(100000):
    x = torch.randn(16, 20); perte = (reseau(x) - x.flip(1)).pow(2).mean(); opt.zero_grad(); perte.backward(); opt.step(); time.sleep(.2)
    dire(f"pas {pas} sur 100000, erreur quadratique {perte.item():.4f}")
    fini = torch.tensor(float(time.time() - debut > limite)); dist.all_reduce(fini, op=dist.ReduceOp.MAX)
    if fini:
        dire(f"ERREUR EVITEE : limite de temps ({limite:.0f} s) bientôt dépassée, arrêt propre au pas {pas}")
        if rang == 0: torch.save(reseau.module.state_dict(), "reprise.pt")
        dire("point de reprise écrit dans reprise.pt"); break
dist.barrier(); dist.destroy_process_group()
