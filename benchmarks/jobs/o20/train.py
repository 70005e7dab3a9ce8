import torch
torch.manual_seed(0)
m = torch.nn.Linear(10, 1); o = torch.optim.Adam(m.parameters(), lr=.02); w = torch.randn(10, 1)
for s in range(1, 301):
    x = torch.randn(64, 10); l = (m(x) - x @ w).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if s % 100 == 0: print(f"step {s}/300 mse {l.item():.5f}")
torch.save(m.state_dict(), "scorer.pt"); print("training finished, scorer.pt written")
