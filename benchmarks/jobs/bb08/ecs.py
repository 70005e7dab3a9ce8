import json, logging, datetime, os
class Ecs(logging.Formatter):
    def format(self, r):
        d = {"@timestamp": datetime.datetime.fromtimestamp(r.created, datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
             "log.level": r.levelname.lower(), "message": r.getMessage(), "ecs.version": "1.6.0",
             "log": {"logger": r.name, "origin": {"file": {"line": r.lineno, "name": r.filename}, "function": r.funcName}},
             "process": {"pid": r.process}, "labels": {"rank": os.environ.get("RANK", "0")}}
        if r.exc_info:
            d["error"] = {"type": r.exc_info[0].__name__, "message": str(r.exc_info[1]), "stack_trace": self.formatException(r.exc_info)}
        return json.dumps(d)
def get(name):
    h = logging.StreamHandler(); h.setFormatter(Ecs())
    l = logging.getLogger(name); l.addHandler(h); l.setLevel("INFO"); return l
