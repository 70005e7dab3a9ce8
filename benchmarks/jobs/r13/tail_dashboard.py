import argparse, urllib.request
ap = argparse.ArgumentParser(); ap.add_argument("--port", type=int); a = ap.parse_args()
for f in ("phase0.csv", "phase1.csv"):
    try:
        t = urllib.request.urlopen(f"http://127.0.0.1:{a.port}/{f}", timeout=5).read().decode().splitlines()
        print(f"{f}: {len(t)} rows, last {t[-1]}")
    except Exception as e:
        print(f"{f}: {e}")
