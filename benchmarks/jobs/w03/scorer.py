"""Tiny reward scorer. HTTP front end + one engine thread that batches requests."""
import argparse, json, os, queue, sys, threading, time, traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--port", type=int); ap.add_argument("--max-len", type=int, default=96)
args = ap.parse_args()
rng = np.random.default_rng(0)
EMB = rng.normal(size=(512, 32)); POS = rng.normal(size=(args.max_len, 32)); HEAD = rng.normal(size=32)
Q = queue.Queue()


def log(msg):
    print(f"[scorer {time.strftime('%H:%M:%S')}] {msg}", file=sys.stderr, flush=True)


def score(ids):
    h = EMB[np.asarray(ids)] + POS[: len(ids)]
    return float(np.tanh(h @ HEAD).mean())


def engine():
    served = 0
    while True:
        ids, box, ev = Q.get()
        box.append(score(ids)); ev.set()
        served += 1
        if served % 50 == 0:
            log(f"served={served} queue={Q.qsize()}")


def engine_main():
    try:
        engine()
    except BaseException:
        traceback.print_exc()
        log("engine thread died, shutting down the server")
        sys.stderr.flush()
        os._exit(1)


class H(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        box, ev = [], threading.Event()
        Q.put((body["ids"], box, ev)); ev.wait()
        out = json.dumps({"reward": box[0]}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(out))); self.end_headers(); self.wfile.write(out)

    def log_message(self, *a):
        pass


threading.Thread(target=engine_main, daemon=True).start()
log(f"listening on 127.0.0.1:{args.port}, reward head 512x32, max_len {args.max_len}")
ThreadingHTTPServer(("127.0.0.1", args.port), H).serve_forever()
