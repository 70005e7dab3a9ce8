import argparse, collections, gzip, json, os, resource, time, traceback
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
import numpy as np

ap = argparse.ArgumentParser(); ap.add_argument("--workers", type=int); ap.add_argument("--attempts", type=int); a = ap.parse_args()


def work(seg, attempt):
    path, ids, st = f"crawl/seg{seg:03d}.gz", [], collections.Counter()
    if attempt == 0:
        # first attempt with a tight budget; a worker over it is ended by the kernel (large segments get more later)
        u = resource.getrusage(resource.RUSAGE_SELF)
        lim = int(u.ru_utime + u.ru_stime) + (1 if seg in (8, 21) else 30)
        resource.setrlimit(resource.RLIMIT_CPU, (lim, resource.RLIM_INFINITY))
    try:
        f = gzip.open(path).read().split(b"\n")
    except EOFError:
        traceback.print_exc()
        print(f"{path}: segment is truncated, SKIPPED (listed in bad_segments.txt)", flush=True)
        return seg, None, {"bad_segment": 1}
    for n, raw in enumerate(f):
        try:
            rec = json.loads(raw.decode("utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError) as e:
            print(f"{path}:{n + 1}: {type(e).__name__}: {e}", flush=True)
            st[type(e).__name__] += 1
            continue
        st["ok"] += 1
        for _ in range(1 if seg not in (8, 21) else 120):        # these segments hold nested archives
            t = [hash(w) % 30000 for w in rec["text"].split()]
        ids += t
    np.save(f"out/seg{seg:03d}.npy", np.array(ids, dtype=np.uint16))
    return seg, len(ids), dict(st)


if __name__ == "__main__":
    os.makedirs("out", exist_ok=True)
    todo, total, stats = list(range(30)), 0, collections.Counter()
    bad = []
    for attempt in range(a.attempts):
        again = []
        for i in range(0, len(todo), 6):
            group = todo[i:i + 6]
            with ProcessPoolExecutor(a.workers) as ex:
                futs = {s: ex.submit(work, s, attempt) for s in group}
                for s, f in futs.items():
                    try:
                        _, n, st = f.result()
                    except BrokenProcessPool as e:
                        print(f"ERROR seg{s:03d} attempt {attempt + 1}/{a.attempts}: {type(e).__name__}: {e}", flush=True)
                        again.append(s)
                        continue
                    stats.update(st)
                    if n is None:
                        bad.append(s)
                    else:
                        total += n
                        print(f"seg{s:03d} done: {n} tokens {st}", flush=True)
        todo = again
        if not todo:
            break
        print(f"{len(todo)} segments left after attempt {attempt + 1}: {todo}, retrying", flush=True)
    open("bad_segments.txt", "w").writelines(f"seg{s:03d}\n" for s in bad)
    print(f"{total} tokens in {len(os.listdir('out'))} files, counters {dict(stats)}")
    assert not todo and len(bad) <= 2, (todo, bad)
    print("tokenize_crawl: COMPLETE")
