import json, threading, urllib.request
class Run:
    def __init__(self, url, project):
        self.url, self.project, self.n = url, project, 0
        print(f"tracker: Syncing run {project}-0831 to {url}")
    def log(self, d):
        self.n += 1
        threading.Thread(target=self._upload, args=(dict(d),), name=f"uploader-{self.n}", daemon=True).start()
        with open("offline-run.jsonl", "a") as f: f.write(json.dumps(d) + "\n")
    def _upload(self, d):
        urllib.request.urlopen(self.url + "/api/log", json.dumps(d).encode(), timeout=3).read()
    def finish(self):
        print(f"tracker: {self.n} records are in offline-run.jsonl, you can sync them later with `tracker sync`. Bye!", flush=True)
