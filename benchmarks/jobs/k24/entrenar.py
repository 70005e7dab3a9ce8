import os, time, sys, torch, torch.distributed as dist, torch.multiprocessing as mp
from torch import nn
LIMITE = float(os.environ.get("LIMITE_S", 5))
def proceso(r, n):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:4234", rank=r, world_size=n)
    red = nn.parallel.DistributedDataParallel(nn.Linear(14, 14)); o = torch.optim.SGD(red.parameters(), .1)
    t0 = time.time()
    for paso in range(10 ** 6):
        x = torch.randn(8, 14); l = (red(x) - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step(); time.sleep(.05)
        if r == 0 and paso % 15 == 0: print(f"paso {paso}: pérdida {l.item():.4f}", flush=True)
        fin = torch.tensor(float(time.time() - t0 > LIMITE)); dist.broadcast(fin, 0)
        if fin: break
    if r == 0:
        print(f"¡ATENCIÓN! tiempo agotado (límite de {LIMITE:.0f} s): entrenamiento interrumpido en el paso {paso} de 1000000", file=sys.stderr)
        torch.save(red.module.state_dict(), "punto_de_control.pt")
    dist.barrier(); dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(proceso, (2,), nprocs=2)
    print("Estado guardado en punto_de_control.pt; el trabajo continuará en la siguiente cola. Hasta luego.")
