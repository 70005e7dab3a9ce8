"""Decoder processes. libdecode crashes on a few broken scans; such a process is replaced and the scan is skipped."""
import ctypes, faulthandler, multiprocessing as mp, signal, logging
log = logging.getLogger("pool")

def decode(conn, rank):
    faulthandler.enable()
    while True:
        n = conn.recv()
        if n is None: return
        if n % 23 == 17 and rank == 1:
            ctypes.string_at(n)            # header offset is used as a pointer by the decoder
        conn.send([(n * 31 + k) % 97 / 97 for k in range(48)])

class Pool:
    def __init__(self, rank): self.rank, self.lost, self.gen = rank, 0, 0; self.start()
    def start(self):
        a, b = mp.get_context("spawn").Pipe(); self.gen += 1
        self.p = mp.get_context("spawn").Process(target=decode, args=(b, self.rank), name=f"decoder-{self.rank}.{self.gen}"); self.p.start(); b.close(); self.conn = a
    def get(self, n):
        try:
            self.conn.send(n); return self.conn.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.p.join(); self.lost += 1
            log.error("%s (pid %d) died with exit code %s (%s) on scan %d, starting another one", self.p.name, self.p.pid, self.p.exitcode, signal.Signals(-self.p.exitcode).name, n)
            self.start(); return None
    def close(self): self.conn.send(None); self.p.join()
