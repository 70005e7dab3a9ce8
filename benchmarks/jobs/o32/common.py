import json, torch, torch.distributed as dist
def setup(): dist.init_process_group("gloo"); return dist.get_rank(), dist.get_world_size()
def load(path, r, w):
    rows = [json.loads(l) for l in open(path)][r::w]; return torch.tensor([x["x"] for x in rows]), torch.tensor([x["y"] for x in rows])[:, None]
