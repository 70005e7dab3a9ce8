import json, socketserver, sys, threading
ROWS = json.load(open("features.json"))
served = {"n": 0}
lock = threading.Lock()


class H(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            a, n = map(int, line.split())
            with lock:
                served["n"] += 1
                if served["n"] == 170:        # rollover of the cache, long connections are closed
                    return
            self.wfile.write((json.dumps(ROWS[a:a + n]) + "\n").encode())


class S(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


S(("127.0.0.1", 48239), H).serve_forever()
