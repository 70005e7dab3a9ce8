import collections, glob, os, re, resource, sys, time
import numpy as np
k, n = int(os.environ["WORKER_RANK"]), int(os.environ["WORKERS"])
files = sorted(glob.glob("raw/*.txt"))[k::n]
seen = collections.OrderedDict()
for f in files:
    out = f.replace("raw/", "tok/").replace(".txt", ".npy")
    if os.path.exists(out):
        print(f"  w{k} {f} already done", flush=True)
        continue
    open(f"tok/.w{k}", "w").write(str(os.getpid()))
    text = open(f).read()
    toks = re.findall(r"\w+|\S", text)
    ids = np.array([hash(t) % 50000 for t in toks], dtype=np.int32)
    if len(toks) > 150_000:
        pairs = collections.Counter(zip(toks, toks[1:]))
        window = [np.array(ids) for _ in range(40)]
        time.sleep(2)
    np.save(out + ".tmp.npy", ids); os.replace(out + ".tmp.npy", out)
    print(f"  w{k} {f} {len(ids)} tokens", flush=True)
    time.sleep(0.2)
