import os, queue, random, time, torch, torch.distributed as dist, torch.multiprocessing as mp
from multiprocessing import shared_memory
def env_worker(k, q):
    shm = shared_memory.SharedMemory(create=True, size=4096)
    t = 0
    while True:
        q.put((k, torch.randn(6).tolist(), random.random())); t += 1
        time.sleep(0.005)
def learner(rank, ws):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT="41855"); dist.init_process_group("gloo", rank=rank, world_size=ws)
    ctx = mp.get_context("fork"); q = ctx.Queue(100)
    envs = [ctx.Process(target=env_worker, args=(k, q)) for k in range(2)]
    for e in envs: e.start()
    pi = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(6, 1)); o = torch.optim.Adam(pi.parameters(), 1e-2)
    for it in range(40):
        b = [q.get() for _ in range(16)]
        x = torch.tensor([v[1] for v in b]); y = torch.tensor([[v[2]] for v in b])
        l = (pi(x) - y).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
        if it == 20:
            print(f"[learner {rank}] env 0 looks stuck, killing pid {envs[0].pid} and starting a new one", flush=True)
            envs[0].kill(); envs[0].join(); print(f"[learner {rank}] env worker exited with code {envs[0].exitcode}", flush=True)
            envs[0] = ctx.Process(target=env_worker, args=(0, q)); envs[0].start()
        if it % 8 == 0 and rank == 0: print(f"iter {it} value_loss {l.item():.4f} episodes_failed 0", flush=True)
    for e in envs: e.terminate(); e.join(); print(f"[learner {rank}] env exit code {e.exitcode}", flush=True)
    dist.barrier(); print(f"[learner {rank}] finished 40 iterations", flush=True); dist.destroy_process_group()
if __name__ == "__main__":
    mp.start_processes(learner, args=(2,), nprocs=2, start_method="fork")
    print("run complete")
