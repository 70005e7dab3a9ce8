import argparse, time, torch
p = argparse.ArgumentParser(); p.add_argument("--ckpt"); p.add_argument("--tasks", default="easy,medium,hard,adversarial"); a = p.parse_args()
m = torch.nn.Linear(16, 4); m.load_state_dict(torch.load(a.ckpt)); n = 100
for t in a.tasks.split(","):
    ok = 0; t0 = time.time()
    for i in range(n):
        x = torch.randn(16); ok += int(m(x).argmax() == x[:4].argmax()); time.sleep(.03 * n / 100)
    print(f"{t:12s} acc={ok/n:.3f} n={n} ({time.time()-t0:.1f}s)"); n *= 3
