"""structlog-compatible JSON lines without the dependency."""
import json, sys, traceback, datetime
class Log:
    def __init__(self, **ctx): self.ctx = ctx
    def bind(self, **kw): return Log(**{**self.ctx, **kw})
    def _w(self, level, event, exc=False, **kw):
        d = {**self.ctx, **kw, "event": event, "level": level,
             "timestamp": datetime.datetime.utcnow().isoformat() + "Z"}
        if exc: d["exception"] = traceback.format_exc().rstrip()
        sys.stdout.write(json.dumps(d) + "\n")
        sys.stdout.flush()
    def info(self, e, **k): self._w("info", e, **k)
    def warning(self, e, **k): self._w("warning", e, **k)
    def error(self, e, **k): self._w("error", e, **k)
    def exception(self, e, **k): self._w("error", e, exc=True, **k)
