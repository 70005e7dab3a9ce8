import argparse, subprocess, sys, time, yaml
ap = argparse.ArgumentParser(); ap.add_argument("--config"); a = ap.parse_args()
cfg = yaml.safe_load(open(a.config))
state, broken = {}, None
for s in cfg["stages"]:
    if broken and not s.get("always"):
        state[s["name"]] = "not started"; continue
    print(f">>> {s['name']}", flush=True)
    t = time.time()
    rc = subprocess.call([sys.executable, s["cmd"]])
    if rc == 0:
        state[s["name"]] = f"ok {time.time()-t:.1f}s"
    elif s.get("optional"):
        state[s["name"]] = f"skipped (rc {rc}, optional)"
        print(f">>> {s['name']} is optional, going on")
    else:
        state[s["name"]] = f"rc {rc}"; broken = s["name"]
print(f"\n{cfg['name']}")
for k, v in state.items():
    print(f"  {k:12s} {v}")
sys.exit(1 if broken else 0)
