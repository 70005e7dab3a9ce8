import json, urllib.request, ecs
log = ecs.get("tracker")
class Tracker:
    def __init__(self, url): self.url, self.online, self.fail, self.buf = url, True, 0, []
    def send(self, **m):
        if self.online:
            try:
                urllib.request.urlopen(urllib.request.Request(self.url, json.dumps(m).encode()), timeout=2); return
            except OSError:
                self.fail += 1; log.error("could not send metrics to %s", self.url, exc_info=True)
                if self.fail == 3: self.online = False; log.warning("tracker unreachable, metrics are kept in metrics.jsonl from now on")
        self.buf.append(m)
    def close(self):
        with open("metrics.jsonl", "w") as f:
            for m in self.buf: f.write(json.dumps(m) + "\n")
        log.info("%d records written to metrics.jsonl", len(self.buf))
