import argparse
import os
import pickle
from datetime import timedelta

import torch
import torch.distributed as dist

import bpe

p = argparse.ArgumentParser()
p.add_argument("--corpus")
p.add_argument("--merges", type=int)
args = p.parse_args()
dist.init_process_group("gloo", timeout=timedelta(seconds=12))
if dist.get_rank() == 0:
    print(f"[rank0] {os.path.getsize(args.corpus)/1e6:.1f} MB of text, no vocab.pkl yet", flush=True)
    merges = bpe.learn(args.corpus, args.merges)
    pickle.dump(merges, open("vocab.pkl", "wb"))
dist.barrier()
merges = pickle.load(open("vocab.pkl", "rb"))
print(f"[rank{dist.get_rank()}] {len(merges)} merges loaded", flush=True)
