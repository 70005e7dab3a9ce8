"""feature store stand-in for this box: GET <user> -> 8 floats. Drops every client when it rolls its log segment."""
import os
import random
import socketserver
import sys

state = sys.argv[2]
SEGMENT = 900
count = 0


class H(socketserver.StreamRequestHandler):
    def handle(self):
        global count
        for line in self.rfile:
            count += 1
            if count == SEGMENT and not os.path.exists(f"{state}/segment-1"):
                open(f"{state}/segment-1", "w").write(str(count))
                return
            rnd = random.Random(int(line))
            self.wfile.write((" ".join(f"{rnd.gauss(0, 1):.4f}" for _ in range(8)) + "\n").encode())


class S(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


with S(("127.0.0.1", int(sys.argv[1])), H) as s:
    s.serve_forever()
