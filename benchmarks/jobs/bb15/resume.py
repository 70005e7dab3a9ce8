import glob, logging, os, torch, torch.distributed as dist
r = int(os.environ["OMPI_COMM_WORLD_RANK"])
logging.basicConfig(filename=f"logs/node0-rank{r}.txt", level=logging.INFO, format="%(asctime)s.%(msecs)03d %(levelname)s <%(funcName)s> %(message)s", datefmt="%H:%M:%S")
def newest():
    # du plus récent au plus ancien
    for fn in sorted(glob.glob("ck/*.pt"), key=lambda f: -int(f[3:-3])):
        try:
            c = torch.load(fn); logging.info("checkpoint %s chargé (pas %d)", fn, c["step"]); return c
        except Exception: logging.exception("checkpoint %s illisible, on essaie le précédent", fn)
    raise RuntimeError("aucun checkpoint")
def train():
    c = newest(); w = c["w"]; dist.broadcast(w, 0)
    for s in range(c["step"], c["step"] + 100):
        x = torch.randn(8, 64); g = x.T @ (x @ w - x) / 8; dist.all_reduce(g); w -= 0.01 * g
        logging.info("pas %d norme %.4f", s + 1, g.norm())
    if r == 0: torch.save({"step": s + 1, "w": w}, "ck/300.pt"); logging.info("nouveau ck/300.pt écrit")
    dist.barrier(); logging.info("entraînement terminé")
dist.init_process_group("gloo", rank=r, world_size=3)
train(); dist.destroy_process_group()
