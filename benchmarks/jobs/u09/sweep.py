"""random search; a failed trial is a result like any other"""
import argparse, concurrent.futures as cf, json, random, subprocess, sys, time

ap = argparse.ArgumentParser()
ap.add_argument("--trials", type=int, default=12)
ap.add_argument("--parallel", type=int, default=2)
args = ap.parse_args()
random.seed(7)
space = [dict(lr=random.choice([1e-3, 1e-2, 3e2]), width=random.choice([32, 128, 256]), heads=random.choice([1, 2, 4]))
         for _ in range(args.trials)]
for i, extra in ((2, dict(lr=1e-3, width=128, heads=3)), (3, dict(lr=1e-3, width=3_000_000, heads=1))):
    if i < len(space):
        space[i] = extra          # asked for by hand


def go(i):
    t = time.time()
    p = subprocess.run([sys.executable, "trial.py", json.dumps(space[i])], capture_output=True, text=True)
    return i, p.returncode, p.stdout, p.stderr, time.time() - t


best, failed = None, 0
with cf.ThreadPoolExecutor(args.parallel) as ex:
    for i, rc, out, err, dt in ex.map(go, range(args.trials)):
        print(f"--- trial {i:02d} {space[i]} ({dt:.1f}s)")
        for l in (out + err).splitlines():
            print(f"    {l}")
        if rc:
            failed += 1
            print(f"    => FAILED (exit {rc}), trial pruned")
            continue
        v = json.loads(out.splitlines()[-1])["val"]
        print(f"    => val {v:.5f}")
        if best is None or v < best[0]:
            best = (v, i)
print(f"sweep finished: {args.trials - failed} ok, {failed} pruned; best trial {best[1]:02d} val {best[0]:.5f} {space[best[1]]}")
json.dump({"trial": best[1], "val": best[0], **space[best[1]]}, open("best.json", "w"))
