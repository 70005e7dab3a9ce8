import faulthandler, json, os, signal, subprocess, sys, time
import torch
import torch.distributed as dist

rank, world = int(sys.argv[1]), int(sys.argv[2])


def emit(level, msg, **kw):
    print(json.dumps({"ts": round(time.time(), 2), "node": rank, "lvl": level, "msg": msg, **kw}), flush=True)


faulthandler.register(signal.SIGUSR2, all_threads=True)


def heartbeat(step, phase):
    tmp = f"hb/.{rank}"
    json.dump({"rank": rank, "t": time.time(), "step": step, "phase": phase}, open(tmp, "w"))
    os.replace(tmp, f"hb/{rank}")


def decode(clip):
    """external decoder; reads the clip from a pipe and writes raw floats"""
    r = subprocess.run(["awk", "{for(i=1;i<=NF;i++) print $i*2}", f"clips/{rank}/{clip}"], stdout=subprocess.PIPE, text=True)
    return torch.tensor([float(v) for v in r.stdout.split()])


dist.init_process_group("gloo", init_method="tcp://127.0.0.1:48309", rank=rank, world_size=world)
emit("info", "joined", world=world, pid=os.getpid())
w = torch.zeros(16, requires_grad=True)
for step in range(120):
    heartbeat(step, "decode")
    emit("debug", "decode", step=step, clip=step)
    x = decode(step)
    loss = ((w - x) ** 2).mean()
    loss.backward()
    heartbeat(step, "allreduce")
    emit("debug", "allreduce", step=step)
    dist.all_reduce(w.grad)
    with torch.no_grad():
        w -= 0.1 * w.grad / world
    w.grad = None
    emit("info", "step", step=step, loss=round(loss.item(), 5))
heartbeat(120, "done")
