import argparse, csv, itertools, subprocess, sys, re
ap = argparse.ArgumentParser(); ap.add_argument("--out"); a = ap.parse_args()
rows = []
grid = [(64, 4, 0.01), (64, 6, 0.01), (32, 4, 1e6), (32, 2, 0.003)]
for i, (dim, heads, lr) in enumerate(grid):
    print(f"\n##### trial {i}: dim={dim} heads={heads} lr={lr} #####", flush=True)
    p = subprocess.run(["torchrun", "--nproc-per-node", "2", "--master-port", str(31730 + i), "trial.py", str(dim), str(heads), str(lr)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(p.stdout, end="", flush=True)
    m = re.search(r"final_loss=(\S+)", p.stdout)
    rows.append((i, dim, heads, lr, "COMPLETE" if p.returncode == 0 else "FAIL", m.group(1) if m else "-"))
csv.writer(open(a.out, "w")).writerows(rows)
print("\n trial  dim heads      lr  state      loss")
for r in rows:
    print(f"{r[0]:6d} {r[1]:4d} {r[2]:5d} {r[3]:7g}  {r[4]:9s}  {r[5]}")
best = min((r for r in rows if r[4] == "COMPLETE"), key=lambda r: float(r[5]))
print(f"2... {sum(r[4]=='COMPLETE' for r in rows)} completed / {sum(r[4]=='FAIL' for r in rows)} failed. Best trial: {best[0]} ({best[5]})".replace("2... ", ""))
