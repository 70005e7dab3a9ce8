import socketserver, sys, random, threading, time
ready, loading = threading.Event(), threading.Lock()
def load():
    time.sleep(3.5); ready.set()       # index is read at the first request
class H(socketserver.StreamRequestHandler):
    def handle(self):
        seed = int(self.rfile.readline())
        if loading.acquire(blocking=False): threading.Thread(target=load, daemon=True).start()
        if not ready.is_set():
            self.wfile.write(b"ERR 503 index is loading\n"); return
        r = random.Random(seed)
        for _ in range(300): self.wfile.write((" ".join(f"{r.gauss(0,1):.3f}" for _ in range(6)) + "\n").encode())
class S(socketserver.ThreadingTCPServer): allow_reuse_address = True; daemon_threads = True
S(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
