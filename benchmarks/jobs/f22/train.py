import time, torch
torch.manual_seed(0)
w = torch.nn.Linear(512, 512); o = torch.optim.SGD(w.parameters(), 0.1)
for ep in range(1, 101):
    for _ in range(20):
        x = torch.randn(64, 512); l = (w(x) - x).square().mean(); o.zero_grad(); l.backward(); o.step(); time.sleep(0.05)
    print(f"epoch {ep}/100 loss={l.item():.5f}", flush=True)
