import torch, torch.distributed as dist

def sync_metrics(metrics):
    """average a dict of scalars over ranks"""
    keys = sorted(metrics)
    t = torch.tensor([metrics[k] for k in keys])
    dist.all_reduce(t)
    return dict(zip(keys, (t / dist.get_world_size()).tolist()))

def share_best(state, src=0):
    for v in state.values():
        dist.broadcast(v, src)
