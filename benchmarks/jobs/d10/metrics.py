import threading, time, queue
class MetricsWriter:
    """buffers scalars and writes them to a csv file"""
    def __init__(self, path):
        self.path = path; self.rows = []; self.fh = open(path, "w")
    def add(self, k, v, step): self.rows.append((step, k, v))
    def flush(self):
        for r in self.rows: self.fh.write("%d,%s,%.5f\n" % r)
        self.rows.clear(); self.fh.flush()
    def close(self): self.flush(); self.fh.close()
    def __del__(self):
        self.close()
        open(self.path + ".done", "w").close()
        self.fh.write("# closed\n")
