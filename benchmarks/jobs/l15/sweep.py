import itertools, json, os, subprocess, sys, time
grid = {"lr": [1e-3, 1e-2], "wd": [0.1]}
best = None
combos = list(itertools.product(*grid.values()))
print(f"sweep: {len(combos)} trials", flush=True)
for i, (lr, wd) in enumerate(combos):
    out = f"trials/{i:02d}"
    os.makedirs(out, exist_ok=True)
    t = time.time()
    p = subprocess.run(["torchrun", "--nproc-per-node", "2", "--master-port", "4315", "train.py",
                        "--lr", str(lr), "--weight-decay", str(wd), "--out", out])
    print(f"sweep: trial {i + 1}/{len(combos)} lr={lr} wd={wd} finished in {time.time() - t:.1f}s", flush=True)
    try:
        m = json.load(open(f"{out}/metrics.json"))
        if best is None or m["loss"] < best[0]:
            best = (m["loss"], lr, wd)
    except OSError:
        pass
print(f"sweep: done, best = {best}")
