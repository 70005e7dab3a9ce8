import collections, json, os, sys
R, N = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
src, out = sys.argv[1:]
os.makedirs(out, exist_ok=True)
why, kept = collections.Counter(), 0
with open(src, "rb") as f, open(f"{out}/{R}.jsonl", "w") as g:
    for i, line in enumerate(f):
        if i % N != R: continue
        try:
            k, ts, text = line.rstrip(b"\n").split(b"\t")
            t = int(ts); s = text.decode("utf-8")
            if not s: raise ValueError("empty text")
        except Exception as e:
            why[type(e).__name__] += 1
            print(f"REJECT line {i}: {type(e).__name__}: {e}", file=sys.stderr)
            continue
        g.write(json.dumps({"id": int(k), "t": t, "s": s}) + "\n"); kept += 1
print(f"shard {R}: kept {kept}, rejected {sum(why.values())} {dict(why)}")
