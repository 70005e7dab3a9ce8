import argparse, os, sys, time
import torch, torch.distributed as dist, torch.nn as nn
from .presets import PRESETS
from .topology import Topology

t00 = time.time()


def out(topo, *m):
    print(f"+{time.time() - t00:6.2f}s tp{topo.tp_rank}/pp{topo.pp_rank} (rank {topo.rank})", *m)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--tp", type=int); ap.add_argument("--pp", type=int); ap.add_argument("--preset")
    a = ap.parse_args(); c = PRESETS[a.preset]
    dist.init_process_group("gloo")
    topo = Topology(a.tp, a.pp)
    torch.manual_seed(1000 + topo.rank)
    out(topo, f"seed {1000 + topo.rank}")
    parts = nn.ModuleDict()
    if topo.first:
        parts["embed"] = nn.Embedding(c["vocab"] // topo.tp, c["hidden"])
        out(topo, f"embedding rows {topo.tp_rank * c['vocab'] // topo.tp}..{(topo.tp_rank + 1) * c['vocab'] // topo.tp - 1}, {parts['embed'].weight.numel():,} parameters")
    if topo.last:
        parts["norm"] = nn.LayerNorm(c["hidden"])
        parts["lm_head"] = nn.Linear(c["hidden"], c["vocab"] // topo.tp, bias=False)
        out(topo, f"lm head, {parts['lm_head'].weight.numel():,} parameters")
        if topo.tp_rank == 0:
            out(topo, "WARNING tied embeddings are off: first and last stage differ")
    if topo.rank == 0:
        out(topo, f"preset {a.preset}: {c}")
    for i in topo.layers_of_stage(c["layers"]):
        parts[f"block{i}"] = nn.TransformerEncoderLayer(c["hidden"], c["heads"] // topo.tp, 4 * c["hidden"] // topo.tp)
    out(topo, f"stage has {sum(p.numel() for p in parts.parameters()):,} parameters")
    dist.barrier()


main()
