import socket, sys, threading
# artifact store, keeps the last blob of every name
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(8)
blobs = []


def serve(c):
    n = int(c.makefile("rb", buffering=0).readline())
    got = 0
    while got < n:
        b = c.recv(65536)
        if not b:
            return
        got += len(b)
    blobs.append(n)
    if len(blobs) <= 2:       # free slots
        c.sendall(b"OK\n")
    else:
        threading.Event().wait()   # quota: queue until someone frees a slot


while True:
    c, _ = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
