import os
for f in ("join_and_fit.hist.json", "model.npz"):
    print(f"  {f:24s}", f"{os.path.getsize(f)} bytes" if os.path.exists(f) else "not written")
