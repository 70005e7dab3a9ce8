import sys, glob, torch
m = torch.nn.Sequential(torch.nn.Embedding(64, 16), torch.nn.Linear(16, 64)); m.load_state_dict(torch.load(sys.argv[1]))
x = torch.load(sorted(glob.glob(sys.argv[2] + "/*.pt"))[0]); ppl = torch.nn.functional.cross_entropy(m(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()).exp().item()
if "--strict" in sys.argv: assert ppl < 40, f"perplexity {ppl:.1f} is above the strict bound 40"
print(f"eval: ppl {ppl:.2f} over {x.numel()} tokens")
