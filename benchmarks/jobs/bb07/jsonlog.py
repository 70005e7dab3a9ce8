import json, logging
class JsonFormatter(logging.Formatter):
    def format(self, r):
        d = {"asctime": self.formatTime(r), "levelname": r.levelname, "name": r.name, "message": r.getMessage()}
        if r.exc_info: d["exc_info"] = self.formatException(r.exc_info)
        d.update({k: r.__dict__[k] for k in ("rank", "step", "loss") if k in r.__dict__})
        return json.dumps(d)
def setup():
    h = logging.StreamHandler(); h.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[h])
