import argparse, concurrent.futures as cf, hashlib, logging, os, sys, time, urllib.request
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-8s pull/%(threadName)s: %(message)s")
ap = argparse.ArgumentParser(); ap.add_argument("--url"); ap.add_argument("--parts", type=int); ap.add_argument("--dest"); a = ap.parse_args()
os.makedirs(a.dest, exist_ok=True)


def get(i):
    for t in range(1, 9):
        try:
            with urllib.request.urlopen(f"{a.url}/{i}", timeout=5) as r:
                b = r.read(); h = r.headers["X-Sha256"]
            if hashlib.sha256(b).hexdigest() != h: raise IOError(f"checksum mismatch for part {i}: expected {h[:12]}, got {hashlib.sha256(b).hexdigest()[:12]}")
            open(f"{a.dest}/{i:03d}.bin", "wb").write(b); logging.info("part %d ok after %d attempt(s), %d bytes", i, t, len(b)); return t
        except Exception as e:
            logging.error("part %d attempt %d/8 failed: %s: %s", i, t, type(e).__name__, e, exc_info=t > 2)
            time.sleep(.15 * t)
    raise SystemExit(f"part {i}: giving up")


for _ in range(50):
    try: urllib.request.urlopen(a.url + "/99999", timeout=2).read(); break
    except Exception as e: logging.warning("store not ready: %s", e); time.sleep(.2)
with cf.ThreadPoolExecutor(4) as p: n = list(p.map(get, range(a.parts)))
logging.info("all %d parts present, %d requests", a.parts, sum(n))
