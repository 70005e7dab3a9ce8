import os, hashlib
for f in ("articles.jsonl", "weights.json", "metrics.json"):
    if os.path.exists(f): print(f"inventory: {f:16s} {os.path.getsize(f):8d} {hashlib.md5(open(f,'rb').read()).hexdigest()}")
    else: print(f"inventory: {f:16s} -")
