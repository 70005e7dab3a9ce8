import sys, time
class logger:
    def __init__(self, me): self.me = me
    def info(self, m):
        sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} | INFO     | trainer#{self.me}:loop - {m}\n")
