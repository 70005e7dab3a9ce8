"""Maintenance log cleaner. Bad rows are logged with their traceback and dropped."""
import argparse
import collections
import datetime as dt
import json
import logging
import sys

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)-8s clean: %(message)s")
log = logging.getLogger("clean")


class TooManyBadRows(Exception):
    pass


def parse(line):
    rec = json.loads(line)
    when = dt.datetime.fromisoformat(rec["ts"])
    return {"id": rec["id"], "month": when.month, "text": rec["text"].strip(), "temp": float(rec["temp"])}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("src")
    ap.add_argument("dst")
    ap.add_argument("--max-bad", type=float, default=0.05)
    a = ap.parse_args()
    bad, n = collections.Counter(), 0
    with open(a.src) as f, open(a.dst, "w") as g:
        for n, line in enumerate(f, 1):
            try:
                g.write(json.dumps(parse(line)) + "\n")
            except Exception as e:
                bad[type(e).__name__] += 1
                log.exception("row %d dropped", n)
            if n % 500 == 0:
                log.info("%d rows read, %d dropped so far", n, sum(bad.values()))
    frac = sum(bad.values()) / n
    log.info("finished: %d rows kept, %d dropped (%.2f%%, limit %.2f%%) %s",
             n - sum(bad.values()), sum(bad.values()), 100 * frac, 100 * a.max_bad, dict(bad))
    if frac > a.max_bad:
        raise TooManyBadRows(f"{frac:.3f} > {a.max_bad}")


if __name__ == "__main__":
    main()
