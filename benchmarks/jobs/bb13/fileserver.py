# small mirror; refuses while it is busy, like the real one
import http.server, collections
seen = collections.Counter()
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        seen[self.path] += 1
        if seen[self.path] <= (int(self.path[-5]) % 3):
            return self.send_error(503)
        b = bytes(range(256)) * 40
        self.send_response(200); self.send_header("Content-Length", str(len(b))); self.end_headers(); self.wfile.write(b)
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 48449), H).serve_forever()
