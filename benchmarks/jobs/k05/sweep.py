import itertools, json, os, subprocess, sys
grid = [(0.01, 16, 4), (0.1, 18, 4), (1e30, 16, 2), (0.1, 16, 2)]
rows = []
os.makedirs("trials", exist_ok=True)
for i, (lr, dim, heads) in enumerate(grid):
    print(f"=== trial {i}: lr={lr} dim={dim} heads={heads} ===", flush=True)
    out = f"trials/{i}.json"
    rc = subprocess.call([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "4205",
                          "train.py", "--lr", str(lr), "--dim", str(dim), "--heads", str(heads), "--out", out])
    rows.append((i, lr, dim, heads, "ok" if rc == 0 else "FAILED", json.load(open(out))["loss"] if rc == 0 else None))
print()
print(f"{'trial':>5} {'lr':>8} {'dim':>4} {'heads':>5} {'status':>7} {'loss':>8}")
print("-" * 44)
for r in rows:
    print(f"{r[0]:>5} {r[1]:>8} {r[2]:>4} {r[3]:>5} {r[4]:>7} {r[5] if r[5] is None else round(r[5], 4)!s:>8}")
best = min((r for r in rows if r[5] is not None), key=lambda r: r[5])
print(f"\nbest trial: {best[0]} (lr={best[1]}, heads={best[3]}) with loss {best[5]:.4f}; 2 of 4 trials completed")
