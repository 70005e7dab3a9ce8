"""Weekly failover drill of the shrinkable trainer: a worker is lost, the others must go on."""
import argparse, os, re, signal, subprocess, sys, threading, time
a = argparse.ArgumentParser(); a.add_argument("--workers", type=int); a.add_argument("--steps", type=int)
a = a.parse_args()
def say(s): print("drill |", s, flush=True)
def generation(gen, n, victim=None):
    ps, seen = [], [0] * n
    def pump(i, p):
        for l in p.stdout:
            m = re.search(r"step (\d+)", l)
            if m: seen[i] = int(m[1])
            print(f"g{gen}w{i} | {l}", end="", flush=True)
    for i in range(n):
        e = dict(os.environ, RANK=str(i), WORLD_SIZE=str(n), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(47723 + gen), STEPS=str(a.steps))
        p = subprocess.Popen([sys.executable, "-u", "worker.py"], env=e, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        t = threading.Thread(target=pump, args=(i, p)); t.start(); ps.append((p, t))
    if victim is not None:
        while seen[victim] < 40: time.sleep(0.05)
        say(f"taking worker {victim} (pid {ps[victim][0].pid}) away with SIGKILL")
        ps[victim][0].send_signal(signal.SIGKILL)
    rcs = []
    for p, t in ps: rcs.append(p.wait()); t.join()
    say(f"generation {gen}: exit codes {rcs}")
    return rcs
rcs = generation(0, a.workers, victim=2)
left = sum(rc != -9 for rc in rcs)
say(f"{left} of {a.workers} workers survive, re-forming")
rcs = generation(1, left)
ok = not any(rcs) and os.path.exists("model.final.pt")
say("PASSED, recovery from checkpoint works" if ok else "NOT PASSED")
sys.exit(not ok)
