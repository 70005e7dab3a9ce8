import sys, torch
sd = torch.load(f"{sys.argv[1]}.pt", mmap=sys.argv[2] == "1"); m = torch.nn.Linear(10, 3); m.load_state_dict(sd); print("logits", m(torch.ones(1, 10)).tolist())
