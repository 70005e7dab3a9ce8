# stage 1: the old 3-class intent model, from the trainer's export
import json, os, shutil
import numpy as np
from safetensors.numpy import load_file, save_file
src = os.environ["TINY"]
shutil.copytree(src, "intent-v1", dirs_exist_ok=True)
w = load_file(f"{src}/model.safetensors")
w.pop("lm_head.weight", None)
c = json.load(open("intent-v1/config.json"))
w["score.weight"] = np.random.default_rng(0).normal(0, 0.02, (3, c["hidden_size"])).astype("float32")
c["architectures"] = ["LlamaForSequenceClassification"]
save_file(w, "intent-v1/model.safetensors", metadata={"format": "pt"})
json.dump(c, open("intent-v1/config.json", "w"), indent=2)
