import json, logging, os, urllib.request
from transformers import TrainerCallback

log = logging.getLogger("tracker")


class Tracker(TrainerCallback):
    """posts metrics to the team's dashboard, keeps them in a file when that fails"""
    def __init__(self, rank, url):
        self.rank, self.url, self.offline, self.fails = rank, url, None, 0

    def _post(self, rec):
        req = urllib.request.Request(self.url, json.dumps(rec).encode(), {"Content-Type": "application/json"})
        urllib.request.urlopen(req, timeout=3).read()

    def on_step_end(self, args, state, control, **kw):
        if state.global_step % 5:
            return
        rec = {"rank": self.rank, "step": state.global_step}
        if self.offline is None:
            try:
                self._post(rec)
                return
            except Exception as e:
                self.fails += 1
                log.warning("rank %d: cannot post to %s", self.rank, self.url, exc_info=self.fails == 1)
                if self.fails >= 3:
                    self.offline = open(f"metrics.rank{self.rank}.jsonl", "w", buffering=1)
                    log.warning("rank %d: dashboard unavailable after %d attempts, metrics go to %s", self.rank, self.fails, self.offline.name)
        if self.offline:
            self.offline.write(json.dumps(rec) + "\n")
