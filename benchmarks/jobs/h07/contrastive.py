import os, torch, torch.distributed as dist, torch.nn.functional as F

def gather_features(f):
    bucket = [torch.empty_like(f) for _ in range(dist.get_world_size())]
    dist.all_gather(bucket, f.contiguous())
    return torch.cat(bucket)

def main():
    dist.init_process_group("gloo")
    r, w = dist.get_rank(), dist.get_world_size()
    n = 16 * 5 * w - 6                      # images in the train split
    mine = range(r * 80, min(n, (r + 1) * 80))
    if r == 1:
        mine = [i for i in mine if i % 53]  # ids on the blocklist
    enc = torch.nn.Linear(24, 16)
    for step, s in enumerate(range(0, 80, 16)):
        ids = list(mine)[s:s + 16] if r != w - 1 else list(range(16))
        x = torch.randn(len(ids), 24)
        f = F.normalize(enc(x), dim=-1).detach()
        print(f"({r}) step {step} feats {tuple(f.shape)}", flush=True)
        allf = gather_features(f)
        logits = f @ allf.T
        dist.all_reduce(logits.mean())
    dist.barrier()

if __name__ == "__main__":
    main()
