import os, subprocess, time, torch, torch.distributed as dist, yaml
def run_info():
    sha = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
    return {"sha": sha, "time": time.time()}
def main():
    dist.init_process_group("gloo"); r = dist.get_rank()
    print(f"[{r}] world {dist.get_world_size()}", flush=True)
    info = [None]
    if r == 0:
        info = [run_info()]
    dist.broadcast_object_list(info, src=0)
    print(f"[{r}] run {info[0]['sha']}", flush=True)
    m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    for i in range(10): m(torch.ones(2, 4)).sum().backward()
main()
