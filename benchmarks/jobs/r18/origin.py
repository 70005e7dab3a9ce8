"""local stand-in of the artifact store, as unreliable as the real one"""
import collections, hashlib, http.server, sys
import numpy as np
n = collections.Counter()


def body(i):
    r = np.random.default_rng(i); x = r.normal(size=(200, 6)).astype("f4"); x[:, 5] = np.where(x[:, 0] > .2, 1, -1) * x[:, 1] + .1 * x[:, 2]
    return x.tobytes()


class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass

    def do_GET(self):
        i = int(self.path.strip("/")); n[i] += 1; b = body(i); h = hashlib.sha256(b).hexdigest()
        k = (i * 7 + n[i] * 3) % 9 if n[i] < 5 else 8
        if k == 0: self.send_error(503, "Slow Down"); return
        if k == 1: self.send_error(429, "Too Many Requests"); return
        if k == 2: self.connection.close(); return
        if k == 3: b = b[:1000] + b"\0" * 64 + b[1064:]
        self.send_response(200); self.send_header("Content-Length", str(len(b))); self.send_header("X-Sha256", h); self.end_headers()
        self.wfile.write(b[: len(b) // 2] if k == 4 else b)


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
