import time
T0 = time.time()
class PLog:
    def __init__(self, who): self.who = who
    def __call__(self, msg): print(f"+{time.time() - T0:06.2f} ~{self.who}~ {msg}", flush=True)
