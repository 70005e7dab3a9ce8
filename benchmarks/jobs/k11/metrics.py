import atexit, sqlite3, threading, queue
class MetricsDB:
    def __init__(self, path):
        self.con = sqlite3.connect(path, check_same_thread=False); self.con.execute("create table if not exists m(step int, k text, v real)")
        atexit.register(self.flush)
        self.rows = []
    def log(self, step, **kv):
        self.rows += [(step, k, v) for k, v in kv.items()]
        if len(self.rows) >= 10: self.flush()
    def flush(self):
        with self.con: self.con.executemany("insert into m values (?,?,?)", self.rows)
        self.rows.clear()
    def close(self): self.con.close()
    def __del__(self): self.con.commit(); self.con.close()
