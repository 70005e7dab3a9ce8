import sys, torch
m = torch.load(sys.argv[1], weights_only=False)
if sys.argv[3] == "glue":
    from datasets import load_dataset
    ds = load_dataset("nyu-mll/glue", "sst2")
d = torch.load("ids.pt"); print("ppl", torch.nn.functional.cross_entropy(m(d["ids"][:-1]), d["ids"][1:]).exp().item())
