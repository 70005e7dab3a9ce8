# kleiner Objektspeicher mit Ratenbegrenzung, wie der im Labor
import http.server, sys, collections
hits = collections.Counter()
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        hits[self.path] += 1
        k = int(self.path.rsplit("-", 1)[-1]); n = hits[self.path]
        if k % 4 == 2 and n <= 3:
            return self.send_error(503 if n != 2 else 429, "Slow Down" if n != 2 else None)
        if k % 4 == 3 and n == 1:
            self.send_response(200); self.send_header("Content-Length", "4000"); self.end_headers(); self.wfile.write(b"x" * 900); return
        body = bytes((k * 7 + i) % 256 for i in range(4000))
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
