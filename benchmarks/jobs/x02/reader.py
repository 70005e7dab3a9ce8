import time


class BlobReader:
    """Sequential reader with a token bucket, so that we do not trip the volume's own limiter."""

    def __init__(self, path, kbps, burst_kb):
        self.f = open(path, "rb")
        self.rate = kbps * 1024
        self.tokens = self.cap = burst_kb * 1024
        self.t = time.monotonic()

    def read(self, n):
        now = time.monotonic()
        self.tokens = min(self.cap, self.tokens + (now - self.t) * self.rate)
        self.t = now
        if self.tokens < n:
            time.sleep((n - self.tokens) / self.rate)
        self.tokens -= n
        return self.f.read(n)
