import http.server, json, random, time
random.seed(5)
class H(http.server.BaseHTTPRequestHandler):
    n = 0
    def do_GET(self):
        H.n += 1
        if H.n % 17 == 9: time.sleep(1.3)
        if H.n % 23 == 4: self.send_error(503, "Service Unavailable"); return
        b = json.dumps([random.gauss(0, 1) for _ in range(80)]).encode()
        try:
            self.send_response(200); self.send_header("Content-Length", str(len(b))); self.end_headers(); self.wfile.write(b)
        except BrokenPipeError: pass
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 41925), H).serve_forever()
