import argparse, json, subprocess, sys, time
import torch, torch.distributed as dist, torch.multiprocessing as mp

class Registro:
    def __init__(self, intentos=2): self.quedan = intentos; self.fallos = 0; self.abrir()
    def abrir(self): self.p = subprocess.Popen([sys.executable, "registro.py"], stdin=subprocess.PIPE, text=True)
    def escribe(self, **m):
        if self.p is None: return
        try: self.p.stdin.write(json.dumps(m) + "\n"); self.p.stdin.flush()
        except BrokenPipeError as e:
            print(f"ERROR: el registro (pid {self.p.pid}) ha terminado con código {self.p.wait()}: {e}", flush=True)
            self.fallos += 1; self.quedan -= 1; self.p = None
            if self.quedan > 0: print("reinicio el registro", flush=True); self.abrir()
            else: print("AVISO: sigo sin registro de métricas", flush=True)

def bucle(rango, n):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:47220", rank=rango, world_size=n)
    reg = Registro() if rango == 1 else None
    red = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1)); pesos = list(red.parameters())
    for paso in range(60):
        x = torch.randn(32, 8); perdida = (red(x) - x[:, :1]).square().mean()
        perdida.backward()
        with torch.no_grad():
            for p in pesos: p -= 0.05 * p.grad; p.grad = None
        if reg and paso % 3 == 0: reg.escribe(paso=paso, perdida=perdida.item())
        if rango == 0 and paso % 10 == 0: print(f"paso {paso:3d}  pérdida {perdida.item():.5f}", flush=True)
        time.sleep(0.05)
    dist.barrier()
    if rango == 0: torch.save(red.module.state_dict(), "modelo.pt"); print("modelo guardado en modelo.pt, 60 pasos", flush=True)
    if reg and reg.p: reg.p.stdin.close(); reg.p.wait()
    dist.destroy_process_group()

if __name__ == "__main__":
    a = argparse.ArgumentParser(); a.add_argument("--procesos", type=int); n = a.parse_args().procesos
    mp.start_processes(bucle, args=(n,), nprocs=n, start_method="fork"); print("fin, todo correcto")
