"""tiny read-only artifact mirror with a bandwidth cap per port (same as nginx limit_rate)"""
import json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

def serve(port, rate):
    class H(BaseHTTPRequestHandler):
        def log_message(self, *a): pass
        def do_GET(self):
            path = os.path.join("store", os.path.basename(self.path))
            self.send_response(200); self.send_header("Content-Length", str(os.path.getsize(path))); self.end_headers()
            with open(path, "rb") as f:
                while b := f.read(1 << 17):
                    try: self.wfile.write(b)
                    except OSError: return
                    time.sleep(len(b) / (rate * 2**20))
    ThreadingHTTPServer(("127.0.0.1", port), H).serve_forever()

for p, c in json.load(open(sys.argv[1])).items():
    threading.Thread(target=serve, args=(int(p), c["rate_mib"])).start()
