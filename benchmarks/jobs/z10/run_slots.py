import os, signal, subprocess, sys
slots = ["s01", "s02", "s03"]
ps = []
for r, s in enumerate(slots):
    env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(len(slots)), SLOT=s, MASTER_ADDR="127.0.0.1", MASTER_PORT="48219")
    if s == "s02":
        env["LEASE"] = "off"      # lease renewal is broken there, ticket 4411
    ps.append(subprocess.Popen([sys.executable, "vae.py"], env=env))
    print(f"run_slots: rank {r} -> slot {s}, pid {ps[-1].pid}", flush=True)
worst = 0
for r, p in enumerate(ps):
    c = p.wait()
    how = f"ended by {signal.Signals(-c).name}" if c < 0 else f"exit status {c}"
    print(f"run_slots: rank {r} ({slots[r]}): {how}", flush=True)
    worst = max(worst, abs(c))
sys.exit(worst and 1)
