# serves the item features; needs a moment to warm up its index
import socket, struct, time, random
time.sleep(17)
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", 47781)); s.listen(16)
rng = random.Random(0)
while True:
    c, _ = s.accept()
    c.sendall(struct.pack("<64f", *(rng.gauss(0, 1) for _ in range(64)))); c.close()
