import argparse, os, time, torch, traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
def tokenize(i, out, frac):
    import resource
    if i == 3: resource.setrlimit(resource.RLIMIT_CPU, (int(2 * frac) or 1, 60))
    n = 20_000_000 if frac < 4 and i == 3 else 1000
    d = {}
    for k in range(n): d[k % 1000] = d.get(k % 1000, 0) + 1
    torch.save(torch.randint(0, 64, (32, 10), generator=torch.Generator().manual_seed(i)), f"{out}/{i}.pt"); return i
if __name__ == "__main__":
    p = argparse.ArgumentParser(); p.add_argument("--workers", type=int); p.add_argument("--out"); a = p.parse_args(); os.makedirs(a.out, exist_ok=True)
    todo = set(range(6)); frac = 0.5
    while todo:
        try:
            with ProcessPoolExecutor(a.workers) as ex:
                for i in ex.map(tokenize, sorted(todo), [a.out] * 9, [frac] * 9): todo.discard(i); print(f"prep: shard {i} ok", flush=True)
        except BrokenProcessPool:
            traceback.print_exc(); frac *= 8; print(f"prep: pool broke, {len(todo)} shards left, retrying with smaller pieces", flush=True)
    open(f"{a.out}/.done", "w").close()
