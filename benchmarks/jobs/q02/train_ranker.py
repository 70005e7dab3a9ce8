# Ranking-Modell, ein Prozess je MPI-Rang, zwei Wochen pro Rang
import os, sys
import numpy as np, torch, torch.distributed as dist

rank = int(os.environ["OMPI_COMM_WORLD_RANK"]); world = int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", rank=rank, world_size=world)
def say(*a): print(f"<{rank}>", *a, flush=True)

weeks = [27 + 2 * rank, 28 + 2 * rank]
say("Wochen", weeks, "pid", os.getpid())
w = torch.zeros(12, requires_grad=True); opt = torch.optim.SGD([w], 0.05)
for epoch, week in enumerate(weeks * 3):
    d = np.load(os.path.join(sys.argv[1], f"week{week:02d}.npz"))
    for i in range(0, 600, 100):
        x, y = torch.from_numpy(d["x"][i:i+100]), torch.from_numpy(d["y"][i:i+100])
        loss = ((x @ w - y) ** 2).mean(); opt.zero_grad(); loss.backward()
        dist.all_reduce(w.grad); w.grad /= world; opt.step()
    say(f"Durchgang {epoch} Woche {week}: Verlust {loss.item():.4f}")
dist.barrier()
if rank == 0: torch.save(w.detach(), "ranker.pt"); say("gespeichert")
dist.destroy_process_group()
