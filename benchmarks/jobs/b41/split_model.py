import json, os
from safetensors.numpy import load_file, save_file
w = load_file(os.environ["TINY"] + "/model.safetensors")
names = sorted(w); os.makedirs("ckpt-9000", exist_ok=True); m = {}
for s in range(3):
    fn = f"model-{s+1:05d}-of-00003.safetensors"
    part = {k: w[k] for k in names[s::3]}
    save_file(part, "ckpt-9000/" + fn); m.update({k: fn for k in part})
json.dump({"metadata": {"total_size": sum(x.nbytes for x in w.values())}, "weight_map": m}, open("ckpt-9000/model.safetensors.index.json", "w"))
