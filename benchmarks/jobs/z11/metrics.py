import threading


class Metrics:
    def __init__(self, cap=200):
        self.lock = threading.Lock()
        self.rows, self.cap, self.dropped = [], cap, 0

    def add(self, name, value):
        with self.lock:
            if len(self.rows) >= self.cap:
                self.dropped += 1
                return
            self.rows.append((name, value))

    def flush(self):
        with self.lock:
            n, self.rows = len(self.rows), []
            if self.dropped:
                self.add("metrics/dropped", self.dropped)
                self.dropped = 0
        return n
