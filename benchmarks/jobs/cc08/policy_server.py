"""Serves the policy: POST /generate {"prompts": [...]} -> {"tokens": [...]}; POST /weights loads new weights."""
import argparse
import io
import json
import logging
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch

logging.basicConfig(level=logging.INFO, format="(policy-server) %(levelname)s %(asctime)s [%(module)s:%(lineno)d] %(message)s", datefmt="%m-%d %H:%M:%S")
log = logging.getLogger("server")

ap = argparse.ArgumentParser()
ap.add_argument("--port", type=int, required=True)
ap.add_argument("--kv-blocks", type=int, default=400)
ap.add_argument("--block-size", type=int, default=16)
args = ap.parse_args()


class Engine:
    def __init__(self):
        self.w = torch.randn(64, 64)
        self.free = list(range(args.kv_blocks))
        self.tables = {}
        self.next_id = 0

    def generate(self, prompts, n):
        out = []
        for p in prompts:
            rid = self.next_id
            self.next_id += 1
            table = self.tables[rid] = []
            toks = list(p)
            while len(toks) < len(p) + n:
                if len(toks) > len(table) * args.block_size:
                    table.append(self.free.pop())
                h = torch.softmax(self.w[toks[-1]], -1)
                toks.append(int(torch.multinomial(h, 1)))
            if toks[-1] != 0:              # not finished: keep the blocks for the next turn
                out.append(toks)
                continue
            self.free += self.tables.pop(rid)
            out.append(toks)
        return out


engine = Engine()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, fmt, *a):
        log.info(fmt, *a)

    def _json(self, obj):
        b = json.dumps(obj).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(b)))
        self.end_headers()
        self.wfile.write(b)

    def do_GET(self):
        self._json({"free_blocks": len(engine.free)})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/weights":
            engine.w = torch.load(io.BytesIO(body))
            return self._json({"ok": True})
        req = json.loads(body)
        try:
            toks = engine.generate(req["prompts"], req["n"])
        except Exception:
            log.exception("engine loop died, %d running requests, %d free KV blocks, shutting down", len(engine.tables), len(engine.free))
            import os
            os._exit(1)                    # a half-dead engine is worse than none
        self._json({"tokens": toks})


log.info("engine ready: %d KV blocks of %d tokens, listening on 127.0.0.1:%d", args.kv_blocks, args.block_size, args.port)
ThreadingHTTPServer(("127.0.0.1", args.port), Handler).serve_forever()
