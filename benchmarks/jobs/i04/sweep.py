import argparse, json, subprocess, sys, yaml
ap = argparse.ArgumentParser(); ap.add_argument("--grid"); a = ap.parse_args()
res = []
for i, t in enumerate(yaml.safe_load(open(a.grid))["trials"]):
    print(f"=== trial {i}: {t}", flush=True)
    cmd = ["torchrun", "--nproc_per_node", "2", "--master-port", str(41140 + i), "trial.py",
           "--out", f"trial_{i}.json"] + [f"--{k}={v}" for k, v in t.items()]
    rc = subprocess.run(cmd).returncode
    val = json.load(open(f"trial_{i}.json"))["val_loss"] if rc == 0 else None
    print(f"=== trial {i}: exit code {rc}", flush=True)
    res.append((i, t, rc, val))
print("\n  #  d_model  heads     lr  status    val_loss")
for i, t, rc, v in res:
    print(f"{i:3d}  {t['d_model']:7d}  {t['heads']:5d}  {t['lr']:5g}  {'ok' if rc == 0 else 'FAILED':8s}  {'-' if v is None else f'{v:.4f}'}")
ok = [r for r in res if r[2] == 0]
best = min(ok, key=lambda r: r[3])
print(f"\n{len(ok)} of {len(res)} trials usable; best is trial {best[0]} (val_loss {best[3]:.4f})")
json.dump(best[1], open("best.json", "w"))
