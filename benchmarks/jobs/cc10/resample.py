import argparse
import logging
import os
import subprocess
import wave
from concurrent.futures import ProcessPoolExecutor, as_completed

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(process)d] %(name)s/%(levelname)s: %(message)s")
log = logging.getLogger("resample")


def duration(path):
    with wave.open(path) as w:
        return w.getnframes() / w.getframerate()


def convert(path, out, rate):
    dst = os.path.join(out, os.path.basename(path)[:-4] + ".flac")
    d = duration(path)
    if d < 0.1:
        return path, d, "short"
    subprocess.run(["sox", path, "-r", str(rate), "-b", "16", dst, "rate", "-v", "norm", "-3"], check=True, capture_output=True)
    return path, d, "ok"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--manifest"); ap.add_argument("--out"); ap.add_argument("--rate", type=int); ap.add_argument("--jobs", type=int)
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    paths = [l.split("\t")[1].strip() for l in open(a.manifest)]
    log.info("%d files, %.1f s of audio, target rate %d", len(paths), sum(map(duration, paths)), a.rate)
    bad = 0
    with ProcessPoolExecutor(a.jobs) as ex:
        futs = {ex.submit(convert, p, a.out, a.rate): p for p in paths}
        for f in as_completed(futs):
            try:
                f.result()
            except Exception as e:
                bad += 1
                log.error("%s: %s", futs[f], e)
                if bad >= 25:
                    for g in futs:
                        g.cancel()
                    raise
    log.info("converted %d files, %d failed", len(paths) - bad, bad)


if __name__ == "__main__":
    main()
