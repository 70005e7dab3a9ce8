"""each MPI rank loads its part of the base model before the merge with the adapter"""
import json, os, sys
from safetensors import safe_open

rank = int(os.environ["OMPI_COMM_WORLD_RANK"]); world = int(os.environ["OMPI_COMM_WORLD_SIZE"])
base = sys.argv[1]
index = json.load(open(f"{base}/model.safetensors.index.json"))["weight_map"]
files = sorted(set(index.values()))
n = 0
for f in files:
    with safe_open(f"{base}/{f}", framework="np") as st:
        for k in list(st.keys())[rank::world]:
            n += st.get_tensor(k).size
    print(f"[rank {rank}/{world}] {f} ok, {n} values so far", flush=True)
