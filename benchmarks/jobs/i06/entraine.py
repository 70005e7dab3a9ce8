import os, glob, traceback, torch, torch.distributed as dist
rang = int(os.environ["OMPI_COMM_WORLD_RANK"]); taille = int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", rank=rang, world_size=taille)
m = torch.nn.Linear(20, 4)
pas = 0
for f in sorted(glob.glob("etat/pas_*.pt"), reverse=True):
    try:
        s = torch.load(f)
        m.load_state_dict(s["modele"]); pas = s["pas"]
        print(f"rang {rang} : reprise depuis {f}", flush=True)
        break
    except Exception:
        traceback.print_exc()
        print(f"rang {rang} : ERREUR, {f} illisible, essai du precedent", flush=True)
m = torch.nn.parallel.DistributedDataParallel(m)
o = torch.optim.SGD(m.parameters(), lr=.1)
for pas in range(pas, pas + 25):
    x = torch.randn(16, 20); l = (m(x) - x[:, :4]).pow(2).mean()
    o.zero_grad(); l.backward(); o.step()
    if pas % 5 == 0 and rang == 0: print(f"pas {pas:3d}  perte {l.item():.4f}", flush=True)
if rang == 0:
    torch.save({"modele": m.module.state_dict(), "pas": pas + 1}, f"etat/pas_{pas+1:06d}.pt")
    print(f"Entrainement termine, etat enregistre au pas {pas+1}. A bientot !")
dist.destroy_process_group()
