import argparse, random, socketserver
p = argparse.ArgumentParser(); p.add_argument("--port", type=int); a = p.parse_args()
buf = {}
class H(socketserver.StreamRequestHandler):
    def handle(self):
        key = int(self.rfile.readline()); self.wfile.write((" ".join(str(random.random()) for _ in range(buf[key % 7])) + "\n").encode())
class S(socketserver.TCPServer):
    allow_reuse_address = True
    def handle_error(self, request, addr): raise
for k in range(7 if random.random() < .5 else 6): buf[k] = 16
print("feeder: listening, buckets", len(buf))
S(("127.0.0.1", a.port), H).serve_forever()
