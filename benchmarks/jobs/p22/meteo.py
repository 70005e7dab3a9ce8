import os, sys, time, datetime, traceback, torch, torch.distributed as dist
R = int(os.environ["RANK"])
def dit(niveau, msg): print(f"{niveau:<6}#{R} {msg}")
store = dist.TCPStore("127.0.0.1", 47123, 4, is_master=R == 0, wait_for_workers=True)
if R == 2:
    dit("INFO", "préparation des grilles de pression")
    for k in range(7):
        time.sleep(1.5); dit("INFO", f"grille {k + 1}/7 interpolée")
    store.set("grilles", "prêtes")
else:
    for essai in range(1, 7):
        try:
            store.wait(["grilles"], datetime.timedelta(seconds=3)); break
        except dist.DistStoreError:
            dit("ERREUR", f"grilles pas encore prêtes, essai {essai}/6")
            if R == 0: traceback.print_exc()
    else:
        raise SystemExit(f"rang {R}: grilles jamais prêtes")
dist.init_process_group("gloo", store=dist.PrefixStore("pg", store), rank=R, world_size=4)
w = torch.zeros(12)
for pas in range(130):
    x = torch.randn(32, 12); g = x.T @ (x @ w - x[:, 1]) / 32; dist.all_reduce(g); w -= 0.1 * g / 4
    if pas % 2 == 0: dit("INFO", f"pas {pas} rmse {((x @ w - x[:, 1]) ** 2).mean().sqrt():.5f}")
dist.barrier()
if R == 0: torch.save(w, "meteo.pt"); dit("INFO", "modèle enregistré dans meteo.pt")
dit("INFO", "terminé"); time.sleep(0.5 * (R == 0))
dist.destroy_process_group()
