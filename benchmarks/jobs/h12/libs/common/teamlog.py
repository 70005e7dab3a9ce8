def banner(r): print("rank", r, "ready", flush=True)
